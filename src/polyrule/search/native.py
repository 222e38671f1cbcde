"""The engine in C++: the same contract as the reference, the same rules, much faster; and which of them a fit gets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.conditions import Condition, LabelCondition, NominalCondition, NumericCondition
from polyrule.conditions.packed import AT_MOST, CATEGORY, LABEL
from polyrule.data.examples import LARGEST_TOTAL
from polyrule.data.labels import UNKNOWN, dense_labels, has_unknown
from polyrule.data.sparse import stored_cells
from polyrule.data.table import Table, as_kept
from polyrule.errors import OptionError
from polyrule.heads.bounding import bound_heads
from polyrule.heads.problem import HeadProblem
from polyrule.measures import FastForm, Measure, Objective
from polyrule.measures.association import round_average
from polyrule.measures.base import SubsetAccuracy
from polyrule.measures.definition import N_OUTCOMES, LabelCounts, weights_by_truth
from polyrule.measures.expression import ExpressionMeasure
from polyrule.measures.ratio import exact_number
from polyrule.search.growth import without_tested
from polyrule.search.protocol import PACE, Candidate, Engine, GrowOptions, Outcome, OutOfTime, Report
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import ONE_THREAD, Compute, native
from polyrule.utils.messages import argument, literal

logger = logging.getLogger(__name__)

KERNELS = ("native", "reference")


def is_supported(objective: Objective, rows: int, labels: int, total_weight: int) -> bool:
    """Return True if the compiled engine is built and has an exact form for the objective.

    Examples
    --------
    >>> is_supported(Objective("f1", averaging="example"), 10, 3, 10)
    True
    >>> is_supported(Objective("f1", averaging="example", scope="all"), 10, 3, 10)
    False
    """
    return objective.search == "auto" and _exact_form(objective, rows, labels, total_weight) is not None


def _exact_form(objective: Objective, rows: int, labels: int, total_weight: int) -> FastForm | None:
    """Return the form in which the extension is exact; None where there is none, or for weights out of its range."""
    if native is None or rows >= 2**31 or not 0 < total_weight <= LARGEST_TOTAL:
        return None
    form = objective.fast_form(labels, total_weight)
    if form is not None and objective.effort is not None and (form.kind == "example" or form.formula == "function"):
        return None  # in the extension, only heads by a formula of their summed counts are climbed to
    if form is not None and form.formula in ("matthews", "klosgen", "cosine"):
        # squares of correlations need four counts; averages are rounded, which must not join different values
        small = total_weight * labels <= LARGEST_TOTAL if objective.averaging == "micro" else total_weight < 2**15
        return form if small else None
    return form


class NativeEngine:
    """Grows rules with the compiled kernels. See `polyrule.search.protocol.Engine` for the contract.

    The training state lives in C++; the table's dense values are read in place and must not change meanwhile.
    """

    name = "native"

    def __init__(
        self,
        table: Table,
        truth: Any,
        weights: npt.NDArray[np.int64],
        objective: Objective,
        options: GrowOptions,
        n_jobs: int = 1,
        known_labels: Any = None,
        limits: Mapping[str, float] | None = None,
        like: NativeEngine | None = None,
    ) -> None:
        form = _exact_form(objective, len(table), truth.shape[1], int(weights.sum()))
        whole = truth
        if known_labels is None and has_unknown(truth):
            dense = dense_labels(truth)
            truth, known_labels = dense == 1, np.ascontiguousarray(dense < UNKNOWN, dtype=np.uint8)
        if native is None or form is None:
            raise OptionError(
                f"the compiled kernels cannot optimise {objective} here; use {argument('kernels', 'reference')}"
            )
        self.objective = objective
        self.options = options
        self.deadline: float | None = None
        self.report: Report | None = None
        self._limits = _limits(form, objective.negative) | dict(limits or {})
        shares_columns = like is not None and like.remaining == weights.sum() and like._limits == self._limits
        self._engine: Any = native.Engine(
            values=like._engine if like is not None and shares_columns else _values(table),
            nominal=np.array([feature.kind == "nominal" for feature in table.features], dtype=np.uint8),
            truth=_labels(truth),
            known=known_labels,
            labels=truth.shape[1],
            weights=np.ascontiguousarray(weights, dtype=np.int64),
            form=_form(form, objective),
            options={
                "beam_width": options.beam_width,
                "label_conditions": options.label_conditions,
                "min_coverage": options.min_weight,
                "max_conditions": options.max_conditions,
            },
            limits=self._limits,
            # one thread calls a function
            threads=1 if form.formula == "function" else max(1, n_jobs),
        )
        self._form = form
        self._make_reference = partial(ReferenceEngine, table, whole, weights, objective, options)

    @property
    def remaining(self) -> int:
        """Weight of the working set."""
        return int(self._engine.remaining)

    @property
    def has_unset(self) -> bool:
        """True if something is left to predict."""
        return bool(self._engine.has_unset)

    def grow(self, label: int | None = None, value: int | None = None) -> Candidate | None:
        """Return the best rule by greedy or beam search."""
        literal_value = 1 if value is None else int(value)
        if label is not None and not literal_value and not self.objective.negative:
            return None
        if label is None and self._form.kind == "alone":
            return self._by_reference().grow()
        return self._grow_compiled(self._engine.grow, ReferenceEngine.grow, label, literal_value)

    def grow_single(self) -> Candidate | None:
        """Return the best of the rules grown for each single literal."""
        return self._grow_compiled(self._engine.grow_single, ReferenceEngine.grow_single)

    def _grow_compiled(
        self, compiled: Any, plain: Callable[..., Candidate | None], *literal: int | None
    ) -> Candidate | None:
        """Grow a rule in the extension; by the reference where no search there is exact."""
        try:
            rule = self._candidate(compiled(*literal, self._seconds(), self.report, PACE))
        except TimeoutError:
            raise OutOfTime from None
        except NotImplementedError:
            return plain(self._by_reference(), *literal)
        late, form = self._engine.late, self._form
        if rule is not None and literal[:1] == (None,) and form.kind == "micro":
            unfinished = late and form.formula != "function"
            objective = replace(self.objective, effort=1) if unfinished else self.objective
            rule = replace(rule, bound=self._bound(rule, objective))
        if late:
            raise OutOfTime(rule)
        return rule

    def _bound(self, rule: Candidate, objective: Objective) -> Fraction | None:
        """Return a bound of the value of any head of a body; None if its head is the best, as without an effort."""
        if objective.effort is None:
            return None
        outcomes = np.array(self._engine.label_counts(rule.cover), dtype=np.int64)
        covered, all_rows = outcomes[:, :N_OUTCOMES], outcomes[:, N_OUTCOMES:]
        allowed = np.ones((len(outcomes), 2), dtype=bool)
        allowed[:, 0] = self.objective.negative
        counts = LabelCounts.of(covered, weights_by_truth(all_rows))
        problem = HeadProblem.from_counts(counts, self.remaining, without_tested(allowed, rule.body))
        return bound_heads(problem, objective, rule.value)

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Apply a rule to the training state."""
        stop = None if stop_threshold is None else _ratio(stop_threshold)
        head = [(label, value) for label, value, _, _ in candidate.head]
        cover = candidate.cover
        rows = cover.astype(np.int64, copy=False) if isinstance(cover, np.ndarray) else cover
        return Outcome(*self._engine.commit(rows, head, stop, keep_covered))

    def leftover(self) -> npt.NDArray[np.int64]:
        """Per label, present and absent weight that no rule has set."""
        return np.array(self._engine.leftover(), dtype=np.int64).reshape(-1, 2)

    @cached_property
    def _reference(self) -> ReferenceEngine:
        """Made when it is first needed, which mostly is never."""
        return self._make_reference()

    def _by_reference(self) -> ReferenceEngine:
        """Return a reference in the present state, for a rule that no compiled search is exact for."""
        reference = self._reference
        working, assigned = self._engine.training_state()
        reference.resume(np.frombuffer(working, dtype=np.bool_), np.frombuffer(assigned, dtype=np.int8))
        reference.deadline, reference.report = self.deadline, self.report
        return reference

    def _candidate(self, rule: Any) -> Candidate | None:
        if rule is None:
            return None
        body, head, num, den, covered, *rest = rule
        value = Fraction(num, den)
        if rest:
            value = self._example_value(rest[0]) if self._form.kind == "example" else self._value(head, rest[0])
        return Candidate(tuple(map(_condition, body)), tuple(head), value, covered)

    def _value(self, head: list[tuple[int, int, int, int]], rest: list[tuple[int, int]]) -> Fraction:
        """Measure a head: the compiled kernels only know numbers in the order of its values."""
        counts = [(tp, fp, tn, fn) for (_, _, tp, fp), (tn, fn) in zip(head, rest, strict=True)]
        measure = self.objective.measure
        if self.objective.averaging == "micro":
            return measure.value(*(sum(column) for column in zip(*counts, strict=True)))
        value = measure.value(*counts[0])
        return round_average(value) if measure.rounded else value

    def _example_value(self, weights: list[int]) -> Fraction:
        """Return the mean over examples whose weight is known by the number of wrong literals."""
        measure, size = self.objective.measure, len(weights) - 1
        parts = (weight * measure.value(size - wrong, wrong, 0, 0) for wrong, weight in enumerate(weights) if weight)
        return sum(parts, Fraction(0)) / sum(weights)

    def _seconds(self) -> float | None:
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left


def _form(form: FastForm, objective: Objective) -> dict[str, Any]:
    """Return the parts of the form for the compiled engine."""
    parts: dict[str, Any] = {
        "kind": form.kind,
        "scope": form.scope,
        "num": form.num,
        "den": form.den,
        "rho": form.rho,
        "max_head": form.max_head_size,
        "effort": objective.effort,
        "negative": objective.negative,
    }
    if not form.formula:
        return parts
    measure = objective.measure
    return parts | {
        "formula": form.formula,
        "m": form.m,
        "function": _callable_of(measure),
        "monotone": measure.monotone,
    }


def _callable_of(measure: Measure) -> Callable[..., npt.NDArray[np.float64]]:
    """Return the function that the compiled engine calls with four arrays; it must not refer to the engine."""
    values = measure.ordered_values if isinstance(measure, ExpressionMeasure) else measure.values

    def ask(*counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.ascontiguousarray(values(*counts), dtype=np.float64) + 0.0  # no negative zeros

    return ask


_COPIED_ROWS = 65_536
"""A table of so many rows is brought into column order."""
_SORTED_ROWS = 16_384
"""Of a table of more rows, columns are counted in bins first where few bins hold a winner."""
_BINNED_ROWS = 2048
"""Covers of more of its rows, too."""
_FIRST_LABELS = 2
"""From so many labels on the best first conditions are kept where a rule changes one or two labels."""


def _limits(form: FastForm, negative: bool) -> dict[str, float]:
    """Return from which sizes on this form is searched in another way.

    Bodies for presences by a measure that recall is part of are large, and few bins reach as far as the best of them.
    """
    large = form.kind == "singles" and not form.formula and form.den[4] > 0 and not negative
    if not large:
        return {}
    return {"sorted_rows": _SORTED_ROWS, "binned_rows": _BINNED_ROWS, "first_labels": _FIRST_LABELS}


@cache
def _ratio(number: float) -> tuple[int, int]:
    """Return the largest ratio of weights that is not above a number; cached, because each rule needs the same one.

    >>> _ratio(0.01), _ratio(1 / 7000)
    ((1, 100), (1, 7000))
    """
    exact = exact_number(number)
    near = exact.limit_denominator(LARGEST_TOTAL)
    if near > exact:  # its lower neighbour among the fractions with such denominators
        low = pow(near.numerator, -1, near.denominator)
        bottom = LARGEST_TOTAL - (LARGEST_TOTAL - low) % near.denominator
        near = Fraction((near.numerator * bottom - 1) // near.denominator, bottom)
    return near.as_integer_ratio()


def _values(table: Table) -> Any:
    if not table.is_sparse:
        dense: Any = as_kept(np.asarray(table.values))
        # the engine reads one feature at a time; copying a large table would cost more memory than it saves time
        return np.asfortranarray(dense) if len(table) <= _COPIED_ROWS else dense
    return stored_cells(table.values)


def _labels(truth: Any) -> Any:
    if not sp.issparse(truth):
        return np.ascontiguousarray(truth, dtype=np.uint8)
    rows = sp.csr_array(truth)
    rows.eliminate_zeros()
    return rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int64, copy=False)


def _condition(parts: tuple[int, int, float]) -> Condition:
    test, index, value = parts
    if test == LABEL:
        return LabelCondition(index, int(value))
    if test == CATEGORY:
        return NominalCondition(index, int(value))
    return NumericCondition(index, "<=" if test == AT_MOST else ">", value)


def make_engine(
    table: Table,
    truth: Any,
    weights: npt.NDArray[np.int64],
    objective: Objective,
    options: GrowOptions,
    compute: Compute = ONE_THREAD,
    like: Engine | None = None,
) -> Engine:
    """Return the fastest engine that can optimise the objective, or the one asked for; all give the same rules.

    An engine `like` it, for the same table and weights, lends its columns if none of its examples has left, so that
    they are sorted once.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0]])
    >>> truth, weights = np.array([[1], [0]], dtype=np.uint8), np.ones(2, dtype=np.int64)
    >>> make_engine(table, truth, weights, Objective("f1"), GrowOptions(), Compute(kernels="reference")).name
    'reference'
    """
    kernels, threads = compute.kernels, compute.threads
    if kernels is not None and kernels not in KERNELS:
        allowed = f"{literal(None)} or one of {', '.join(KERNELS)}"
        raise OptionError(parameter="kernels", value=kernels, allowed=allowed)
    if kernels == "native" and native is None:
        missing = "needs the compiled kernels, which are not installed or switched off"
        raise OptionError(f"{argument('kernels', 'native')} {missing}")
    unknown_subset = False
    if has_unknown(truth):
        _check_unknown(objective)
        # where an example may be right without a TP or TN, the compiled search for subset accuracy is not exact
        unknown_subset = isinstance(objective.measure, SubsetAccuracy)
        if kernels == "native" and unknown_subset:
            native_only = argument("kernels", "native")
            raise OptionError(f"{native_only} cannot learn subset accuracy from unknown labels; leave it out")
    if kernels == "reference" or unknown_subset:
        return ReferenceEngine(table, truth, weights, objective, options)
    if kernels == "native" or is_supported(objective, len(table), truth.shape[1], int(weights.sum())):
        donor = like if isinstance(like, NativeEngine) else None
        return NativeEngine(table, truth, weights, objective, options, threads, like=donor)
    logger.info("%s has no compiled search; growing rules with the NumPy kernels", objective)
    return ReferenceEngine(table, truth, weights, objective, options)


def _check_unknown(objective: Objective) -> None:
    """Refuse what no search is exact for when examples count different numbers of labels."""
    subset = isinstance(objective.measure, SubsetAccuracy)
    if (objective.averaging == "example" and not subset) or (subset and objective.scope != "head"):
        example = argument("averaging", "example")
        what = f"subset accuracy with {argument('scope', objective.scope)}" if subset else example
        raise OptionError(f"{what} needs every label to be known; fill in Y or choose another measure")
