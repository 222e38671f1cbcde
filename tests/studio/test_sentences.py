"""Rules as sentences: every kind of condition, points of scorecards, words of texts."""

from __future__ import annotations

import pytest

from polyrule.data import Feature
from polyrule.data.derive.words import Word
from polyrule.model import RuleList
from polyrule.model.decisions import Decision
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.studio.sentences import sentence

FEATURES = (
    Feature("age"),
    Feature("smoker", "nominal", ("no", "yes")),
    Feature("plan", "ordinal", ("basic", "plus", "pro")),
    Feature("ward", "nominal", ("a", "b", "c")),
    Feature("on", "date"),
    Feature("coughs", flag=True),
    Word("plot", "zombie").feature(),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sick <- true", "Always sick"),
        ("sick <- age > 65.25", "If age is above 65.25, then sick"),
        ("¬sick <- ward in {a, c}, age <= 3", "If ward is a or c and age is at most 3, then not sick"),
        ("sick <- plan >= plus", "If plan is above basic, then sick"),
        ("sick <- on > 2021-03-05", "If on is above 2021-03-05, then sick"),
        ("sick <- age is missing, smoker is known", "If age is missing and smoker is known, then sick"),
        ("sick <- coughs, plot has zombie", "If coughs and plot has zombie, then sick"),
        ("sick <- ¬coughs, plot lacks zombie", "If not coughs and plot lacks zombie, then sick"),
        (
            'sick, dull <- at least 2 of "signs" (age > 5, coughs, smoker = yes), ward = b',
            "If at least 2 of signs (age is above 5, coughs, smoker is yes) and ward is b, then sick and dull",
        ),
        ("dull <- ¬sick", "If sick was not predicted before, then dull"),
    ],
)
def test_a_rule_of_a_list(text, expected):
    model = RuleList((), FEATURES, ("sick", "dull")).insert(0, text)
    assert sentence(model, model.rules[0]) == expected


def test_points_of_a_scorecard():
    model = RuleEnsemble((), FEATURES, ("sick", "dull"), (0.0, 0.0), Decision("threshold", (0.0, 0.0)))
    model = model.insert(0, "sick +3, dull -1 <- age > 65")
    assert sentence(model, model.rules[0]) == "If age is above 65, then sick +3 and dull −1"
