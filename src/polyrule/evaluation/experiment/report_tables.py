"""The tables an experiment makes from its rows, and their renderings: Markdown, LaTeX, CSV, HTML, data frames."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from polyrule.data.results import make_frame
from polyrule.errors import PolyruleError
from polyrule.evaluation.experiment.results import Results
from polyrule.evaluation.experiment.spec import ComparisonSpec, slug
from polyrule.evaluation.scores import LOWER_IS_BETTER, conventions, measure_words
from polyrule.evaluation.statistics import Interval, LearnerComparison


@dataclass(frozen=True, slots=True)
class TableCell:
    """Text of a cell; `bold` marks the best of a group."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class ResultTable:
    """Cells in rows, with a title and notes.

    Examples
    --------
    >>> rows = [["tree", "0.6"], ["rules", TableCell("0.7", bold=True)]]
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

    name: str  # used for file names
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...] = field(default=())  # what a reader must know to read the numbers rightly
    left: int = 1  # how many leading columns hold words

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        header: Sequence[str],
        rows: Sequence[Sequence[str | TableCell]],
        notes: Sequence[str] = (),
        left: int = 1,
    ) -> ResultTable:
        """Make a table, taking plain texts for cells."""
        cells = tuple(tuple(cell if isinstance(cell, TableCell) else TableCell(cell) for cell in row) for row in rows)
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

    def _html_row(self, row: tuple[TableCell, ...]) -> str:
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


def score_table(results: Results, measure: str) -> ResultTable:
    """Learners by data sets: the mean over the splits, the best of each data set in bold."""
    columns: dict[str, list[TableCell]] = {}
    for data in results.data_sets:
        values = [results.value(data, learner, measure) for learner in results.learners]
        texts = [
            _failure(results, data, learner) if value is None else _with_half_width(value)
            for learner, value in zip(results.learners, values, strict=True)
        ]
        columns[data] = _best_in_bold(map(_mean, values), texts, measure in LOWER_IS_BETTER)
    notes = [f"{conventions(**results.spec.scores)}."]
    if results.spec.split.kind == "folds":
        notes.append("± is half of the 95% interval over folds, corrected for the overlap of the training parts.")
    return _side_by_side(measure, words(measure), results.learners, columns, notes)


def size_table(results: Results) -> ResultTable:
    """Size and cost of every model: rules, conditions, heads, time, memory."""
    columns: list[tuple[str, str, Callable[[float], str]]] = [
        ("rules", "rules", "{:.0f}".format),
        ("conditions", "conditions", "{:.0f}".format),
        ("fit_cpu_seconds", "fit CPU s", _seconds),
        ("fit_seconds", "fit s", _seconds),
        ("predict_seconds", "predict s", _seconds),
        ("used_memory_mb", "memory MB", "{:.0f}".format),
    ]
    rows = []
    for data in results.data_sets:
        for learner in results.learners:
            if not results.select(data, learner):
                continue
            cells = [_cell_text(results.value(data, learner, column), form) for column, _, form in columns]
            multi, labels = heads(results, data, learner)
            status = _failure(results, data, learner)
            rows.append([data, learner, *cells[:2], multi, labels, *cells[2:], status])
    header = ["data", "learner", "rules", "conditions", "% multi-label heads", "labels per head"]
    header += [title for _, title, _ in columns[2:]] + ["status"]
    notes = [
        "A leaf of a tree counts as a rule whose conditions are the tests on its path.",
        "Fit time includes discretising, encoding and tuning; memory is what fitting and predicting took on top.",
    ]
    return ResultTable.of("models", "Model size and cost", header, rows, notes, left=2)


def _comparisons(results: Results, spec: ComparisonSpec, notes: list[str]) -> Iterator[tuple[str, LearnerComparison]]:
    """Each measure by which the learners can be compared; what had to be left out is added to the notes."""
    for measure in spec.measures:
        comparison, excluded = results.comparison(spec, measure)
        notes += [note for note in excluded if note not in notes]
        if comparison is not None:
            yield measure, comparison


def rank_table(results: Results, spec: ComparisonSpec) -> ResultTable:
    """Average rank of every learner by every measure of a comparison, with the tests below."""
    columns: dict[str, list[TableCell]] = {}
    notes: list[str] = []
    for measure, comparison in _comparisons(results, spec, notes):
        ranks = comparison.average_ranks.tolist()
        columns[words(measure)] = _best_in_bold(ranks, (f"{rank:.2f}" for rank in ranks), lower=True)
        try:
            verdict = comparison.friedman().text(spec.alpha)
            verdict += f"; critical difference {comparison.critical_difference:.2f}"
        except PolyruleError as reason:
            verdict = f"no test: {reason}"
        notes.append(f"{words(measure)}: {verdict}.")
        if comparison.caveat and comparison.caveat not in notes:
            notes.append(comparison.caveat)
    return _side_by_side(f"ranks-{slug(spec.name)}", f"Average ranks: {spec.name}", spec.learners, columns, notes)


def mean_table(results: Results, spec: ComparisonSpec) -> ResultTable:
    """Mean score of every learner over the data sets of a comparison, with intervals."""
    columns: dict[str, list[TableCell]] = {}
    notes: list[str] = []
    for measure, comparison in _comparisons(results, spec, notes):
        means = comparison.means(within=(0, 1))
        columns[words(measure)] = _best_in_bold(map(_mean, means), map(str, means), measure in LOWER_IS_BETTER)
    notes.append("In brackets the 95% t interval over data sets: they differ much, so the intervals are wide.")
    title = f"Means over data sets: {spec.name}"
    return _side_by_side(f"means-{slug(spec.name)}", title, spec.learners, columns, notes)


def failure_table(results: Results) -> ResultTable:
    """Runs that did not end well, with the reason."""
    rows = [
        [row["data"], row["learner"], row["split"], row["status"], str(row.get("error", ""))]
        for row in results.failures
    ]
    return ResultTable.of(
        "failures", "Runs without a result", ["data", "learner", "split", "what", "why"], rows, left=5
    )


def _mean(value: Interval | None) -> float | None:
    return None if value is None else value.mean


def _best_in_bold(values: Iterable[float | None], texts: Iterable[str], lower: bool) -> list[TableCell]:
    """Texts of values, of which some may not be there."""
    listed = list(values)
    best = (min if lower else max)((value for value in listed if value is not None), default=None)
    return [TableCell(text, value is not None and value == best) for value, text in zip(listed, texts, strict=True)]


def _side_by_side(
    name: str, title: str, learners: Sequence[str], columns: dict[str, list[TableCell]], notes: list[str]
) -> ResultTable:
    rows = [[learner, *cells] for learner, *cells in zip(learners, *columns.values(), strict=True)] if columns else []
    return ResultTable.of(name, title, ["learner", *columns], rows, notes)


def words(measure: str) -> str:
    """Write a measure's name as people do.

    Examples
    --------
    >>> words("micro_f1"), words("hamming_accuracy")
    ('Micro F1', 'Hamming accuracy')
    """
    text = measure_words(measure)
    return text[0].upper() + text[1:]


def heads(results: Results, data: str, learner: str) -> tuple[str, str]:
    """Percentage of heads with several labels, and labels per head; nothing where they are not known."""
    rules = results.value(data, learner, "rules")
    multi = results.value(data, learner, "multi_label_rules")
    literals = results.value(data, learner, "head_literals")
    if rules is None or multi is None or literals is None or not rules.mean:
        return "", ""
    return f"{100 * multi.mean / rules.mean:.2f}", f"{literals.mean / rules.mean:.2f}"


def _failure(results: Results, data: str, learner: str) -> str:
    for row in results.select(data, learner):
        if row["status"] != "ok":
            return str(row["status"])
    return ""


def _with_half_width(value: Interval) -> str:
    return f"{value.mean:.3f}" if math.isnan(value.low) else f"{value.mean:.3f} ± {value.half:.3f}"


def _cell_text(value: Interval | None, form: Callable[[float], str]) -> str:
    return "" if value is None else form(value.mean)


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"
