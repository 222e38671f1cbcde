"""What people pass by mistake: each is refused with an error of ours, or works."""

import datetime
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import polyrule
from polyrule.errors import DataError, LimitError, OptionError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = (RNG.random((30, 3)) < 0.4).astype(int)
FRAME = pd.DataFrame(X, columns=list("abcd"))


@pytest.fixture(scope="module")
def fitted():
    return polyrule.RuleListClassifier(max_rules=2, teacher=None).fit(FRAME, Y)


@pytest.mark.parametrize("weight", [10**400, 1e308, -(10**400), "heavy"])
@pytest.mark.parametrize(
    "learner", [polyrule.RuleListClassifier, polyrule.BinaryRelevanceRuleClassifier, polyrule.RuleEnsembleClassifier]
)
def test_weights_that_cannot_be_added_up(learner, weight):
    with pytest.raises(DataError, match="weight"):
        learner().fit(X, Y, sample_weight=np.full(30, weight, dtype=object))


def test_the_smallest_weights_there_are():
    alike = polyrule.RuleListClassifier(max_rules=2).fit(X, Y)
    tiny = polyrule.RuleListClassifier(max_rules=2).fit(X, Y, sample_weight=np.full(30, 1e-100))
    assert [rule.body for rule in tiny.model_] == [rule.body for rule in alike.model_]


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-308, 1 + 2j])
@pytest.mark.parametrize("options", [{}, {"teacher": None}], ids=["taught", "bare"])
@pytest.mark.parametrize("learner", [polyrule.RuleListClassifier, polyrule.RuleEnsembleClassifier])
def test_weights_too_small_to_count_with(learner, options, weight):
    with pytest.raises(DataError, match="weight"):
        learner(max_rules=2, **options).fit(X, Y, sample_weight=np.full(30, weight))


@pytest.mark.parametrize("zone", [None, "Not/AZone"])
@pytest.mark.parametrize("role", ["feature", "label", "target", "column"])
def test_times_that_python_does_not_have(role, zone):
    times = pa.table({"when": pa.array([2**62] * 30, pa.timestamp("s", tz=zone)), "size": X[:, 0]})
    given = {
        "feature": {"X": times, "y": Y},
        "label": {"X": times, "labels": ["when"]},
        "target": {"X": X, "y": times.select(["when"])},
        "column": {"X": X, "y": times["when"]},
    }
    with pytest.raises(DataError, match="y cannot be read" if role == "column" else "column 'when' cannot be read"):
        polyrule.RuleListClassifier().fit(**given[role])


def test_duplicate_columns_of_new_data(fitted):
    twice = FRAME.copy()
    twice.columns = list("abca")
    for ask in (fitted.predict, fitted.predict_proba, fitted.decision_path, fitted.explain):
        with pytest.raises(DataError, match=r"distinct|appears twice"):
            ask(twice)


def test_names_that_are_partly_numbers():
    with pytest.raises(DataError, match="string"):
        polyrule.RuleListClassifier().fit(pd.DataFrame(X, columns=["a", 1, 2, 3]), Y)


def test_broken_blocks_of_a_sparse_matrix():
    broken = sp.bsr_array(X)
    broken.data = broken.data.reshape(-1, 1)
    estimator = polyrule.RuleListClassifier(max_rules=1, teacher=None).fit(X, Y)
    for use in (estimator.predict, lambda matrix: estimator.fit(matrix, Y), polyrule.Table.from_array):
        with pytest.raises(DataError, match="broken sparse matrix: its blocks do not divide its shape"):
            use(broken)


@pytest.mark.parametrize("wrong", [np.zeros((2, 2, 2)), np.zeros(30), np.zeros((30, 2), dtype=complex), 3, object()])
def test_what_is_no_table(wrong, fitted):
    with pytest.raises(DataError):
        polyrule.RuleListClassifier().fit(wrong, Y)


@pytest.mark.parametrize("labels", [Y.tolist(), pd.DataFrame(Y), pa.table({str(j): Y[:, j] for j in range(3)})])
def test_a_dataset_takes_labels_as_fit_does(labels):
    data = polyrule.Dataset(polyrule.Table.from_array(X), labels, ("a", "b", "c"))
    assert data.Y.names == ("a", "b", "c")
    assert np.array_equal(data.Y, Y)


def test_a_dataset_reads_what_it_is_made_of():
    """Labels of other numbers were counted as they are, and weights in a list could not be cut."""
    labels = np.array([[1.0, np.nan, 0.0]] * 30)
    data = polyrule.Dataset(polyrule.Table.from_array(X), labels, ["a", "b", "c"], weights=[1] * 30)
    assert data[:2].Y.tolist() == [[1, 2, 0]] * 2
    assert (data[:1].label_names, data[:1].weights.tolist()) == (("a", "b", "c"), [1.0])
    assert data.describe().cardinality == 1
    for wrong in (np.full((30, 3), 5), sp.csr_array(np.full((30, 3), 3)), np.full((30, 3), 0.5)):
        with pytest.raises(DataError, match="is not 0 or 1"):
            polyrule.Dataset(polyrule.Table.from_array(X), wrong, ("a", "b", "c"))
    with pytest.raises(DataError, match="weights must be numbers"):
        polyrule.Dataset(polyrule.Table.from_array(X), Y, ("a", "b", "c"), weights=["heavy"] * 30)
    for kind in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"):
        data = polyrule.Dataset(polyrule.Table.from_array(X), sp.csr_array(Y).asformat(kind), ("a", "b", "c"))
        assert (data.Y.format, data[:2].Y.toarray().tolist()) == ("csr", Y[:2].tolist())
    with pytest.raises(DataError, match="X must be a Table"):
        polyrule.Dataset(X, Y, ("a", "b", "c"))


def test_features_that_are_none():
    for use in (
        lambda: polyrule.Table.from_array(X, list("abcd")),
        lambda: polyrule.data.to_table(FRAME, list("abcd")),
        lambda: polyrule.data.read(io.BytesIO(b"a,b\n1,2\n"), labels=None, features=["a"]),
    ):
        with pytest.raises(DataError, match="features must be of the class Feature"):
            use()
    with pytest.raises(DataError, match="categories must be a tuple of names"):
        polyrule.Feature("hue", "nominal", "red")
    assert polyrule.Feature("hue", "nominal", ["red", "blue"]) == polyrule.Feature("hue", "nominal", ("red", "blue"))
    with pytest.raises(DataError, match="a table holds numbers only"):
        polyrule.Table.from_array([["red"]])


@pytest.mark.parametrize("labels", [[[1, 0]] * 30, [["x"] * 3] * 30, 3, None, [[[1]]]])
def test_a_dataset_refuses_what_are_no_labels(labels):
    with pytest.raises(DataError):
        polyrule.Dataset(polyrule.Table.from_array(X), labels, ("a", "b", "c"))


def test_a_record_array_is_no_table():
    with pytest.raises(DataError):
        polyrule.Table.from_array(np.rec.fromarrays([X[:, 0]], names="a"))


def test_limits_may_be_written_as_floats(fitted, tmp_path):
    fitted.model_.save(tmp_path / "list.json")
    with polyrule.limits(max_bytes=1e6, max_cells=float("inf")):
        assert len(polyrule.load(tmp_path / "list.json")) == len(fitted.model_)
    with polyrule.limits(max_bytes=10.0), pytest.raises(LimitError, match="more than the 10 that are allowed"):
        polyrule.load(tmp_path / "list.json")
    raw = b"size,red\n" + b"1,0\n" * 50
    with pytest.raises(LimitError):
        polyrule.data.read(io.BytesIO(raw), labels=["red"], max_bytes=1e1)
    for wrong in (-1, float("nan"), "many", True):
        with pytest.raises(OptionError, match="max_bytes must be"), polyrule.limits(max_bytes=wrong):
            pass


@pytest.mark.parametrize("columns", [10**7, 10**9])
def test_sparse_matrices_wider_than_anything_that_has_names(columns):
    wide = sp.csr_array((np.ones(1), ([0], [columns - 1])), shape=(30, columns))
    for use in (
        lambda: polyrule.RuleListClassifier().fit(wide, Y),
        lambda: polyrule.RuleEnsembleClassifier().fit(X, wide),
        lambda: polyrule.Table.from_array(wide),
    ):
        with pytest.raises(LimitError, match=f"{columns} columns, more than the 5000000"):
            use()


def test_a_callers_limit_counts_the_columns_of_a_sparse_matrix():
    with polyrule.limits(max_cells=100), pytest.raises(LimitError, match="101 cells"):
        polyrule.Table.from_array(sp.csr_array((3, 101)))


def test_dates_python_has_are_read():
    days = [datetime.date(9999, 12, 31)] * 15 + [datetime.date(1, 1, 1)] * 15
    fitted = polyrule.RuleListClassifier(teacher=None).fit(pa.table({"when": days}), [[1]] * 15 + [[0]] * 15)
    assert len(fitted.model_) == 1
