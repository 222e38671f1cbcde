"""The page's own interpreter and its search for the smallest change give what the library gives."""

from __future__ import annotations

import numpy as np
import pytest
from tests.relations.test_plan import random_relations
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule.data import Feature, Table
from polyrule.errors import ModelError
from polyrule.model import Literal, NominalCondition, NumericCondition, Rule, RuleList
from polyrule.model.counterfactual import counterfactual
from polyrule.model.predict import predict
from polyrule.report import build

RUN_ALL = """() => polyrule.outcome(0).map((one) => [Array.from(one.labels), Array.from(one.setter)])"""

FLIP = """([row, label]) => {
  const { data, examples, smallestFlip } = polyrule;
  const flip = smallestFlip(data.models[0], data.features, examples.values(row), label, 3000);
  const columns = ({ values }) => values.map(([slot, value]) => [data.features[slot].column, value]);
  return { ...flip, changes: flip.changes && flip.changes.map(columns) };
}"""


@pytest.mark.parametrize("seed", range(4))
def test_predictions_equal_those_of_the_library_on_every_example(visit, seed):
    model = random_model(seed, rules=40, features=9, labels=7, full=seed == 3, stop=0.3 if seed % 2 else 0.0)
    train, test = random_data(model, 300, 10 + seed, sparse=seed % 3 == 1), random_data(model, 600, 20 + seed)
    page = visit(build(model, train, test))
    found = page.evaluate(RUN_ALL)
    assert len(found) == 900
    for data, rows in ((train, found[:300]), (test, found[300:])):
        expected = predict(model, data.X)
        assert [row[0] for row in rows] == expected.labels.tolist()
        assert [row[1] for row in rows] == expected.setter.tolist()


def with_random_relations(model, seed):
    return model.with_relations(random_relations(seed, len(model.label_names)))


REASONS = """() => polyrule.outcome(0).map((one) => Array.from(one.labels, (_, label) =>
  polyrule.relationReason(polyrule.data.models[0], one.margins, label)))"""


@pytest.mark.parametrize("kind", ["list", "per-label", "subset"])
@pytest.mark.parametrize("seed", [1, 5])
def test_relations_between_labels_hold_and_are_named_as_in_the_library(visit, kind, seed):
    plain = random_model(seed, stop=0.2) if kind == "list" else random_ensemble(seed, kind)
    try:
        model = with_random_relations(plain, seed)
    except ModelError:  # each of few random label sets breaks one
        model = plain.with_relations(f"{plain.label_names[0]}, {plain.label_names[1]}: at most one")
    data = random_data(model, 150, seed)
    page = visit(build(model, data))
    labels = model.predict(data)
    assert page.evaluate("() => polyrule.outcome(0).map((one) => Array.from(one.labels))") == labels.tolist()
    if kind == "subset":
        return
    assert (labels != plain.predict(data)).any()
    found = page.evaluate(REASONS)
    for row in range(0, 150, 10):
        told = [None if one.because is None else str(one.because) for one in model.explain(data, row).labels]
        assert found[row] == told
    for row in range(6):
        for label in range(len(model.label_names)):
            expected = counterfactual(model, np.asarray(data.X)[row], label, limit=500)
            flip = page.evaluate(FLIP.replace("3000", "500"), [row, label])
            assert [flip[key] for key in ("was", "exact", "steps")] == [expected.was, expected.exact, expected.steps]


def test_numbers_at_the_edge_of_what_doubles_hold(visit):
    thresholds = [0.1 + 0.2, 5e-324, -5e-324, 1.7e308, 2.0**53, 0.0]
    features = (Feature("x"), Feature("kind", "nominal", ("a", "b")))
    rules = [
        Rule((Literal(k, 1),), (NumericCondition(0, "<=" if k % 2 else ">", threshold),))
        for k, threshold in enumerate(thresholds)
    ]
    rules.append(Rule((Literal(6, 1),), (NominalCondition(1, 0),)))
    model = RuleList(tuple(rules), features, tuple("abcdefg"))
    values = sorted({np.nextafter(t, side) for t in thresholds for side in (-np.inf, np.inf)} | set(thresholds))
    rows = [[value, kind] for value in [*values, -0.0, np.nan] for kind in (0.0, 1.0, np.nan)]
    table = Table.from_array(rows, features)
    page = visit(build(model, (table, np.zeros((len(rows), 7), dtype=np.uint8))))
    assert [row[0] for row in page.evaluate(RUN_ALL)] == predict(model, table).labels.tolist()


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_the_smallest_change_is_the_one_the_library_finds(visit, seed):
    model = random_model(100 + seed, rules=14, features=6, labels=4, full=seed == 4, stop=0.3)
    data = random_data(model, 12, seed)
    page = visit(build(model, data))
    dense = np.asarray(data.X)
    for row in range(12):
        for label in range(4):
            expected = counterfactual(model, dense[row], label, limit=3000)
            found = page.evaluate(FLIP, [row, label])
            assert found["was"] == expected.was
            assert (found["exact"], found["explored"], found["steps"]) == (
                expected.exact,
                expected.explored,
                expected.steps,
            )
            changes = expected.changes and [[list(pair) for pair in c.values.items()] for c in expected.changes]
            assert found["changes"] == changes
