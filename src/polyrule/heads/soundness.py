"""Whether a search is exact for an objective in a world, and the error if it is not."""

from __future__ import annotations

from polyrule.errors import UnsoundSearchError
from polyrule.heads.ratio_search import LinearForm
from polyrule.heads.single_literals import alike_values
from polyrule.heads.sizewise import SizeForm
from polyrule.heads.valuation import SubsetValuation, Valuation
from polyrule.heads.world import HeadSpace
from polyrule.measures.facts import Case, prove
from polyrule.measures.objective import Objective
from polyrule.measures.properties import Properties
from polyrule.measures.trial import find_witness

Form = LinearForm | SizeForm | None


def is_average(form: Form) -> bool:
    """Whether a head's value is a mean of its single values, so that it is the best only if all of them are."""
    if isinstance(form, LinearForm):
        return form.top == 0 and form.bottom == 0 and all(b > 0 for _, b in form.terms.values())
    if form is None:
        return False
    first = form.gains[0]
    return all(c == form.constants[0] for c in form.constants) and all(
        gain == first[literal] / (k + 1) for k, gains in enumerate(form.gains) for literal, gain in gains.items()
    )


def case_of(values: Valuation, space: HeadSpace) -> Case:
    """Return what a proof would have to be about: the objective in the state the world is in."""
    objective = values.objective
    negative = any(value == 0 for _, value in space.literals)
    allowed = values.world.allowed[space.labels]
    lopsided = negative and bool((allowed[:, 0] != allowed[:, 1]).any())
    return Case(objective.measure, objective.averaging, objective.scope, negative, values.world.nothing_set, lopsided)


def known_properties(values: Valuation, space: HeadSpace) -> Properties:
    """Return what is known about the objective in the state the world is in."""
    case = case_of(values, space)
    return case.measure.properties(case.averaging, case.scope, case.negative, case.nothing_set)


def check_search(objective: Objective, nothing_set: bool = False) -> None:
    """Raise `UnsoundSearchError` if the objective's own search could miss the best head in some world.

    Made for the start of learning: `search` judges by the world at hand, this by all that may come. With
    `nothing_set` only worlds in which no label has been set yet are meant.

    Examples
    --------
    >>> check_search(Objective("f1", search="decomposable"))
    >>> check_search(Objective("laplace", search="decomposable"))
    Traceback (most recent call last):
        ...
    polyrule.errors.UnsoundSearchError: search='decomposable' could miss the best head: laplace, micro, scope head is
    not decomposable; covered 11: {1}=2/3, {2}=2/3 but {1,2}=3/4; use search='auto'
    """
    strategy = objective.search
    if strategy in ("auto", "exhaustive", "bound"):
        return
    found = objective.properties(nothing_set)
    _refuse_lift(strategy, objective)
    if strategy in found.searches:
        return
    if strategy in ("ratio", "subset"):
        raise UnsoundSearchError(_not_made_for(strategy, objective))
    raise UnsoundSearchError(_message(strategy, objective, found, objective.negative, nothing_set))


def require_sound(strategy: str, values: Valuation, space: HeadSpace, form: Form) -> None:
    """Raise `UnsoundSearchError` unless the search is proved exact in this world."""
    if strategy in ("exhaustive", "bound", "climb"):  # a climb states how far it may be from the best
        return
    objective = values.objective
    name = "antimonotone" if strategy.startswith("antimonotone") else strategy
    if space.max_size > 1:
        _refuse_lift(name, objective)
    if strategy == "alike":
        if alike_values(values, space) is None:
            raise UnsoundSearchError(
                "search='alike' is exact for correlations with a positive best value whose literals all cover the same "
                f"weight, which {objective} is not here; use search='auto'"
            )
        return
    if strategy in ("ratio", "subset"):
        if (form is None) if strategy == "ratio" else not isinstance(values, SubsetValuation):
            raise UnsoundSearchError(_not_made_for(strategy, objective))
        return
    if name == "decomposable" and is_average(form):
        return
    found = known_properties(values, space)
    if found.fact == "L" and prove(case_of(values, space)) is None:
        raise UnsoundSearchError(
            f"search={name!r} is proved exact for {objective} only where both literals of a label are allowed or "
            "neither is, which is not so here; use search='auto'"
        )
    if not (found.proved and (name == "antimonotone" or found.kind == "decomposable")):
        negative = any(value == 0 for _, value in space.literals)
        raise UnsoundSearchError(_message(name, objective, found, negative, values.world.nothing_set))


def _refuse_lift(name: str, objective: Objective) -> None:
    if name != "ratio" and not objective.lift.is_none and objective.max_head_size != 1:
        raise UnsoundSearchError(
            f"search={name!r} is not exact with the lift {objective.lift}: a head may be worse and larger ones be "
            "lifted above it; use search='auto', which compares the best heads of every size"
        )


def _not_made_for(strategy: str, objective: Objective) -> str:
    if strategy == "subset":
        return f"search='subset' is for subset accuracy, not for {objective}; use search='auto'"
    return (
        f"search='ratio' needs an objective that is a ratio of sums over the head's literals; {objective} is none "
        "here; use search='auto'"
    )


def _message(name: str, objective: Objective, found: Properties, negative: bool, nothing_set: bool) -> str:
    claim = "anti-monotone" if name == "antimonotone" else "decomposable"
    witness = found.witness
    if witness is None or witness.claim != claim:
        witness, worlds = find_witness(
            objective.measure, objective.averaging, objective.scope, claim, negative, nothing_set
        )
        if witness is None:
            return (
                f"search={name!r} is not proved exact: {objective} has no counterexample to being {claim} in {worlds} "
                "small worlds, but no proof either; use search='auto'"
            )
    return f"search={name!r} could miss the best head: {objective} is not {claim}; {witness}; use search='auto'"
