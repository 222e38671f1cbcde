"""Writing what an experiment found: tidy rows, tables in four formats, figures, and one page.

The page is self-contained HTML; our numbers stand beside published ones, differences marked.
"""

from __future__ import annotations

import csv
import html
import logging
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from polyrule.data.results import MissingExtraError, csv_text
from polyrule.errors import DataError
from polyrule.evaluation.experiment.report_tables import (
    ResultTable,
    TableCell,
    failure_table,
    heads,
    mean_table,
    rank_table,
    score_table,
    size_table,
    words,
)
from polyrule.evaluation.experiment.results import Results
from polyrule.evaluation.experiment.spec import slug
from polyrule.evaluation.experiment.store import write_atomically
from polyrule.evaluation.figures import CriticalDifferenceDiagram, TrainingTimes
from polyrule.evaluation.figures.canvas import Figure, svg_text
from polyrule.utils.atomic import atomic_write

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
    written = [_write(folder / "results.csv", csv_text(results.tidy_rows()))]
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


_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5a6676;--page:#fbfaf7;--card:#fff;--line:#dcdfe4;--mark:#c2571a}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a2acba;--page:#14181e;--card:#1b2129;--line:#333c47;
--mark:#f0955a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,header{max-width:1200px;margin:auto;padding:1rem}
h1{font-size:1.7rem;margin:.6rem 0 .2rem}h2{font-size:1.15rem;margin:0 0 .6rem}
p{color:var(--soft);margin:.4rem 0;max-width:75ch}
nav p{max-width:none}
nav a{display:inline-block;margin:.15rem .8rem .15rem 0;color:var(--mark)}
section,figure{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem;margin:1rem 0}
figure{background:#fff;color:#1c2430;margin:0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,32rem),1fr));gap:1rem}
figure svg{max-width:100%;height:auto}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.28rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th[scope=row]{text-align:left;font-weight:500}
thead th{color:var(--soft);font-weight:600}
thead th:first-child{text-align:left}
strong{color:var(--mark)}
a:focus-visible,.scroll:focus-visible{outline:2px solid var(--mark);outline-offset:2px}
@media print{body{background:#fff}section,figure{break-inside:avoid;border:0}nav{display:none}}
"""


def results_page(results: Results, tables: Sequence[ResultTable], figures: Sequence[tuple[str, str, str]]) -> str:
    """Write tables and figures; figures come as (name, title, SVG text)."""
    spec = results.spec
    contents = _links("Tables", [(table.name, table.title) for table in tables])
    contents += _links("Figures", [(name, title) for name, title, _ in figures])
    drawings = "".join(
        f'<figure id="{html.escape(name)}" role="group" aria-label="{html.escape(title)}">'
        f"<h2>{html.escape(title)}</h2>{svg}</figure>"
        for name, title, svg in figures
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(spec.title)}</title><style>{_STYLE}</style></head><body>"
        f"<header><h1>{html.escape(spec.title)}</h1><p>{html.escape(_summary(results))}</p>"
        f'<nav aria-label="Contents">{contents}</nav></header>'
        f"<main>{''.join(table.html() for table in tables)}"
        f'<div class="figures">{drawings}</div></main></body></html>\n'
    )


def _links(title: str, entries: Sequence[tuple[str, str]]) -> str:
    links = "".join(f'<a href="#{html.escape(name)}">{html.escape(words)}</a>' for name, words in entries)
    return f"<p><b>{title}</b> {links}</p>" if links else ""


def _summary(results: Results) -> str:
    spec = results.spec
    split = (
        "published train and test parts" if spec.split.kind == "parts" else f"{spec.split.folds}-fold cross-validation"
    )
    parts = [
        f"{len(results.learners)} learners on {len(results.data_sets)} data sets, {split}:",
        f"{len(results.finished)} fits with a result",
    ]
    if results.failures:
        parts.append(f"and {len(results.failures)} without")
    if results.missing:
        parts.append(f"({results.missing} not run yet)")
    limits = spec.limits
    time = f"{limits.seconds:g} s" if limits.cpu_seconds is None else f"{limits.cpu_seconds:g} CPU s"
    return " ".join(parts) + f". Each fit: at most {time}, {limits.memory_mb:g} MB, {limits.threads} thread(s)."


_MODEL_COLUMNS = {"rules": "rules", "multi_label_percent": "% multi-label heads", "labels_per_head": "labels per head"}


_WORDS = ("data", "learner", "reference")


def read_published(path: str | Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """Read a table of published numbers: columns data, learner, reference, and one per number, `columns` among them."""
    try:
        with open(path, newline="", encoding="utf-8") as handle:
            rows = list(csv.DictReader((line for line in handle if not line.startswith("#")), restval=""))
    except OSError as error:
        raise DataError(f"cannot read published numbers from {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: no table of published numbers in UTF-8 ({error})") from None
    for column in (*_WORDS, *columns):
        if not rows or column not in rows[0]:
            raise DataError(f"{path}: a table of published numbers needs a column {column!r}")
    for number, row in enumerate(rows, start=1):
        for name, cell in row.items():
            if name not in _WORDS and (name is None or not _is_number(cell)):
                raise DataError(
                    f"{path}: row {number} holds {cell!r}, which is no number; a cell is empty where none was printed"
                )
    return rows


def _is_number(cell: str) -> bool:
    try:
        return cell == "" or math.isfinite(float(cell))
    except ValueError:
        return False


def performance_beside_published(results: Results, path: str | Path) -> ResultTable:
    """Scores in percent: ours, and in brackets how far that is from the published value; = where they agree."""
    published = read_published(path)
    measures = [name for name in published[0] if name not in _WORDS]
    rows: list[list[str | TableCell]] = []
    for entry in published:
        ours = [results.value(entry["data"], entry["learner"], measure) for measure in measures]
        if not results.select(entry["data"], entry["learner"]):
            continue
        cells = [
            _beside(None if value is None else f"{100 * value.mean:.2f}", entry[measure])
            for value, measure in zip(ours, measures, strict=True)
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
    rows: list[list[str | TableCell]] = []
    for entry in read_published(path, _MODEL_COLUMNS):
        rules = results.value(entry["data"], entry["learner"], "rules")
        multi, labels = heads(results, entry["data"], entry["learner"])
        if rules is None or not multi:
            continue
        ours = (f"{rules.mean:.0f}", multi, labels)
        cells = [_beside(value, entry[column]) for value, column in zip(ours, _MODEL_COLUMNS, strict=True)]
        rows.append([entry["data"], entry["learner"], *cells, _usable(entry["reference"])])
    header = ["data", "learner", *_MODEL_COLUMNS.values(), "reference"]
    notes = ["In brackets: ours minus published; = where they agree to the digits printed."]
    return ResultTable.of("published-models", "Model statistics beside the paper's", header, rows, notes, left=2)


def _beside(ours: str | None, published: str) -> TableCell:
    """Compare as printed: both were rounded to the same digits, so equal texts are equal results."""
    if ours is None:
        return TableCell(f"none ({published or 'none'})")
    if published == "":
        return TableCell(f"{ours} (none)")
    difference = float(ours) - float(published)
    digits = len(published.partition(".")[2])
    if abs(difference) < 0.5 * 10**-digits:
        return TableCell(f"{ours} (=)", bold=True)
    return TableCell(f"{ours} ({difference:+.{digits}f})")


def _usable(reference: str) -> str:
    return "" if reference == "yes" else reference
