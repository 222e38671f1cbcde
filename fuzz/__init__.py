"""Attacking polyrule with inputs made to break it: ``make fuzz MINUTES=10``; see docs/security.md."""
