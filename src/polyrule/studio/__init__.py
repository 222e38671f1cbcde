"""Working on a model in the browser: one's own table, rules to change, a history to defend."""

from polyrule.studio.launch import Studio, open_studio

__all__ = ["Studio", "open_studio"]
