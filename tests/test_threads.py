"""Several threads at once: the first use of lazy names, and one estimator fitted by all of them."""

import ast
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import polyrule

FIRST_USE = """
import sys, threading
import polyrule
names = sys.argv[1:]
gate = threading.Barrier(len(names))
found = []
def use(name):
    gate.wait()
    try:
        getattr(polyrule, name)
        found.append("ok")
    except BaseException as problem:
        found.append(repr(problem))
threads = [threading.Thread(target=use, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert set(found) == {"ok"}, found
"""
NOT_YET = """
import sys
import polyrule
polyrule.load
assert "sklearn" not in sys.modules, "a stored model needs no scikit-learn"
"""
NO_TREES = 'assert "sklearn.tree" not in sys.modules, "trees are needed by a fit with a teacher only"'
LATE = FIRST_USE.replace("getattr(polyrule, name)", "polyrule.utils.lazy.import_late(name)")
LAZY = ("polyrule", "polyrule.estimators", "polyrule.evaluation")
MIXED = ["RuleListClassifier", "BinaryRelevanceRuleClassifier", "RuleEnsembleClassifier", "load", "datasets", "pack"]


@pytest.mark.parametrize("names", [MIXED * 2, ["RuleListClassifier"] * 4], ids=["mixed", "same"])
def test_first_use_in_threads(names):
    subprocess.run([sys.executable, "-c", FIRST_USE + NO_TREES, *names], check=True)


def test_what_is_not_needed_yet_is_not_imported():
    subprocess.run([sys.executable, "-c", NOT_YET], check=True)


def test_late_imports_in_threads():
    modules = ["sklearn.tree", "sklearn.neighbors", "sklearn.utils.multiclass", "sklearn.utils.validation"]
    subprocess.run([sys.executable, "-c", LATE, *modules * 2], check=True)


def test_no_module_asks_for_a_lazy_name_while_it_is_imported():
    """A thread with a module's lock must not wait for that of the lazy names, whose holder may want the module."""
    root = Path(polyrule.__file__).parent
    asked = 0
    for path in root.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module in LAZY:
                for alias in node.names:
                    place = root.joinpath(*node.module.split(".")[1:], alias.name)
                    assert place.is_dir() or place.with_suffix(".py").exists(), f"{path} wants {alias.name}"
                    asked += 1
    assert asked


class Gate(threading.Barrier):
    """A progress callback that lets every fit wait for the others, once."""

    def __init__(self, parties):
        super().__init__(parties)
        self.seen = threading.local()

    def __call__(self, _):
        if not getattr(self.seen, "yes", False):
            self.seen.yes = True
            self.wait(60)
        return False


@pytest.mark.parametrize(
    "make",
    [
        lambda: polyrule.RuleListClassifier(teacher=None),
        polyrule.SeCoClassifier,
        polyrule.BinaryRelevanceRuleClassifier,
        lambda: polyrule.RuleEnsembleClassifier(teacher=None, max_rules=3, label_cost=1.0, ridge=1.0, cv=0),
    ],
    ids=["chosen", "paper", "one per label", "ensemble"],
)
def test_one_estimator_fitted_by_several_threads(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + rng.normal(size=(60, 3)) / 2 > 0).astype(int)
    alone, shared, gate = make().fit(X, Y), make(), Gate(3)
    before = set(vars(shared))
    with ThreadPoolExecutor(3) as pool:
        fitted = list(pool.map(lambda _: shared.fit(X, Y, callback=gate), range(3)))
    assert all(one is shared for one in fitted)
    assert str(shared.rules_) == str(alone.rules_)
    assert set(vars(shared)) - before == set(vars(alone)) - before


def test_a_fit_sets_nothing_before_it_is_done():
    X, Y = np.arange(12.0).reshape(6, 2), [[1, 0], [0, 1]] * 3
    seen = []
    estimator = polyrule.RuleListClassifier(teacher=None)
    parameters = sorted(vars(estimator))
    estimator.fit(X, Y, label_names=["a", "b"], callback=lambda _: seen.append(sorted(vars(estimator))))
    assert seen
    assert all(names == parameters for names in seen)
    kept = estimator.feature_names_in_ if hasattr(estimator, "feature_names_in_") else None
    with pytest.raises(polyrule.errors.DataError, match="inconsistent numbers"):
        estimator.fit(np.zeros((5, 9)), Y)
    assert estimator.n_features_in_ == 2
    assert kept is None
