"""Entry point of the head searches: the choice among them, and the check that a requested one is exact."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from polyrule.errors import OptionError, UnsoundSearchError
from polyrule.heads.branch_and_bound import search_bound
from polyrule.heads.correlations import formula_of_sums, literals_decide
from polyrule.heads.enumeration import search_antimonotone, search_climb, search_exhaustive
from polyrule.heads.problem import HeadProblem, HeadResult, HeadSpace, SearchRecord, Seen, TreeNode
from polyrule.heads.ratio_search import LinearForm, SizeForm, linear_form, search_ratio, size_form
from polyrule.heads.single_literals import alike_values, search_alike, search_decomposable, search_subset
from polyrule.heads.valuation import MicroValuation, SubsetValuation, Valuation, valuation
from polyrule.measures.base import Case, SubsetAccuracy
from polyrule.measures.definition import Head
from polyrule.measures.objective import SEARCHES, Objective
from polyrule.measures.properties import Properties, prove
from polyrule.measures.trial import find_witness

Form = LinearForm | SizeForm | None


def is_average(form: Form) -> bool:
    """Return True if a head's value is a mean of its single values, so that it is the best only if all of them are."""
    if isinstance(form, LinearForm):
        return form.top == 0 and form.bottom == 0 and all(b > 0 for _, b in form.terms.values())
    if form is None:
        return False
    first = form.gains[0]
    return all(c == form.constants[0] for c in form.constants) and all(
        gain == first[literal] / (k + 1) for k, gains in enumerate(form.gains) for literal, gain in gains.items()
    )


def case_of(values: Valuation, space: HeadSpace) -> Case:
    """Return the case of a proof: the objective in the state of the problem."""
    objective = values.objective
    negative = any(value == 0 for _, value in space.literals)
    allowed = values.problem.allowed[space.labels]
    lopsided = negative and bool((allowed[:, 0] != allowed[:, 1]).any())
    return Case(objective.measure, objective.averaging, objective.scope, negative, values.problem.nothing_set, lopsided)


def known_properties(values: Valuation, space: HeadSpace) -> Properties:
    """Return the properties of the objective in the state of the problem."""
    case = case_of(values, space)
    return case.measure.properties(case.averaging, case.scope, case.negative, case.nothing_set)


def check_search(objective: Objective, nothing_set: bool = False) -> None:
    """Raise `UnsoundSearchError` if the objective's own search could miss the best head in some problem.

    Made for the start of learning: `search` checks its problem only, this function all that may come. With
    `nothing_set` only problems in which no label has been set yet are meant.

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
    properties = objective.properties(nothing_set)
    _refuse_lift(strategy, objective)
    if strategy in properties.searches:
        return
    if strategy in ("ratio", "subset"):
        raise UnsoundSearchError(_not_made_for(strategy, objective))
    raise UnsoundSearchError(_message(strategy, objective, properties, objective.negative, nothing_set))


def require_sound(strategy: str, values: Valuation, space: HeadSpace, form: Form) -> None:
    """Raise `UnsoundSearchError` unless the search is proved exact in this problem."""
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
        if (form is None) if strategy == "ratio" else not (isinstance(values, SubsetValuation) and values.has_sets):
            raise UnsoundSearchError(_not_made_for(strategy, objective))
        return
    if name == "decomposable" and is_average(form):
        return
    properties = known_properties(values, space)
    if properties.fact == "L" and prove(case_of(values, space)) is None:
        raise UnsoundSearchError(
            f"search={name!r} is proved exact for {objective} only where both literals of a label are allowed or "
            "neither is, which is not so here; use search='auto'"
        )
    if not (properties.proved and (name == "antimonotone" or properties.kind == "decomposable")):
        negative = any(value == 0 for _, value in space.literals)
        raise UnsoundSearchError(_message(name, objective, properties, negative, values.problem.nothing_set))


def _refuse_lift(name: str, objective: Objective) -> None:
    if name != "ratio" and not objective.lift.is_none and objective.max_head_size != 1:
        raise UnsoundSearchError(
            f"search={name!r} is not exact with the lift {objective.lift}: a head may be worse and larger ones be "
            "lifted above it; use search='auto', which compares the best heads of every size"
        )


def _not_made_for(strategy: str, objective: Objective) -> str:
    if strategy == "subset":
        if isinstance(objective.measure, SubsetAccuracy):
            return f"search='subset' with scope={objective.scope!r} needs labels that are all known; use search='auto'"
        return f"search='subset' is for subset accuracy, not for {objective}; use search='auto'"
    return (
        f"search='ratio' needs an objective that is a ratio of sums over the head's literals; {objective} is none "
        "here; use search='auto'"
    )


def _message(name: str, objective: Objective, properties: Properties, negative: bool, nothing_set: bool) -> str:
    claim = "anti-monotone" if name == "antimonotone" else "decomposable"
    witness = properties.witness
    if witness is None or witness.claim != claim:
        case = Case(objective.measure, objective.averaging, objective.scope, negative, nothing_set)
        witness, n_problems = find_witness(case, claim)
        if witness is None:
            return (
                f"search={name!r} is not proved exact: {objective} has no counterexample to being {claim} in "
                f"{n_problems} "
                "small problems, but no proof either; use search='auto'"
            )
    return f"search={name!r} could miss the best head: {objective} is not {claim}; {witness}; use search='auto'"


VARIANTS = (*SEARCHES, "antimonotone-tree", "alike", "climb")
#: All but ``ratio``, which needs the form of the objective.
_RUN: dict[str, Callable[[HeadSpace, Valuation], SearchRecord]] = {
    "exhaustive": search_exhaustive,
    "antimonotone": search_antimonotone,
    "antimonotone-tree": partial(search_antimonotone, supersets=False),
    "decomposable": search_decomposable,
    "alike": search_alike,
    "subset": search_subset,
    "climb": search_climb,
    "bound": search_bound,
}


def best_head(problem: HeadProblem, objective: Objective, watch: Callable[[], None] | None = None) -> HeadResult | None:
    """Return the best head in a `problem` by the search of `objective`; None if no usable literal has a true positive.

    `watch` is called again and again and may end the search by raising.

    Examples
    --------
    >>> result = best_head(HeadProblem.from_text(covered="0110 1100 1000"), Objective("precision"))
    >>> result.head, result.value, result.strategy
    (((0, 1), (1, 1)), Fraction(2, 3), 'decomposable')
    """
    return search(problem, objective, objective.search, watch=watch)


def search(
    problem: HeadProblem,
    objective: Objective,
    strategy: str = "auto",
    trace: bool = False,
    min_tp: int = 1,
    watch: Callable[[], None] | None = None,
) -> HeadResult | None:
    """Return the best head by a given search.

    Parameters
    ----------
    problem : HeadProblem
        The examples as the body splits them.
    objective : Objective
        What a head is judged by.
    strategy : str
        ``auto``, ``exhaustive``, ``antimonotone``, ``decomposable``, ``ratio``, ``subset``, ``bound``, or
        ``antimonotone-tree``: the variant of the paper's figure, which prunes only within the branches of its tree;
        ``alike``: for correlations with a positive best value, which ``auto`` takes where it can; ``climb``: as many
        heads as the `effort` of the objective, which ``auto`` takes instead of ``bound`` where there is one.
    trace : bool
        Whether to return the search tree.
    min_tp : int
        True positives a literal needs; 0 also tries literals that are never right, as the paper's figure does.
    watch : callable, optional
        Called before a head is valued; ends the search by raising.

    Raises
    ------
    UnsoundSearchError
        If the search could miss the best head; the message shows a small witness.

    Examples
    --------
    >>> figure = HeadProblem.from_text(covered="0110 1100 1000")
    >>> for strategy in ("exhaustive", "antimonotone-tree", "antimonotone", "decomposable"):
    ...     result = search(figure, Objective("precision"), strategy, min_tp=0)
    ...     print(strategy, result.evaluated, result.pruned)
    exhaustive 15 0
    antimonotone-tree 12 3
    antimonotone 10 5
    decomposable 4 11
    """
    if strategy not in VARIANTS:
        raise OptionError(f"search must be one of {', '.join(VARIANTS)}, got {strategy!r}")
    space = HeadSpace.of(problem, objective, min_tp)
    if not space.choices or not problem.total_weight:
        return None
    values = valuation(problem, objective)
    values.watch = watch
    form: Form = None
    if strategy in ("auto", "ratio", "decomposable") and min_tp > 0:
        form = linear_form(values, space) or size_form(values, space)
    selected = _choose(values, space, form, min_tp) if strategy == "auto" else strategy
    require_sound(selected, values, space, form)
    if selected == "ratio":
        assert form is not None
        record = search_ratio(space, values, form)
    else:
        record = _RUN[selected](space, values)
    assert record.rank is not None
    head, best, c = record.head, record.rank[0], problem.counts
    counts = tuple((int(c.tp[label, value]), int(c.fp[label, value])) for label, value in head)
    tree = _tree({**record.seen, head: (best, "best")}) if trace else None
    return HeadResult(head, best, counts, record.evaluated, space.size - record.evaluated, selected, tree)


def _choose(values: Valuation, space: HeadSpace, form: Form, min_tp: int) -> str:
    """Return the cheapest search that is proved exact here; the proofs need literals with a true positive."""
    if min_tp < 1:
        return "bound"
    exact = _choose_exact(values, space, form)
    if values.objective.effort is None:
        return exact
    formula = formula_of_sums(values)
    if formula is None:
        return "climb" if exact == "bound" else exact
    return exact if formula != "m_estimate" and literals_decide(values, space) else "climb"


def chosen_search(values: Valuation, space: HeadSpace) -> str:
    """Return the search that ``auto`` uses for a problem with a usable literal."""
    return _choose(values, space, linear_form(values, space) or size_form(values, space), 1)


def _choose_exact(values: Valuation, space: HeadSpace, form: Form) -> str:
    plain = values.objective.lift.is_none
    if isinstance(values, SubsetValuation):
        return "subset" if plain and values.has_sets else "bound"
    if plain and is_average(form):
        return "decomposable"
    if form is not None:
        return "ratio"
    if alike_values(values, space) is not None:
        return "alike"
    return _by_kind(values, space) if plain else "bound"


def _by_kind(values: Valuation, space: HeadSpace) -> str:
    """Choose by what is proved about the measure, where its form says nothing."""
    verdict = prove(case_of(values, space))
    if verdict is None:
        return "bound"
    if verdict.kind == "decomposable":
        return "decomposable"
    unbounded = isinstance(values, MicroValuation) and not values.objective.measure.has_bound
    return "antimonotone" if unbounded and verdict.kind == "anti-monotone" else "bound"


def _tree(seen: Seen) -> TreeNode:
    """Arrange heads into a tree in which a head hangs below the head without its last label."""
    nodes: dict[Head, list[Head]] = {(): []}
    statuses: dict[Head, tuple[Fraction | None, str]] = {(): (None, "root"), **seen}
    for head in sorted(seen, key=lambda h: (len(h), h)):
        parent = head[:-1]
        while parent not in nodes:
            parent = parent[:-1]
        nodes[parent].append(head)
        nodes[head] = []

    def build(head: Head) -> TreeNode:
        value, status = statuses[head]
        return TreeNode(head, value, status, tuple(build(child) for child in nodes[head]))

    return build(())
