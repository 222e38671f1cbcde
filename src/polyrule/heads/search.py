"""The one entrance to the head searches, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from polyrule.errors import OptionError
from polyrule.heads.branch_and_bound import search_bound
from polyrule.heads.climb import search_climb
from polyrule.heads.correlations import formula_of_sums, literals_decide
from polyrule.heads.enumeration import search_antimonotone, search_exhaustive
from polyrule.heads.ratio_search import LinearForm, linear_form, search_ratio
from polyrule.heads.result import HeadResult, Node, Rank
from polyrule.heads.single_literals import (
    alike_values,
    search_alike,
    search_decomposable,
    search_label_sets,
    search_subset,
)
from polyrule.heads.sizewise import SizeForm, size_form
from polyrule.heads.soundness import case_of, is_average, require_sound
from polyrule.heads.valuation import MicroValuation, SubsetValuation, Valuation, valuation
from polyrule.heads.world import HeadSpace, World
from polyrule.measures.definition import Head
from polyrule.measures.facts import prove
from polyrule.measures.objective import SEARCHES, Objective

VARIANTS = (*SEARCHES, "antimonotone-tree", "alike", "climb")
Seen = Mapping[Head, tuple[Fraction | None, str]]


def best_head(world: World, objective: Objective, watch: Callable[[], None] | None = None) -> HeadResult | None:
    """Return the best head in a `world` by the search of `objective`; None if no usable literal has a true positive.

    `watch` is called again and again and may end the search by raising.

    Examples
    --------
    >>> result = best_head(World.from_text(covered="0110 1100 1000"), Objective("precision"))
    >>> result.head, result.value, result.strategy
    (((0, 1), (1, 1)), Fraction(2, 3), 'decomposable')
    """
    return search(world, objective, objective.search, watch=watch)


def search(
    world: World,
    objective: Objective,
    strategy: str = "auto",
    trace: bool = False,
    min_tp: int = 1,
    watch: Callable[[], None] | None = None,
) -> HeadResult | None:
    """Return the best head by a given search.

    Parameters
    ----------
    world : World
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
    >>> figure = World.from_text(covered="0110 1100 1000")
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
    space = HeadSpace.of(world, objective, min_tp)
    if not space.choices:
        return None
    values = valuation(world, objective)
    values.watch = watch
    form: LinearForm | SizeForm | None = None
    if strategy in ("auto", "ratio", "decomposable") and min_tp > 0:
        form = linear_form(values, space) or size_form(values, space)
    chosen = _choose(values, space, form, min_tp) if strategy == "auto" else strategy
    require_sound(chosen, values, space, form)
    head, rank, evaluated, seen = _run(chosen, space, values, form)
    c = world.counts
    counts = tuple((int(c.tp[label, value]), int(c.fp[label, value])) for label, value in head)
    tree = _tree({**seen, head: (rank[0], "best")}) if trace else None
    return HeadResult(head, rank[0], counts, evaluated, space.size - evaluated, chosen, tree)


def _choose(values: Valuation, space: HeadSpace, form: LinearForm | SizeForm | None, min_tp: int) -> str:
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


def chosen_search(world: World, objective: Objective) -> str:
    """Return which search ``auto`` takes in a world that has a literal to predict.

    >>> world = World.from_text(covered="11 10", uncovered="01")
    >>> chosen_search(world, Objective("f1")), chosen_search(world, Objective("m2", effort=9))
    ('decomposable', 'climb')
    """
    space, values = HeadSpace.of(world, objective), valuation(world, objective)
    return _choose(values, space, linear_form(values, space) or size_form(values, space), 1)


def _choose_exact(values: Valuation, space: HeadSpace, form: LinearForm | SizeForm | None) -> str:
    plain = values.objective.lift.is_none
    if isinstance(values, SubsetValuation):
        return "subset" if plain else "bound"
    if plain and is_average(form):
        return "decomposable"
    if form is not None:
        return "ratio"
    if alike_values(values, space) is not None:
        return "alike"
    return _by_kind(values, space) if plain else "bound"


def _by_kind(values: Valuation, space: HeadSpace) -> str:
    """Choose by what is proved about the measure, where its form says nothing."""
    known = prove(case_of(values, space))
    if known is None:
        return "bound"
    if known.kind == "decomposable":
        return "decomposable"
    counts = (0, 0, 0, 0), (1, 1, 1, 1)
    unbounded = isinstance(values, MicroValuation) and values.objective.measure.upper_bound(*counts) is None
    return "antimonotone" if unbounded and known.kind == "anti-monotone" else "bound"


def _run(
    strategy: str, space: HeadSpace, values: Valuation, form: LinearForm | SizeForm | None
) -> tuple[Head, Rank, int, Seen]:
    if strategy == "exhaustive":
        head, rank, seen = search_exhaustive(space, values)
        return head, rank, len(seen), seen
    if strategy.startswith("antimonotone"):
        return search_antimonotone(space, values, supersets=strategy == "antimonotone")
    if strategy == "decomposable":
        head, rank, singles = search_decomposable(space, values)
        return head, rank, len(singles), {(literal,): (value, "evaluated") for literal, value in singles.items()}
    if strategy == "alike":
        alone = alike_values(values, space)
        assert alone is not None
        head, rank = search_alike(space, values, alone)
        return head, rank, len(alone), {(literal,): (value, "evaluated") for literal, value in alone.items()}
    if strategy == "subset":
        assert isinstance(values, SubsetValuation)
        if values.objective.scope != "head":
            head, rank, evaluated = search_label_sets(space, values)
            return head, rank, evaluated, {}
        head, rank, weights = search_subset(space, values)
        total = values.world.total_weight
        return head, rank, len(weights), {(s,): (Fraction(w, total), "evaluated") for s, w in weights.items()}
    if strategy == "ratio":
        assert form is not None
        optimum = search_ratio(space, values, form)
        return optimum.head, optimum.rank, optimum.evaluated, {h: (values.value(h), "evaluated") for h in optimum.tried}
    if strategy == "climb":
        return *search_climb(space, values, values.objective.effort or 1), {}
    head, rank, met = search_bound(space, values)
    return head, rank, len(met), met


def _tree(seen: Seen) -> Node:
    """Arrange heads into a tree in which a head hangs below the head without its last label."""
    nodes: dict[Head, list[Head]] = {(): []}
    known: dict[Head, tuple[Fraction | None, str]] = {(): (None, "root"), **seen}
    for head in sorted(seen, key=lambda h: (len(h), h)):
        parent = head[:-1]
        while parent not in nodes:
            parent = parent[:-1]
        nodes[parent].append(head)
        nodes[head] = []

    def build(head: Head) -> Node:
        value, status = known[head]
        return Node(head, value, status, tuple(build(child) for child in nodes[head]))

    return build(())
