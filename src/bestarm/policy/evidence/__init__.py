"""Coin evidence: a test that trusts only its own coins."""
