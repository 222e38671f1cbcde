"""Relations found in labels, and examples that break one, with counts."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.data import Dataset, Table
from polyrule.errors import DataError
from polyrule.relations import find, read
from polyrule.relations.data import broken, check_data

NAMES = ("lung disease", "pneumonia", "asthma", "benign", "malignant", "noise")


def labels(rows: int = 400, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    pneumonia, asthma = rng.random(rows) < 0.2, rng.random(rows) < 0.3
    lung = pneumonia | asthma | (rng.random(rows) < 0.1)
    benign = rng.random(rows) < 0.6
    malignant = ~benign & (rng.random(rows) < 0.8)
    return np.column_stack([lung, pneumonia, asthma, benign, malignant, rng.random(rows) < 0.4]).astype(np.uint8)


def data(Y: np.ndarray, names: tuple[str, ...] = NAMES) -> Dataset:
    return Dataset(Table.from_array(np.zeros((len(Y), 1))), Y, names, name="d")


def test_relations_that_hold_are_found_and_no_others() -> None:
    assert find(data(labels())) == (
        "pneumonia => lung disease",
        "asthma => lung disease",
        "benign, malignant: at most one",
    )


def test_what_follows_from_others_is_left_out() -> None:
    Y = labels(600)
    severe = (Y[:, 2] == 1) & (np.arange(600) % 2 == 0)
    Y = np.column_stack([Y, severe, (Y[:, 4] == 1) & (np.arange(600) % 3 > 0)])
    found = find(data(Y, (*NAMES, "severe", "metastasis")))
    assert "severe => asthma" in found
    assert "severe => lung disease" not in found
    assert "metastasis => malignant" in found
    assert [one for one in found if "most" in one] == ["benign, malignant: at most one"]


def test_one_label_per_example() -> None:
    rng = np.random.default_rng(1)
    Y = np.eye(5, dtype=np.uint8)[rng.choice(5, 500, p=[0.5, 0.3, 0.15, 0.03, 0.02])]
    assert find(data(Y, tuple("abcde"))) == ("a, b, c, d, e: exactly one",)


def test_nothing_is_found_in_unrelated_labels() -> None:
    found = [find(data((np.random.default_rng(s).random((200, 12)) < 0.2).astype(np.uint8), tuple("abcdefghijkl")))
             for s in range(60)]  # fmt: skip
    assert sum(map(bool, found)) <= 3


def test_broken_relations_are_refused_with_counts() -> None:
    Y = labels()
    Y[:3, :3] = [0, 1, 0]
    relations = read(["pneumonia => lung disease", "benign, malignant: exactly one", "asthma => lung disease"], NAMES)
    n_first, n_second = int(Y[:, 1].sum()), int((Y[:, 3:5].sum(axis=1) != 1).sum())
    with pytest.raises(DataError) as error:
        check_data(relations, Y, NAMES)
    assert f"'pneumonia => lung disease' in 3 of {n_first} examples" in str(error.value)
    assert f"'benign, malignant: exactly one' in {n_second} of 400 examples" in str(error.value)
    assert "'asthma => lung disease'" not in str(error.value)


def test_an_unknown_label_breaks_nothing() -> None:
    Y = np.array([[1, 2], [2, 0], [2, 2], [0, 2]], dtype=np.uint8)
    for text in ("a => b", "a, b: at most one", "a, b: exactly one"):
        assert broken(read(text, ("a", "b"))[0], Y)[0] == 0
