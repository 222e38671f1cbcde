"""Cutoffs with a guarantee for new examples, chosen on examples that nothing else has seen.

Monotone risks (missed labels, false alarms) are controlled in expectation by conformal risk control (Angelopoulos,
Bates, Fisch, Lei and Schuster, ICLR 2024), or with a confidence level by the exact binomial bound. Precision and F1 are
not monotone; they are shares of right cells among the predicted, or among the predicted or present, and each of few
cutoffs is tested exactly, with Bonferroni's correction (Learn then Test; Angelopoulos et al., 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from math import ceil, log
from typing import Any, get_args

import numpy as np
from scipy.stats import binom

from polyrule.binning.thresholds import short_between
from polyrule.data.dataset import Dataset
from polyrule.data.labels import dense_labels
from polyrule.decisions.cutoffs import cutoffs as cutoffs_of
from polyrule.decisions.cutoffs import examples_of, scores, set_cutoffs
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.model import RuleList
from polyrule.model.columns import match_columns
from polyrule.model.guarantee import Guarantee, Level, Risk, guarantees
from polyrule.utils.arrays import Bytes, Floats

TESTED_CUTOFFS = 20  # of an ensemble, for precision and F1; more cost power, fewer are coarse
DEFAULT_CONFIDENCE = 0.9  # for precision and F1, whose tests need a level


def calibrate(
    model: Any,
    data: Any,
    y: Any = None,
    *,
    risk: Risk = "recall",
    target_level: float = 0.9,
    confidence_level: float | None = None,
    per: Level = "label",
    labels: Sequence[str] | None = None,
) -> Any:
    """Return the model with cutoffs for which a level is guaranteed on new examples.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
        A list that only makes labels present, or an ensemble.
    data : Dataset, or features with labels in `y`
        Examples that neither learning nor any choice has used. An example without labels is an example; an unknown
        label counts nowhere.
    y : array-like, optional
    risk : {"recall", "false_alarms", "precision", "f1"}
        What is guaranteed.
    target_level : float, default=0.9
        At least this recall, precision or F1, or at most this share of false alarms among absent labels.
    confidence_level : float, optional
        Probability of the guarantee over the draw of `data`. Without it, recall and false alarms hold on average; for
        precision and F1 it is 0.9.
    per : {"label", "micro", "set"}, default="label"
        Each label by itself; all labels together with one cutoff (recall and false alarms); whole label sets, none of
        whose present labels is missed (recall).
    labels : sequence of str, optional
        Labels to calibrate, if not all.

    Examples
    --------
    >>> from polyrule import RuleEnsembleClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(600, 1)); Y = (X + random.normal(size=(600, 1)) > 0.5).astype(int)
    >>> model = RuleEnsembleClassifier(max_rules=4, teacher=None).fit(X[:300], Y[:300]).model_
    >>> sure = calibrate(model, X[300:], Y[300:], risk="recall", target_level=0.9)
    >>> print(guarantees(sure)[0])
    y0: recall at least 0.9 on average (from 110 examples of data)
    """
    confidence = _check_options(risk, target_level, confidence_level, per)
    if model.relations:
        raise ModelError(
            "a guarantee is about labels that are decided one by one, but this model has relations between labels; "
            "calibrate it without them: model.with_relations(None)"
        )
    examples = examples_of(model, data, y)
    if len(examples) == 0:
        raise DataError("calibration needs examples, and there are none")
    fitted, table = match_columns(model, examples)
    reached, truth = scores(fitted, table), np.asarray(dense_labels(examples.Y))
    names = _names(model, labels)
    cutoff_of: dict[str, float] = {}
    new_guarantees: list[Guarantee] = []
    facts: dict[str, Any] = {"risk": risk, "target_level": target_level, "confidence_level": confidence, "per": per}
    facts["data"] = examples.name or "data"
    if per == "label":
        for name in names:
            label = model.label_names.index(name)
            is_known = truth[:, label] <= 1
            part = reached[is_known, label], truth[is_known, label], _tested_cutoffs(model, label)
            cutoff, count, observed = _one_label(*part, risk, target_level, confidence, name)
            cutoff_of[name] = cutoff
            new_guarantees.append(Guarantee(**facts, label=name, examples=count, cutoff=cutoff, observed=observed))
    else:
        columns = [model.label_names.index(name) for name in names]
        cutoff, count, observed = _all_labels(
            reached[:, columns], truth[:, columns], risk, target_level, per, confidence
        )
        cutoff_of = dict.fromkeys(names, cutoff)
        new_guarantees.append(Guarantee(**facts, label=None, examples=count, cutoff=cutoff, observed=observed))
    remaining = [one for one in guarantees(model) if one.label is not None and one.label not in names]
    decided = set_cutoffs(model, cutoffs_of(model) | cutoff_of if per == "label" else cutoff_of)
    entries = [asdict(one) for one in (*remaining, *new_guarantees)]
    return replace(decided, info=decided.info | {"guarantees": entries})


def check_guarantees(model: Any, data: Dataset) -> list[str]:
    """Return what is wrong with the guarantees of a model, given their calibration data: empty if all hold there."""
    problems = []
    fitted, table = match_columns(model, data)
    predicted, truth = fitted.labels_of(table) == 1, np.asarray(dense_labels(data.Y))
    for one in guarantees(model):
        columns = [model.label_names.index(one.label)] if one.label is not None else list(range(truth.shape[1]))
        level = _level(predicted[:, columns], truth[:, columns], one.risk, one.per)
        if abs(level - one.observed) > 1e-9:
            problems.append(f"{one}: observed {level:.4f} on this data, not {one.observed:.4f}")
    return problems


def _check_options(risk: str, target: float, confidence: float | None, per: str) -> float | None:
    for name, value, allowed in (("risk", risk, get_args(Risk)), ("per", per, get_args(Level))):
        if value not in allowed:
            raise OptionError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    for name, number in (("target_level", target), ("confidence_level", confidence)):
        fine = isinstance(number, (int, float)) and not isinstance(number, bool) and 0 < number < 1
        if not fine and not (number is None and name == "confidence_level"):
            raise OptionError(f"{name} must be a number between 0 and 1, got {number!r}")
    if per == "set" and risk != "recall":
        raise OptionError("per='set' is for risk='recall': no present label of an example is missed")
    if per == "micro" and risk in ("precision", "f1"):
        raise OptionError(f"per='micro' is for recall and false alarms; {risk} is guaranteed per label")
    if per == "micro" and confidence is not None:
        raise OptionError("per='micro' holds on average; leave out confidence_level, or use per='label' or 'set'")
    if risk in ("precision", "f1") and confidence is None:
        return DEFAULT_CONFIDENCE
    return confidence


def _names(model: Any, labels: Sequence[str] | None) -> list[str]:
    if labels is None:
        return list(model.label_names)
    for name in labels:
        if name not in model.label_names:
            raise OptionError(f"labels: the model has no label {name!r}")
    return list(dict.fromkeys(labels))


def _one_label(
    reached: Floats, truth: Bytes, cuts: Floats, risk: Risk, target: float, confidence: float | None, name: str
) -> tuple[float, int, float]:
    """Return cutoff, number of examples that count, and observed level of one label."""
    if risk == "recall":
        counted = reached[truth == 1]
        cutoff = _monotone(counted, 1 - target, confidence, name, "in which it is present")
        return cutoff, len(counted), _share((counted >= cutoff).sum(), len(counted), 1.0)
    if risk == "false_alarms":
        counted = reached[truth == 0]
        cutoff = _monotone(-counted, target, confidence, name, "in which it is absent", strict=True)
        return cutoff, len(counted), _share((counted >= cutoff).sum(), len(counted), 0.0)
    assert confidence is not None
    return _tested(reached, truth, cuts, risk, target, confidence, name)


def _tested_cutoffs(model: Any, label: int) -> Floats:
    """Return the cutoffs to test for a label; they must not depend on the calibration examples."""
    if not isinstance(model, RuleList):
        return np.arange(1, TESTED_CUTOFFS) / TESTED_CUTOFFS
    precisions = [one.chance for rule in model.rules for one in rule.head if one.label == label]
    return np.unique([1.0 if precision is None else precision for precision in precisions])


def _allowed_errors(count: int, bound: float, confidence: float | None) -> int:
    """Return how many errors among `count` examples still keep the error rate of new ones at `bound`; -1 if none does.

    >>> _allowed_errors(19, 0.1, None), _allowed_errors(8, 0.1, None), _allowed_errors(22, 0.1, 0.9)
    (1, -1, 0)
    """
    if confidence is None:
        return int(np.floor(bound * (count + 1) + 1e-12)) - 1
    tail = binom.cdf(np.arange(count + 1), count, bound) <= 1 - confidence
    return int(tail.sum()) - 1


def examples_needed(bound: float, confidence: float | None) -> int:
    """Return how many examples a guarantee needs at least.

    >>> examples_needed(0.1, None), examples_needed(0.1, 0.9)
    (9, 22)
    """
    return ceil(1 / bound - 1 - 1e-9) if confidence is None else ceil(log(1 - confidence) / log(1 - bound) - 1e-9)


def _monotone(
    values: Floats, bound: float, confidence: float | None, name: str, which: str, *, strict: bool = False
) -> float:
    """Return the cutoff below which at most the allowed number of `values` lie; negated values for false alarms."""
    errors = _allowed_errors(len(values), bound, confidence)
    if errors < 0:
        needed = examples_needed(bound, confidence)
        raise DataError(f"{name!r} has {len(values)} examples {which}; this guarantee needs at least {needed}")
    if errors >= len(values):
        return 0.0
    order = np.unique(values)
    place = int(np.searchsorted(order, np.sort(values)[errors]))
    if strict:  # of false alarms: the score -order[place] must not raise one, larger scores may
        above = -float(order[place - 1]) if place else 1.0
        return _between(max(-float(order[place]), 0.0), above)
    if order[place] < 0:
        raise DataError(
            f"no rule covers enough of the examples with {name!r}, so no cutoff guarantees this recall; learn a longer "
            "list (a smaller simplicity) or an ensemble"
        )
    return _between(max(float(order[place - 1]), 0.0) if place else 0.0, float(order[place]))


def _between(low: float, high: float) -> float:
    """Return a short cutoff above `low` and below `high`; `high` if they are neighbors.

    >>> _between(0.3123, 0.3358), _between(0.5, 0.5)
    (0.324, 0.5)
    """
    cutoff = short_between(low, high) if low < high else high
    return cutoff if cutoff > low else high


def _tested(
    reached: Floats, truth: Bytes, cuts: Floats, risk: Risk, target: float, confidence: float, name: str
) -> tuple[float, int, float]:
    """Return the lowest cutoff whose exact test rejects that precision, or F1, is below the target."""
    share = target if risk == "precision" else target / (2 - target)  # F1 as the share of right cells
    best: tuple[float, float] | None = None
    for cut in cuts.tolist():
        predicted = reached >= cut
        right = int((predicted & (truth == 1)).sum())
        counted = int((predicted if risk == "precision" else predicted | (truth == 1)).sum())
        if counted and binom.sf(right - 1, counted, share) <= (1 - confidence) / len(cuts):
            level = right / counted if risk == "precision" else 2 * right / (right + counted)
            if best is None or risk == "precision" or level > best[1]:
                best = cut, level
    if best is None:
        raise DataError(
            f"no cutoff of {name!r} has a {risk} that is proved to be at least {target:g} by {len(reached)} examples; "
            "lower target_level or confidence_level, or give more examples"
        )
    return best[0], len(reached), best[1]


def _all_labels(
    reached: Floats, truth: Bytes, risk: Risk, target: float, per: Level, confidence: float | None
) -> tuple[float, int, float]:
    """Return the one cutoff of all labels, the number of examples, and the observed level."""
    n = len(reached)
    if per == "set":
        weakest = np.where(truth == 1, reached, np.inf).min(axis=1)
        cutoff = _monotone(np.minimum(weakest, 1.0), 1 - target, confidence, "all labels", "to calibrate with")
        return cutoff, n, float((weakest >= cutoff).mean())
    present = risk == "recall"
    cells = truth == (1 if present else 0)
    bound = 1 - target if present else target
    total, n_labels = int(cells.sum()), truth.shape[1]
    edges = np.unique(np.clip(reached[cells], 0, 1))
    above = np.r_[edges[1:], 1.0]
    cuts = [0.0, *(_between(low, high) for low, high in zip(edges.tolist(), above.tolist(), strict=True)), 1.0]
    tried = np.unique(cuts)
    missed = np.searchsorted(np.sort(reached[cells]), tried, side="left")
    errors = missed if present else total - missed
    # conformal risk control of errors - bound x cells per example, which is at most (1 - bound) x labels
    fine = np.flatnonzero(errors - bound * total + (1 - bound) * n_labels <= 0)
    if not len(fine):
        raise DataError(
            f"{n} examples with {total} {'present' if present else 'absent'} labels do not suffice for this guarantee; "
            "give more, or choose another target_level"
        )
    cutoff = float(tried[fine[-1] if present else fine[0]])
    return cutoff, n, _level(reached >= cutoff, truth, risk, per)


def _level(predicted: Any, truth: Bytes, risk: Risk, per: Level) -> float:
    present, absent = truth == 1, truth == 0
    right = int((predicted & present).sum())
    if per == "set":
        return float((~(present & ~predicted)).all(axis=1).mean())
    if risk == "recall":
        return _share(right, int(present.sum()), 1.0)
    wrong = int((predicted & absent).sum())
    if risk == "false_alarms":
        return _share(wrong, int(absent.sum()), 0.0)
    if risk == "precision":
        return _share(right, right + wrong, 0.0)
    return _share(2 * right, 2 * right + wrong + int((present & ~predicted).sum()), 0.0)


def _share(part: float, whole: float, empty: float) -> float:
    return float(part / whole) if whole else empty
