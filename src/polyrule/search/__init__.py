"""Engines that grow one rule at a time: NumPy reference, compiled, and from counts."""
