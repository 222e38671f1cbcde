"""Data for the campaign: columns of every kind, labels that depend on them or do not, weights of every size."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyrule.data.examples import LARGEST_TOTAL

KINDS = [
    *("few", "many", "zeros", "block", "nominal", "constant", "extreme", "shifted"),
    *("categories", "ordinal", "date", "month", "weekday"),
]
WEIGHTS = [*["ones"] * 8, *["small", "zeros", "decimals", "huge"] * 2, "huge", "floats"]


def draw_data(rng: np.random.Generator, small: bool, most_labels: int | None = None) -> dict[str, Any]:
    """Draw a table, its labels and weights."""
    size = 0.0 if small else rng.random()
    if small:
        rows, features, labels = (int(rng.integers(*r)) for r in ((2, 11), (1, 4), (1, 4)))
    elif most_labels is not None:
        rows, features, labels = (int(rng.integers(*r)) for r in ((3, 60), (1, 4), (4, most_labels + 1)))
    elif size < 0.9:
        rows, features, labels = (int(rng.integers(*r)) for r in ((3, 40), (1, 6), (1, 5)))
    elif size < 0.99:
        rows, features, labels = (int(rng.integers(*r)) for r in ((40, 150), (1, 5), (1, 6)))
    else:
        rows, features, labels = (int(rng.integers(*r)) for r in ((200, 700), (2, 4), (2, 4)))
    sparse = bool(rng.random() < 0.3)
    columns, kinds = [], []
    draw = rng.random()
    only = "zeros" if draw < 0.35 else "usual" if draw > 0.97 and not small else None
    if only == "usual":  # more conditions than are counted in one vector
        rows, features = int(rng.integers(100, 260)), int(rng.integers(4, 7))
    for _ in range(features):
        column, kind = _column(rng, rows, sparse, columns, only)
        columns.append(column)
        kinds.append(kind)
    values = np.stack(columns, axis=1)
    if rng.random() < 0.3:  # rows that repeat
        values = values[rng.integers(0, max(1, rows // 2), rows)]
    return {
        "X": values.tolist(),
        "Y": _labels(rng, values, labels).tolist(),
        "kinds": kinds,
        "weights": _weights(rng, rows).tolist(),
        "sparse": sparse,
        "sparse_labels": bool(rng.random() < 0.15),
    }


def _column(
    rng: np.random.Generator, rows: int, sparse: bool, others: list[np.ndarray], only: str | None
) -> tuple[np.ndarray, tuple[str, int]]:
    kind = only or str(rng.choice(KINDS))
    feature = ("numeric", 0)
    if kind == "few":
        column = rng.integers(0, int(rng.integers(2, 9)), rows).astype(float)
    elif kind == "many":
        column = rng.normal(size=rows)
    elif kind == "zeros":
        column = np.where(rng.random(rows) < rng.choice([0.3, 0.5, 0.8]), 0.0, rng.integers(1, 9, rows))
    elif kind == "block":
        column = np.where(rng.random(rows) < 0.6, 3.0, rng.integers(-2, 8, rows))
    elif kind == "nominal":
        feature = ("nominal", int(rng.integers(1, 5)))
        column = rng.integers(0, feature[1], rows).astype(float)
    elif kind == "categories":  # more than anybody lists; most occur once or never
        feature = ("nominal", int(rng.integers(101, 140)))
        column = np.minimum(rng.integers(0, feature[1], rows), rng.integers(0, feature[1], rows)).astype(float)
    elif kind == "usual":  # one of very many on most rows
        feature = ("nominal", int(rng.integers(101, 200)))
        column = np.where(rng.random(rows) < 0.55, feature[1] // 2, rng.integers(0, feature[1], rows)).astype(float)
    elif kind == "ordinal":
        feature = ("ordinal", int(rng.integers(2, 7)))
        column = rng.integers(0, feature[1], rows).astype(float)
    elif kind in ("date", "month", "weekday"):
        days = (np.datetime64("1970-01-01") + _days(rng, rows, others)).astype("datetime64[D]")
        feature = {"date": ("date", 0), "month": ("ordinal", 12), "weekday": ("nominal", 7)}[kind]
        column = {
            "date": days.astype(int),
            "month": days.astype("datetime64[M]").astype(int) % 12,
            "weekday": (days.astype(int) + 3) % 7,
        }[kind].astype(float)
    elif kind == "constant":
        column = np.full(rows, float(rng.integers(-1, 2)))
    elif kind == "extreme":
        column = rng.choice([1e308, 1.7e308, -1.7e308, 5e-324, 1e-323, -0.0, 0.0], rows)
    else:
        base = others[int(rng.integers(len(others)))] if others else rng.integers(0, 5, rows).astype(float)
        with np.errstate(over="ignore"):
            column = np.where(np.abs(base) < 1e300, base + rng.integers(0, 2, rows), base)
    if sparse and kind not in ("extreme", "nominal", "categories", "usual"):
        column = np.where(rng.random(rows) < 0.5, 0.0, column)
    if only == "zeros" or rng.random() < 0.4:
        column = np.where(rng.random(rows) < rng.choice([0.05, 0.12, 0.3]), np.nan, column)
    return column, feature


def _days(rng: np.random.Generator, rows: int, others: list[np.ndarray]) -> np.ndarray:
    """Days from 1969 on; those of an earlier column of dates, where there is one."""
    dates = [column for column in others if np.nanmax(np.abs(column), initial=0) > 1000 and np.nanmax(column) < 1e5]
    return np.nan_to_num(dates[0]).astype(int) if dates else rng.integers(-300, 20_000, rows)


def _labels(rng: np.random.Generator, values: np.ndarray, labels: int) -> np.ndarray:
    rows = len(values)
    truth = (rng.random((rows, labels)) < rng.choice([0.1, 0.2, 0.4, 0.5, 0.8])).astype(int)
    if rng.random() < 0.6:
        for label in range(labels):
            column = np.nan_to_num(values[:, rng.integers(values.shape[1])])
            with np.errstate(over="ignore", invalid="ignore"):  # between the largest numbers
                base = column > np.quantile(column, rng.uniform(0.1, 0.9))
            truth[:, label] = base ^ (rng.random(rows) < rng.uniform(0.0, 0.4))
    if labels > 1 and rng.random() < 0.3:  # labels that nearly agree
        truth[:, -1] = truth[:, 0] ^ (rng.random(rows) < 0.05)
    return truth


def _weights(rng: np.random.Generator, rows: int) -> np.ndarray:
    kind = str(rng.choice(WEIGHTS))
    if kind == "ones":
        return np.ones(rows, dtype=int)
    if kind == "decimals":
        return rng.integers(1, 40, rows) / rng.choice([8, 10, 100, 1000])
    if kind == "floats":  # that have no common scale, and are rounded
        return rng.random(rows) * 10.0 ** rng.integers(-9, 9)
    if kind == "huge":
        return _huge(rng, rows)
    weights = rng.integers(1, 5, rows)
    if kind == "zeros":
        weights = np.where(rng.random(rows) < 0.2, 0, weights)
        weights[0] = 1
    return weights


def _huge(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Whole weights whose sum is at the end of the range, or where some kernel takes another way."""
    total = int(rng.choice([LARGEST_TOTAL, 2**30, 2**30 + 1, 2**29, 2**24 + 1, 2**24 - 1, 2**16]))
    kind = rng.random()
    most = 2 if kind < 0.4 else max(2, total // (2 * rows))
    # one that outweighs all others, or any, or nearly the same: then values differ in the last digits
    weights = (
        rng.integers(1, most, rows) if kind < 0.7 else total // rows - rng.integers(0, min(60, total // rows), rows)
    )
    weights[rng.integers(rows)] += total - weights.sum()
    return weights
