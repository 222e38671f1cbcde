import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.datasets import planted_rules
from polyrule.datasets.synthetic import apply_rules
from polyrule.errors import OptionError


def slow_labels(rules, X, width):
    """The rule list read example by example: the first rule to set a label wins, unset labels are absent."""
    labels = np.zeros((len(X), width), dtype=int)
    for row, example in enumerate(X):
        known = {}
        for rule in rules:
            values = [known.get(c.index, -1) if c.kind == "label" else example[c.index] for c in rule.body]
            tests = [
                value <= c.value if c.op == "<=" else value > c.value if c.op == ">" else value == c.value
                for value, c in zip(values, rule.body, strict=True)
            ]
            if all(tests):
                for label, value in rule.head:
                    known.setdefault(label, value)
        for label, value in known.items():
            labels[row, label] = value
    return labels


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_labels_are_what_the_planted_list_says(seed, dependencies, shared):
    data, rules = planted_rules(
        examples=150, rules=3, labels=6, label_conditions=dependencies, negative=0.3, shared_labels=shared, seed=seed,
        min_coverage=0.02,
    )  # fmt: skip
    np.testing.assert_array_equal(slow_labels(rules, np.asarray(data.X), 6), data.Y)
    np.testing.assert_array_equal(apply_rules(rules, data), data.Y)
    if not shared:
        heads = [label for rule in rules for label, _ in rule.head]
        assert len(heads) == len(set(heads))


def test_label_dependencies_and_head_sizes():
    _, rules = planted_rules(rules=6, labels=12, label_conditions=1.0, head_size=(2, 2), conditions=(2, 2), seed=3)
    assert all(len(rule.head) == 2 for rule in rules)
    assert any(condition.kind == "label" for rule in rules for condition in rule.body)


def test_noise_and_missing_values_come_at_the_asked_rate():
    data, _ = planted_rules(examples=4000, noise=0.1, missing=0.05, seed=4)
    assert abs(float((data.info["clean"] != data.Y).mean()) - 0.1) < 0.01
    assert abs(float(np.isnan(np.asarray(data.X)).mean()) - 0.05) < 0.01


def test_the_same_seed_gives_the_same_data():
    one, two, other = (planted_rules(seed=seed, noise=0.1) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one[0].X.values, two[0].X.values)
    np.testing.assert_array_equal(one[0].Y, two[0].Y)
    assert one[1] == two[1]
    assert one[1] != other[1]


@pytest.mark.parametrize(
    "options",
    [
        {"examples": 0},
        {"numeric": 0, "nominal": 0},
        {"noise": 1.5},
        {"conditions": (2, 1)},
        {"head_size": (0, 1)},
        {"rules": 9, "labels": 8},
        {"rules": 3, "labels": 3, "min_coverage": 1.0},
    ],
)
def test_bad_plans(options):
    with pytest.raises(OptionError):
        planted_rules(**options)
