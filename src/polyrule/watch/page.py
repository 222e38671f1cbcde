"""HTML page of a monitor: the summary, and small charts over time of everything that changed."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
body { color: #1c2024; background: #fff }
table { border-collapse: collapse } td, th { padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top }
figure { margin: 0 0 1.2rem; display: inline-block; width: 18rem; vertical-align: top; margin-right: 1rem }
figcaption { font-size: .9rem } svg { width: 18rem; height: 5rem; background: #f6f7f9; border-radius: 4px }
.ok { color: #116329 } .changed { color: #a40e26 }
@media (prefers-color-scheme: dark) {
  body { color: #e6e8eb; background: #15181c } svg { background: #22262b }
  .ok { color: #57d082 } .changed { color: #ff8f9c }
}
"""
_WIDTH, _HEIGHT = 288, 80


def html_page(monitor: Any) -> str:
    """Return the page of a monitor as HTML that needs no other file."""
    summary = monitor.summary()
    state = "nothing has changed" if summary.ok else f"{len(summary.changes)} changes"
    charts = "".join(_chart(monitor, change) for change in summary.changes)
    quality = _quality_chart(summary)
    advice = "".join(
        f"<tr><td>{number}</td><td><code>{escape(text)}</code></td><td>{escape(advice)}</td></tr>"
        for number, (text, advice) in enumerate(zip(summary.rules, summary.advice, strict=True), start=1)
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>Watching a model</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<style>{_STYLE}</style></head><body><h1>Watching a model</h1>"
        f"<p class='{'ok' if summary.ok else 'changed'}'><strong>{state}</strong></p>"
        f"<pre style='white-space: pre-wrap'>{escape(str(summary))}</pre>"
        f"{quality}{charts}<h2>Rules</h2><table><tr><th>#</th><th>rule</th><th>advice</th></tr>{advice}</table>"
        "</body></html>\n"
    )


def _chart(monitor: Any, change: Any) -> str:
    place = monitor.proportions.index(change.proportion)
    shares = [update.hits[place] / update.rows[place] if update.rows[place] else None for update in monitor.history]
    return _figure(change.text, shares, change.shares[0])


def _quality_chart(summary: Any) -> str:
    expected = [quality.expected_f1 for quality in summary.qualities]
    return _figure("micro-F1 to expect, per update", expected, None) if any(expected) else ""


def _figure(caption: str, shares: list[float | None], reference: float | None) -> str:
    known = [value for value in (*shares, reference) if value is not None]
    top = max(known, default=1.0) * 1.1 or 1.0
    across = np.linspace(8, _WIDTH - 8, len(shares)) if len(shares) > 1 else [_WIDTH / 2]
    points = [
        (float(x), _HEIGHT - 8 - (_HEIGHT - 16) * value / top)
        for x, value in zip(across, shares, strict=True)
        if value is not None
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='#2f6fde'/>" for x, y in points)
    mark = ""
    if reference is not None:
        height = _HEIGHT - 8 - (_HEIGHT - 16) * reference / top
        mark = f"<line x1='0' x2='{_WIDTH}' y1='{height:.1f}' y2='{height:.1f}' stroke='#8b929b' stroke-dasharray='4'/>"
    return (
        f"<figure><svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{escape(caption, quote=True)}'>{mark}"
        f"<polyline points='{line}' fill='none' stroke='#2f6fde' stroke-width='1.5'/>{dots}</svg>"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
