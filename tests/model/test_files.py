import json
import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists

from polyrule.conditions import group_of
from polyrule.data import Feature
from polyrule.errors import ModelError
from polyrule.model import LabelCondition, Literal, NominalCondition, NumericCondition, Rule, RuleList, files
from polyrule.model.predict import predict


def flags() -> RuleList:
    rules = (
        Rule(
            (Literal(0, 1, 65, 0), Literal(1, 0, 60.5, 5)),
            (NumericCondition(0, ">", 0.1 + 0.2), NominalCondition(1, 1)),
            stop=True,
            value=Fraction(65, 66),
            coverage=13,
            certificate={"kind": "ratio", "gains": [1, 2.5]},
        ),
        Rule((Literal(2, 1),), (LabelCondition(0, 0),), origin="hand"),
    )
    features = (Feature("colours"), Feature("odd “name”\n", "nominal", ("a,b", "ü")))
    return RuleList(rules, features, ("red", "¬o", "x"), (0, 1, 0), ((1, 2), (0, 0.25), (3, 4)), info={"seed": 1})


def group_name(rule: Rule) -> str | None:
    group = group_of(rule.body)
    return group and group.name


@settings(max_examples=100, deadline=None)
@given(rule_lists(), st.integers(0, 10**6))
def test_a_round_trip_is_exact(model, seed):
    text = files.dumps(model)
    again = files.loads(text)
    assert again.rules == model.rules
    assert [group_name(rule) for rule in again] == [group_name(rule) for rule in model]
    assert again.features == model.features
    assert (again.defaults, again.default_counts, again.full) == (model.defaults, model.default_counts, model.full)
    assert files.dumps(again) == text
    table = random_table(model.features, 20, seed)
    assert np.array_equal(predict(model, table).setter, predict(again, table).setter)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_thresholds_survive_to_the_last_bit(threshold):
    rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", threshold),))
    again = files.loads(files.dumps(RuleList((rule,), (Feature("x"),), ("y",))))
    assert math.copysign(1, again.rules[0].body[0].threshold) == math.copysign(1, threshold)
    assert again.rules[0].body[0].threshold == threshold


@given(st.text(), st.text())
def test_any_name_survives(label, feature):
    model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 1),)),), (Feature(feature),), (label,))
    again = files.loads(files.dumps(model))
    assert (again.label_names, again.features) == (model.label_names, model.features)


def test_a_file_keeps_everything(tmp_path):
    model = flags()
    model.save(tmp_path / "model.json")
    again = RuleList.load(tmp_path / "model.json")
    assert again.rules == model.rules
    assert again.rules[0].certificate == model.rules[0].certificate
    assert again.info == model.info
    assert again.format() == model.format()
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_names_that_occur_twice_are_stored_by_position():
    rule = Rule((Literal(1, 1),), (NumericCondition(1, ">", 1.0),))
    model = RuleList((rule,), (Feature("x"), Feature("x")), ("y", "y"))
    assert files.loads(files.dumps(model)).rules == model.rules


def test_numpy_numbers_are_stored_as_plain_ones():
    literal = Literal(np.int64(0), np.uint8(1), np.float64(2.0), np.int64(3))
    model = RuleList(
        (Rule((literal,), (NumericCondition(np.int32(0), "<=", np.float64(1.5)),)),), (Feature("x"),), ("y",)
    )
    again = files.loads(files.dumps(model))
    assert again.rules == model.rules
    assert type(again.rules[0].head[0].fp) is int


def test_every_file_follows_the_published_schema():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema checks the published schema")
    jsonschema.Draft202012Validator.check_schema(files.schema())
    validator = jsonschema.Draft202012Validator(files.schema())
    document = json.loads(files.dumps(flags()))
    validator.validate(document)
    for broken in (
        document | {"version": 3},
        document | {"extra": 1},
        document | {"rules": [{"head": [], "body": []}]},
    ):
        assert list(validator.iter_errors(broken))


def test_only_files_with_groups_need_the_second_version():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema checks the published schema")
    validator = jsonschema.Draft202012Validator(files.schema())
    document = json.loads(files.dumps(flags()))
    grouped = json.loads(files.dumps(with_group()))
    assert (document["version"], grouped["version"]) == (1, 2)
    validator.validate(grouped)
    assert list(validator.iter_errors(grouped | {"version": 1}))
    with pytest.raises(ModelError, match="takes version 2 of the model format"):
        files.loads(json.dumps(grouped | {"version": 1}), check=False)
    assert files.loads(json.dumps(document | {"version": 2}), check=False).rules == flags().rules


@settings(max_examples=50, deadline=None)
@given(rule_lists())
def test_files_with_groups_follow_the_schema(model):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema checks the published schema")
    jsonschema.Draft202012Validator(files.schema()).validate(json.loads(files.dumps(model)))


def with_group() -> RuleList:
    return flags().insert(0, 'red <- any of "showy" (colours > 3, colours is missing), x')


LIMIT = {"feature": "colours", "op": ">", "value": 3.0}
MISSING = {"feature": "colours", "op": "is", "value": "missing"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.update(least=0), r"rules\[0\].body\[0\].least must be between 1 and 1, found 0"),
        (lambda g: g.update(least=2), r"least must be between 1 and 1, found 2"),
        (lambda g: g.update(least=True), "least must be an integer"),
        (lambda g: g.update(members=[LIMIT]), "members must hold at least two conditions, all different"),
        (lambda g: g.update(members=[LIMIT, LIMIT]), "members must hold at least two conditions, all different"),
        (lambda g: g.update(members={}), "members must be an array"),
        (lambda g: g.update(members=[LIMIT, 3]), r"members\[1\] must be an object"),
        (lambda g: g["members"][0].update(feature="hue"), r"members\[0\].feature names no feature"),
        (
            lambda g: g["members"].append({"label": "x", "op": "=", "value": 1}),
            r"members\[2\] must be a condition on a",
        ),
        (lambda g: g["members"].append({"least": 1, "members": [LIMIT, MISSING]}), r"members\[2\]"),
        (lambda g: g.update(name="a\nb"), "name must be a line of at most 100 visible characters"),
        (lambda g: g.update(name="\u202ecod.exe"), "name must be a line of at most 100 visible characters"),
        (lambda g: g.update(name="x" * 101), "name must be a line of at most 100 visible characters"),
        (lambda g: g.update(name=3), "name must be a string"),
        (lambda g: g.update(most=3), "unknown member 'most'"),
    ],
)
def test_each_broken_member_of_a_group_is_named(change, message):
    document = json.loads(files.dumps(with_group()))
    change(document["rules"][0]["body"][0])
    with pytest.raises(ModelError, match=message):
        files.loads(json.dumps(document), source="m.json", check=False)


def test_a_body_holds_one_group():
    document = json.loads(files.dumps(with_group()))
    document["rules"][0]["body"].append({"least": 1, "members": [LIMIT, MISSING]})
    with pytest.raises(ModelError, match=r"m.json: rules\[0\].body must hold at most one group of alternatives"):
        files.loads(json.dumps(document), source="m.json", check=False)


def test_a_cut_file_is_recognised_wherever_it_was_cut():
    text = files.dumps(flags())
    for length in range(len(text.rstrip())):
        with pytest.raises(ModelError):
            files.loads(text[:length])


def test_a_changed_file_is_refused_unless_it_was_meant():
    text = files.dumps(flags())
    edited = text.replace('"value": 0.30000000000000004', '"value": 0.5')
    assert edited != text
    with pytest.raises(ModelError, match="does not match its checksum"):
        files.loads(edited)
    assert files.loads(edited, check=False).rules[0].body[0].threshold == 0.5


def mutated(change) -> str:
    document = json.loads(files.dumps(flags()))
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=3), "version 3 of the model format"),
        (lambda d: d.update(version=True), "version True"),
        (lambda d: d.update(format="other"), "not a polyrule model file"),
        (lambda d: d.update(kind="forest"), "unknown kind of model 'forest'"),
        (lambda d: d.pop("rules"), "lacks 'rules'"),
        (lambda d: d.update(extra=1), "unknown member 'extra'"),
        (lambda d: d.update(info=[]), "info must be an object"),
        (lambda d: d.update(labels="red"), "labels must be an array"),
        (lambda d: d.update(defaults=[0]), "defaults has 1 entries for 3 labels"),
        (lambda d: d.update(default_counts=[[1, 2], [3], [4, 5]]), r"default_counts\[1\] must hold two"),
        (lambda d: d["features"][0].update(kind="tensor"), r"features\[0\].kind must be one of numeric, nominal"),
        (lambda d: d["rules"][0].update(head=[]), r"rules\[0\].head must name at least one label"),
        (lambda d: d["rules"][0]["head"][0].update(label="green"), r"head\[0\].label names no label of this model"),
        (lambda d: d["rules"][0]["head"][0].update(value=2), r"rules\[0\].head\[0\].value must be between 0 and 1"),
        (lambda d: d["rules"][0]["head"][0].update(value=True), "must be an integer, found True"),
        (lambda d: d["rules"][0]["head"][0].update(tp=-1), "finite number of at least 0"),
        (lambda d: d["rules"][0]["body"][0].update(op="<"), r"body\[0\].op must be one of <=, >"),
        (lambda d: d["rules"][0]["body"][0].update(value="5"), r"body\[0\].value must be a number"),
        (lambda d: d["rules"][0]["body"][1].update(value="zzz"), "names no category of"),
        (lambda d: d["rules"][0]["body"][1].update(feature=7), "must be between 0 and 1, found 7"),
        (lambda d: d["rules"][0].update(value="1/0"), r"rules\[0\].value must be a fraction"),
        (lambda d: d["rules"][0].update(value="1e999999999"), "must be a fraction"),
        (lambda d: d["rules"][0].update(origin="magic"), "must be one of learned, edited, hand"),
        (lambda d: d["rules"][0].update(stop=1), "must be true or false"),
        (lambda d: d["rules"][0].update(certificate=1), "certificate must be an object"),
    ],
)
def test_each_broken_member_is_named(change, message):
    with pytest.raises(ModelError, match=message):
        files.loads(mutated(change), source="m.json", check=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON at line 1"),
        ("[]", "not a polyrule model file"),
        ("null", "not a polyrule model file"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ("[" * 100_000, "not a model file"),
        ("9" * 10_000, "not a model file"),
        ("import os", "not valid JSON"),
    ],
)
def test_what_is_no_model_file_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        files.loads(text)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "model.json").write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(ModelError, match="not UTF-8 text at byte 0"):
        files.load(tmp_path / "model.json")


def test_information_must_be_plain():
    with pytest.raises(ModelError, match=r"info.clock holds .*cannot store"):
        files.dumps(RuleList((), (), ("y",), info={"clock": object()}))
    with pytest.raises(ModelError, match=r"info.x holds nan"):
        files.dumps(RuleList((), (), ("y",), info={"x": math.nan}))
    with pytest.raises(ModelError, match="no model that can be stored"):
        files.dumps(3)


def test_one_rule_is_one_line():
    text = files.dumps(flags())
    without = files.dumps(flags().remove(1))
    changed = set(text.splitlines()) ^ set(without.splitlines())
    assert len([line for line in changed if '"head"' in line]) <= 3


def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    flags().save(path)
    before = path.read_bytes()

    def full_disk(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        flags().remove(0).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_permissions_and_links_survive_a_rewrite(tmp_path):
    path, link = tmp_path / "model.json", tmp_path / "link.json"
    flags().save(path)
    path.chmod(0o640)
    link.symlink_to(path)
    flags().remove(0).save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(RuleList.load(path)) == 1
