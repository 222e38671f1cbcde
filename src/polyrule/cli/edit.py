"""``polyrule edit``: change the rules of a model by hand."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import (
    data_argument,
    data_options,
    load_all_columns,
    load_kind,
    load_labelled,
    load_model,
    model_argument,
)
from polyrule.cli.command import SETTINGS, Command, Group, json_option, model_output_option
from polyrule.cli.output import check_place, fit, note, plural, print_json, warn
from polyrule.errors import OptionError
from polyrule.utils.atomic import atomic_write


@click.group("edit", cls=Group, context_settings=SETTINGS)
def edit() -> None:
    r"""Remove, move, insert, replace or re-count rules. Rules are numbered from 1, as 'polyrule show' prints them.

    What has changed is printed, with - before rules as they were and + before rules as they are. Without -o the model
    file itself is replaced, and what it was stands beside it as MODEL.bak. Rules made or changed by hand are marked
    [hand] or [edited], and have no counts until 'polyrule edit recount'.

    \b
    Examples:
      polyrule edit remove model.json 3
      polyrule edit insert model.json "happy, ¬sad <- tempo > 120" --at 1
      polyrule edit name model.json 3 "road words"
      polyrule edit recount model.json train.csv
    """


_load_ensemble = partial(load_kind, "rule-ensemble")


def editing(
    name: str, load: Callable[[Path], Any] = load_model, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function from a stored model to the changed one: it gets MODEL, ``-o`` and ``--json``."""

    def make(function: Callable[..., Any]) -> click.Command:
        def run(model: Path, output: Path | None, as_json: bool, **arguments: Any) -> None:
            rules = getattr(arguments.get("file"), "name", None)
            check_place(output, arguments.get("data"), arguments.get("label_file"), rules)
            in_place = output is None and model.is_file()
            with sole_editor(model) if in_place else nullcontext():
                before = model.read_bytes() if in_place else b""
                stored = load(model)
                _store(stored, before, function(stored, **arguments), model, output, as_json)

        run.__doc__ = function.__doc__
        model_output_option("Where to write the model [MODEL; the old one stays as MODEL.bak].")(json_option(run))
        run.__click_params__ += getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        return edit.command(name, cls=Command, **settings)(model_argument(run))

    return make


@editing("remove")
@click.argument("rules", metavar="RULE...", type=int, nargs=-1, required=True)
def remove(stored: Any, rules: tuple[int, ...]) -> Any:
    r"""Remove the rules with these numbers.

    \b
    Example:
      polyrule edit remove model.json 3 7 -o smaller.json
    """
    for number in sorted(set(rules), reverse=True):
        stored = stored.remove(_index(stored, number))
    return stored


@editing("move")
@click.argument("rule", type=int)
@click.argument("to", type=int)
def move(stored: Any, rule: int, to: int) -> Any:
    r"""Move RULE so that it gets the number TO.

    \b
    Example:
      polyrule edit move model.json 9 1
    """
    return stored.move(_index(stored, rule), _index(stored, to))


@editing("insert")
@click.argument("rule")
@click.option("--at", type=int, metavar="N", help="Number the rule gets [after the last one].")
def insert(stored: Any, rule: str, at: int | None) -> Any:
    r"""Insert RULE, written as 'polyrule show' prints rules; absent labels may also be written !label or 'not label'.

    A rule of an ensemble has weights, or points, in its head.

    \b
    Examples:
      polyrule edit insert model.json "happy, !sad <- tempo > 120 [stop]" --at 1
      polyrule edit insert card.json "happy +2, sad -1 <- tempo > 120"
    """
    place = len(stored) if at is None else at - 1
    if not 0 <= place <= len(stored):
        raise OptionError(f"--at must be between 1 and {len(stored) + 1}, got {at}")
    return stored.insert(place, rule)


@editing("replace")
@click.argument("number", metavar="[N", type=int, required=False)
@click.argument("rule", metavar="RULE]", required=False)
@click.option("--rules", "file", type=click.File("r", encoding="utf-8"), help="Replace all rules by those of a file.")
def replace(stored: Any, number: int | None, rule: str | None, file: Any) -> Any:
    r"""Replace rule N by RULE, or all rules of a list by those of a file.

    The file has one rule per line, as 'polyrule show' prints them; unchanged ones keep their counts.

    \b
    Examples:
      polyrule edit replace model.json 2 "happy <- tempo > 118"
      polyrule show model.json > rules.txt
      nano rules.txt
      polyrule edit replace model.json --rules rules.txt
    """
    from polyrule.model.rule_list import from_text

    if (file is None) == (rule is None):
        raise click.UsageError("pass N and RULE, or --rules FILE")
    if file is not None:
        return from_text(_checked_list(stored, "--rules"), file.read())
    assert number is not None
    assert rule is not None
    return stored.replace(_index(stored, number), rule)


@editing("name")
@click.argument("number", metavar="N", type=int)
@click.argument("name")
def name_group(stored: Any, number: int, name: str) -> Any:
    r"""Name the group of alternatives ('any of', 'at least 2 of') in rule N; the name is printed before its members.

    An empty NAME removes it. Nothing else changes.

    \b
    Example:
      polyrule edit name model.json 3 "road words"
    """
    return stored.name_group(_index(stored, number), name)


@editing("member")
@click.argument("number", metavar="N", type=int)
@click.option("--add", "added", metavar="CONDITION", help="Add a condition to the group of rule N.")
@click.option(
    "--beside", metavar="OTHER", help="With --add: the condition of a rule without a group that gets another."
)
@click.option("--remove", "removed", metavar="CONDITION", help="Remove a condition from the group of rule N.")
@click.option("--join", "joined", type=int, multiple=True, metavar="N", help="Join a rule to rule N; may be repeated.")
@click.option("--split", is_flag=True, help="Replace rule N by rules without a group.")
def member(
    stored: Any,
    number: int,
    added: str | None,
    beside: str | None,
    removed: str | None,
    joined: tuple[int, ...],
    split: bool,
) -> Any:
    r"""Change the group of alternatives ('any of', 'at least 2 of') in rule N.

    Rules can be joined if they have one head and differ in one condition; the joined rule is in the place of the first.

    \b
    Examples:
      polyrule edit member model.json 3 --add "gridlock = 1"
      polyrule edit member model.json 3 --remove jam
      polyrule edit member model.json 3 --join 5 --join 6
      polyrule edit member model.json 3 --split
    """
    if [added is not None, removed is not None, bool(joined), split].count(True) != 1:
        raise click.UsageError("pass one of --add, --remove, --join and --split")
    if beside is not None and added is None:
        raise OptionError("--beside is for --add; leave it out")
    place = _index(stored, number)
    if added is not None:
        return stored.add_member(place, added, beside)
    if removed is not None:
        return stored.remove_member(place, removed)
    if joined:
        return stored.join(place, *(_index(stored, other) for other in joined))
    return _checked_list(stored, "--split").split_group(place)


def _checked_list(stored: Any, option: str) -> Any:
    """Return a rule list; raise `OptionError` for an ensemble."""
    from polyrule.model import RuleList

    if not isinstance(stored, RuleList):
        raise OptionError(f"{option} is for rule lists, and this model is an ensemble")
    return stored


@editing("recount")
@data_argument
@data_options
def recount(stored: Any, data: str, **reading: Any) -> Any:
    r"""Count what every rule does on DATA, and store that instead of the counts from learning.

    \b
    Example:
      polyrule edit recount model.json train.csv
    """
    return stored.recount(load_labelled(data, reading, stored))


@editing("set-weight", _load_ensemble, context_settings={"ignore_unknown_options": True})  # -1.5 is no option
@click.argument("number", metavar="N", type=int)
@click.argument("label")
@click.argument("weight", type=float)
def set_weight(stored: Any, number: int, label: str, weight: float) -> Any:
    r"""Set the WEIGHT of LABEL in rule N of an ensemble; 0 removes it from the head.

    \b
    Examples:
      polyrule edit set-weight model.json 2 happy 0.5
      polyrule edit set-weight model.json 2 sad -1.5
    """
    return stored.reweigh(_index(stored, number), label, weight)


@editing("refit", _load_ensemble)
@data_argument
@click.option("--keep", type=int, multiple=True, metavar="N", help="A rule whose weights must stay; may be repeated.")
@click.option("--ridge", type=float, help="Penalty on squared weights [the one that learning chose].")
@data_options
def refit(stored: Any, data: str, keep: tuple[int, ...], ridge: float | None, **reading: Any) -> Any:
    r"""Fit the weights of an ensemble again on DATA.

    \b
    Example:
      polyrule edit refit model.json train.csv --keep 1
    """
    fixed = [_index(stored, number) for number in keep]
    return stored.refit(load_labelled(data, reading, stored), ridge=ridge, keep=fixed)


@editing("cutoff")
@click.argument("cutoffs", metavar="LABEL=PROBABILITY...", nargs=-1, required=True)
def cutoff(stored: Any, cutoffs: tuple[str, ...]) -> Any:
    r"""Set the probability from which labels are predicted.

    In a list this takes labels out of the rules that expect them with a smaller probability.

    \b
    Example:
      polyrule edit cutoff model.json sepsis=0.3 -o careful.json
    """
    from polyrule.decisions import set_cutoffs

    probabilities = {}
    for text in cutoffs:
        name, _, number = text.rpartition("=")
        try:
            probabilities[name] = float(number)
        except ValueError:
            raise OptionError(f"a cutoff is written LABEL=PROBABILITY, such as sepsis=0.3, not {text!r}") from None
    return set_cutoffs(stored, probabilities)


@editing("tune")
@data_argument
@click.option(
    "--for",
    "goal",
    metavar="GOAL",
    help="f1 (all labels together), macro-f1 (each label), cost (that of the model), recall>=SHARE or precision>=SHARE "
    "(each label) [f1].",
)
@click.option(
    "--decision",
    metavar="KIND",
    help="Of an ensemble: threshold, per-label, subset, expected-f1 or auto, in place of cutoffs for a goal.",
)
@click.option(
    "--by-group", metavar="COLUMN", help="Groups between which recall may differ by --max-gap; small ones do not count."
)
@click.option("--max-gap", type=click.FloatRange(0, 1), help="Largest difference of recall between groups, per label.")
@click.option("--optimize", metavar="MEASURE", help="With --decision: measure that it is tuned for [micro-f1].")
@data_options
def tune(
    stored: Any,
    data: str,
    goal: str | None,
    decision: str | None,
    optimize: str | None,
    by_group: str | None,
    max_gap: float | None,
    **reading: Any,
) -> Any:
    r"""Choose the cutoff of each label that is best for a goal on DATA; rules and weights stay.

    DATA should be examples that learning has not seen. 'polyrule calibrate' guarantees a level on new examples. With
    --decision an ensemble predicts by the kind of decision that is best on DATA.

    \b
    Examples:
      polyrule edit tune model.json valid.csv --for macro-f1
      polyrule edit tune model.json valid.csv --for "recall>=0.9" -o careful.json
      polyrule edit tune model.json valid.csv --by-group sex --max-gap 0.05
      polyrule edit tune card.json valid.csv --decision auto --optimize subset
    """
    from polyrule.decisions import choose_cutoffs
    from polyrule.model import RuleList

    if decision is None and optimize is None:
        if by_group is None:
            return choose_cutoffs(stored, load_labelled(data, reading, stored), goal=goal or "f1", max_gap=max_gap)
        examples = load_all_columns(data, reading, stored, "--by-group")
        return choose_cutoffs(stored, examples, goal=goal or "f1", by_group=by_group, max_gap=max_gap)
    if by_group is not None or max_gap is not None:
        raise OptionError("--by-group and --max-gap are for cutoffs; leave out --decision and --optimize")
    if goal is not None:
        raise OptionError("--for chooses cutoffs, and --decision or --optimize another decision; leave one out")
    if isinstance(stored, RuleList):
        raise OptionError("--decision and --optimize are for ensembles; use --for")
    examples = load_labelled(data, reading, stored)
    return stored.tune_decision(examples, decision=decision or "auto", optimize=optimize or "micro-f1")


@editing("costs")
@click.argument("costs", metavar="LABEL=FALSE_ALARM:MISS...", nargs=-1, required=True)
def costs(stored: Any, costs: tuple[str, ...]) -> Any:
    r"""Set what a false alarm and a miss of labels cost, and the cutoffs that minimize the expected cost.

    'polyrule evaluate' then shows the cost beside F1, and 'polyrule edit tune --for cost' tunes for it on DATA.

    \b
    Example:
      polyrule edit costs model.json sepsis=1:20 -o careful.json
    """
    from polyrule.decisions import set_costs

    return set_costs(stored, read_pairs(costs))


@editing("relations")
@click.argument("relations", metavar="RELATION|FILE...", nargs=-1)
@click.option("--none", "without", is_flag=True, help="Take all relations away.")
def relations(stored: Any, relations: tuple[str, ...], without: bool) -> Any:
    r"""State relations between labels, which then hold for every prediction, in place of those that the model has.

    A relation is written "a => b", "a, b: at most one" or "a, b, c: exactly one"; a file has them line by line (.txt),
    as a tree (.json) or as paths from root to leaf (.csv).

    \b
    Examples:
      polyrule edit relations model.json "pneumonia => lung disease" "benign, malignant: at most one"
      polyrule edit relations model.json tree.json -o related.json
      polyrule edit relations model.json --none
    """
    if without is bool(relations):
        raise OptionError("give relations, or --none to take them away")
    return stored.with_relations(relations)


@editing("seal", partial(load_model, check=False))
def seal(stored: Any) -> Any:
    r"""Accept a model file that was edited with a text editor: check everything and write a new checksum.

    \b
    Example:
      polyrule edit seal model.json
    """
    return stored


def read_pairs(texts: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Read costs.

    >>> read_pairs(("sepsis=1:20",))
    {'sepsis': (1.0, 20.0)}
    """
    pairs = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        false_alarm, _, miss = numbers.partition(":")
        try:
            pairs[name] = float(false_alarm), float(miss)
        except ValueError:
            raise OptionError(f"costs are written LABEL=FALSE_ALARM:MISS, such as sepsis=1:20, not {text!r}") from None
    return pairs


def _index(model: Any, number: int) -> int:
    if not 1 <= number <= len(model):
        raise OptionError(f"there is no rule {number}; the model has {len(model)}, counted from 1")
    return number - 1


def changed_lines(before: str, after: str) -> list[str]:
    r"""The lines of two models that only one of them has, with a minus or a plus; numbers alone are no change.

    >>> changed_lines("1. a <- true\n2. b <- x > 1", "1. c <- x > 2\n2. a <- true\n3. b <- x > 1")
    ['+ 1. c <- x > 2']
    """
    old, new = before.splitlines(), after.splitlines()
    was, now = ([re.sub(r"^ *\d+\. ", "", line) for line in lines] for lines in (old, new))
    lines_changed = []
    for what, i, j, k, m in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if what != "equal":
            lines_changed += [f"- {line}" for line in old[i:j]] + [f"+ {line}" for line in new[k:m]]
    return lines_changed


def _unmarked(model: Any) -> Any:
    """Return the model without the marks of counts that are those before an edit."""
    rules = (dataclasses.replace(rule, stale=False) if getattr(rule, "stale", False) else rule for rule in model)
    return dataclasses.replace(model, rules=tuple(rules))


@contextmanager
def sole_editor(model: Path) -> Iterator[None]:
    """Keep other commands from editing a model file, so that no edit is lost; raise `OutputError` if one does."""
    from polyrule.errors import OutputError
    from polyrule.utils.atomic import hold, output_error

    place = Path(os.path.realpath(model))
    with ExitStack() as stack:
        try:
            alone = stack.enter_context(hold(place.with_name(f".{place.name[:40]}.lock")))
        except OSError as error:
            raise output_error(model, error) from error
        if not alone:
            raise OutputError(f"{model}: another program is editing it; run this again when that has ended")
        yield


def _store(stored: Any, before: bytes, edited: Any, model: Path, output: Path | None, as_json: bool) -> None:
    from polyrule.errors import OutputError
    from polyrule.model.files import dumps

    target = output or model
    backup = None if output else model.with_name(model.name + ".bak")
    text = dumps(edited)
    with atomic_write(target) as stream:
        stream.write(text)
        if backup is not None:  # before the new model takes its place, and after it is on the disk
            stream.flush()
            os.fsync(stream.fileno())
            if model.read_bytes() != before:
                raise OutputError(f"{model}: another program changed it meanwhile; run this again")
            with atomic_write(backup, "wb", follow_links=False) as copy:
                copy.write(before)
    if as_json:
        print_json({"output": str(target), "rules": edited.records()})
        return
    for line in changed_lines(str(_unmarked(stored)), str(_unmarked(edited))):
        click.echo(fit(line))
    if any(getattr(rule, "origin", "learned") != "learned" and rule.coverage is None for rule in edited):
        warn("rules made by hand have no counts; 'polyrule edit recount' gives them some")
    elif any(getattr(rule, "stale", False) for rule in edited):
        warn("some counts are those before the edit; 'polyrule edit recount' counts again")
    beside = f"; the old one is {backup}" if backup else ""
    note(f"model with {plural(len(edited), 'rule')} written to {target}{beside}")
