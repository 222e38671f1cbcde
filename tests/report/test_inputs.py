from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.report.worlds import random_data, random_model

from polyrule.data import Dataset, Feature, Table
from polyrule.errors import DataError, DataWarning, ModelError, OptionError
from polyrule.model import RuleList, files
from polyrule.model.rule_model import labelled
from polyrule.report.inputs import read_inputs


@pytest.fixture(scope="module")
def model():
    return random_model(7, rules=5)


def test_models_come_as_lists_mappings_files_and_estimators(model, tmp_path):
    path = tmp_path / "first model.json"
    files.save(model, path)

    class Fitted:
        model_ = model

    inputs = read_inputs([path, model, Fitted(), str(path)])
    assert inputs.names == ("first model", "list multi f0.5", "list multi f0.5 (2)", "first model (2)")
    assert read_inputs({"a": path}).names == ("a",)
    assert read_inputs(path).names == ("first model",)


def test_labels_are_brought_into_the_order_of_the_model(model):
    data = random_data(model, 12, 1)
    order = [3, 1, 0, 4, 2]
    shuffled = Dataset(data.X, np.asarray(data.Y)[:, order], tuple(data.label_names[k] for k in order))
    assert (read_inputs(model, shuffled).parts[0].truth == np.asarray(data.Y)).all()
    frame = pd.DataFrame(np.asarray(data.Y)[:, order], columns=[data.label_names[k] for k in order])
    assert (read_inputs(model, (data.X, frame)).parts[0].truth == np.asarray(data.Y)).all()
    assert (np.asarray(labelled(model, data.X, frame).Y) == np.asarray(data.Y)).all()


def test_labels_may_be_words(model):
    data = random_data(model, 12, 1)
    words = [";".join(model.label_names[k] for k in np.flatnonzero(row)) for row in np.asarray(data.Y)]
    assert (read_inputs(model, (data.X, words)).parts[0].truth == np.asarray(data.Y)).all()
    with pytest.warns(
        DataWarning, match=r"test: the model does not know the label\(s\) 'new' \(1\), which is left out"
    ):
        found = read_inputs(model, test=(data.X, [f"{words[0]};new", *words[1:]])).parts[0]
    assert (found.truth == np.asarray(data.Y)).all()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda m: read_inputs([]), OptionError, "at least one model"),
        (lambda m: read_inputs(object()), OptionError, "cannot report on object"),
        (lambda m: read_inputs([m, random_model(1)]), ModelError, "different features"),
        (lambda m: read_inputs([m, replace(m, label_names=tuple("abcde"))]), ModelError, "different labels"),
        (lambda m: read_inputs(m, 3), OptionError, "data must be a Dataset or a pair"),
        (lambda m: read_inputs(m, None, [1, 2, 3]), OptionError, "test must be a Dataset or a pair"),
        (lambda m: read_inputs(m, random_data(m, 0, 1)), DataError, "no examples"),
        (
            lambda m: read_inputs(m, replace(random_data(m, 3, 1), label_names=tuple("abcde"))),
            DataError,
            "none of the model's labels",
        ),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(model, given, error, words):
    with pytest.raises(error, match=words):
        given(model if words != "different features" else random_model(1, features=9))


def test_a_model_without_labels_has_nothing_to_show_on_data():
    model = RuleList((), (Feature("x"),), ())
    data = Dataset(Table.from_array(np.zeros((3, 1)), model.features), np.zeros((3, 0), dtype=np.uint8), ())
    with pytest.raises(ModelError, match="the model knows no label, so there is nothing to show on data"):
        read_inputs(model, data)
    with pytest.raises(ModelError, match="the list knows no label, so there is nothing to count"):
        model.recount(data)
