"""Derived columns: features that are computed from columns that the user has."""
