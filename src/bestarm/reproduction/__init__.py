"""The paper's experiments run again: their cells, its claims one by one, its figures (docs/reproduction/report.md)."""
