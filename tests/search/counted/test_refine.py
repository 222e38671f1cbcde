"""Bins, and then the values inside them: the list of the learner that uses every value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.counted.test_engine import OBJECTIVES
from tests.search.counted.worlds import learn_both, local, packed_of
from tests.search.strategies import Problem, problems

from polyrule import RuleListClassifier, datasets, pack
from polyrule.measures import Objective, get
from polyrule.search.counted.refine import RefiningEngine
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine

#: more codes than any column of a problem has
WIDEST = 8


def refining(problem: Problem, objective: Objective, options: GrowOptions, most: int, blocks: int) -> RefiningEngine:
    packed = packed_of(problem, blocks, most, keep_values=True)
    return RefiningEngine(local(packed), packed, objective, options)


@pytest.mark.parametrize("objective", OBJECTIVES[:6] + OBJECTIVES[7:9] + OBJECTIVES[12:15], ids=str)
@settings(max_examples=5, deadline=None)
@given(problem=problems(max_rows=24, max_features=3, max_labels=4), most=st.integers(2, 4), blocks=st.integers(1, 3))
def test_every_objective(objective: Objective, problem: Problem, most: int, blocks: int) -> None:
    mine = refining(problem, objective, GrowOptions(), most, blocks)
    reference = ReferenceEngine(problem.table, problem.truth, problem.weights, objective, GrowOptions())
    learn_both(mine, reference, problem.seed)


@settings(max_examples=15, deadline=None)
@given(
    problem=problems(max_rows=24, max_features=3, max_labels=3),
    most=st.integers(2, 4),
    width=st.integers(1, 3),
    coverage=st.integers(0, 3),
    longest=st.sampled_from([None, 1, 2]),
    column_by_column=st.booleans(),
)
def test_every_option(problem, most, width, coverage, longest, column_by_column) -> None:
    options, objective = GrowOptions(width, True, coverage, longest), Objective(get("f0.5"))
    reference = ReferenceEngine(problem.table, problem.truth, problem.weights, objective, options)
    with pytest.MonkeyPatch.context() as patch:
        if column_by_column:  # the widest column, as one table of counts
            patch.setattr("polyrule.search.counted.engine.LARGEST_TABLE", WIDEST * problem.truth.shape[1] * 32)
        learn_both(refining(problem, objective, options, most, 2), reference, problem.seed)


def test_the_ordinary_list_from_few_bins(tmp_path) -> None:
    data = datasets.load("emotions", "train")
    options = {"max_rules": 5, "max_conditions": 3}
    plain = str(RuleListClassifier.paper(**options).fit(data).rules_)
    assert str(RuleListClassifier.paper(max_bins=16, **options).fit(data).rules_) != plain
    assert str(RuleListClassifier.paper(max_bins=16, refine=True, **options).fit(data).rules_) == plain
    frame = pd.DataFrame(np.asarray(data.X), columns=data.feature_names)
    frame[[f"y_{name}" for name in data.label_names]] = np.asarray(data.Y)
    store = pack(frame, out=tmp_path / "s", labels="y_*", max_bins=16, block_rows=100, keep_values=True)
    found = RuleListClassifier.paper(refine=True, n_jobs=2, **options).fit(store).rules_
    assert str(found).replace("y_", "") == plain
