"""Labels that nobody knows: neither right nor wrong, counted nowhere, from reading to scoring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.campaign.comparing import compare
from tests.campaign.worlds import World, draw
from tests.twin.learner import binary_relevance, rule_list
from tests.twin.predicting import unset_weight
from tests.twin.test_whole_learner import rows_of

from polyrule import BinaryRelevanceRuleClassifier, RuleListClassifier, SeCoClassifier, config_context
from polyrule.data import Dataset, read, to_labels, to_table
from polyrule.data.labels import UNKNOWN
from polyrule.errors import DataError, OptionError
from polyrule.evaluation import score
from polyrule.measures import Objective
from polyrule.search.protocol import GrowOptions
from polyrule.verification import certify, verify

nan = float("nan")
X = [[1, 9], [2, 8], [3, 1], [4, 2]]
Y = np.array([[1, nan, 0], [1, 1, 0], [nan, 0, 1], [0, 0, 1]])


def with_holes(truth: np.ndarray, seed: int, share: float = 0.3) -> np.ndarray:
    holes = np.random.default_rng([77, seed]).random(truth.shape) < share
    return np.where(holes, UNKNOWN, truth)


def as_given(truth: np.ndarray) -> np.ndarray:
    return np.where(truth == UNKNOWN, nan, truth)


class TestReading:
    @pytest.mark.parametrize(
        "given",
        [
            Y,
            Y.astype(object),
            [[None if v != v else int(v) for v in row] for row in Y.tolist()],
            [["?" if v != v else str(int(v)) for v in row] for row in Y.tolist()],
            pd.DataFrame(Y),
            pd.DataFrame(Y).astype("Int64"),
            sp.csr_array(Y),
        ],
        ids=["array", "objects", "None", "text", "frame", "nullable", "sparse"],
    )
    def test_every_form(self, given: Any) -> None:
        truth, _ = to_labels(given, list("abc"), unknown=True)
        dense = truth.toarray() if sp.issparse(truth) else truth
        assert dense.tolist() == [[1, 2, 0], [1, 1, 0], [2, 0, 1], [0, 0, 1]]

    def test_a_wrong_label_beside_an_unknown_one_is_named(self) -> None:
        with pytest.raises(DataError, match="label 'y1', row 1: 3 is not 0 or 1"):
            RuleListClassifier.paper().fit([[1], [2]], [[nan, 1], [0, 3]])

    def test_files(self, tmp_path) -> None:
        csv = tmp_path / "songs.csv"
        csv.write_text("tempo,calm,sad\n1,1,?\n2,0,1\n3,,0\n")
        assert np.asarray(read(csv, labels=["calm", "sad"]).Y).tolist() == [[1, 2], [0, 1], [2, 0]]
        arff = tmp_path / "songs.arff"
        arff.write_text("@relation r\n@attribute tempo numeric\n@attribute calm {0,1}\n@data\n1,?\n2,1\n3,0\n")
        assert np.asarray(read(arff, labels=["calm"]).Y).tolist() == [[2], [1], [0]]


class TestLearning:
    def test_a_small_list(self) -> None:
        model = RuleListClassifier.paper("precision").fit(X, Y, label_names=["calm", "sad", "happy"])
        assert str(model.rules_) == (
            "1. calm, sad, ¬happy <- x0 <= 2.5   (TP 5, FP 0) [stop]\n"
            "2. ¬calm, ¬sad, happy <- true   (TP 5, FP 0) [stop]\n"
            "(labels that no rule sets are absent)"
        )
        assert model.predict(X).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]]

    @pytest.mark.parametrize("measure", ["precision", "f0.5", "hamming", "laplace", "subset", "jaccard"])
    def test_lists_by_the_book(self, measure: str) -> None:
        compared = 0
        for seed in range(14):
            world = draw(np.random.default_rng([31, seed]), fits=0, small=True)
            truth, weights = with_holes(np.array(world.Y), seed), [1] * len(world.X)
            negative = seed % 3 > 0
            expected = rule_list(
                world.table(), truth, weights, Objective(measure, negative=negative), GrowOptions(), remaining=0.0
            )
            model = RuleListClassifier.paper(measure, negative=negative, remaining=0.0).fit(
                world.table(), as_given(truth)
            )
            found = [
                (tuple((x.label, x.value, x.tp, x.fp) for x in r.head), r.body, r.stop, r.value, r.coverage)
                for r in model.rules_
            ]
            assert found == expected, seed
            unset = unset_weight(model.rules_, rows_of(world), truth, weights)
            assert [list(pair) for pair in model.rules_.default_counts] == unset, seed
            compared += len(found)
        assert compared > 15

    def test_every_objective_by_the_book(self) -> None:
        compared = 0
        for seed in range(120):
            world = draw(np.random.default_rng([41, seed]), fits=0, small=True)
            objective = Objective(**world.objective)
            subset = world.objective["measure"] == "subset"
            if (objective.averaging == "example" and not subset) or (subset and objective.scope != "head"):
                continue
            holes = with_holes(np.array(world.Y), seed).tolist()
            result = compare(World(**(vars(world) | {"Y": holes})), twin=True)
            assert result is not None
            assert not result.differs, (seed, result)
            compared += result.rules.total()
        assert compared > 100

    @pytest.mark.parametrize("measure", ["precision", "hamming", "f0.5"])
    def test_binary_relevance_by_the_book(self, measure: str) -> None:
        for seed in range(8):
            world = draw(np.random.default_rng([51, seed]), fits=0, small=True)
            truth, weights = with_holes(np.array(world.Y), seed), [1] * len(world.X)
            options = GrowOptions(label_conditions=False)
            expected, defaults, left = binary_relevance(world.table(), truth, weights, measure, options)
            model = BinaryRelevanceRuleClassifier(measure).fit(world.table(), as_given(truth)).rules_
            assert [(r.body, r.value, r.head[0].tp, r.head[0].fp) for r in model] == [
                (body, value, *head[0][2:]) for head, body, _, value, _ in expected
            ]
            assert (list(model.defaults), [list(pair) for pair in model.default_counts]) == (defaults, left)

    def test_a_label_nobody_knows_gets_no_rule(self) -> None:
        truth = np.column_stack([[1, 1, 0, 0], [nan] * 4])
        model = RuleListClassifier.paper("f1", remaining=0.0).fit(X, truth).rules_
        assert {literal.label for rule in model for literal in rule.head} == {0}
        assert model.default_counts[1] == (0, 0)

    def test_verify_and_certify(self) -> None:
        rng = np.random.default_rng(5)
        values = rng.integers(0, 5, (30, 3)).astype(float)
        truth = with_holes((values[:, :2] > 2).astype(int), 5, 0.2)
        data = Dataset(to_table(values), truth.astype(np.uint8), ("a", "b"))
        lists = [RuleListClassifier.paper(measure) for measure in ("precision", "subset")]
        for estimator in (*lists, BinaryRelevanceRuleClassifier()):
            model = estimator.fit(data).model_
            assert verify(model, data).ok, str(verify(model, data))
            assert verify(certify(model, data), data).ok

    def test_what_cannot_be_done_is_said(self) -> None:
        for options in ({"averaging": "example"}, {"measure": "subset", "scope": "all"}):
            with pytest.raises(OptionError, match="needs every label to be known"):
                RuleListClassifier.paper(**options).fit(X, Y)
        problem = "kernels='native' cannot learn subset accuracy from unknown labels"
        with config_context(kernels="native"), pytest.raises(OptionError, match=problem):
            SeCoClassifier("subset").fit(X, Y)


class TestScores:
    def test_unknown_labels_count_nowhere(self) -> None:
        predicted = [[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]]
        scores = score(Y, predicted)
        assert (scores.counts.tp.tolist(), scores.counts.fp.tolist()) == ([2, 0, 2], [0, 0, 0])
        assert (scores.counts.fn.tolist(), scores.counts.tn.tolist()) == ([0, 1, 0], [1, 2, 2])
        assert scores.hamming_accuracy == pytest.approx(9 / 10)
        assert scores.subset_accuracy == pytest.approx(3 / 4)

    def test_only_what_is_known_matters(self) -> None:
        rng = np.random.default_rng(3)
        truth, predicted = (rng.integers(0, 2, (40, 4)) for _ in range(2))
        holes = as_given(with_holes(truth, 1))
        other = np.where(np.isnan(holes), 1 - predicted, predicted)
        assert score(holes, predicted).as_dict() == score(holes, other).as_dict()
        assert score(truth, predicted).as_dict() == score(truth.astype(float), predicted).as_dict()

    def test_an_example_without_a_known_label_is_no_example(self) -> None:
        whole = score([[1, 0], [nan, nan]], [[1, 1], [0, 1]]).as_dict()
        assert whole == score([[1, 0]], [[1, 1]]).as_dict()
        with pytest.raises(DataError, match="no label of Y_true is known"):
            score([[nan]], [[1]])

    def test_the_estimators_score(self) -> None:
        model = RuleListClassifier.paper("precision").fit(X, Y)
        assert model.score(X, Y) == 1.0
        assert model.score(X, np.where(np.isnan(Y), nan, 1 - Y)) == 0.0
