"""One self-contained HTML page with everything an experiment found."""

from __future__ import annotations

import html
from collections.abc import Sequence

from polyrule.evaluation.experiment.results import Results
from polyrule.evaluation.experiment.tables import ResultTable

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
    """Lay out tables and figures; figures come as (name, title, SVG text)."""
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
