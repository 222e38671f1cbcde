"""Writing what an experiment found: tidy rows, tables in four formats, figures, and one page."""

from __future__ import annotations

import csv
import io
import logging
from pathlib import Path
from typing import Any

from polyrule.data.result_tables import MissingExtraError
from polyrule.evaluation.experiment.page import results_page
from polyrule.evaluation.experiment.published import models_beside_published, performance_beside_published
from polyrule.evaluation.experiment.report_tables import (
    failure_table,
    mean_table,
    rank_table,
    score_table,
    size_table,
    slug,
    words,
)
from polyrule.evaluation.experiment.results import Results
from polyrule.evaluation.experiment.store import write_atomically
from polyrule.evaluation.experiment.tables import ResultTable
from polyrule.evaluation.figures import CriticalDifferenceDiagram, TrainingTimes
from polyrule.evaluation.figures.canvas import Figure, svg_text
from polyrule.model.atomic import atomic_write

_log = logging.getLogger(__name__)


def make_tables(results: Results) -> list[ResultTable]:
    """Make every table of the results that the experiment file asks for."""
    spec = results.spec
    tables: list[ResultTable] = []
    if "performance" in spec.published:
        tables.append(performance_beside_published(results, spec.published["performance"]))
    if "models" in spec.published:
        tables.append(models_beside_published(results, spec.published["models"]))
    for comparison in spec.comparisons:
        tables += [rank_table(results, comparison), mean_table(results, comparison)]
    tables += [score_table(results, measure) for measure in spec.measures]
    tables.append(size_table(results))
    if results.failures:
        tables.append(failure_table(results))
    return tables


def make_figures(results: Results) -> list[tuple[str, str, Figure]]:
    """Make every figure of the results as an object, with a name for files and a title."""
    figures: list[tuple[str, str, Figure]] = []
    for spec in results.spec.comparisons:
        for measure in spec.measures:
            comparison, _ = results.comparison(spec, measure)
            if comparison is not None and len(comparison.learners) > 1:
                name = f"ranks-{slug(spec.name)}-{measure}"
                title = f"{spec.name}: {words(measure)}"
                figures.append((name, title, CriticalDifferenceDiagram(comparison)))
    times = TrainingTimes.from_rows(results.rows)
    if times.pairs:
        figures.append(("training-times", "Training times: multi-label against single-label heads", times))
    return figures


def write_results(results: Results, directory: str | Path) -> list[Path]:
    """Write the results into `directory` and return the files; figures need matplotlib, Parquet pyarrow."""
    folder = Path(directory)
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    written = [_write(folder / "results.csv", _csv(results.tidy_rows()))]
    written += _write_parquet(results, folder / "results.parquet")
    tables = make_tables(results)
    for table in tables:
        base = folder / "tables" / table.name
        written.append(_write(base.with_suffix(".md"), f"## {table.title}\n\n{table.markdown()}\n"))
        written.append(_write(base.with_suffix(".tex"), table.latex() + "\n"))
        written.append(_write(base.with_suffix(".csv"), table.csv() + "\n"))
    drawings = []
    for name, title, figure in make_figures(results):
        try:
            svg = svg_text(figure)
        except MissingExtraError as reason:
            _log.warning("figures are left out: %s", reason)
            break
        drawings.append((name, title, svg))
        (folder / "figures").mkdir(exist_ok=True)
        written.append(_write(folder / "figures" / f"{name}.svg", svg))
    written.append(_write(folder / "index.html", results_page(results, tables, drawings)))
    return written


def _write(path: Path, text: str) -> Path:
    write_atomically(path, text)
    return path


def _csv(rows: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _write_parquet(results: Results, path: Path) -> list[Path]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return []
    rows = results.tidy_rows()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
    with atomic_write(path, "wb") as stream:
        parquet.write_table(table, stream)
    return [path]
