"""Find the best of several options with a proven error rate and proven differential privacy."""
