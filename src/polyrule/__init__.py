"""polyrule: readable, exact rules for multi-label classification, at native speed."""

__version__ = "0.1.0"
