"""A table of results, and its renderings: Markdown, LaTeX, CSV, HTML and a data frame show the same cells."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polyrule.data.results import make_frame


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a cell; `bold` marks the best of a group."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class ResultTable:
    """Cells in rows, with a title and notes.

    Parameters
    ----------
    name : str
        Used for file names.
    title : str
    header : tuple of str
    rows : tuple of tuples of Cell
    notes : tuple of str
        What a reader must know to read the numbers rightly.
    left : int
        How many leading columns hold words.

    Examples
    --------
    >>> rows = [["tree", "0.6"], ["rules", Cell("0.7", bold=True)]]
    >>> table = ResultTable.of("f1", "Micro F1", ["learner", "flags"], rows)
    >>> print(table.markdown())
    | learner | flags |
    | --- | ---: |
    | tree | 0.6 |
    | rules | **0.7** |
    >>> print(table.csv())
    learner,flags
    tree,0.6
    rules,0.7
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = field(default=())
    left: int = 1

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        header: Sequence[str],
        rows: Sequence[Sequence[str | Cell]],
        notes: Sequence[str] = (),
        left: int = 1,
    ) -> ResultTable:
        """Make a table, taking plain texts for cells."""
        cells = tuple(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows)
        return cls(name, title, tuple(header), cells, tuple(notes), left)

    def markdown(self) -> str:
        """Return the table in Markdown, notes below it."""
        rule = ["---" if column < self.left else "---:" for column in range(len(self.header))]
        lines = [_pipes(map(_md, self.header)), _pipes(rule)]
        for row in self.rows:
            lines.append(_pipes(f"**{_md(cell.text)}**" if cell.bold else _md(cell.text) for cell in row))
        if self.notes:
            lines += ["", *(f"_{note}_  " for note in self.notes)]
        return "\n".join(lines)

    def latex(self) -> str:
        """Return a tabular with booktabs rules, ready to be included."""
        columns = "l" * self.left + "r" * (len(self.header) - self.left)
        lines = [f"% {self.title}", f"\\begin{{tabular}}{{{columns}}}", "\\toprule"]
        lines.append(" & ".join(map(_tex, self.header)) + " \\\\")
        lines.append("\\midrule")
        for row in self.rows:
            lines.append(
                " & ".join(f"\\textbf{{{_tex(cell.text)}}}" if cell.bold else _tex(cell.text) for cell in row) + " \\\\"
            )
        lines += ["\\bottomrule", "\\end{tabular}", *(f"% {note}" for note in self.notes)]
        return "\n".join(lines)

    def csv(self) -> str:
        """Return the cells as comma-separated values."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([cell.text for cell in row] for row in self.rows)
        return buffer.getvalue().rstrip("\n")

    def html(self) -> str:
        """Return a figure element with the table; every text is escaped."""
        head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in self.header)
        body = "".join(self._html_row(row) for row in self.rows)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return (
            f'<section id="{html.escape(self.name)}"><h2>{html.escape(self.title)}</h2>'
            f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(self.title)}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{notes}</section>"
        )

    def frame(self) -> Any:
        """Return the cells' texts as a data frame."""
        return make_frame({name: [row[i].text for row in self.rows] for i, name in enumerate(self.header)})

    def _html_row(self, row: tuple[Cell, ...]) -> str:
        cells = []
        for column, cell in enumerate(row):
            text = html.escape(cell.text)
            text = f"<strong>{text}</strong>" if cell.bold else text
            cells.append(f'<th scope="row">{text}</th>' if column < self.left else f"<td>{text}</td>")
        return f"<tr>{''.join(cells)}</tr>"


def _pipes(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    return re.sub(r"([\\|*_`<>])", r"\\\1", text).replace("\n", " ")


_TEX = {
    "\\": r"\textbackslash{}",
    "×": r"$\times$",
    "α": r"$\alpha$",
    "±": r"$\pm$",
    "²": r"$^2$",
    "<": r"$<$",
    ">": r"$>$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(mark, mark) for mark in text)
