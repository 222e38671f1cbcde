import json
from dataclasses import replace

import numpy as np
import pytest
from tests.report.worlds import random_data, random_model

from polyrule import RuleListClassifier
from polyrule.conditions import flatten
from polyrule.data import Dataset
from polyrule.data.examples import fingerprint
from polyrule.datasets import load
from polyrule.errors import OptionError
from polyrule.evaluation import score
from polyrule.report import build, summary
from polyrule.report.comparison import shared_rules
from polyrule.report.examples import summarise as sample_examples
from polyrule.report.inputs import read_inputs
from polyrule.report.page import embed
from polyrule.report.scoring import confusion, simple_scores


@pytest.fixture(scope="module")
def model():
    return random_model(7, rules=30)


def test_the_summary_is_plain_json_and_the_same_every_time(model):
    data, test = random_data(model, 60, 1), random_data(model, 40, 2)
    first, second = build([model, model], data, test).summary, build([model, model], data, test).summary
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == json.loads(json.dumps(second, allow_nan=False))


def test_scores_are_those_of_the_evaluation(model):
    data, test = random_data(model, 60, 1), random_data(model, 40, 2)
    part = build(model, data, test).summary["models"][0]["parts"][1]
    scores = score(test.Y, model.predict(test.X))
    assert part["scores"] == {name: round(scores[name], 6) for name in scores}
    assert part["per_label"]["fp"] == scores.per_label()["fp"]


def test_only_features_that_rules_test_are_carried_and_it_says_so():
    model = random_model(3, rules=2, features=30)
    result = build(model, random_data(model, 20, 1)).summary
    used = {c.feature for rule in model.rules for c in flatten(rule.body) if hasattr(c, "feature")}
    dates = {
        model.features[j].column for j in used if model.features[j].source_kind == "date"
    }  # come with all that follows from them
    carried = [j for j, feature in enumerate(model.features) if j in used or feature.column in dates]
    assert [feature["column"] for feature in result["features"]] == carried
    assert any("features appear in no rule" in note for note in result["notes"])


def test_examples_are_sampled_to_fit_and_the_page_says_so(model):
    data, test = random_data(model, 3000, 1), random_data(model, 2000, 2)
    report = build(model, data, test, most_bytes=120_000)
    assert len(embed(report.summary)) < 125_000
    shown = [part["shown"] for part in report.summary["parts"]]
    assert 20 < shown[0] < 3000
    assert shown[0] < shown[1] < 2000
    assert sum("of the 3,000 examples" in note for note in report.summary["notes"]) == 1
    rows = report.summary["examples"]["row"]
    assert rows[shown[0]] == 0
    assert rows[-1] == 1999  # spread over the whole part


def test_columns_of_examples_hold_the_data_exactly(model):
    data = random_data(model, 50, 5, sparse=True)
    inputs = read_inputs(model, data)
    columns = list(range(len(model.features)))
    entry = sample_examples(inputs.parts, columns, 10**6)
    dense = np.asarray(data.X)
    for j, column in enumerate(entry["columns"]):
        values = np.zeros(50)
        if isinstance(column, dict):
            values[column["i"]] = [np.nan if v is None else v for v in column["v"]]
        else:
            values = np.array([np.nan if v is None else v for v in column])
        np.testing.assert_array_equal(values, dense[:, j])
    assert [np.flatnonzero(row).tolist() for row in np.asarray(data.Y)] == entry["truth"]


def test_confusion_counts_examples_by_definition():
    rng = np.random.default_rng(0)
    truth, predicted = (rng.integers(0, 2, (70, 4)).astype(np.uint8) for _ in range(2))
    expected = {}
    for y, z in zip(truth, predicted, strict=True):
        for a in range(4):
            for b in range(4):
                if z[a] and not y[a] and y[b] and not z[b]:
                    expected[a, b] = expected.get((a, b), 0) + 1
    found = confusion(truth, predicted)
    assert {(a, b): n for a, b, n in found} == expected
    assert [n for *_, n in found] == sorted((n for *_, n in found), reverse=True)


def test_comparison_counts_disagreement_and_who_is_right(model):
    other = replace(model, rules=model.rules[::-1])
    data = random_data(model, 80, 3)
    pair = build([model, other], data).summary["comparison"][0]
    mine, theirs, truth = model.predict(data.X), other.predict(data.X), np.asarray(data.Y)
    assert pair["labels"] == (mine != theirs).sum(axis=0).tolist()
    assert pair["examples"] == int((mine != theirs).any(axis=1).sum())
    assert pair["first_right"] == ((mine != theirs) & (mine == truth)).sum(axis=0).tolist()
    same, bodies = shared_rules(model.rules, other.rules)
    assert len(same) == len(model)
    assert bodies == []


def test_weak_models_are_warned_about(model):
    data = random_data(model, 200, 1)
    found = build(model, data, random_data(model, 200, 2)).summary["models"][0]["warnings"]
    assert any("no better than always predicting" in text for text in found)


def test_a_model_may_be_shown_on_data_it_was_not_learned_from(model):
    data, other = random_data(model, 20, 1), random_data(model, 20, 2)
    learned = replace(model, info={"examples": 20, "data_fingerprint": fingerprint(data.X, np.asarray(data.Y))})

    def told(*parts):
        found = build(learned, *parts).summary
        return [part["unseen"] for part in found["parts"]], [
            w for w in found["models"][0]["warnings"] if "learned" in w
        ]

    assert told(data) == ([False], [])
    assert told(other) == ([True], [])
    assert told(random_data(model, 19, 2)) == ([True], [])
    assert told(data, other) == ([False, True], [])
    # Only who calls other data the training data is corrected.
    unseen, warned = told(other, data)
    assert unseen == [False, True]
    assert "learned from 20 examples that are not those of" in warned[0]


def test_simple_models_never_see_the_examples_they_are_scored_on(model):
    """On new data alone they are fitted on the other examples: labels that are pure chance cannot be memorised."""
    rng = np.random.default_rng(0)
    table = random_data(model, 40, 1).X
    learned = replace(model, info={"examples": 1, "data_fingerprint": "other"})
    truth = (rng.random((40, 5)) < 0.5).astype(np.uint8)
    part = read_inputs(learned, (table, truth)).parts[0]
    assert part.unseen
    crossed = simple_scores(part, part)["one rule per label"]["hamming_accuracy"]
    fitted = simple_scores(replace(part, unseen=False), replace(part, unseen=False))["one rule per label"]
    assert crossed < fitted["hamming_accuracy"]
    assert len(build(learned, (table[:1], truth[:1])).summary["parts"]) == 1


def test_rules_with_nothing_to_do_on_new_examples_are_no_warning(model):
    data = random_data(model, 300, 1)
    few = data[:2]
    assert any("set no label" in text for text in build(model, few).summary["models"][0]["warnings"])
    assert not any(
        "label of the test data" in text for text in build(model, data, few).summary["models"][0]["warnings"]
    )


def test_learning_again_says_what_comes_back():
    data = load("emotions", "train")[:120]
    fitted = RuleListClassifier(max_rules=4, max_conditions=2).fit(data)
    found = build(fitted, data, resamples=3).summary["models"][0]["importance"]
    assert found["resamples"] == 3
    assert 0.5 < found["agreement"] <= 1
    assert all(3 * back in (0, 1, 2, 3) or back in (0.3333, 0.6667) for *_, back in found["rules"])
    with pytest.raises(OptionError, match="needs the training data"):
        build(fitted, load("emotions", "test"), resamples=3)
    with pytest.raises(OptionError, match="needs data"):
        build(fitted, resamples=3)


def test_an_unfinished_model_is_warned_about(model):
    stopped = replace(model, info={"stopped": "time_limit"})
    assert "time limit" in build(stopped).summary["models"][0]["warnings"][0]


def test_weights_are_said_not_to_count(model):
    data = random_data(model, 10, 1)
    weighted = Dataset(data.X, data.Y, data.label_names, weights=np.ones(10))
    assert any("weights are not used" in note for note in build(model, weighted).summary["notes"])


def test_findings_about_the_data_are_passed_on(model):
    data = random_data(model, 30, 1)
    found = build(model, data, data).summary["findings"]
    assert any("30" in text for text in found)  # every test example was trained on
    assert build(model).summary["findings"] == []


def test_the_budget_covers_rules_too(monkeypatch, model):
    monkeypatch.setattr(summary, "MOST_BYTES", 10)
    assert build(model, random_data(model, 30, 1), most_bytes=10).summary["parts"][0]["shown"] == 1
