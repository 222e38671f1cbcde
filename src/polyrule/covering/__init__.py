"""Separate-and-conquer with any engine: the learner of the paper."""
