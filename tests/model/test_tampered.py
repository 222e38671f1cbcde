"""Model files made to hurt: one typed error each, at once, that says where."""

import json

import pytest
import scipy.sparse as sp

import polyrule
from polyrule import RuleListClassifier, datasets
from polyrule.data.documents import checksum
from polyrule.errors import LimitError, ModelError
from polyrule.measures.expression import parse
from polyrule.model import GroupCondition, Literal, NominalCondition, NumericCondition, Rule, RuleList
from polyrule.model.files import dumps, loads
from polyrule.model.parsing import parse_rule
from polyrule.utils.budget import current_limits
from polyrule.verification import verify


@pytest.fixture(scope="module")
def fitted():
    data = datasets.load("emotions", part="train")[:60]
    return RuleListClassifier.paper(max_rules=3).fit(data).model_, data


def sealed(document: dict) -> str:
    content = {name: value for name, value in document.items() if name != "checksum"}
    return json.dumps(content | {"checksum": checksum(content)})


def changed(model, **members) -> str:
    return sealed(json.loads(dumps(model)) | members)


INFO = {
    "learner": ([], "info.learner must be a string"),
    "examples": ("many", "info.examples must be an integer"),
    "data_fingerprint": (["blake2b:0"], "info.data_fingerprint must be a string"),
    "stopped": ({}, "info.stopped must be a string"),
    "recounted": (3, "info.recounted must be a string"),
    "options": ([], "info.options must be an object"),
}
OPTIONS = {
    "measure": (3, "info.options.measure must be a string"),
    "negative": ("yes", "info.options.negative must be true or false"),
    "max_head_size": (0, "info.options.max_head_size must be between 1"),
    "stop_threshold": ("0.1", "info.options.stop_threshold must be a number"),
    "lift": (False, "info.options.lift must be a string"),
}


@pytest.mark.parametrize("member", INFO)
def test_information_has_types(fitted, member):
    value, message = INFO[member]
    with pytest.raises(ModelError, match=message):
        loads(changed(fitted[0], info=fitted[0].info | {member: value}))


@pytest.mark.parametrize("option", OPTIONS)
def test_options_have_types(fitted, option):
    value, message = OPTIONS[option]
    options = fitted[0].info["options"] | {option: value}
    with pytest.raises(ModelError, match=message):
        loads(changed(fitted[0], info=fitted[0].info | {"options": options}))


def test_what_others_add_to_the_information_stays(fitted):
    info = fitted[0].info | {"approved": {"by": "Ada", "on": [2026, 11]}}
    assert loads(changed(fitted[0], info=info)).info == info


@pytest.mark.parametrize("option", ["scope", "measure", "heads", "search", "keep_covered"])
def test_verify_says_which_option_is_not_there(fitted, option):
    model, data = fitted
    options = {name: value for name, value in model.info["options"].items() if name != option}
    tampered = loads(changed(model, info=model.info | {"options": options}))
    with pytest.raises(ModelError, match=f"does not say with which {option} it was learned"):
        verify(tampered, data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"kind": []', r"unknown kind of model \[\]"),
        ('"kind": {"a": 1}', "unknown kind of model"),
        ('"version": 1e999', "too large for a number"),
        ('"version": [[[]]]', "version"),
    ],
)
def test_members_of_the_wrong_kind(fitted, text, message):
    document = json.loads(dumps(fitted[0]))
    member = text.split('"')[1]
    rest = json.dumps({name: value for name, value in document.items() if name != member})
    with pytest.raises(ModelError, match=message):
        loads("{" + text + ", " + rest[1:])


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e999"])
def test_numbers_beyond_all_bounds(fitted, number):
    text = dumps(fitted[0])
    start = text.index('"default_counts"')
    text = text[:start] + text[start:].replace("[[", "[[", 1)
    document = json.loads(text)
    document["default_counts"][0][0] = "HERE"
    text = json.dumps(document).replace('"HERE"', number)
    with pytest.raises(ModelError, match=r"finite number|too large for a number"):
        loads(text, check=False)


def test_repeated_members_are_found_in_linear_time():
    text = "{" + ",".join(f'"m{j}": 0' for j in range(60_000)) + ', "m59999": 1}'
    with polyrule.limits(seconds=20), pytest.raises(ModelError, match="member 'm59999' occurs twice"):
        loads(text)


def test_names_that_occur_twice_are_read_in_linear_time():
    features = tuple(polyrule.Feature("same") for _ in range(2000))
    rules = tuple(Rule((Literal(0, 1),), (NumericCondition(j, "<=", 0.5),)) for j in range(2000))
    assert len(loads(dumps(RuleList(rules, features, ("y",))))) == 2000


def test_nested_deeply():
    for text in ("[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(ModelError):
            loads(text)
    model = RuleList((), (), ("y",), info={"a": json.loads("[" * 60 + "]" * 60)})
    with pytest.raises(ModelError, match="nested more than 40 deep"):
        loads(dumps(model))


def test_the_members_of_groups_count_among_what_a_model_asks_for():
    features = tuple(polyrule.Feature(f"x{j}") for j in range(9))
    group = GroupCondition(tuple(NumericCondition(j, "<=", k / 10) for j in range(9) for k in range(100)))
    text = dumps(RuleList((Rule((Literal(0, 1),), (group,)),), features, ("y",)))
    with polyrule.limits(max_cells=500), pytest.raises(LimitError):
        loads(text)


def test_limits_hold_for_models_rules_measures_and_predictions(fitted, tmp_path):
    model, data = fitted
    model.save(tmp_path / "model.json")
    for limits in ({"max_bytes": 1000}, {"max_cells": 10}, {"seconds": 0}):
        with polyrule.limits(**limits), pytest.raises(LimitError):
            polyrule.load(tmp_path / "model.json")
    for limits in ({"max_cells": 10}, {"seconds": 0}):
        with polyrule.limits(**limits), pytest.raises(LimitError, match="prediction"):
            model.predict(data.X)
    for work in (lambda: parse_rule("y <- x > 1", [], ["y"]), lambda: parse("tp/(tp+fp)")):
        with polyrule.limits(max_bytes=5), pytest.raises(LimitError, match="10 bytes are more than the 5"):
            work()
        with polyrule.limits(seconds=0), pytest.raises(LimitError):
            work()


def test_predictions_in_pieces_are_the_same(fitted, monkeypatch):
    model, data = fitted
    whole = model.predict(data.X)
    monkeypatch.setattr("polyrule.model.packed._CHUNK_TESTS", 50)
    with polyrule.limits(seconds=60):
        assert (model.predict(data.X) == whole).all()
        assert model.predict(data.X[:0]).shape == (0, whole.shape[1])


def test_codes_that_are_no_category():
    hue = polyrule.Feature("hue", "nominal", ("red", "blue"))
    for code in (2.0, -1.0, 0.5, float("inf")):
        for values in ([[0.0], [code]], sp.csc_array([[0.0], [code]])):
            table = polyrule.Table.from_array(values, [hue])
            with pytest.raises(polyrule.errors.DataError, match=r"that are no category|infinite"):
                RuleListClassifier.paper(max_rules=1).fit(table, [[0], [1]])
    assert RuleList((Rule((Literal(0, 1),), (NominalCondition(0, 1),)),), (hue,), ("y",)).predict(
        polyrule.Table.from_array([[0.0], [1.0]], [hue])
    ).tolist() == [[0], [1]]


def test_a_block_inside_another_never_has_more_than_that_leaves():
    with polyrule.limits(max_bytes=10, max_cells=20, seconds=5):
        outer = current_limits()
        with polyrule.limits(max_bytes=100, max_cells=200, seconds=5000):
            inner = current_limits()
            assert (inner.max_bytes, inner.max_cells, inner.deadline) == (10, 20, outer.deadline)
        with polyrule.limits():
            assert current_limits().deadline == outer.deadline
        with polyrule.limits(max_bytes=1, max_cells=2, seconds=0):
            inner = current_limits()
            assert (inner.max_bytes, inner.max_cells) == (1, 2)
            assert inner.deadline < outer.deadline
    with polyrule.limits(seconds=0), polyrule.limits(seconds=5000), pytest.raises(LimitError):
        parse("tp")
