"""Counting, deciding and summing gradients on a GPU through CuPy."""
