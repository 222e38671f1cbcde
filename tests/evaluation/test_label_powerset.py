import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from polyrule.evaluation.label_powerset import LabelPowersetClassifier


def test_predicts_only_label_sets_seen_in_training():
    rng = np.random.default_rng(0)
    features, labels = rng.random((80, 3)), (rng.random((80, 5)) < 0.4).astype(int)
    model = clone(LabelPowersetClassifier(RandomForestClassifier(5, random_state=0))).fit(features, labels)
    seen = {tuple(row) for row in labels}
    assert all(tuple(row) in seen for row in model.predict(rng.random((40, 3))))


def test_learns_the_training_sets_by_heart():
    labels = np.array([[0, 1], [1, 1], [0, 0], [1, 1]])
    features = np.arange(4.0)[:, None]
    model = LabelPowersetClassifier(DecisionTreeClassifier(random_state=0)).fit(features, labels)
    assert (model.predict(features) == labels).all()


def test_a_single_label_set_needs_no_classifier():
    model = LabelPowersetClassifier(DecisionTreeClassifier()).fit([[0.0], [1.0]], [[1, 0], [1, 0]])
    assert model.predict([[5.0]]).tolist() == [[1, 0]]
