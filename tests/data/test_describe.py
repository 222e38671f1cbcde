import io

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule import datasets
from polyrule.data import Dataset, Feature, Table, read
from polyrule.data.describe import row_keys

NAN = float("nan")


def make(columns: dict, labels, sparse: bool = False) -> Dataset:
    features = [
        Feature(n, "nominal", tuple(map(str, range(100)))) if n.startswith("c") else Feature(n) for n in columns
    ]
    values = np.array(list(columns.values()), dtype=float).T
    labels = np.array(labels, dtype=np.uint8)
    table = Table.from_array(sp.csc_array(values) if sparse else values, features)
    return Dataset(table, labels, tuple(f"L{k}" for k in range(labels.shape[1])), "toy")


def kinds(description) -> dict:
    return {finding.kind: finding.names for finding in description.findings}


@pytest.mark.parametrize("sparse", [False, True])
def test_every_finding(sparse):
    rows = 30
    labels = np.zeros((rows, 5), dtype=np.uint8)
    labels[:15, 0] = labels[:15, 1] = 1
    labels[:, 3] = 1
    labels[::2, 4] = 1
    columns = {
        "c_id": np.arange(rows),
        "number": np.arange(rows) + 100,
        "measured": np.linspace(0, 1, rows),
        "same": np.full(rows, 7.0),
        "gone": np.where(np.arange(rows) < 20, NAN, np.arange(rows) % 2),
        "leak": labels[:, 4],
    }
    found = kinds(make(columns, labels, sparse).describe())
    assert found == {
        "identifier-like feature": ("c_id", "number"),
        "constant feature": ("same",),
        "missing values": ("gone",),
        "feature equals label": ("leak",),
        "never-present label": ("L2",),
        "always-present label": ("L3",),
        "identical labels": ("L0", "L1"),
    }


@pytest.mark.parametrize("sparse", [False, True])
def test_numbers(sparse):
    data = make({"a": [0, 1, 1, NAN], "c": [0, 1, 1, 2]}, [[1, 0], [0, 0], [0, 0], [1, 1]], sparse)
    description = data.describe()
    assert (description.examples, description.numeric, description.nominal, description.labels) == (4, 1, 1, 2)
    assert description.missing == 1 / 8
    assert description.cardinality == 3 / 4
    assert description.density == 3 / 8
    assert description.label_sets == 3
    assert description.label_counts == (2, 1)
    assert kinds(description) == {"examples without label": (), "duplicate examples": ()}
    assert "2 of 4 examples have no label" in str(description)
    assert description.frame()["present"].tolist() == [2, 1]


def test_test_examples_in_train():
    train = make({"a": [1, 2, NAN]}, [[1], [0], [1]])
    test = make({"a": [2, NAN, 5]}, [[1], [0], [1]])
    found = [finding.message for finding in train.describe(test).findings if finding.kind == "test examples in train"]
    assert found == ["2 of 3 test examples have the same features as a training example"]
    assert "test examples in train" not in kinds(train.describe(test[[2]]))


@pytest.mark.benchmark_data
def test_genbases_mistakes_are_found(benchmark_root):
    train, test = datasets.load("genbase", "train"), datasets.load("genbase", "test")
    found = kinds(train.describe(test))
    assert found["identifier-like feature"] == ("protein",)
    assert "test examples in train" in found


def test_nothing_to_say_about_nothing():
    empty = Dataset(Table.from_array(np.empty((0, 2))), np.empty((0, 1), dtype=np.uint8), ("L",), "empty")
    description = empty.describe()
    assert description.cardinality == 0
    assert "empty" in str(description)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, NAN]), min_size=2, max_size=2), min_size=1, max_size=6))
def test_row_keys_say_which_rows_are_equal(rows):
    matrix = np.array(rows)
    for keys in (row_keys(matrix), row_keys(sp.csr_array(matrix))):
        for i in range(len(rows)):
            for j in range(len(rows)):
                equal = np.array_equal(matrix[i], matrix[j], equal_nan=True)
                assert (keys[i] == keys[j]) == equal


@pytest.mark.parametrize("sparse", [False, True])
def test_unknown_labels_are_counted_apart(sparse):
    Y = np.array([[1, 0], [1, 2], [2, 0], [1, 0], [0, 0]], dtype=np.uint8)
    Y[4, 0] = 1
    data = Dataset(Table.from_array(np.arange(10.0).reshape(5, 2)), sp.csr_array(Y) if sparse else Y, ("a", "b"))
    found = data.describe()
    assert found.label_counts == (4, 0)
    messages = [finding.message for finding in found.findings]
    assert "2 of 10 labels are unknown" in messages
    assert "label 'a' is always present" in messages
    assert "label 'b' is never present" in messages


def test_what_nobody_wrote_is_no_finding():
    rows = "".join(f"2024-03-{number + 1:02},{number % 3},7,{number % 2}\n" for number in range(28))
    data = read(io.BytesIO(f"on,size,same,sick\n{rows}".encode()), labels=["sick"])
    assert [feature.name for feature in data.features if feature.derived is not None] == [
        "on year",
        "on month",
        "on weekday",
    ]
    assert kinds(data.describe())["constant feature"] == ("same",)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_preview_does_not_show_an_unknown_label_as_present(sparse):
    Y = np.array([[1, 2], [2, 2], [0, 1], [0, 0]], dtype=np.uint8)
    labels = sp.csr_array(Y) if sparse else Y
    shown = Dataset(Table.from_array(np.ones((4, 1))), labels, ("calm", "sad"))._repr_html_()
    cells = [row.split("<td>")[-1].split("</td>")[0] for row in shown.split("<tr>")[2:]]
    assert cells == ["calm, 1 unknown", "2 unknown", "sad", "none"]


def test_test_examples_are_compared_by_category_and_not_by_its_number():
    train = read(io.BytesIO(b"hue,size,sick\nblue,1,0\nred,2,1\n"), labels=["sick"])
    test = read(io.BytesIO(b"hue,size,sick\ngreen,1,0\nred,2,1\nyellow,1,0\n"), labels=["sick"])
    told = kinds(train.describe(test))
    assert "test examples in train" in told
    messages = [finding.message for finding in train.describe(test).findings]
    assert "1 of 3 test examples have the same features as a training example" in messages
