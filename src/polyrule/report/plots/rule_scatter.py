"""Rules by how much they cover and how precise they are: the strong ones, the small ones, the doubtful ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.evaluation.figures.canvas import ACCENT, WRONG, new_axes, quiet
from polyrule.model.printing import format_rule
from polyrule.report.plots.coverage import run_one


@dataclass(frozen=True, eq=False)
class RuleScatter:
    """One point per rule that set something.

    Parameters
    ----------
    rules : tuple of int
        Numbers of the rules, from 1.
    covers : tuple of int
        Examples each rule covers.
    precision : tuple of float
        Share of the labels it set that are right.
    labels : tuple of int
        Labels in its head.
    texts : tuple of str
        The rules as text.

    Examples
    --------
    >>> from polyrule import RuleListClassifier, datasets
    >>> train = datasets.load("emotions", part="train")
    >>> found = RuleScatter.of(RuleListClassifier(max_rules=3).fit(train), train)
    >>> found.rules
    (1, 2, 3)
    """

    rules: tuple[int, ...]
    covers: tuple[int, ...]
    precision: tuple[float, ...]
    labels: tuple[int, ...]
    texts: tuple[str, ...]

    @classmethod
    def of(cls, model: Any, data: Any) -> RuleScatter:
        """Run the list on the data; both as in `polyrule.report.build`."""
        rule_list, found, _ = run_one(model, data)
        right, wrong = found.right.sum(axis=1), found.wrong.sum(axis=1)
        active = [number for number in range(len(rule_list)) if right[number] + wrong[number]]
        return cls(
            rules=tuple(number + 1 for number in active),
            covers=tuple(int(found.covers[number]) for number in active),
            precision=tuple(float(right[number] / (right[number] + wrong[number])) for number in active),
            labels=tuple(len(rule_list[number].head) for number in active),
            texts=tuple(
                format_rule(rule_list[number], rule_list.features, rule_list.label_names, counts=False)
                for number in active
            ),
        )

    def frame(self) -> Any:
        """Return a row per rule."""
        return make_frame(
            {
                "rule": self.rules,
                "covers": self.covers,
                "precision": self.precision,
                "labels": self.labels,
                "text": self.texts,
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw heads of one label as circles and of several as squares; number the ten that cover most."""
        ax = new_axes(ax, 6.5, 4.5)
        for several, marker, colour, words in ((False, "o", ACCENT, "one label"), (True, "s", WRONG, "several labels")):
            chosen = [at for at, count in enumerate(self.labels) if (count > 1) == several]
            if chosen:
                across, up = [self.covers[at] for at in chosen], [self.precision[at] for at in chosen]
                ax.scatter(across, up, marker=marker, color=colour, alpha=0.75, linewidths=0, label=words)
        for at in sorted(range(len(self.rules)), key=lambda at: -self.covers[at])[:10]:
            place = (self.covers[at], self.precision[at])
            ax.annotate(str(self.rules[at]), place, xytext=(5, 4), textcoords="offset points", fontsize=8)
        ax.set_xlabel("examples covered")
        ax.set_ylabel("labels set rightly")
        ax.set_ylim(-0.03, 1.05)
        if self.rules:
            ax.legend(frameon=False, title="head")
        quiet(ax)
        return ax
