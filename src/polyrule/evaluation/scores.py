"""All measures of the field for one set of predictions, computed exactly from integer counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from polyrule.data.results import make_frame, text_table
from polyrule.errors import OptionError
from polyrule.evaluation.confusion import ConfusionCounts, count, label_names_or_default

RATIOS = ("precision", "recall", "f1", "jaccard")
AVERAGES = ("micro", "macro", "example")
MEASURES = (
    "hamming_loss",
    "hamming_accuracy",
    "subset_accuracy",
    *(f"{average}_{ratio}" for average in AVERAGES for ratio in RATIOS),
)
LOWER_IS_BETTER = frozenset({"hamming_loss"})
_SHOWN = ("hamming_accuracy", "subset_accuracy", "micro_f1", "macro_f1")
_CAPITALS = {"hamming": "Hamming", "f1": "F1", "jaccard": "Jaccard", "tp": "TP", "fp": "FP", "tn": "TN", "fn": "FN"}

# numerator and denominator of each ratio, from true positives, predicted positives and present positives
PARTS: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "precision": lambda tp, predicted, present: (tp, predicted),
    "recall": lambda tp, predicted, present: (tp, present),
    "f1": lambda tp, predicted, present: (2 * tp, predicted + present),
    "jaccard": lambda tp, predicted, present: (tp, predicted + present - tp),
}


def measure_words(measure: str) -> str:
    """Write the name of a measure or count as people do.

    >>> measure_words("micro_f1"), measure_words("hamming_loss"), measure_words("tp")
    ('micro F1', 'Hamming loss', 'TP')
    """
    return " ".join(_CAPITALS.get(word, word) for word in measure.split("_"))


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Scores of one set of predictions; read a measure as an attribute or by name.

    Parameters
    ----------
    counts : ConfusionCounts
        The integers everything is computed from.
    label_names : tuple of str
        One per label.
    zero_division : Fraction
        Value of 0/0: a precision without predictions, a recall without present labels, F1 and Jaccard without either.
    empty_label : Fraction or None
        Value of every ratio of a label that is neither present nor predicted anywhere (TP + FP + FN = 0), where that
        differs from `zero_division`. The tables published with the PAKDD 2018 paper use 1.
    empty_example : Fraction or None
        The same for an example that has no label and is given none.

    Examples
    --------
    >>> scores = score([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]], label_names=["a", "b", "c"])
    >>> scores.hamming_accuracy, scores["micro_f1"]
    (0.6666666666666666, 0.6666666666666666)
    >>> scores.exact("macro_f1")
    Fraction(2, 3)
    >>> scores.per_label()["f1"]
    [1.0, 1.0, 0.0]
    """

    counts: ConfusionCounts
    label_names: tuple[str, ...]
    zero_division: Fraction = Fraction(0)
    empty_label: Fraction | None = None
    empty_example: Fraction | None = None

    def exact(self, measure: str) -> Fraction:
        """Return a measure as an exact fraction."""
        try:
            return self._exact[measure]
        except KeyError:
            raise OptionError(f"unknown measure {measure!r}: choose one of {', '.join(MEASURES)}") from None

    def __getitem__(self, measure: str) -> float:
        return float(self.exact(measure))

    def __getattr__(self, name: str) -> float:
        if name in MEASURES:
            return self[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *MEASURES]

    def __iter__(self) -> Iterator[str]:
        return iter(MEASURES)

    def as_dict(self) -> dict[str, float]:
        """Return every measure by name."""
        return {measure: self[measure] for measure in MEASURES}

    def per_label(self) -> dict[str, list[Any]]:
        """Return counts and ratios of every label, as named columns."""
        counts = self.counts
        columns: dict[str, list[Any]] = {"label": list(self.label_names)}
        columns["present"] = [int(value) for value in counts.tp + counts.fn]
        columns["predicted"] = [int(value) for value in counts.tp + counts.fp]
        for name in ("tp", "fp", "tn", "fn"):
            columns[name] = [int(value) for value in getattr(counts, name)]
        for ratio in RATIOS:
            columns[ratio] = [float(value) for value in self._label_ratios(ratio)]
        return columns

    def frame(self, per_label: bool = False) -> Any:
        """Return a data frame: a row per measure, or with `per_label` a row per label."""
        if per_label:
            return make_frame(self.per_label())
        return make_frame({"measure": list(MEASURES), "value": [self[measure] for measure in MEASURES]})

    def text(self, per_label: bool = False) -> str:
        """Return the scores as a table, averages in columns; with `per_label` a table of labels follows."""
        lines = [
            f"Hamming loss      {self['hamming_loss']:.4f}   (accuracy {self['hamming_accuracy']:.4f})",
            f"subset accuracy   {self['subset_accuracy']:.4f}   "
            f"({self.counts.exact_matches} of {self.counts.counted_examples} examples)",
            "",
            text_table(
                ["", *map(measure_words, RATIOS)],
                [[average, *(f"{self[f'{average}_{ratio}']:.4f}" for ratio in RATIOS)] for average in AVERAGES],
            ),
            f"({conventions(self.zero_division, self.empty_label, self.empty_example)})",
        ]
        if per_label:
            columns = self.per_label()
            rows = [
                [f"{value:.4f}" if isinstance(value, float) else str(value) for value in row]
                for row in zip(*columns.values(), strict=True)
            ]
            lines += ["", text_table(list(map(measure_words, columns)), rows)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        text = ", ".join(f"{measure_words(name)} {self[name]:.4f}" for name in _SHOWN)
        return f"Scores({self.counts.examples} examples, {self.counts.labels} labels: {text})"

    @cached_property
    def _exact(self) -> dict[str, Fraction]:
        counts = self.counts
        loss = Fraction(int(counts.fp.sum() + counts.fn.sum()), counts.cells)
        values = {
            "hamming_loss": loss,
            "hamming_accuracy": 1 - loss,
            "subset_accuracy": Fraction(counts.exact_matches, counts.counted_examples),
        }
        tp, predicted, present = (int(part.sum()) for part in (counts.tp, counts.tp + counts.fp, counts.tp + counts.fn))
        for ratio in RATIOS:
            values[f"micro_{ratio}"] = self._ratio(ratio, tp, predicted, present, None)
            values[f"macro_{ratio}"] = _mean(self._label_ratios(ratio))
            values[f"example_{ratio}"] = self._example_average(ratio)
        return values

    def _label_ratios(self, ratio: str) -> list[Fraction]:
        counts = self.counts
        rows = zip(counts.tp, counts.tp + counts.fp, counts.tp + counts.fn, strict=True)
        return [self._ratio(ratio, int(tp), int(pred), int(pres), self.empty_label) for tp, pred, pres in rows]

    def _example_average(self, ratio: str) -> Fraction:
        total = Fraction(0)
        for tp, predicted, present, number in self.counts.example_groups.tolist():
            total += number * self._ratio(ratio, tp, predicted, present, self.empty_example)
        return total / self.counts.counted_examples

    def _ratio(self, ratio: str, tp: int, predicted: int, present: int, empty: Fraction | None) -> Fraction:
        if empty is not None and predicted == 0 and present == 0:
            return empty
        numerator, denominator = PARTS[ratio](tp, predicted, present)
        return Fraction(numerator, denominator) if denominator else self.zero_division


def conventions(zero_division: Any = 0, empty_label: Any = None, empty_example: Any = None) -> str:
    """Return a phrase on how undefined quotients count.

    >>> conventions(0.1, empty_label=1)
    '0/0 counts 0.1; a label never present nor predicted counts 1'
    """
    words = [f"0/0 counts {float(zero_division):g}"]
    if empty_label is not None:
        words.append(f"a label never present nor predicted counts {float(empty_label):g}")
    if empty_example is not None:
        words.append(f"an example without labels that is given none counts {float(empty_example):g}")
    return "; ".join(words)


def score(
    Y_true: Any,
    Y_pred: Any,
    label_names: Sequence[str] | None = None,
    zero_division: float = 0,
    empty_label: float | None = None,
    empty_example: float | None = None,
) -> Scores:
    """Score predictions against the truth with every measure of the field.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0 and 1, shape (examples, labels)
        The truth, and what was predicted.
        A label of `Y_true` that is NaN is unknown and counts nowhere: right and wrong are counted over the others, and
        an example without a known label is no example.
    label_names : sequence of str, optional
        Names for the table of labels.
    zero_division : float
        Value of 0/0, between 0 and 1. The default 0 is scikit-learn's.
    empty_label, empty_example : float, optional
        Value of every ratio of a label (an example) with TP + FP + FN = 0 where it differs from `zero_division`;
        ``empty_label=1`` is what the published tables of the PAKDD 2018 paper do.

    Returns
    -------
    Scores

    Examples
    --------
    >>> print(score([[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 0], [1, 1]], ["calm", "happy"]).text(per_label=True))
    Hamming loss      0.1667   (accuracy 0.8333)
    subset accuracy   0.6667   (2 of 3 examples)
    <BLANKLINE>
             precision  recall      F1  Jaccard
    micro       1.0000  0.7500  0.8571   0.7500
    macro       1.0000  0.7500  0.8333   0.7500
    example     0.6667  0.6667  0.6667   0.6667
    (0/0 counts 0)
    <BLANKLINE>
    label  present  predicted  TP  FP  TN  FN  precision  recall      F1  Jaccard
    calm         2          2   2   0   1   0     1.0000  1.0000  1.0000   1.0000
    happy        2          1   1   0   1   1     1.0000  0.5000  0.6667   0.5000
    """
    return score_counts(count(Y_true, Y_pred), label_names, zero_division, empty_label, empty_example)


def score_counts(
    counts: ConfusionCounts,
    label_names: Sequence[str] | None = None,
    zero_division: float = 0,
    empty_label: float | None = None,
    empty_example: float | None = None,
) -> Scores:
    """Score what was counted before; the options are those of `score`."""
    return Scores(
        counts,
        label_names_or_default(label_names, counts.labels),
        _share("zero_division", zero_division),
        None if empty_label is None else _share("empty_label", empty_label),
        None if empty_example is None else _share("empty_example", empty_example),
    )


def _share(name: str, value: float) -> Fraction:
    if not 0 <= value <= 1:
        raise OptionError(f"{name} must be between 0 and 1, got {value}")
    return Fraction(value)


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
