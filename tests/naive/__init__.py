"""Slow, obvious oracles: each algorithm written straight from its description, one person at a time, in plain lists."""
