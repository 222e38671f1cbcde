"""``polyrule measure``: the measures, and the searches that a measure allows."""

from __future__ import annotations

import click

from polyrule.cli.command import SETTINGS, Command, Group, json_option
from polyrule.cli.head import head
from polyrule.cli.output import fit, print_json


@click.group("measure", cls=Group, context_settings=SETTINGS)
def measure() -> None:
    r"""List measures, check which searches a measure allows, or find the best head for labels.

    \b
    Examples:
      polyrule measure list
      polyrule measure check "(tp)/(tp+fp+0.5*fn)"
      polyrule measure head "0110 1100 1000" --measure f1
    """


@measure.command("list", cls=Command)
@json_option
def list_measures(as_json: bool) -> None:
    r"""List the measures with their formulas.

    \b
    Example:
      polyrule measure list
    """
    from polyrule.measures import available

    names = available()
    if as_json:
        print_json([{"name": name, "measure": _definition(name)} for name in names])
        return
    width = max(len(name) for name in names)
    for name in names:
        click.echo(fit(f"{name:<{width}}  {_definition(name)}", indent=width + 2))
    click.echo("\nAny expression of tp, fp, tn and fn is a measure too:\nsee 'polyrule measure check --help'.")


def _example(name: str) -> str:
    """Return a name that can be looked up, where the list shows a pattern such as ``f<beta>``."""
    start, _, rest = name.partition("<")
    return name if not rest else f"{start}2"


def _definition(name: str) -> str:
    """Return the formula of a measure, or where it is no ratio, the first sentence about it."""
    from polyrule import measures

    measure = measures.get(_example(name))
    if isinstance(measure, measures.Association):
        return measure.description
    text = repr(measure)
    if "TP" in text:
        return text[text.index("(") + 1 : -1].split(", ", 1)[-1]
    factory = getattr(measures, {"m2": "m_estimate"}.get(name, name.replace("-", "_")), None)
    return (getattr(factory, "__doc__", "") or "").split("\n")[0]


@measure.command("check", cls=Command)
@click.argument("expression")
@click.option("--budget", type=click.IntRange(min=1), default=4000, show_default=True, help="Small worlds per claim.")
@click.option("--prove", is_flag=True, help="Try harder where it is open: z3 (pip install 'polyrule[prove]').")
@click.option(
    "--seconds", type=click.FloatRange(min=0.1), default=10, show_default=True, help="How long, with --prove."
)
@click.option("--negative/--no-negative", default=True, show_default=True, help="Heads with absent labels, too.")
@json_option
def check(expression: str, budget: int, prove: bool, seconds: float, negative: bool, as_json: bool) -> None:
    r"""Is a measure decomposable or anti-monotone, for each averaging and scope?

    EXPRESSION is the name of a measure or an expression of tp, fp, tn and fn. Each answer is proved by a named fact or
    a lemma, refuted by the smallest counterexample found, or open: no counterexample among these small problems. The
    learner picks an exact search accordingly. Expressions are parsed, never run as code.

    \b
    Examples:
      polyrule measure check matthews
      polyrule measure check "(tp)/(tp+fp+0.5*fn)" --json
      polyrule measure check "tp/sqrt((tp+fp)*(tp+fn))" --prove
    """
    from polyrule.measures import Objective
    from polyrule.measures.check import check as check_measure

    report = check_measure(expression, budget=budget, negative=negative, prove=prove, seconds=seconds)
    if as_json:
        print_json(
            {
                "measure": repr(report.measure),
                "negative": report.negative,
                "remarks": list(report.remarks),
                "proof": Objective(report.measure, negative=negative).proof(),
                "entries": report.records(),
            }
        )
        return
    click.echo(fit(report.text(), indent=14))


measure.add_command(head)
