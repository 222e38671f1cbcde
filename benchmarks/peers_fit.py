"""Fit one peer for `peers.py`, in whichever environment has it: no polyrule is needed here.

    PEER/bin/python benchmarks/peers_fit.py IN.npz OUT.npz LEARNER SIZE '{"option": value}'

IN holds X, Y, X_test and fold; OUT gets the probabilities left_out (each fold by a model of the others) and test, and
what the model of the whole training part is made of: rules (leaves, for trees) and conditions (tests on the way to a
leaf; for EBM the steps of its curves). CPU seconds cover all fits.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

HOMES = {
    "tree": "sklearn.tree",
    "forest": "sklearn.ensemble",
    "boomer": "mlrl.boosting",
    "ebm": "interpret.glassbox",
    "figs": "imodels",
}
Fitted = tuple[Callable[[Any], Any], int, int]  # probabilities of new examples, rules, conditions


def main() -> None:
    source, target, learner, size, options = sys.argv[1:6]
    with np.load(source) as stored:
        X, Y, asked, fold = (stored[key] for key in ("X", "Y", "X_test", "fold"))
    fit = PEERS[learner]
    import_module(HOMES[learner])  # which is not fitting
    used = time.process_time()
    left_out = np.zeros(Y.shape)
    for number in np.unique(fold):
        held = fold == number
        left_out[held] = fit(X[~held], Y[~held], int(size), json.loads(options))[0](X[held])
    predict, rules, conditions = fit(X, Y, int(size), json.loads(options))
    test = predict(asked)
    cpu = time.process_time() - used
    np.savez(target, left_out=left_out, test=test, rules=rules, conditions=conditions, cpu_s=cpu)


def tree(X: Any, Y: Any, leaves: int, options: dict[str, Any]) -> Fitted:
    """Grow one tree for all labels, with so many leaves."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_leaf_nodes=leaves, **options).fit(X, Y)
    return lambda asked: presence(model, asked), model.get_n_leaves(), path_lengths(model.tree_)


def forest(X: Any, Y: Any, trees: int, options: dict[str, Any]) -> Fitted:
    """Grow a forest on label sets: a label's probability is that of all sets that hold it."""
    from sklearn.ensemble import RandomForestClassifier

    sets, member = np.unique(Y, axis=0, return_inverse=True)
    model = RandomForestClassifier(trees, **options).fit(X, member.ravel())
    grown = [one.tree_ for one in model.estimators_]
    leaves = sum(int(one.n_leaves) for one in grown)
    return lambda asked: model.predict_proba(asked) @ sets[model.classes_], leaves, sum(map(path_lengths, grown))


def boomer(X: Any, Y: Any, rules: int, options: dict[str, Any]) -> Fitted:
    """BOOMER with so many rules."""
    from mlrl.boosting import BoomerClassifier

    model = BoomerClassifier(max_rules=rules, **options).fit(X, Y)
    found, conditions = boomer_size(model.model_)
    return lambda asked: dense(model.predict_proba(asked)), found, conditions


def ebm(X: Any, Y: Any, _: int, options: dict[str, Any]) -> Fitted:
    """Fit an explainable boosting machine per label; what a reader would have to read are the steps of its curves."""
    from interpret.glassbox import ExplainableBoostingClassifier

    models = per_label(Y, lambda truth: ExplainableBoostingClassifier(**options).fit(X, truth))
    grown = [model for model in models if not isinstance(model, float)]
    steps = sum(int(np.asarray(scores).size) for model in grown for scores in model.term_scores_)
    return lambda asked: probabilities(models, asked), sum(len(model.term_scores_) for model in grown), steps


def figs(X: Any, Y: Any, rules: int, options: dict[str, Any]) -> Fitted:
    """Fit FIGS per label, its splits shared out alike, so that all labels together have about so many rules."""
    from imodels import FIGSClassifier

    splits = max(1, rules // Y.shape[1])
    models = per_label(Y, lambda truth: FIGSClassifier(max_rules=splits, **options).fit(X, truth))
    leaves = [
        depth for model in models if not isinstance(model, float) for root in model.trees_ for depth in depths(root)
    ]
    return lambda asked: probabilities(models, asked), len(leaves), sum(leaves)


PEERS: dict[str, Callable[[Any, Any, int, dict[str, Any]], Fitted]] = {
    "tree": tree,
    "forest": forest,
    "boomer": boomer,
    "ebm": ebm,
    "figs": figs,
}


def per_label(Y: Any, fit: Callable[[Any], Any]) -> list[Any]:
    """Return a model for each label; a number where all examples are alike and there is nothing to learn."""
    return [float(column[0]) if len(np.unique(column)) == 1 else fit(column) for column in Y.T]


def probabilities(models: list[Any], asked: Any) -> Any:
    columns = [
        np.full(len(asked), model) if isinstance(model, float) else model.predict_proba(asked)[:, 1] for model in models
    ]
    return np.column_stack(columns)


def presence(model: Any, asked: Any) -> Any:
    """Of a model with one answer per label, the probability that it is present."""
    given, classes = model.predict_proba(asked), model.classes_
    if not isinstance(given, list):
        given, classes = [given], [classes]
    return np.column_stack(
        [chances @ np.asarray(kinds, dtype=float) for chances, kinds in zip(given, classes, strict=True)]
    )


def path_lengths(grown: Any) -> int:
    """Sum of the depths of all leaves."""
    depth = np.zeros(grown.node_count, dtype=np.int64)
    inner = grown.children_left >= 0
    for node in np.flatnonzero(inner):  # a child's number is larger than its parent's
        depth[[grown.children_left[node], grown.children_right[node]]] = depth[node] + 1
    return int(depth[~inner].sum())


def depths(node: Any, above: int = 0) -> list[int]:
    """Depth of every leaf of a tree of FIGS."""
    if node is None:
        return []
    if node.left is None and node.right is None:
        return [above]
    return depths(node.left, above + 1) + depths(node.right, above + 1)


def boomer_size(model: Any) -> tuple[int, int]:
    """Rules and conditions, counted by BOOMER's own visitor; the default rule has no body and does not count."""
    from mlrl.common.cython.rule_model import RuleModelVisitor

    bodies: list[int] = []

    class Counter(RuleModelVisitor):
        def visit_empty_body(self, body: Any) -> None:
            pass

        def visit_conjunctive_body(self, body: Any) -> None:
            arrays = (getattr(body, name) for name in dir(body) if name.endswith("_indices"))
            bodies.append(sum(len(array) for array in arrays if array is not None))

        def visit_complete_head(self, head: Any) -> None:
            pass

        def visit_partial_head(self, head: Any) -> None:
            pass

    model.visit_used(Counter())
    return len(bodies), sum(bodies)


def dense(chances: Any) -> Any:
    return np.asarray(chances.toarray() if hasattr(chances, "toarray") else chances)


if __name__ == "__main__":
    main()
