"""The searches that look at single literals only: `decomposable` (facts A, C, E), `subset` (fact D), equals (H)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from polyrule.heads.correlations import formula_of_sums
from polyrule.heads.problem import HeadProblem, HeadSpace, SearchRecord, Seen, rank
from polyrule.heads.valuation import MicroValuation, SubsetValuation, Valuation
from polyrule.measures.base import Counts
from polyrule.measures.definition import Head, LabelValue
from polyrule.measures.properties import is_correlation


def search_decomposable(space: HeadSpace, valuation: Valuation) -> SearchRecord:
    """Evaluate the single literals and merge those that reach the best value; the merged head has that value too."""
    singles = {literal: valuation.plain((literal,)) for literal in space.literals}
    top = max(singles.values())
    head = merge((literal for literal, value in singles.items() if value == top), space, valuation.problem)
    return _record(head, singles, valuation)


def _record(head: Head, singles: dict[LabelValue, Fraction], valuation: Valuation) -> SearchRecord:
    """Return a record of a head with the value of its best literal, and of the values of all literals without lift."""
    lift = valuation.rho(1)  # where there is one, no head is larger
    seen: Seen = {(literal,): (value * lift, "evaluated") for literal, value in singles.items()}
    return SearchRecord(head, rank(max(singles.values()) * lift, head, valuation.tp(head)), len(seen), seen)


def search_subset(space: HeadSpace, valuation: Valuation) -> SearchRecord:
    """Group the literals by the set of examples they treat rightly; the best head is a group of the largest set.

    Adding a label can only take examples away, so no head is better than a single literal, and a head is as good as
    the best one only if all its literals have the same, largest set. That is so for scope ``head``.
    """
    assert isinstance(valuation, SubsetValuation)
    if valuation.objective.scope != "head":
        return _search_label_sets(space, valuation)
    heads, weights = _best_groups(space.literals, space, valuation, valuation.everyone)
    total = valuation.problem.total_weight
    best = max(heads, key=lambda head: rank(Fraction(0), head, valuation.tp(head)))
    return _record(best, {literal: Fraction(weight, total) for literal, weight in weights.items()}, valuation)


def _best_groups(
    literals: list[LabelValue], space: HeadSpace, valuation: SubsetValuation, among: int
) -> tuple[list[Head], dict[LabelValue, int]]:
    """Group literals by what they get right among some examples; return the largest groups as heads, and weights."""
    groups: dict[int, list[LabelValue]] = {}
    for literal in literals:
        groups.setdefault(valuation.right[literal] & among, []).append(literal)
    weights = {examples: valuation.weight(examples) for examples in groups}
    top = max(weights.values())
    heads = [merge(group, space, valuation.problem) for examples, group in groups.items() if weights[examples] == top]
    return heads, {literal: weights[valuation.right[literal] & among] for literal in literals}


def _search_label_sets(space: HeadSpace, valuation: SubsetValuation) -> SearchRecord:
    """Find the best head by subset accuracy, scope ``all`` or ``full``: the labels of some covered example.

    A covered example is right only if the positive literals of the head are its labels, all of them, and no label of
    the head is set already. An uncovered one is right if it has no label, whatever the head. So the examples that a
    head gets right have one label set in common, and the label sets are tried one by one. Negative literals change
    nothing where their label is unset: those that cost no example are added, since more labels win a tie.
    """
    tried = {merge(space.literals, space, valuation.problem)}  # what is best if no covered example can be got right
    negatives = [literal for literal in space.literals if literal[1] == 0]
    for labels, members in label_sets(valuation).items():
        positives = [(label, 1) for label in labels]
        if len(positives) > space.max_size or any((label, 1) not in space.choices.get(label, ()) for label in labels):
            continue
        if not positives:
            tried.update(_best_groups(negatives, space, valuation, members)[0] if negatives else ())
            continue
        right = members
        for literal in positives:
            right &= valuation.right[literal]
        spare = [s for s in negatives if s[0] not in labels and right & valuation.right[s] == right]
        spare.sort(key=lambda literal: (-valuation.tp((literal,)), literal[0]))
        tried.add(tuple(sorted(positives + spare[: space.max_size - len(positives)])))
    record = SearchRecord()
    for head in tried:
        record.note(head, valuation.rank(head))
    return record


def label_sets(valuation: SubsetValuation) -> dict[tuple[int, ...], int]:
    """Return the label sets of the covered examples, each with the examples that have it as bits."""
    sets: dict[tuple[int, ...], int] = {}
    for example, (row, inside) in enumerate(zip(valuation.truth.tolist(), valuation.covered.tolist(), strict=True)):
        if inside:
            key = tuple(label for label, x in enumerate(row) if x)
            sets[key] = sets.get(key, 0) | 1 << example
    return sets


def merge(literals: Iterable[LabelValue], space: HeadSpace, problem: HeadProblem) -> Head:
    """Join literals that are equally good: per label the one with more TP, ``= 1`` on a tie; most TP first."""
    by_label: dict[int, tuple[int, int]] = {}
    for literal in literals:
        label, value = literal
        offer = problem.tp((literal,)), value
        by_label[label] = max(by_label.get(label, offer), offer)
    order = sorted((-tp, label, value) for label, (tp, value) in by_label.items())
    return tuple(sorted((label, value) for _, label, value in order[: space.max_size]))


def alike_values(valuation: Valuation, space: HeadSpace) -> dict[LabelValue, Fraction] | None:
    """Return the single values where fact H applies: equal margins, and one of the values positive; else None.

    Where labels are unknown on some rows, literals may cover as many and count over fewer.
    """
    if formula_of_sums(valuation) is None or not is_correlation(valuation.objective.measure):
        return None
    assert isinstance(valuation, MicroValuation)
    if not valuation.equal_margins(space.literals):
        return None
    singles = {literal: valuation.value((literal,)) for literal in space.literals}
    return singles if max(singles.values()) > 0 else None


def search_alike(space: HeadSpace, valuation: Valuation) -> SearchRecord:
    """Return the best head: the most labels among the best literals that have the same counts.

    >>> from polyrule.heads import HeadProblem, search
    >>> from polyrule.measures import Objective
    >>> problem = HeadProblem.from_text(covered="110 110", uncovered="001 000 101")
    >>> result = search(problem, Objective("matthews"))
    >>> result.strategy, result.head, str(result.value)
    ('alike', ((1, 1),), '1')
    """
    singles = alike_values(valuation, space)
    assert isinstance(valuation, MicroValuation)
    assert singles is not None
    level = max(singles.values())
    groups: dict[Counts, dict[int, LabelValue]] = {}
    for literal in space.literals:  # ``label = 1`` comes before ``label = 0`` of the label and stays
        if singles[literal] == level:
            groups.setdefault(valuation.delta[literal], {}).setdefault(literal[0], literal)
    heads = [tuple(sorted(group.values())[: space.max_size]) for group in groups.values()]
    return _record(max(heads, key=lambda head: rank(level, head, valuation.tp(head))), singles, valuation)
