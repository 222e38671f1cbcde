"""``polyrule experiment``: run learners on data sets from one file, resume, and make the tables."""

from __future__ import annotations

import fnmatch
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.output import progress_bar

if TYPE_CHECKING:
    from polyrule.evaluation.experiment import Progress, Results
    from polyrule.evaluation.experiment.one_run import Run
    from polyrule.evaluation.experiment.spec import ExperimentSpec


@click.command(epilog="Stop it at any time: the same command goes on where it stopped.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Directory for rows and tables [results/NAME].")
@click.option("-w", "--workers", type=click.IntRange(min=1), help="Processes at a time [as the file says].")
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only data sets or learners whose name matches (* and ?), or DATA/LEARNER together.",
)
@click.option("--retry", is_flag=True, help="Run again what failed, crashed or exceeded a limit.")
@click.option("--tables-only", is_flag=True, help="Run nothing: make tables and figures from the rows that are there.")
@click.option("--list", "list_runs", is_flag=True, help="Show the runs and whether they are done; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per finished run, and a summary.")
def experiment(
    file: Path,
    output: Path | None,
    workers: int | None,
    only: tuple[str, ...],
    retry: bool,
    tables_only: bool,
    list_runs: bool,
    as_json: bool,
) -> None:
    r"""Run the experiment described in FILE (TOML) and write its tables.

    Every result is stored as it comes, so a run that was interrupted or killed loses nothing. Learners are any classes
    with scikit-learn's interface; one that fails, crashes or exceeds its limits becomes a row that says so.

    \b
    Examples:
      polyrule experiment experiments/paper.toml
      polyrule experiment experiments/field.toml --only flags --workers 2
      polyrule experiment experiments/paper.toml --tables-only

    \b
    A file of your own data and two learners:
      name = "mine"
      [[data]]
      file = "songs.csv"
      test = "songs-test.csv"             # or the last third of the rows
      parameters = {labels = "mood_*"}    # as for polyrule.data.read
      [[learner]]
      name = "list"
      class = "polyrule.RuleListClassifier"
      [[learner]]
      name = "ten weighted rules"
      class = "polyrule.RuleEnsembleClassifier"
      parameters = {max_rules = 10}
    """
    from polyrule.evaluation.experiment import Results, load_spec, write_results

    spec = load_spec(file)
    folder = output if output is not None else Path("results") / spec.name
    includes = _chooser(only)
    if list_runs:
        _show_plan(spec, folder, includes)
        return
    if not tables_only:
        _run(spec, folder, workers, retry, includes, as_json)
    results = Results.load(spec, folder)
    written = write_results(results, folder)
    _summarise(results, folder, len(written), as_json)


def _run(
    spec: ExperimentSpec,
    folder: Path,
    workers: int | None,
    retry: bool,
    includes: Callable[[Run], bool],
    as_json: bool,
) -> None:
    from polyrule.evaluation.experiment import run_experiment

    if as_json or not sys.stderr.isatty():
        run_experiment(spec, folder, workers, retry, includes, _print_json if as_json else _print_line)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    with progress_bar(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), transient=False) as bar:
        task = bar.add_task(spec.name, total=None)

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total)
            if progress.row is not None:
                bar.console.print(_line(progress.row), markup=False, highlight=False)

        run_experiment(spec, folder, workers, retry, includes, show)


def _chooser(patterns: tuple[str, ...]) -> Callable[[Run], bool]:
    def includes(run: Run) -> bool:
        names = (run.data.name, run.learner.name, run.learner.family, f"{run.data.name}/{run.learner.name}")
        return not patterns or any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)

    return includes


def _line(row: dict[str, Any]) -> str:
    head = f"{row['data']:<10} {row['learner']:<28} {row['split']}"
    if row["status"] != "ok":
        return f"{head}  {row['status']}: {row.get('error', '')}"
    return f"{head}  micro F1 {row['micro_f1']:.3f}  {row['fit_seconds']:.2f} s"


def _print_line(progress: Progress) -> None:
    if progress.row is None:
        click.echo(f"{progress.done} of {progress.total} runs are stored", err=True)
    else:
        click.echo(f"[{progress.done}/{progress.total}] {_line(progress.row)}", err=True)


def _print_json(progress: Progress) -> None:
    if progress.row is not None:
        row = {key: value for key, value in progress.row.items() if key not in ("counts", "traceback")}
        click.echo(json.dumps(row, sort_keys=True))


def _show_plan(spec: ExperimentSpec, folder: Path, includes: Callable[[Run], bool]) -> None:
    from polyrule.evaluation.experiment.one_run import plan_runs

    rows = folder / "rows"
    for run in plan_runs(spec):
        if includes(run):
            done = "done" if (rows / f"{run.key}.json").exists() else "to do"
            click.echo(f"{done:<6} {run.data.name:<12} {run.learner.name:<28} {run.split_name}")


def _summarise(results: Results, folder: Path, files: int, as_json: bool) -> None:
    summary = {
        "results": len(results.finished),
        "failures": len(results.failures),
        "missing": results.missing,
        "directory": str(folder),
        "files": files,
    }
    if as_json:
        click.echo(json.dumps(summary, sort_keys=True))
        return
    click.echo(
        f"{summary['results']} results, {summary['failures']} failures, {summary['missing']} not run; "
        f"open {folder / 'index.html'}"
    )
