"""The confidential wing: outcomes become integers, integers are summed, and a sum leaves only with noise on it.

Nothing in the public wing (`policy`, `release`, `theory`) may import from here; a test checks it.
"""
