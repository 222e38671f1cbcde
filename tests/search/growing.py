"""Rules that an engine grows one after the other, as plain values that can be compared."""

from __future__ import annotations

from typing import Any


def grown(engine: Any, count: int) -> list[Any]:
    """Grow and commit up to so many rules."""
    found = []
    for _ in range(count):
        rule = engine.grow() if engine.has_unset and engine.remaining else None
        if rule is None:
            break
        found.append((rule.body, rule.head, rule.value, rule.covered.tolist()))
        engine.commit(rule, 0.01, True)
    return found
