"""The estimator as users meet it."""

from __future__ import annotations

import dataclasses
import pickle
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.ensemble.worlds import random_table

from polyrule import Table, config_context, datasets
from polyrule.conditions import NumericCondition, flatten
from polyrule.data import Feature
from polyrule.errors import DataError, ModelError, OptionError, UnseenCategoryWarning
from polyrule.estimators.ensemble import RuleEnsembleClassifier
from polyrule.estimators.ensemble import _options_of as options_of
from polyrule.utils.compute import ONE_THREAD, native

pytestmark = pytest.mark.usefixtures("few_trees")
REASON = "the teacher's bootstrap samples are drawn from rows, so a row twice is not a row of weight two"
FAILING = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


@parametrize_with_checks(
    [
        RuleEnsembleClassifier(max_rules=2, cv=2, max_bins=16, teacher=None),
        RuleEnsembleClassifier(max_rules=2, cv=0, max_bins=16),
    ],
    expected_failed_checks=lambda estimator: FAILING if estimator.teacher else {},
)
def test_scikit_learn_conventions(estimator, check) -> None:
    check(estimator)


def planted(rows: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three labels with planted rules and some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6)).round(2)
    Y = np.stack([X[:, 0] > 0, (X[:, 0] > 0) & (X[:, 1] > 0.2), X[:, 2] > 0.5], axis=1)
    return X, (Y ^ (rng.random(Y.shape) < 0.03)).astype(int)


@pytest.fixture(scope="module")
def fitted(few_trees) -> tuple[RuleEnsembleClassifier, np.ndarray, np.ndarray]:
    X, Y = planted()
    return RuleEnsembleClassifier(max_rules=6).fit(X, Y, label_names=["calm", "sad", "happy"]), X, Y


def test_planted_rules_are_found(fitted) -> None:
    clf, _, _ = fitted
    X, Y = planted(500, seed=1)
    assert f1_score(Y, clf.predict(X), average="micro") > 0.88
    used = {clf.model_.features[c.feature].name for rule in clf.model_ for c in flatten(rule.body)}
    assert {"x0", "x1", "x2"} <= used


def test_probabilities_are_calibrated(fitted) -> None:
    clf, _, _ = fitted
    X, Y = planted(2000, seed=2)
    chances = clf.predict_proba(X)
    for low in (0.0, 0.5):
        inside = (chances >= low) & (chances < low + 0.5)
        assert Y[inside].mean() == pytest.approx(chances[inside].mean(), abs=0.08)


def test_limits_hold(fitted) -> None:
    clf, X, Y = fitted
    assert 1 <= len(clf.model_) <= 6
    assert max(len(rule.body) for rule in clf.model_) <= 4
    assert len(clone(clf).set_params(max_rules=0).fit(X, Y).model_) == 0


def same(a: RuleEnsembleClassifier, b: RuleEnsembleClassifier) -> bool:
    first, second = a.model_, b.model_
    return (first.rules, first.intercepts, first.decision) == (second.rules, second.intercepts, second.decision)


def test_threads_and_repetition_change_nothing(fitted) -> None:
    clf, X, Y = fitted
    assert same(clf, clone(clf).fit(X, Y))
    assert same(clf, clone(clf).set_params(n_jobs=3).fit(X, Y))


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
@pytest.mark.parametrize("seed", [0, 1])
def test_both_kernels_learn_the_same_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, 80)
    size = np.nan_to_num(table.column(0))
    Y = np.stack([size > 0, table.column(2) == 1, rng.random(80) < 0.3], axis=1).astype(int)
    learner = RuleEnsembleClassifier(max_rules=6, cv=2)
    models = []
    for kernels in ("native", "reference"):
        with config_context(kernels=kernels):
            models.append(clone(learner).fit(table, Y))
    assert same(*models)


def test_missing_nominal_and_sparse_features() -> None:
    rng = np.random.default_rng(0)
    hue = rng.choice(["red", "green", "blue"], 120)
    size = rng.normal(size=120)
    Y = np.stack([hue == "red", (hue == "green") | (size > 0.5)], axis=1).astype(int)
    size[rng.random(120) < 0.2] = np.nan
    frame = pd.DataFrame({"hue": hue, "size": size})
    clf = RuleEnsembleClassifier(max_rules=6).fit(frame, pd.DataFrame(Y, columns=["a", "b"]))
    assert clf.label_names_ == ("a", "b")
    assert (clf.predict(frame) == Y).mean() > 0.9
    unseen = pd.DataFrame({"hue": ["violet", None], "size": [np.nan, 1.0]})
    with pytest.warns(UnseenCategoryWarning, match="violet"):
        assert clf.predict(unseen).shape == (2, 2)


def test_sparse_and_dense_tables_give_the_same_model() -> None:
    rng = np.random.default_rng(0)
    words = (rng.random((150, 20)) < 0.15).astype(float)
    Y = np.stack([words[:, 0] + words[:, 1] > 0, words[:, 2] > 0], axis=1).astype(int)
    learner = RuleEnsembleClassifier(max_rules=5, cv=2)
    dense, sparse = clone(learner).fit(words, Y), clone(learner).fit(sp.csr_matrix(words), sp.csr_matrix(Y))
    assert same(dense, sparse)
    assert sp.issparse(sparse.predict(sp.csr_array(words)))
    assert (dense.predict(words) == Y).mean() > 0.95


def test_a_table_too_large_to_be_taught_is_learned_without(monkeypatch) -> None:
    from polyrule.ensemble import fold_model

    X, Y = planted()
    plain = RuleEnsembleClassifier(max_rules=4, cv=2, teacher=None).fit(X, Y)
    monkeypatch.setattr(fold_model, "_MAX_CELLS", 10)
    assert same(plain, RuleEnsembleClassifier(max_rules=4, cv=2).fit(X, Y))


@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"]])
def test_one_dimensional_targets(classes: list[str]) -> None:
    X, _ = planted()
    y = np.array(classes)[np.digitize(X[:, 0], [-0.4, 0.4][: len(classes) - 1])]
    clf = RuleEnsembleClassifier(max_rules=6, cv=2).fit(X, y)
    assert (clf.predict(X) == y).mean() > 0.9
    assert clf.predict_proba(X).shape == (len(X), len(classes))
    assert clf.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_scorecards_have_whole_points(fitted) -> None:
    _, X, Y = fitted
    clf = RuleEnsembleClassifier(max_rules=5, points=4).fit(X, Y)
    weights = [entry.weight for rule in clf.model_ for entry in rule.head]
    assert clf.model_.is_scorecard
    assert clf.model_.decision.kind in ("threshold", "per-label")
    assert max(map(abs, weights)) <= 4
    assert f1_score(Y, clf.predict(X), average="micro") > 0.9
    assert ".00" not in str(clf.model_).split("log-odds")[0]


def test_a_decision_can_be_changed_without_refitting(fitted) -> None:
    clf, X, _ = fitted
    changed = pickle.loads(pickle.dumps(clf)).tune_decision(optimize="subset", decision="subset")
    assert changed.model_.decision.kind == "subset"
    assert changed.model_.rules == clf.model_.rules
    seen = {tuple(row) for row in planted()[1]}
    assert {tuple(row) for row in changed.predict(X)} <= seen


def test_a_higher_price_gives_shorter_heads() -> None:
    X, Y = planted()
    heads = [
        RuleEnsembleClassifier(max_rules=6, cv=0, label_cost=cost).fit(X, Y).model_.statistics()["labels_per_head"]
        for cost in (0.0, 3.0)
    ]
    assert heads[0] > heads[1]


@pytest.mark.parametrize("wanted", [1, 1.5, 3])
def test_heads_are_as_short_as_asked(wanted: float) -> None:
    X, Y = planted()
    wide = np.hstack([Y, 1 - Y, Y[:, ::-1]])
    clf = RuleEnsembleClassifier(max_rules=6, cv=2, labels_per_head=wanted).fit(X, wide)
    assert 0 < clf.model_.statistics()["labels_per_head"] <= wanted + 1e-9


def test_callback_hears_of_every_phase_and_rule_and_can_stop() -> None:
    X, Y = planted()
    heard = []
    RuleEnsembleClassifier(max_rules=4, cv=2).fit(X, Y, callback=heard.append)
    rules = [p.rules for p in heard if p.part == 0 and p.phase == "rules" and p.rules and p.done < 0.9]
    assert rules[:-1] == list(range(1, 5))  # one build; then rules are removed, if they are redundant
    assert rules[-1] <= 4
    phases = list(dict.fromkeys(p.phase for p in heard))
    assert phases == [
        "teacher",
        "rules",
        "fold 1 of 2: teacher",
        "fold 1 of 2: rules",
        "fold 2 of 2: teacher",
        "fold 2 of 2: rules",
        "decision",
    ]
    done = [p.done for p in heard]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] > 0.9
    stopped = RuleEnsembleClassifier(max_rules=9, cv=0).fit(X, Y, callback=lambda p: p.rules == 2)
    assert len(stopped.model_) == 2
    assert stopped.stopped_reason_ == "callback"


def test_an_interrupt_keeps_the_rules_so_far_and_says_so_where_there_are_none(caplog) -> None:
    X, Y = planted()

    def interrupt_at(rules: int, phase: str):
        def act(progress) -> None:
            if progress.rules == rules and progress.phase == phase:
                raise KeyboardInterrupt

        return act

    clf = RuleEnsembleClassifier(max_rules=5, cv=2)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y, callback=interrupt_at(2, "rules"))
    assert clf.stopped_reason_ == "interrupted"
    assert len(clf.model_) == 2
    assert clf.predict(X).shape == Y.shape
    late = RuleEnsembleClassifier(max_rules=5, cv=2)
    with pytest.raises(KeyboardInterrupt):
        late.fit(X, Y, callback=interrupt_at(1, "fold 2 of 2: rules"))
    assert len(late.model_) == 5
    early = RuleEnsembleClassifier(max_rules=5, cv=2)
    with pytest.raises(KeyboardInterrupt, match="before there was a rule"):
        early.fit(X, Y, callback=interrupt_at(0, "teacher"))
    assert not hasattr(early, "model_")


def test_a_time_limit_ends_the_search_for_rules() -> None:
    X, Y = planted()

    def dawdle(progress) -> None:
        if progress.phase == "rules" and progress.rules == 2:
            time.sleep(3.1)

    clf = RuleEnsembleClassifier(max_rules=9, cv=0, teacher=None, time_limit=3.0).fit(X, Y, callback=dawdle)
    assert clf.stopped_reason_ == "time_limit"
    assert 0 < len(clf.model_) < 9
    with pytest.raises(OptionError, match="time_limit"):
        RuleEnsembleClassifier(time_limit=0).fit(X, Y)


class Clock:
    """Time that passes only when somebody looks: every piece of work between two looks takes one second."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> float:
        self.now += 1
        return float(self.now)


@pytest.mark.parametrize("limit", [30, 80, 200])
@pytest.mark.parametrize("options", [{}, {"teacher": None}, {"points": 5, "cv": 2}])
def test_a_time_limit_is_kept_within_a_tenth(monkeypatch, limit: int, options: dict) -> None:
    X, Y = planted()
    clock = Clock()
    monkeypatch.setattr("polyrule.ensemble.schedule._monotonic", clock)
    clf = RuleEnsembleClassifier(max_rules=60, time_limit=limit, **options).fit(X, Y)
    assert clock.now <= 1.1 * limit
    assert len(clf.model_) >= 1
    if clf.stopped_reason_ == "complete":
        assert same(clf, RuleEnsembleClassifier(max_rules=60, **options).fit(X, Y))
    else:
        assert clf.stopped_reason_ == "time_limit"
        assert clock.now >= 0.5 * limit  # what there is is used


def test_folds_may_come_from_a_splitter() -> None:
    X, Y = planted()
    splitter = KFold(3, shuffle=True, random_state=0)
    clf = RuleEnsembleClassifier(max_rules=3, cv=splitter, teacher=None).fit(X, Y)
    listed = RuleEnsembleClassifier(max_rules=3, cv=list(splitter.split(X)), teacher=None).fit(X, Y)
    assert same(clf, listed)
    with pytest.raises(OptionError, match="cv"):
        RuleEnsembleClassifier(max_rules=3, cv=[([0], [999])]).fit(X, Y)


def test_row_numbers_of_folds_count_examples_of_weight_zero_too() -> None:
    X, Y = planted()
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    few = np.sort(np.random.default_rng(0).permutation(len(X))[:100])
    weights = np.zeros(len(X))
    weights[few] = 1
    place = {row: number for number, row in enumerate(few.tolist())}
    left = [tuple([place[row] for row in rows.tolist() if row in place] for rows in pair) for pair in folds]
    options = {"max_rules": 3, "teacher": None}
    whole = RuleEnsembleClassifier(cv=folds, **options).fit(X, Y, sample_weight=weights)
    assert same(whole, RuleEnsembleClassifier(cv=left, **options).fit(X[few], Y[few]))


@pytest.mark.parametrize(("labels", "rules"), [(2, 30), (45, 45), (900, 100)])
def test_the_default_number_of_rules_follows_the_number_of_labels(labels: int, rules: int) -> None:
    assert options_of(RuleEnsembleClassifier(), labels, ONE_THREAD).build.max_rules == rules
    assert options_of(RuleEnsembleClassifier(7), labels, ONE_THREAD).build.max_rules == 7


def test_labels_that_no_rule_weights_are_stated() -> None:
    X, Y = planted()
    clf = RuleEnsembleClassifier(max_rules=1, labels_per_head=1, cv=2).fit(X, Y)
    (rule,) = clf.model_.rules
    weighted = {clf.label_names_[entry.label] for entry in rule.head}
    assert clf.labels_without_rules_ == clf.model_.labels_without_rules
    assert sorted([*weighted, *clf.labels_without_rules_]) == ["y0", "y1", "y2"]


@pytest.mark.parametrize(("rows", "least"), [(30, 3), (120, 5)])
def test_a_rule_covers_at_least_five_rows_or_a_tenth_unless_fewer_are_asked_for(rows: int, least: int) -> None:
    """Whatever the rows weigh: two people of weight 40 are two people."""
    rare = np.arange(rows) < 2
    X = np.column_stack([rare, np.arange(rows) % 7, np.arange(rows) % 2]).astype(float)
    Y = np.column_stack([rare, X[:, 2] > 0]).astype(int)
    weights = np.where(rare, 40.0, 1.0)
    options = {"max_rules": 30, "cv": 0, "teacher": None}
    auto, fewer = (
        RuleEnsembleClassifier(min_coverage=given, **options).fit(X, Y, sample_weight=weights).model_
        for given in ("auto", 1)
    )
    smallest = [model.fired(Table.from_array(X, model.features)).sum(axis=0).min() for model in (auto, fewer)]
    assert smallest[0] >= least
    assert smallest[1] == 2


def test_explanations_and_paths(fitted) -> None:
    clf, X, _ = fitted
    found = clf.explain(X, 3)
    assert [item.value for item in found.labels] == clf.predict(X[[3]])[0].tolist()
    assert np.flatnonzero(clf.decision_path(X)[3].toarray()).tolist() == list(found.fired)
    with pytest.raises(DataError, match="row 999"):
        clf.explain(X, 999)


def test_label_never_or_always_present() -> None:
    X, Y = planted()
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int), np.ones(len(Y), dtype=int)])
    clf = RuleEnsembleClassifier(max_rules=4, cv=2).fit(X, Y)
    assert clf.predict(X)[:, 3].max() == 0
    assert clf.predict(X)[:, 4].min() == 1


def test_works_in_cross_validation() -> None:
    X, Y = planted()
    predicted = cross_val_predict(RuleEnsembleClassifier(max_rules=4, cv=2), X, Y, cv=2)
    assert f1_score(Y, predicted, average="micro") > 0.85


def test_datasets_bring_their_labels() -> None:
    data = datasets.load("emotions", part="train")
    clf = RuleEnsembleClassifier(max_rules=3, cv=2).fit(data)
    assert clf.label_names_ == data.label_names
    assert clf.predict(data.X[:5]).shape == (5, 6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_rules": -1},
        {"max_rules": 2.5},
        {"max_conditions": 0},
        {"label_cost": -1},
        {"ridge": "strong"},
        {"ridge": 0},
        {"teacher": "me"},
        {"decision": "coin"},
        {"optimize": "luck"},
        {"points": -3},
        {"max_bins": 1},
        {"constraints": "x0"},
        {"cv": "many"},
        {"cv": 1},
    ],
)
def test_wrong_options_are_refused_by_name(wrong: dict[str, object]) -> None:
    X, Y = planted(20)
    with pytest.raises(OptionError, match=next(iter(wrong))):
        RuleEnsembleClassifier(**wrong).fit(X, Y)  # type: ignore[arg-type]


def test_bad_data_is_refused() -> None:
    X, Y = planted(20)
    with pytest.raises(DataError, match="inconsistent"):
        RuleEnsembleClassifier().fit(X, Y[:10])
    clf = RuleEnsembleClassifier(max_rules=1, cv=0).fit(Table.from_array(X, [Feature(c) for c in "abcdef"]), Y)
    with pytest.raises(ValueError, match="missing"):
        clf.predict(pd.DataFrame(X[:, :5], columns=list("abcde")))


def test_rules_for_a_label_test_its_features_only_and_forbidden_ones_never() -> None:
    X, Y = planted()
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    free = RuleEnsembleClassifier(max_rules=8, cv=2).fit(frame, Y)
    assert any(c.feature == 0 for rule in free.model_.rules for c in flatten(rule.body))
    limits = {"features": {"y0": ["x1", "x3"], "y2": ["x2", "x3"]}, "forbid": ["x5", "x3"]}
    for options in ({}, {"teacher": None}):
        clf = RuleEnsembleClassifier(max_rules=8, cv=2, constraints=limits, **options).fit(frame, Y)
        tested = {label: set() for label in range(3)}
        for rule in clf.model_.rules:
            for entry in rule.head:
                tested[entry.label] |= {names[c.feature] for c in flatten(rule.body)}
        assert tested[0] <= {"x1"}
        assert tested[2] <= {"x2"}
        assert tested[2]
        assert tested[1]
        assert not tested[1] & {"x5", "x3"}
    with pytest.raises(OptionError, match="no feature 'x99'"):
        RuleEnsembleClassifier(constraints={"forbid": ["x99"]}).fit(frame, Y)
    with pytest.raises(OptionError, match="no label 'y9'"):
        RuleEnsembleClassifier(constraints={"features": {"y9": ["x1"]}}).fit(frame, Y)


def test_limits_that_forbid_nothing_change_nothing() -> None:
    X, Y = planted()
    plain = RuleEnsembleClassifier(max_rules=4, cv=2).fit(X, Y)
    every = [f"x{j}" for j in range(X.shape[1])]
    limits = {"features": {"y0": every}, "forbid": []}
    assert same(plain, RuleEnsembleClassifier(max_rules=4, cv=2, constraints=limits).fit(X, Y))


def test_rules_to_go_on_from_stay_and_are_weighed_with_the_others() -> None:
    X, Y = planted()
    first = RuleEnsembleClassifier(max_rules=2, cv=2, max_bins=8).fit(X, Y).model_
    odd = dataclasses.replace(first.rules[0], body=(NumericCondition(4, ">", 0.123456), *first.rules[0].body))
    start = dataclasses.replace(first, rules=(odd, first.rules[1]))
    for options in ({}, {"teacher": None}):
        clf = RuleEnsembleClassifier(max_rules=6, cv=2, labels_per_head=1, **options).fit(X, Y, start=start)
        assert 2 < len(clf.model_) <= 6
        for kept, rule in zip(start.rules, clf.model_.rules, strict=False):
            assert set(rule.body) == set(kept.body)
            assert {e.label for e in rule.head} == {e.label for e in kept.head}
        covered = clf.decision_path(X)[:, 0].toarray().ravel()
        assert covered.sum() == clf.model_.rules[0].coverage
    again = RuleEnsembleClassifier(max_rules=1, cv=2).fit(X, Y, start=start)
    assert len(again.model_) == 2
    with pytest.raises(OptionError, match="must be a RuleEnsemble"):
        RuleEnsembleClassifier().fit(X, Y, start="model.json")
    with pytest.raises(ModelError, match="other labels"):
        RuleEnsembleClassifier().fit(X, Y, label_names=["a", "b", "c"], start=start)
    with pytest.raises(OptionError, match="scorecard"):
        RuleEnsembleClassifier().fit(X, Y, start=dataclasses.replace(start, unit=0.5))
