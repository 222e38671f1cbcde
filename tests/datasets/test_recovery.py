import numpy as np
import pytest

from polyrule import RuleListClassifier
from polyrule.datasets import planted_rules, recovery
from polyrule.model import LabelCondition, Literal, NominalCondition, NumericCondition, Rule


def as_rule(planted):
    made = {
        "numeric": lambda c: NumericCondition(c.index, c.op, c.value),
        "nominal": lambda c: NominalCondition(c.index, int(c.value)),
        "label": lambda c: LabelCondition(c.index, int(c.value)),
    }
    return Rule(
        tuple(Literal(label, value) for label, value in planted.head), tuple(made[c.kind](c) for c in planted.body)
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_rules_themselves_are_found_whole(seed):
    data, rules = planted_rules(label_conditions=0.5, negative=0.3, seed=seed)
    found = recovery([as_rule(rule) for rule in rules], rules, data)
    assert (found.precision, found.recall) == (1, 1)
    assert found.matches == tuple(range(len(rules)))


def test_wrong_heads_and_other_bodies_do_not_count():
    data, rules = planted_rules(rules=2, seed=1)
    first = as_rule(rules[0])
    wrong_head = Rule(as_rule(rules[1]).head, first.body)
    assert recovery([wrong_head], rules, data).recall == 0
    assert recovery([first, Rule(first.head, ())], rules, data).precision == 0.5
    assert recovery([first], rules, data).matches == (0, None)
    part = Rule(first.head[:1], first.body)
    if len(first.head) > 1:
        assert recovery([part], rules, data).recall == 0
    assert recovery([part], rules, data, whole_head=False).recall == 0.5


def test_the_learner_finds_what_was_planted():
    """Without noise, and where every label obeys one rule, nothing planted may stay hidden."""
    precisions = []
    for seed in range(5):
        data, rules = planted_rules(examples=600, rules=4, labels=8, seed=seed)
        learned = RuleListClassifier.paper(measure="f1", negative=False).fit(data.X, data.Y)
        found = recovery(learned.rules_, rules, data)
        assert found.recall == 1
        precisions.append(found.precision)
    assert np.mean(precisions) >= 0.7


def test_noise_hides_rules_but_not_all():
    recalls = []
    for seed in range(4):
        data, rules = planted_rules(examples=600, rules=4, labels=8, seed=seed, noise=0.05)
        learned = RuleListClassifier.paper(measure="f1", negative=False).fit(data.X, data.Y)
        recalls.append(recovery(learned.rules_, rules, data, whole_head=False).recall)
    assert np.mean(recalls) >= 0.75
