"""Labels of data beside those of a model, found by name."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyrule import Dataset, RuleListClassifier, datasets
from polyrule.data.labels import arrange_labels
from polyrule.errors import DataError, DataWarning
from polyrule.report import build

Y = np.array([[1, 0, 2], [0, 1, 1], [0, 0, 1]], dtype=np.uint8)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_labels_are_found_by_name(form):
    found = arrange_labels(form(Y), ["a", "b", "c"], ["d", "c", "a"])
    dense = found.Y.toarray() if sp.issparse(found.Y) else found.Y
    assert dense.tolist() == [[0, 2, 1], [0, 1, 0], [0, 1, 0]]
    assert (found.lacking, found.strange, found.touched.tolist()) == (("d",), {"b": 1}, [False, True, False])


def test_a_label_that_no_example_has_is_not_named():
    found = arrange_labels(Y[:1], ["a", "b", "c"], ["a"])
    assert found.strange == {}
    assert not found.touched.any()  # the unknown c of the first example is no label that it has


def test_data_without_a_label_of_the_model_is_refused():
    with pytest.raises(DataError, match=r"songs: none of the model's labels \('z'\) is a label of the data"):
        arrange_labels(Y, ["a", "b", "c"], ["z"]).check("songs", "left out")


@pytest.fixture(scope="module")
def songs():
    train, test = (datasets.load("emotions", part=part) for part in ("train", "test"))
    model = RuleListClassifier(teacher=None, max_rules=4).fit(train)
    return model, test


def changed(test, names, columns):
    return Dataset(test.X, np.asarray(test.Y)[:, columns], tuple(names), "new songs")


def test_score_takes_labels_in_any_order(songs):
    model, test = songs
    back = changed(test, reversed(test.label_names), slice(None, None, -1))
    assert model.score(back) == model.score(test)  # and says nothing, for a warning is an error here


def test_score_counts_a_label_that_the_data_lacks_as_absent(songs):
    model, test = songs
    few = changed(test, test.label_names[:5], slice(5))
    with pytest.warns(DataWarning, match=f"new songs: no example has the label.*{test.label_names[5]}.*absent"):
        found = model.score(few)
    truth = np.asarray(test.Y).copy()
    truth[:, 5] = 0
    assert found == (truth == model.predict(test.X)).all(axis=1).mean()


def test_an_example_with_a_label_that_the_model_does_not_know_is_wrong(songs):
    model, test = songs
    strange = np.zeros(len(test), dtype=np.uint8)
    right = (np.asarray(test.Y) == model.predict(test.X)).all(axis=1)
    strange[np.flatnonzero(right)[:3]] = 1
    more = Dataset(test.X, np.column_stack([test.Y, strange]), (*test.label_names, "loud"), "new songs")
    with pytest.warns(
        DataWarning, match=r"does not know the label\(s\) 'loud' \(3\), and examples with it count as wrong"
    ):
        assert model.score(more) == (right.sum() - 3) / len(test)


def test_a_report_shows_what_the_model_knows(songs):
    model, test = songs
    few = changed(test, [*test.label_names[:4], "loud"], slice(5))
    with pytest.warns(DataWarning, match=r"absent; the model does not know the label\(s\) 'loud' \(.*left out"):
        build(model, data=few)
