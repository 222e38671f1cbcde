"""A progress line for people: rules so far, share of the label decisions made, time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from polyrule.cli.output import on_terminal


@contextlib.contextmanager
def learning_progress(quiet: bool) -> Iterator[Any]:
    """Give a callback for the learner; None where nobody watches, so that nothing is written into pipes and files."""
    if quiet or not on_terminal():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),  # a line of 80 characters has room for the rest
        TaskProgressColumn(),
        TextColumn("{task.fields[rules]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning", total=1.0, rules="0 rules")

        def show(progress: Any) -> None:
            rules = f"{progress.rules} rule{'' if progress.rules == 1 else 's'}"
            if hasattr(progress, "phase"):
                bar.update(task, description=progress.phase, completed=progress.done, rules=rules)
            else:
                bar.update(task, completed=progress.done, rules=rules + _within(progress))

        from polyrule.learning.messages import within_rules  # which needs NumPy, and help shall not

        yield within_rules(show)
        bar.update(task, completed=1.0)  # growing may end before every label is decided
        bar.refresh()


def _within(progress: Any) -> str:
    """Say how far the search for the next rule is, if that is what is reported."""
    if progress.rule is not None:
        return ""
    best = "" if progress.best is None else f", best {progress.best:.4g}"
    return f"; next: {progress.bodies:,} bodies{best}"


@contextlib.contextmanager
def counting_progress(text: str, total: int | None, quiet: bool = False) -> Iterator[Any]:
    """Give a function that takes how much is done; it does nothing where nobody watches."""
    if quiet or not on_terminal():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda done: bar.update(task, completed=done)
