"""Counts, measures, averagings and scopes; what is proved about them; checking a user's own."""
