"""Leakage is impossible by construction: whatever the test part holds, the fitted model is the same."""

from dataclasses import replace

import numpy as np
import pytest

from polyrule.data.dataset import Dataset
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, OptionError
from polyrule.evaluation.experiment.recipe import Recipe, import_name, make_estimator
from polyrule.evaluation.experiment.spec import LearnerSpec

TREE = "sklearn.tree.DecisionTreeClassifier"


class Spy:
    """A learner that remembers everything it was given."""

    log: list

    def __init__(self, depth=0):
        self.depth = depth

    def fit(self, X, Y):
        Spy.log.append(("fit", self.depth, np.asarray(X)[:, 0].tolist()))
        self.width_ = Y.shape[1]
        return self

    def predict(self, X):
        rows = np.asarray(X).shape[0]
        Spy.log.append(("predict", self.depth, np.asarray(X)[:, 0].tolist()))
        # deeper is better, so that tuning has something to choose
        return np.full((rows, self.width_), 1 if self.depth == 2 else 0)


def data(rows=24):
    rng = np.random.default_rng(0)
    features = np.column_stack([np.arange(rows, dtype=float), rng.random(rows), rng.integers(0, 3, rows)])
    kinds = [Feature("id"), Feature("size"), Feature("hue", "nominal", ("red", "green", "blue"))]
    labels = (rng.random((rows, 3)) < 0.7).astype(np.uint8)
    return Dataset(Table.from_array(features, kinds), labels, ("a", "b", "c"))


@pytest.fixture
def spy(monkeypatch):
    Spy.log = []
    monkeypatch.setattr("polyrule.evaluation.experiment.recipe.import_name", lambda path: Spy)
    return LearnerSpec("spy", "spy.Spy", input="matrix", tune={"depth": [1, 2, 3]}, tune_folds=3)


def test_tuning_sees_the_training_part_only(spy):
    train = data()[range(18)]
    fitted = Recipe(spy).fit(train)
    assert fitted.parameters == {"depth": 2}
    assert Spy.log[-1] == ("fit", 2, list(range(18)))
    seen = {value for _, _, values in Spy.log for value in values}
    assert seen == set(range(18))
    # inside: three values of depth, three folds, and no fold is predicted by a model that saw it
    inner = Spy.log[:-1]
    assert len(inner) == 18
    for (_, depth, fitted_on), (_, _, predicted) in zip(inner[::2], inner[1::2], strict=True):
        assert depth in (1, 2, 3)
        assert not set(fitted_on) & set(predicted)


def test_an_unknown_label_is_no_third_class_to_a_foreign_learner():
    train = data()
    train.Y[0, 0] = UNKNOWN
    with pytest.raises(DataError, match="DecisionTreeClassifier needs every label to be known"):
        Recipe(LearnerSpec("tree", TREE)).fit(train)


def test_a_loss_is_tuned_downwards(spy):
    fitted = Recipe(replace(spy, tune_measure="hamming_loss")).fit(data())
    assert fitted.parameters == {"depth": 2}


def test_preparation_is_fitted_inside_each_inner_fold(monkeypatch):
    sizes = []

    class Watched:
        def __init__(self, bins):
            pass

        def fit(self, X):
            sizes.append(len(X))
            return self

        def transform(self, X):
            return X

    monkeypatch.setattr("polyrule.evaluation.experiment.recipe.EqualFrequencyDiscretiser", Watched)
    learner = LearnerSpec("tree", TREE, {"random_state": 0}, tune={"max_depth": [1, 2]}, tune_folds=2)
    Recipe(learner, discretise=4).fit(data()[range(18)])
    # two folds of nine for each of two values, then once on the whole training part
    assert len(sizes) == 5
    assert sum(sizes[:2]) == sum(sizes[2:4]) == 18
    assert sizes[4] == 18


@pytest.mark.parametrize("discretise", [None, 4])
@pytest.mark.parametrize("tune", [{}, {"max_depth": [1, 2, 3]}])
def test_the_model_does_not_depend_on_the_test_part(discretise, tune):
    """Fit on rows 0-17, once with the true rest and once with a rest full of extreme values and flipped labels."""
    original = data()
    spoiled_values = np.array(original.X.values)
    spoiled_values[18:, :2] = 1e9
    spoiled_labels = original.Y.copy()
    spoiled_labels[18:] = 1 - spoiled_labels[18:]
    spoiled = Dataset(Table.from_array(spoiled_values, original.features), spoiled_labels, original.label_names)
    recipe = Recipe(LearnerSpec("tree", TREE, {"random_state": 0}, tune=tune), discretise)
    predictions = []
    for whole in (original, spoiled):
        fitted = recipe.fit(whole[range(18)])
        predictions.append(np.asarray(fitted.predict(original.X)))
    assert (predictions[0] == predictions[1]).all()


def test_discretising_and_encoding_go_together():
    train = data()[range(18)]
    fitted = Recipe(LearnerSpec("tree", TREE, {"random_state": 0}), discretise=3).fit(train)
    assert fitted.predict(train.X).shape == (18, 3)
    assert {category for _, category in fitted.steps[-1].columns_} == {0, 1, 2}


def test_a_table_reaches_learners_that_ask_for_it():
    received = []

    class TableLearner:
        def fit(self, X, Y):
            received.append(type(X))
            return self

    learner = LearnerSpec("t", "x.Y", input="table")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyrule.evaluation.experiment.recipe.import_name", lambda path: TableLearner)
        Recipe(learner).fit(data())
    assert received == [Table]


def test_nested_classes_become_objects():
    each = make_estimator("sklearn.multioutput.MultiOutputClassifier", {"estimator": {"class": TREE, "max_depth": 2}})
    assert each.estimator.max_depth == 2


@pytest.mark.parametrize("path", ["tree", "sklearn.tree.import os", "a..b", ""])
def test_names_are_names(path):
    with pytest.raises(OptionError, match="is not the full name of a class"):
        import_name(path)


def test_missing_names():
    with pytest.raises(OptionError, match=r"sklearn\.tree has no 'Shrub'"):
        import_name("sklearn.tree.Shrub")
    with pytest.raises(ModuleNotFoundError):
        import_name("no_such_package.Thing")
