"""Separate-and-conquer on top of an engine; the paper's three learners."""
