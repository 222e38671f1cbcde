"""How large a fitted model is, counted alike for rules, trees and forests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from polyrule.conditions import label_conditions, n_conditions


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Rules and conditions of a model; None where a model has no such thing.

    A leaf of a tree counts as a rule whose conditions are the tests on its path. A forest is the sum of its trees.
    """

    rules: int | None = None
    conditions: int | None = None
    multi_label_rules: int | None = None
    head_literals: int | None = None
    label_conditions: int | None = None

    def as_dict(self) -> dict[str, int | None]:
        """Return the counts by name."""
        return asdict(self)


def model_size(model: Any) -> ModelSize:
    """Count rules and conditions of a fitted estimator.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2]], [[0, 1], [1, 1], [0, 0]])
    >>> size = model_size(tree)
    >>> size.rules, size.conditions
    (3, 5)
    >>> model_size(object()).rules is None
    True
    """
    for count in (_rules_with_heads, _mlrl_rules, _trees):
        size = count(model)
        if size is not None:
            return size
    return ModelSize()


def _rules_with_heads(model: Any) -> ModelSize | None:
    """Models of polyrule: `rules_` holds rules with `head` and `body`."""
    rules = getattr(model, "rules_", None)
    try:
        heads = [rule.head for rule in rules]  # type: ignore[union-attr]
        bodies = [rule.body for rule in rules]  # type: ignore[union-attr]
    except (TypeError, AttributeError):
        return None
    return ModelSize(
        rules=len(heads),
        conditions=sum(map(n_conditions, bodies)),
        multi_label_rules=sum(len(head) > 1 for head in heads),
        head_literals=sum(len(head) for head in heads),
        label_conditions=sum(1 for body in bodies for _ in label_conditions(body)),
    )


def _trees(model: Any) -> ModelSize | None:
    """scikit-learn's trees, and everything made of them."""
    tree = getattr(model, "tree_", None)
    if tree is not None and hasattr(tree, "children_left"):
        depths = tree.compute_node_depths()[tree.children_left < 0]  # of leaves; the root has depth 1
        return ModelSize(rules=int(tree.n_leaves), conditions=int((depths - 1).sum()))
    for attribute in ("estimators_", "estimator_"):
        parts = getattr(model, attribute, None)
        if parts is None:
            continue
        sizes = [_trees(part) for part in _flatten(parts)]
        known_sizes = [size for size in sizes if size is not None]
        if known_sizes and len(known_sizes) == len(sizes):
            return ModelSize(
                rules=sum(size.rules or 0 for size in known_sizes),
                conditions=sum(size.conditions or 0 for size in known_sizes),
            )
    return None


def _flatten(parts: Any) -> Iterable[Any]:
    if isinstance(parts, (list, tuple)) or type(parts).__name__ == "ndarray":
        for part in parts:
            yield from _flatten(part)
    else:
        yield parts


def _mlrl_rules(model: Any) -> ModelSize | None:
    """MLRL-SeCo and BOOMER: their library's visitor walks the model; the default rule, without conditions, is none."""
    inner = getattr(model, "model_", None)
    if inner is None or not hasattr(inner, "visit"):
        return None
    base: Any = import_module("mlrl.common.cython.rule_model").RuleModelVisitor
    bodies: list[int] = []
    heads: list[int] = []

    class SizeCounter(base):  # type: ignore[misc]
        def visit_empty_body(self, body: Any) -> None:
            bodies.append(0)

        def visit_conjunctive_body(self, body: Any) -> None:
            # a body keeps one array of indices per kind of condition, None where there is none
            arrays = (getattr(body, name) for name in dir(body) if name.endswith("_indices"))
            bodies.append(sum(len(array) for array in arrays if array is not None))

        def visit_complete_head(self, head: Any) -> None:
            heads.append(len(head.scores))

        def visit_partial_head(self, head: Any) -> None:
            heads.append(len(head.scores))

    inner.visit_used(SizeCounter())
    rules = [(conditions, labels) for conditions, labels in zip(bodies, heads, strict=True) if conditions > 0]
    return ModelSize(
        rules=len(rules),
        conditions=sum(conditions for conditions, _ in rules),
        multi_label_rules=sum(labels > 1 for _, labels in rules),
        head_literals=sum(labels for _, labels in rules),
        label_conditions=0,
    )
