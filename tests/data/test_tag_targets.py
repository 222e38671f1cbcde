import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from polyrule.data.encode import read_target
from polyrule.errors import DataError

TEXTS = ["calm;sad", "sad", "happy", "calm;happy;sad", "", None]
LISTS = [["calm", "sad"], ["sad"], ["happy"], ["happy", "calm", "sad"], [], []]
WANTED = [[1, 0, 1], [0, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "given",
    [
        TEXTS,
        pd.Series(TEXTS, name="mood"),
        pl.Series("mood", TEXTS),
        pa.chunked_array([TEXTS]),
        np.array(TEXTS, dtype=object),
        [text and text.replace(";", " | ") for text in TEXTS],
        [text and text.replace(";", ", ") for text in TEXTS],
        LISTS,
        pd.Series(LISTS),
        pl.Series(LISTS),
        [set(labels) for labels in LISTS],
        [tuple(labels) for labels in LISTS],
        [np.array(labels, dtype=object) for labels in LISTS],
        [*LISTS[:4], [], None],
    ],
)
def test_labels_as_words_become_named_columns(given):
    target = read_target(given)
    assert target.kind == "multilabel"
    assert target.names == ("calm", "happy", "sad")
    assert target.truth.tolist() == WANTED


def test_rectangular_lists_of_words_are_labels_too():
    assert read_target([["a", "b"], ["b", "c"]]).truth.tolist() == [[1, 1, 0], [0, 1, 1]]


def test_given_names_say_which_labels_there_are():
    assert read_target(TEXTS, ["sad", "calm", "happy", "angry"]).truth[0].tolist() == [1, 1, 0, 0]
    with pytest.raises(DataError, match="'happy' is not among the given labels"):
        read_target(TEXTS, ["sad", "calm"])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_binarizer_brings_its_classes(sparse):
    binarizer = MultiLabelBinarizer(sparse_output=sparse)
    matrix = binarizer.fit_transform(LISTS)
    assert read_target(matrix, binarizer).names == ("calm", "happy", "sad")
    assert read_target(matrix, binarizer.classes_).names == ("calm", "happy", "sad")


@pytest.mark.parametrize(
    "classes",
    [
        ["Smith, John", "Miller, Jane", "Smith, John"],
        ["a;b", "a;b", "c;d"],
        ["yes", "no", "yes"],
        [0, 1, 2],
    ],
)
def test_classes_stay_classes(classes):
    assert read_target(classes).kind in ("binary", "multiclass")


def test_texts_of_zero_and_one_stay_a_matrix():
    assert read_target([["0", "1"], ["1", "true"]]).truth.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (pd.Series([0, 1, 1], name="churns"), ("churns",)),
        (pd.Series([False, True], name="churns"), ("churns",)),
        (pl.Series("churns", [0, 1]), ("churns",)),
        (pd.Series([0.0, 1.0]), ("y",)),
        ([0, 1], ("y",)),
        (pd.Series(["no", "yes"], name="churns"), ("yes",)),
        (pd.Series([1, 2, 3], name="grade"), ("grade 1", "grade 2", "grade 3")),
        (pd.Series([1, 2], name="grade"), ("grade 2",)),
        ([1, 2, 3], ("1", "2", "3")),
    ],
)
def test_a_series_gives_its_name_to_numbers(given, names):
    assert read_target(given).names == names
