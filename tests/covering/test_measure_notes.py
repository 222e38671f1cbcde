"""What is said and stored about the measure, whichever learner runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from polyrule import BinaryRelevanceRuleClassifier, RuleListClassifier, SeCoClassifier
from polyrule.data import Dataset
from polyrule.data.table import Table
from polyrule.errors import MeasureWarning
from polyrule.verification import verify


def _data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, (X[:, :2] > 0).astype(int)


def test_one_list_per_label_warns_of_a_measure_that_rewards_errors() -> None:
    with pytest.warns(MeasureWarning, match="rewards errors"):
        BinaryRelevanceRuleClassifier("fp - tp").fit(*_data())


@pytest.mark.parametrize("learner", [SeCoClassifier, partial(RuleListClassifier, teacher=None)])
def test_a_proof_about_the_measure_is_stored_and_checked(learner: Any) -> None:
    X, Y = _data()
    data = Dataset(Table.from_array(X), Y.astype(np.uint8), ("a", "b"))
    model = learner("tp**2 / (tp + fp)**2").fit(data).model_
    proof = model.info["measure_proof"]
    assert "the proof about the measure checked" in str(verify(model, data))
    model.info["measure_proof"] = {
        **proof,
        "kind": "anti-monotone" if proof["kind"] == "decomposable" else "decomposable",
    }
    assert verify(model, data).findings
