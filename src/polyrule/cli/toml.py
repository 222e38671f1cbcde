"""Writing a TOML table; the standard library only reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def toml_table(name: str, settings: dict[str, Any]) -> str:
    r"""Return a TOML table; an option without a value stands there as a comment.

    >>> print(toml_table("train", {"measure": "f0.5", "max_rules": None, "quiet": False, "drop": ("a", "b")}), end="")
    [train]
    measure = "f0.5"
    # max_rules =
    quiet = false
    drop = ["a", "b"]
    """
    lines = [f"[{name}]"]
    for key, value in settings.items():
        text = _value(value)
        lines.append(f"# {key} =" if text is None else f"{key} = {text}")
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(item) or '""' for item in value) + "]"
    # JSON's escapes are TOML's; the delete character is the one that only TOML forbids.
    text = str(value) if not isinstance(value, Path) else value.as_posix()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
