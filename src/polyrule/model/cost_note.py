"""Costs that a model states for false alarms and misses; `polyrule.decisions.set_costs` decides by them."""

from __future__ import annotations

from typing import Any

from polyrule.conditions.text import format_name, format_number
from polyrule.errors import ModelError

Costs = dict[str, tuple[float, float]]


def costs_of(model: Any) -> Costs:
    """Return the costs (false alarm, miss) of a model by label; empty if it has none.

    >>> from polyrule.model import RuleList
    >>> costs_of(RuleList((), (), ("sepsis",), info={"costs": {"sepsis": [1, 19]}}))
    {'sepsis': (1.0, 19.0)}
    """
    costs = model.info.get("costs", {})
    if not isinstance(costs, dict) or any(not _is_pair(pair) for pair in costs.values()):
        raise ModelError("info: costs are not as polyrule.decisions.set_costs states them")
    return {name: (float(pair[0]), float(pair[1])) for name, pair in costs.items() if name in model.label_names}


def cost_lines(model: Any) -> list[str]:
    """Return a printed line about costs; none without costs."""
    costs = costs_of(model)
    parts = [
        f"{format_name(name)} false alarm {format_number(alarm)}, miss {format_number(miss)}"
        for name, (alarm, miss) in costs.items()
    ]
    return [f"(costs: {'; '.join(parts)})"] if parts else []


def _is_pair(pair: Any) -> bool:
    numbers = isinstance(pair, (list, tuple)) and len(pair) == 2
    return numbers and all(isinstance(one, (int, float)) and not isinstance(one, bool) and one >= 0 for one in pair)
