"""What stands below the rules of a model: what decides besides them."""

import pytest

from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.model import Literal, Rule, RuleList


def test_a_notebook_says_of_a_full_list_that_rules_set_all_labels() -> None:
    model = RuleList((Rule((Literal(0, 1),)),), (), ("a", "b"), full=True)
    told = "(a rule that fires sets all labels outside its head to absent; labels that no rule sets are absent)"
    assert told in str(model)
    assert told in model._repr_html_()


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (Decision("subset", (), ((),)), "of 1 label sets seen in training, the one whose sums exceed 0 by most"),
        (Decision("threshold"), "a label is present if its sum is at least 0, a probability of 50 %"),
        (Decision("per-label"), "a label is present if its sum is at least: "),
    ],
)
def test_a_model_without_labels_can_be_printed(decision: Decision, told: str) -> None:
    assert f"({told})" in str(RuleEnsemble((), (), (), (), decision))


def test_cuts_that_differ_are_told_by_label() -> None:
    rule = WeightedRule((Entry(0, 1.0), Entry(1, 1.0)))
    model = RuleEnsemble((rule,), (), ("a", "b"), (0.0, 0.0), Decision("threshold", (0.5, 2.0)))
    assert "(a label is present if its sum is at least: a 0.50, b 2)" in str(model)
