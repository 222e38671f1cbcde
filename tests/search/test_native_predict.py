"""The compiled prediction kernel against its NumPy reference."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.conditions import LabelCondition, MissingCondition, NominalCondition, NumericCondition, SetCondition
from polyrule.conditions.packed import covers, covers_numpy
from polyrule.data.table import Feature
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.model.predict import FlatRules, predict_flat, predict_native
from polyrule.model.rule import Literal, Rule
from polyrule.model.rule_ensemble import FlatWeights, scores_flat, scores_native
from polyrule.model.rule_list import RuleList
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


def random_list(rng: np.random.Generator, features: int, labels: int) -> RuleList:
    rules = []
    for _ in range(int(rng.integers(0, 12))):
        body = []
        for _ in range(int(rng.integers(0, 4))):
            kind = rng.integers(6)
            if kind == 3:
                body.append(LabelCondition(int(rng.integers(labels)), int(rng.integers(2))))
            elif kind == 4:
                body.append(SetCondition(features - 1, tuple(sorted(rng.choice(3, 2, replace=False).tolist()))))
            elif kind == 5:
                body.append(MissingCondition(int(rng.integers(features)), bool(rng.integers(2))))
            elif kind == 2:
                body.append(NominalCondition(features - 1, int(rng.integers(3))))
            else:
                op = "<=" if kind else ">"
                threshold = float(rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0]))
                body.append(NumericCondition(int(rng.integers(features - 1)), op, threshold))
        size = int(rng.integers(1, labels + 1))
        chosen = sorted(rng.choice(labels, size, replace=False).tolist())
        rules.append(
            Rule(tuple(Literal(label, int(rng.integers(2))) for label in chosen), tuple(body), bool(rng.integers(2)))
        )
    defaults = tuple(int(x) for x in rng.integers(0, 2, labels))
    names = tuple(f"l{i}" for i in range(labels))
    columns = (*(Feature(f"f{j}") for j in range(features - 1)), Feature("last", "nominal", ("a", "b", "c")))
    return RuleList(tuple(rules), columns, names, defaults, full=bool(rng.integers(2)))


def random_ensemble(rng: np.random.Generator, features: int, labels: int) -> RuleEnsemble:
    """The bodies of a random list without conditions on labels, under weights that add up to different doubles."""
    grown = random_list(rng, features, labels)
    rules = tuple(
        WeightedRule(
            tuple(Entry(literal.label, float(rng.normal())) for literal in rule.head),
            tuple(test for test in rule.body if not isinstance(test, LabelCondition)),
        )
        for rule in grown.rules
    )
    starts = tuple(rng.normal(size=labels).tolist())
    return RuleEnsemble(rules, grown.features, grown.label_names, starts, Decision("threshold", (0.0,) * labels))


FORMS = {
    "fortran": np.asfortranarray,
    "c": np.ascontiguousarray,
    "strided": lambda values: np.repeat(values, 2, axis=0)[::2],
    "float32": lambda values: values.astype(np.float32),
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    "unsorted": lambda values: unsorted(sp.csc_array(values)),
}


def random_values(rng: np.random.Generator, rows: int, features: int) -> np.ndarray:
    values = rng.integers(-2, 3, (rows, features)) / 2.0
    values[rng.random(values.shape) < 0.2] = np.nan
    values[values == 0] = rng.choice([0.0, -0.0])
    return values


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), form=st.sampled_from(sorted(FORMS)))
def test_same_labels_and_setters(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    rows, features, labels = int(rng.integers(0, 200)), int(rng.integers(2, 5)), int(rng.integers(1, 6))
    values = random_values(rng, rows, features)
    flat = FlatRules.of(random_list(rng, features, labels))
    expected = predict_flat(flat, values)
    found = predict_native(flat, FORMS[form](values))
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.setter, expected.setter)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), form=st.sampled_from(sorted(FORMS)))
def test_same_sums_to_the_last_bit(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    rows, features, labels = int(rng.integers(0, 200)), int(rng.integers(2, 5)), int(rng.integers(1, 6))
    values = random_values(rng, rows, features)
    flat = FlatWeights.of(random_ensemble(rng, features, labels))
    given_as = FORMS[form](values)
    assert scores_native(flat, given_as).tobytes() == scores_flat(flat, values).tobytes()
    np.testing.assert_array_equal(covers(flat.bodies, given_as), covers_numpy(flat.bodies, values))


def unsorted(matrix: sp.csc_array) -> sp.csc_array:
    """The same matrix with every column's entries in reverse."""
    for j in range(matrix.shape[1]):
        part = slice(matrix.indptr[j], matrix.indptr[j + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix
