"""Texts, lists and categories are told apart by their cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from polyrule.data import to_table
from polyrule.data.recognize import find_list_separator

rng = np.random.default_rng(0)
N = 200
WORDS = [
    "machine",
    "door",
    "window",
    "engine",
    "broken",
    "loud",
    "cold",
    "stopped",
    "leaks",
    "again",
    "today",
    "morning",
]
SHOPS = ["Supermarket", "Farmers market", "Online", "National chain (e.g. A, B)"]
AMOUNTS = ["Less than $1,000", "$1,000 to $2,000", "More than $2,000"]


def one(options=WORDS):
    return rng.choice(options)


def some(options, low, high):
    return list(rng.permutation(options)[: rng.integers(low, high + 1)])


CASES = {
    "running text": ([" ".join(rng.choice(WORDS, 8)) for _ in range(N)], "text", ""),
    "clauses with commas": ([f"{one()} is {one()} now, {one()} not" for _ in range(N)], "text", ""),
    "a survey's lists": ([", ".join(some(SHOPS, 1, 3)) for _ in range(N)], "list", ","),
    "lists with bars": (["|".join(some(SHOPS, 1, 3)) for _ in range(N)], "list", "|"),
    "lists with semicolons and commas": (["; ".join(some(["a, b", "c", "d"], 1, 3)) for _ in range(N)], "list", ";"),
    "lists in JSON": ([str(some(["a", "b", "c"], 0, 3)).replace("'", '"') for _ in range(N)], "list", "[]"),
    "categories": ([rng.choice(SHOPS) for _ in range(N)], "nominal", ""),
    "amounts with commas": ([rng.choice(AMOUNTS) for _ in range(N)], "ordinal", ""),
    "names, last first": ([f"{one(['Smith', 'Miller'])}, {one(['Ann', 'Bob'])}" for _ in range(N)], "nominal", ""),
    "keys": ([f"K-{j}" for j in range(N)], "nominal", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_cells_tell_the_kind(case):
    cells, kind, separator = CASES[case]
    feature = to_table(pd.DataFrame({"column": cells})).features[0]
    assert (feature.kind, feature.separator) == (kind, separator)
    shuffled = to_table(pd.DataFrame({"column": rng.permutation(cells)})).features[0]
    assert shuffled == feature


def test_declared_categories_stay_categories():
    cells = pd.Series(CASES["running text"][0], dtype="category")
    assert to_table(pd.DataFrame({"column": cells})).features[0].kind == "nominal"


def test_few_rows_stay_categories():
    assert to_table(pd.DataFrame({"column": CASES["running text"][0][:19]})).features[0].kind == "nominal"


def test_lists_of_many_names_need_not_recur():
    cast = [", ".join(rng.choice([f"First{j} Last{j}" for j in range(400)], 8, replace=False)) for _ in range(N)]
    assert find_list_separator(sorted(set(cast)), np.ones(len(set(cast)), dtype=int)) == ","
