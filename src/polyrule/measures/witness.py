"""A small world that refutes a claim about a measure, and how it is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from polyrule.measures.definition import UNSET, Head

MOST_ROWS = 12  # a world with more examples is written with repetitions


@dataclass(frozen=True)
class Witness:
    """A world and heads in it that contradict a claim.

    Attributes
    ----------
    claim : {"anti-monotone", "decomposable"}
    truth : tuple of tuples
        The labels of every example.
    covered : tuple of bool
        Which examples the body covers.
    assigned : tuple of tuples
        What earlier rules have set, -1 where nothing.
    heads : tuple of heads
        For ``anti-monotone``, a head, a larger one whose value is lower, and a still larger one that is the best again;
        for ``decomposable``, single literals and a head of them that is better or worse than it should be.
    values : tuple of Fraction
        What each head is worth.

    Examples
    --------
    >>> from polyrule import measures
    >>> print(measures.f(1).properties("example").witness)
    covered 0011,1100: {1,3}=2/3 > {1,2,3}=13/20 but {1,2,3,4}=2/3
    """

    claim: str
    truth: tuple[tuple[int, ...], ...]
    covered: tuple[bool, ...]
    assigned: tuple[tuple[int, ...], ...]
    heads: tuple[Head, ...]
    values: tuple[Fraction, ...]

    @property
    def negative(self) -> bool:
        """Whether a literal ``label = 0`` takes part."""
        return any(value == 0 for head in self.heads for _, value in head)

    @property
    def nothing_set(self) -> bool:
        """Whether no label of the world is set."""
        return all(x == UNSET for row in self.assigned for x in row)

    def __str__(self) -> str:
        short = len(self.covered) > MOST_ROWS
        where = "covered " + _rows((self._row(e) for e, inside in enumerate(self.covered) if inside), short)
        outside = _rows((self._row(e) for e, inside in enumerate(self.covered) if not inside), short)
        if outside:
            where += f", uncovered {outside}"
        if not self.nothing_set:
            where += " (labels in brackets are set already)"
        shown = [f"{head_text(h)}={value_text(v)}" for h, v in zip(self.heads, self.values, strict=True)]
        if self.claim == "anti-monotone":
            return f"{where}: {shown[0]} > {shown[1]} but {shown[2]}"
        *singles, last = shown
        return f"{where}: {', '.join(singles)} but {last}"

    def _row(self, example: int) -> str:
        inside = self.covered[example]
        return "".join(
            f"[{t}]" if inside and a != UNSET else str(t)
            for t, a in zip(self.truth[example], self.assigned[example], strict=True)
        )


def _rows(rows: Iterable[str], short: bool) -> str:
    """Join rows by commas; written short, ``3×011`` stands for a row that occurs three times.

    >>> _rows(["11", "01", "01"], short=True)
    '11,2×01'
    """
    if not short:
        return ",".join(rows)
    counted = [(row, len(list(same))) for row, same in groupby(sorted(rows, reverse=True))]
    return ",".join(row if count == 1 else f"{count}×{row}" for row, count in counted)


def head_text(head: Head) -> str:
    """Write a head as a set of labels, counted from 1.

    >>> head_text(((0, 1), (2, 0)))
    '{1,¬3}'
    """
    return "{" + ",".join(("" if value else "¬") + str(label + 1) for label, value in head) + "}"


def value_text(value: Fraction) -> str:
    """Write a value as a short fraction, or as a decimal if the fraction is long.

    >>> value_text(Fraction(13, 20)), value_text(Fraction(123457, 1 << 40))
    ('13/20', '1.123e-07')
    """
    return str(value) if value.denominator < 10_000 else f"{float(value):.4g}"
