"""Related labels are decided together: relations hold for any margins, contradictions are refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polyrule.errors import OptionError
from polyrule.relations import Plan, Relation, read
from polyrule.relations.data import broken

NAMES = tuple("abcdefg")


def random_relations(seed: int, width: int = 6) -> tuple[Relation, ...]:
    """Relations that do not contradict each other, of every kind."""
    rng = np.random.default_rng(seed)
    names, found = tuple(map(str, range(width))), ()
    for _ in range(int(rng.integers(1, 9))):
        kind = rng.choice(["implies", "at-most-one", "exactly-one"], p=[0.5, 0.3, 0.2])
        size = 2 if kind == "implies" else int(rng.integers(2, min(4, width) + 1))
        more = Relation(str(kind), tuple(rng.choice(width, size, replace=False).tolist()))  # type: ignore[arg-type]
        try:
            Plan.of((*found, more), names)
        except OptionError:
            continue
        found = (*found, more)
    return found


@pytest.mark.parametrize("width", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(100))
def test_relations_hold_for_any_margins(seed: int, width: int) -> None:
    relations = random_relations(seed, width)
    rng = np.random.default_rng(seed)
    margins = rng.choice([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0], (500, width))
    labels = Plan.of(relations, NAMES[:width]).decide(margins)
    for relation in relations:
        assert broken(relation, labels)[0] == 0, relation
    # what breaks no relation is left alone
    alone = (margins >= 0).astype(np.uint8)
    fine = [k for k in range(500) if not any(broken(one, alone[k : k + 1])[0] for one in relations)]
    assert np.array_equal(labels[fine], alone[fine])


def test_random_relations_are_worth_testing() -> None:
    drawn = [random_relations(seed) for seed in range(150)]
    kinds = [one.kind for relations in drawn for one in relations]
    assert min(kinds.count(kind) for kind in ("implies", "at-most-one", "exactly-one")) > 50
    assert sum(len({one.kind for one in relations}) == 3 for relations in drawn) > 20


def test_refused_relations_have_no_decision_in_their_order_or_a_dead_label() -> None:
    """Every contradiction in the strict sense, that no label set is allowed, is refused."""
    rng = np.random.default_rng(0)
    sets = np.array(list(product((0, 1), repeat=4)), dtype=np.uint8)
    contradictions = 0
    for _ in range(400):
        relations = []
        for _ in range(int(rng.integers(2, 7))):
            kind = str(rng.choice(["implies", "at-most-one", "exactly-one"]))
            size = 2 if kind == "implies" else int(rng.integers(2, 4))
            relations.append(Relation(kind, tuple(rng.choice(4, size, replace=False).tolist())))  # type: ignore[arg-type]
        if all(any(broken(one, row[None])[0] for one in relations) for row in sets):
            contradictions += 1
            with pytest.raises(OptionError):
                Plan.of(relations, NAMES[:4])
    assert contradictions > 10


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        (["a => b", "b => c", "c => a"], "labels imply each other: a => b => c => a"),
        (["a => b", "a => c", "b, c: at most one"], "'a' can never be present, because of 'b, c: at most one'"),
        (
            ["a, b: exactly one", "c, d: exactly one", "a, c: at most one", "a, d: at most one"],
            "'a' and 'd' would both be present in 'a, d: at most one'",
        ),
    ],
)
def test_contradictions_are_named(relations: list[str], message: str) -> None:
    with pytest.raises(OptionError) as error:
        Plan.of(read(relations, NAMES), NAMES)
    assert message in str(error.value)


def test_reasons_name_label_and_relation() -> None:
    names = ("pneumonia", "lung disease", "healthy", "grade 1", "grade 2")
    relations = ["pneumonia => lung disease", "lung disease, healthy: at most one", "grade 1, grade 2: exactly one"]
    plan = Plan.of(read(relations, names), names)
    margins = np.array([0.9, -1.2, 0.5, -1.5, -1.4])
    assert plan.decide(margins[None]).tolist() == [[1, 1, 0, 0, 1]]
    assert {label: str(why) for label, why in plan.reasons(margins, names).items()} == {
        1: "because pneumonia is present (pneumonia => lung disease)",
        2: "because lung disease is present (lung disease, healthy: at most one)",
        4: "because of grade 1, grade 2: exactly one",
    }


@pytest.mark.parametrize("seed", range(60))
def test_every_changed_label_has_a_reason(seed: int) -> None:
    plan = Plan.of(random_relations(seed), NAMES[:6])
    for margins in np.random.default_rng(seed).normal(size=(40, 6)):
        changed = np.flatnonzero(plan.decide(margins[None])[0] != (margins >= 0))
        assert sorted(plan.reasons(margins, NAMES[:6])) == changed.tolist()


def test_a_label_depends_on_its_component_only() -> None:
    plan = Plan.of(read(["a => b", "c, d: at most one", "d, e: at most one"], NAMES), NAMES)
    assert [plan.component(label) for label in (0, 2, 5)] == [(0, 1), (2, 3, 4), (5,)]
    assert plan.related == (0, 1, 2, 3, 4)
