"""Additive multi-label rules with fully corrective weights."""
