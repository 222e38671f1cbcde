"""Our numbers beside published ones, differences marked."""

from __future__ import annotations

import csv
from pathlib import Path

from polyrule.errors import DataError
from polyrule.evaluation.experiment.report_tables import words
from polyrule.evaluation.experiment.results import Results
from polyrule.evaluation.experiment.tables import Cell, ResultTable

_MODEL_COLUMNS = {"rules": "rules", "multi_label_percent": "% multi-label heads", "labels_per_head": "labels per head"}


def read_published(path: str | Path) -> list[dict[str, str]]:
    """Read a table of published numbers: columns data, learner, reference, and one per number."""
    try:
        with open(path, newline="", encoding="utf-8") as handle:
            rows = list(csv.DictReader(line for line in handle if not line.startswith("#")))
    except OSError as error:
        raise DataError(f"cannot read published numbers from {path}: {error.strerror}") from None
    for column in ("data", "learner", "reference"):
        if not rows or column not in rows[0]:
            raise DataError(f"{path}: a table of published numbers needs a column {column!r}")
    return rows


def performance_beside_published(results: Results, path: str | Path) -> ResultTable:
    """Scores in percent: ours, and in brackets how far that is from the published value; = where they agree."""
    published = read_published(path)
    measures = [name for name in published[0] if name not in ("data", "learner", "reference")]
    rows: list[list[str | Cell]] = []
    for entry in published:
        own = [results.value(entry["data"], entry["learner"], measure) for measure in measures]
        if not results.select(entry["data"], entry["learner"]):
            continue
        cells = [
            _beside(None if value is None else f"{100 * value.mean:.2f}", entry[measure])
            for value, measure in zip(own, measures, strict=True)
        ]
        same = sum(cell.text.endswith("(=)") for cell in cells)
        rows.append([entry["data"], entry["learner"], *cells, f"{same} of {len(cells)}", _usable(entry["reference"])])
    header = ["data", "learner", *(f"{words(measure)} %" for measure in measures), "equal", "reference"]
    notes = [
        "In brackets: ours minus published; = where they agree to the two digits printed; none where none was printed.",
        "Reference 'no': the published row cannot be reproduced from the published files, for the reason given.",
    ]
    return ResultTable.of("published-performance", "Performance beside the paper's", header, rows, notes, left=2)


def models_beside_published(results: Results, path: str | Path) -> ResultTable:
    """Model statistics: ours, and in brackets the difference to the published value."""
    rows: list[list[str | Cell]] = []
    for entry in read_published(path):
        own = _model_statistics(results, entry["data"], entry["learner"])
        if own is None:
            continue
        cells = [_beside(own[column], entry[column]) for column in _MODEL_COLUMNS]
        rows.append([entry["data"], entry["learner"], *cells, _usable(entry["reference"])])
    header = ["data", "learner", *_MODEL_COLUMNS.values(), "reference"]
    notes = ["In brackets: ours minus published; = where they agree to the digits printed."]
    return ResultTable.of("published-models", "Model statistics beside the paper's", header, rows, notes, left=2)


def _model_statistics(results: Results, data: str, learner: str) -> dict[str, str] | None:
    values = {name: results.value(data, learner, name) for name in ("rules", "multi_label_rules", "head_literals")}
    rules, multi, literals = values["rules"], values["multi_label_rules"], values["head_literals"]
    if rules is None or multi is None or literals is None or not rules.mean:
        return None
    return {
        "rules": f"{rules.mean:.0f}",
        "multi_label_percent": f"{100 * multi.mean / rules.mean:.2f}",
        "labels_per_head": f"{literals.mean / rules.mean:.2f}",
    }


def _beside(own: str | None, published: str) -> Cell:
    """Compare as printed: both were rounded to the same digits, so equal texts are equal results."""
    if own is None:
        return Cell(f"none ({published or 'none'})")
    if published == "":
        return Cell(f"{own} (none)")
    difference = float(own) - float(published)
    digits = len(published.partition(".")[2])
    if abs(difference) < 0.5 * 10**-digits:
        return Cell(f"{own} (=)", bold=True)
    return Cell(f"{own} ({difference:+.{digits}f})")


def _usable(reference: str) -> str:
    return "" if reference == "yes" else reference
