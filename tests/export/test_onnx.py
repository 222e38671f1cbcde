"""ONNX files give the labels and probabilities that the library gives, on hostile rows and names."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import ok, run
from tests.export.cases import cases, random_rows
from tests.report.worlds import random_data, random_ensemble

from polyrule.data import Feature, Table
from polyrule.errors import ModelError
from polyrule.export import export_onnx, onnx_inputs
from polyrule.model import Literal, MissingCondition, NominalCondition, NumericCondition, Rule, RuleList
from polyrule.model.decisions import KINDS

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def run_onnx(model, X):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(export_onnx(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, onnx_inputs(model, X)), strict=True))


def test_rule_lists_on_hostile_rows_and_names():
    for model, table, expected in cases():
        found = run_onnx(model, table)
        assert np.array_equal(found["labels"], expected), model.label_names
        assert np.array_equal(found["probabilities"], model.predict_proba(table))


def test_a_column_of_texts_without_a_known_one():
    features = (Feature("size"), Feature("hue", "nominal", ()))
    rules = tuple(Rule((Literal(k, 1),), (MissingCondition(1, missing),)) for k, missing in enumerate((True, False)))
    model = RuleList(rules, features, ("missing", "known"))
    assert run_onnx(model, Table.from_array([[1.0, np.nan]], features))["labels"].tolist() == [[1, 0]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_ensembles(kind, seed):
    model = random_ensemble(seed, kind)
    for table in (random_data(model, 80, seed).X, random_rows(model, 80, seed)):
        found = run_onnx(model, table)
        assert np.array_equal(found["scores"], model.scores(table))
        assert np.array_equal(found["labels"], model.predict(table))
        assert np.allclose(found["probabilities"], model.predict_proba(table), rtol=1e-12, atol=0)


def test_a_model_without_features_is_refused():
    with pytest.raises(ModelError, match="without features"):
        export_onnx(RuleList((Rule((Literal(0, 1),)),), (), ("red",)))


def test_names_types_and_metadata_are_those_of_the_model():
    features = (Feature("size"), Feature("hue", "nominal", ("dark", "")), Feature("idle"))
    rules = (Rule((Literal(0, 1),), (NominalCondition(1, 1), NumericCondition(0, ">", 0.5))),)
    model = RuleList(rules, features, ("red",))
    stored = onnx.load_from_string(export_onnx(model))
    inputs = {one.name: one.type.tensor_type.elem_type for one in stored.graph.input}
    assert inputs == {"size": onnx.TensorProto.DOUBLE, "hue": onnx.TensorProto.STRING}
    told = {entry.key: json.loads(entry.value) for entry in stored.metadata_props}
    assert told == {"polyrule.labels": ["red"], "polyrule.features": {"size": "size", "hue": "hue"}}
    frame = pd.DataFrame({"hue": ["", None, "", "neon"], "size": [1, 1, np.nan, np.inf]}).iloc[[0, 1, 2]]
    assert run_onnx(model, frame)["labels"].tolist() == [[1], [0], [0]]


def test_large_batches_and_one_row():
    model = random_ensemble(2)
    table = random_data(model, 3000, 5).X
    assert np.array_equal(run_onnx(model, table)["labels"], model.predict(table))
    assert run_onnx(model, table[0])["labels"].shape == (1, 5)


def test_the_command_writes_a_file(tmp_path):
    model = random_ensemble(3)
    model.save(tmp_path / "model.json")
    ok("export", str(tmp_path / "model.json"), "-o", str(tmp_path / "model.onnx"))
    assert onnx.load(tmp_path / "model.onnx").producer_name == "polyrule"
    refused = run("export", str(tmp_path / "model.json"), "--to", "onnx")
    assert refused.exit_code == 1
    assert "written to a file" in refused.stderr
