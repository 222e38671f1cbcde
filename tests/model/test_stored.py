"""Model files of every release load, print and predict as they did when they were written."""

import json
from pathlib import Path

import numpy as np
import pytest

from polyrule import Table
from polyrule.model.files import load
from polyrule.utils.version import __version__

STORED = Path(__file__).parent / "stored"
FILES = sorted(path for path in STORED.glob("*/*.json") if path.name != "expected.json")


def test_every_release_has_left_its_files():
    kinds = {path.stem for path in FILES if path.parent.name == "0.1.0"}
    assert {"list", "list-full", "list-single", "binary-relevance", "ensemble", "scorecard", "ensemble-sets"} <= kinds
    assert {"list-groups", "ensemble-groups"} <= kinds
    assert (STORED / __version__).is_dir() or ".dev" in __version__


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_predicts_as_it_did(path):
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))
    model = load(path)
    values = np.array(expected["examples"], dtype=np.float64)
    table = Table.from_array(values, model.features)
    told = expected["models"][path.stem]
    assert model.predict(table).tolist() == told["labels"]
    assert np.allclose(model.predict_proba(table), told["probabilities"], rtol=1e-12, atol=0)
    assert str(model).splitlines()[0] == told["text"].splitlines()[0]
