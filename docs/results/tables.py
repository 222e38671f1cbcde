"""Write the tables of three pages that come from the rows beside this file: ``python docs/results/tables.py``.

The rows are made by `polyrule experiment` (field, folds) and by `list_defaults.py`, `quality.py`, `peers.py` and
`ablation.py` of the benchmarks.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean
from textwrap import fill

from polyrule.evaluation import compare_learners
from polyrule.evaluation.statistics import mean_interval

HERE = Path(__file__).resolve().parent
PAGES = tuple(HERE.parent / name for name in ("results.md", "lists.md", "ensemble.md"))
MADE = re.compile(
    r"(<!-- (\w+): made by docs/results/tables.py -->\n\n).*?(?=<!-- end of what is made -->\n)", re.DOTALL
)
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))
peers, ablation = import_module("peers"), import_module("ablation")

FOLDS = 10
Cells = dict[str, dict[str, float]]  # learner -> data set -> number
PER_DATA_SET = {
    "Micro F1": ("micro_f1", "Micro F1"),
    "Macro F1": ("macro_f1", "Macro F1"),
    "Subset accuracy": ("subset_accuracy", "Subset accuracy"),
    "Hamming loss (lower is better)": ("hamming_loss", "Hamming loss"),
}
MEANS = {
    "micro F1": "micro_f1",
    "macro F1": "macro_f1",
    "example F1": "example_f1",
    "subset acc.": "subset_accuracy",
    "Hamming loss": "hamming_loss",
}
LOSSES = {"hamming_loss"}
# Rows of the table of paper and default: what is shown, the column of the rows, and how it is written.
SIDE_BY_SIDE = (
    ("micro-F1", "micro_f1", "share"),
    ("macro-F1", "macro_f1", "share"),
    ("calibration error", "calibration_error", "share"),
    ("rules", "rules", ".0f"),
    ("conditions a rule", "conditions", ".1f"),
    ("labels a head", "labels", ".1f"),
)
ENSEMBLES = {
    "ours-30": "30 rules",
    "ours-100": "100 rules",
    "boomer": "BOOMER, 1,000 rules",
    "forest": "label-powerset forest",
}
# Table in ensemble.md: the measure decided for, the column of the rows, how it is written, who is left out.
QUALITY = {
    "quality_micro": ("micro-f1", "micro-f1", "share", ()),
    "quality_macro": ("macro-f1", "macro-f1", "share", ()),
    "quality_subset": ("subset", "subset", "share", ()),
    "quality_calibration": ("micro-f1", "calibration_error", "share", ("ours-100",)),
    "quality_log_loss": ("micro-f1", "log_loss", "share", ("ours-100",)),
    "quality_brier": ("micro-f1", "brier", "share", ("ours-100",)),
    "quality_time": ("micro-f1", "cpu_s", ".1f", ()),
    "quality_memory": ("micro-f1", "mb", ".0f", ()),
}
SAID = ("quality_micro", "quality_macro", "quality_subset")  # tables that are put in words, too
LEVEL = 0.01  # within this two scores are called level
SAME_AS_ANOTHER = "polyrule list tuned"  # it chose f0.5 everywhere, and would count twice in the ranks


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the fits that have a result."""
    with (HERE / f"{name}.csv").open(encoding="utf-8") as stream:
        return [row for row in csv.DictReader(stream) if row.get("status", "ok") == "ok"]


def field(rows: list[dict[str, str]]) -> str:
    """Return all tables of one split, with their headings."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    parts = []
    for title, (column, corner) in PER_DATA_SET.items():
        best = min if column in LOSSES else max
        parts.append(f"### {title}\n\n" + _table(corner, names, cells(rows, column), "{:.3f}".format, best))
    parts.append("### Size: rules (leaves of trees), and CPU seconds for fitting\n")
    parts.append(_table("Rules", names, cells(rows, "rules"), "{:.0f}".format))
    parts.append("\n" + _table("fit, CPU s", names, cells(rows, "fit_cpu_seconds"), _seconds))
    everywhere = [name for name in names if all(name in own for own in cells(rows, "micro_f1").values())]
    parts += [_means(rows, everywhere), _ranks(rows, everywhere)]
    return "\n".join(parts)


def cells(rows: list[dict[str, str]], column: str) -> Cells:
    """Return one number per learner and data set; what was not counted is left out."""
    found: Cells = {row["learner"]: {} for row in rows}
    for row in rows:
        if row[column]:
            found[row["learner"]][row["data"]] = float(row[column])
    return found


def _table(corner: str, names: list[str], numbers: Cells, write, best=None) -> str:  # type: ignore[no-untyped-def]
    tops = {name: best(own[name] for own in numbers.values() if name in own) for name in names} if best else {}
    lines = [_line([corner, *names]), _line(["---", *["---:"] * len(names)])]
    for learner, own in numbers.items():
        texts = [write(own[name]) if name in own else "–" for name in names]
        bold = [own.get(name) == tops.get(name, "none") for name in names]
        lines.append(_line([learner, *(f"**{text}**" if top else text for text, top in zip(texts, bold, strict=True))]))
    return "\n".join(lines) + "\n"


def _means(rows: list[dict[str, str]], names: list[str]) -> str:
    columns = {title: cells(rows, column) for title, column in (MEANS | {"rules": "rules"}).items()}
    means = {
        title: {learner: fmean(own[name] for name in names) for learner, own in numbers.items() if own}
        for title, numbers in columns.items()
    }
    order = sorted(means["micro F1"], key=lambda learner: -means["micro F1"][learner])
    lines = [_line(["mean over data sets", *columns]), _line(["---", *["---:"] * len(columns)])]
    for learner in order:
        texts = [f"{means[title][learner]:.3f}" for title in MEANS]
        size = means["rules"].get(learner)
        lines.append(_line([learner, *texts, "–" if size is None else f"{size:.0f}"]))
    named = ", ".join(names)
    intro = f"Over {named}, the data sets on which every learner listed has a result, best micro F1 first:"
    return f"### Means\n\n{intro}\n\n" + "\n".join(lines) + "\n"


def _ranks(rows: list[dict[str, str]], names: list[str]) -> str:
    rows = [row for row in rows if row["learner"] != SAME_AS_ANOTHER]
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    titles = [title[:1].upper() + title[1:].replace("acc.", "accuracy") for title in MEANS]
    compared = []
    for title, column in zip(titles, MEANS.values(), strict=True):
        own = cells(rows, column)
        scores = {learner: [own[learner][name] for name in names] for learner in learners}
        compared.append(compare_learners(scores, names, column not in LOSSES, measure=title))
    lines = [_line(["learner", *titles]), _line(["---", *["---:"] * len(titles)])]
    for position, learner in enumerate(learners):
        ranks = [(comparison.average_ranks[position], min(comparison.average_ranks)) for comparison in compared]
        lines.append(_line([learner, *(f"**{rank:.2f}**" if rank == top else f"{rank:.2f}" for rank, top in ranks)]))
    tests = [
        fill(
            f"- {one.measure}: {one.friedman().text(one.alpha)}; critical difference {one.critical_difference:.2f}.",
            width=120,
            subsequent_indent="  ",
        )
        for one in compared
    ]
    return "### Ranks\n\n" + "\n".join([*lines, "", *tests, f"- Beware: {compared[0].caveat}."]) + "\n"


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}"


def _line(texts: list[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def folds(rows: list[dict[str, str]]) -> str:
    """Return two tables of means over folds, with half of their intervals."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    parts = []
    for title, column in (("Micro F1", "micro_f1"), ("Subset accuracy", "subset_accuracy")):
        intervals = {
            (learner, name): mean_interval(
                [float(row[column]) for row in rows if (row["learner"], row["data"]) == (learner, name)],
                test_share=1 / (FOLDS - 1),
            )
            for learner in learners
            for name in names
        }
        tops = {name: max(intervals[learner, name].mean for learner in learners) for name in names}
        lines = [_line(["learner", *names]), _line(["---", *["---:"] * len(names)])]
        for learner in learners:
            own = [(intervals[learner, name], tops[name]) for name in names]
            texts = [(f"{one.mean:.3f} ± {one.high - one.mean:.3f}", one.mean == top) for one, top in own]
            lines.append(_line([learner, *(f"**{text}**" if best else text for text, best in texts)]))
        parts.append(f"{title}:\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def side_by_side(rows: list[dict[str, str]]) -> str:
    """Return the table of the paper's learner and the default on the test parts."""
    rows = [row for row in rows if row["split"] == "train-test"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    found = {(row["setting"], row["data"]): row for row in rows}
    lines = [_line(["", *names, "mean"]), _line(["---"] * (len(names) + 2))]
    for title, column, form in SIDE_BY_SIDE:
        for setting in ("paper", "default"):
            numbers = [float(found[setting, name][column]) for name in names]
            lines.append(_line([f"{title}, {setting}", *(_number(n, form) for n in [*numbers, fmean(numbers)])]))
    return "\n".join(lines) + "\n"


def settings(rows: list[dict[str, str]]) -> str:
    """Return the settings that were compared by cross-validation on the training parts: micro-F1 and rules."""
    rows = [row for row in rows if row["split"] == "3-fold"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    lines = [_line(["setting", *names, "mean"]), _line(["---"] * (len(names) + 2))]
    for setting in dict.fromkeys(row["setting"] for row in rows):
        own = {row["data"]: row for row in rows if row["setting"] == setting}
        scores = [float(own[name]["micro_f1"]) for name in names]
        texts = [f"{_number(s, 'share')} ({float(own[n]['rules']):.0f})" for s, n in zip(scores, names, strict=True)]
        lines.append(_line([setting, *texts, _number(fmean(scores), "share")]))
    return "\n".join(lines) + "\n"


def quality(kind: str, rows: list[dict[str, str]]) -> str:
    """Return one table of ensembles beside peers, with means, or the sum of times."""
    tuned, column, form, without = QUALITY[kind]
    found = {
        (row["learner"], row["data"]): float(row[column]) for row in rows if row["tuned_for"] == tuned and row[column]
    }
    learners = [learner for learner in ENSEMBLES if learner not in without]
    names = list(dict.fromkeys(name for _, name in found))
    lines = [_line(["data", *(ENSEMBLES[learner] for learner in learners)]), _line(["---"] * (len(learners) + 1))]
    lines += [_line([name, *(_number(found[learner, name], form) for learner in learners)]) for name in names]
    rest = [name for name in names if name != "genbase"]
    ends: list[tuple[str, Callable[[list[float]], float], list[str]]] = [("**mean**", fmean, names)]
    if form == "share":
        ends.append(("mean without genbase", fmean, rest))
    if column == "cpu_s":
        ends = [("**sum**", sum, names)]
    for title, over, some in ends:
        lines.append(_line([title, *(_number(over([found[one, name] for name in some]), form) for one in learners)]))
    return "\n".join(lines) + "\n"


def version(rows: list[dict[str, str]]) -> str:
    """Say whether our rows beside the peers are of the version that the other tables show, as the lists tell."""
    ours = {row["data"]: float(row["micro-f1"]) for row in rows if row["learner"] == "list"}
    now = {
        row["data"]: float(row["micro_f1"])
        for row in read_rows("list_defaults")
        if (row["split"], row["setting"]) == ("train-test", "default")
    }
    same = all(abs(ours[name] - now[name]) < 1e-3 for name in now)
    told = (
        "Our rows are of the version that the other tables show"
        if same
        else "Our rows were made before the last changes of the learners, whose scores stand in [the ensemble's "
        "tables](ensemble.md#results) and [those of lists](lists.md#how-well)"
    )
    line = f"- **Test parts were scored once** for this comparison, one run each. {told}."
    return fill(line, width=120, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def beside(kind: str, rows: list[dict[str, str]]) -> str:
    """Say on which sets our ensembles are ahead of a peer, level with it or behind, by the figures of a table."""
    tuned, column, _, _ = QUALITY[kind]
    found = {(row["learner"], row["data"]): float(row[column]) for row in rows if row["tuned_for"] == tuned}
    names = list(dict.fromkeys(name for _, name in found))
    lines = []
    for peer, called in (("boomer", "BOOMER's 1,000 rules"), ("forest", "the forest")):
        for learner in ("ours-30", "ours-100"):
            gains = {name: round(found[learner, name] - found[peer, name], 3) for name in names}
            said = [
                _on("ahead", {name: gain for name, gain in gains.items() if gain > LEVEL}),
                _on("level", {name: None for name, gain in gains.items() if abs(gain) <= LEVEL}),
                _on("behind", {name: -gain for name, gain in gains.items() if gain < -LEVEL}),
            ]
            line = f"- **{ENSEMBLES[learner]} beside {called}**: {'; '.join(filter(None, said))}."
            lines.append(fill(line, width=120, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines) + "\n"


def _on(word: str, sets: Mapping[str, float | None]) -> str:
    """Say where something holds, and by how much, largest first."""
    order = sorted(sets, key=lambda name: -(sets[name] or 0))
    told = [name if sets[name] is None else f"{name} ({_number(sets[name] or 0, 'share')})" for name in order]
    return f"{word} on {', '.join(told)}" if told else ""


def _number(value: float, form: str) -> str:
    return f"{value:.3f}".removeprefix("0") if form == "share" else f"{value:{form}}"


MAKERS: dict[str, tuple[str, Callable[[list[dict[str, str]]], str]]] = {
    "field": ("field", field),
    "folds": ("folds", folds),
    "list_defaults": ("list_defaults", side_by_side),
    "list_settings": ("list_defaults", settings),
    "peers": ("peers", peers.table),
    "peers_by_data": ("peers", peers.by_data),
    "peers_in_words": ("peers", peers.in_words),
    "peers_version": ("peers", version),
    **{
        name: (name, partial(ablation.table, learner=learner))
        for learner in ablation.LEARNERS
        for name in [ablation.file_of(HERE, learner).stem]
        if ablation.file_of(HERE, learner).exists()
    },
    **{kind: ("quality", partial(quality, kind)) for kind in QUALITY},
    **{f"{kind}_beside": ("quality", partial(beside, kind)) for kind in SAID},
}


def page_with_tables(page: str) -> str:
    """Return the page with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        rows, maker = MAKERS[match[2]]
        return match[1] + maker(read_rows(rows)) + "\n"

    return MADE.sub(made, page)


if __name__ == "__main__":
    for place in PAGES:
        place.write_text(page_with_tables(place.read_text(encoding="utf-8")), encoding="utf-8")
