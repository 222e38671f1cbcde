"""An ensemble as one SQL query: a 0/1 column per rule, a sum per label, a comparison per label."""

from __future__ import annotations

from collections.abc import Sequence

from polyrule.ensemble.exports import check_decision, rule_comment, used_features
from polyrule.ensemble.model import RuleEnsemble
from polyrule.errors import OptionError
from polyrule.model.exports.comparing import sql_read, sql_test
from polyrule.model.exports.quoting import sql_name, sql_number
from polyrule.model.exports.sql import select


def export(model: RuleEnsemble, table: str = "data", keys: Sequence[str] = ()) -> str:
    """Return a query with one row per row of `table`: the columns `keys`, then one 0/1 column per label.

    Parameters
    ----------
    model : RuleEnsemble
        Its decision must be one threshold, or one per label.
    table : str
        Name of the table or view; its columns are found by the names of the features.
    keys : sequence of str
        Columns to pass through, so that rows can be told apart.
    """
    if isinstance(keys, str):
        raise OptionError("keys must be a list of column names, not one string")
    check_decision(model, "SQL", sets=False)
    columns = [f"t.{sql_name(key)} AS k{i}" for i, key in enumerate(keys)]
    columns += [f"{sql_read(model.features[j])} AS x{j}" for j in used_features(model)]
    parts = [f"input AS (\n{select(columns or ['1 AS nothing'], f'{sql_name(table)} AS t')}\n)"]
    fired = ["*", *(_rule_column(model, index) for index in range(len(model.rules)))]
    parts.append(f"fired AS (\n{select(fired, 'input')}\n)")
    chosen = [f"k{i} AS {sql_name(key)}" for i, key in enumerate(keys)]
    for label, name in enumerate(model.label_names):
        cut = sql_number(model.decision.cuts[label])
        chosen.append(f"CASE WHEN {_sum(model, label)} >= {cut} THEN 1 ELSE 0 END AS {sql_name(name)}")
    header = "-- Weighted multi-label rules, exported by polyrule.\n"
    return f"{header}WITH {', '.join(parts)}\n{select(chosen, 'fired')};\n"


def _rule_column(model: RuleEnsemble, index: int) -> str:
    tests = " AND ".join(sql_test(condition, model.features) for condition in model.rules[index].body) or "1 = 1"  # type: ignore[arg-type]
    return f"-- {rule_comment(model, index)}\n  CASE WHEN {tests} THEN 1 ELSE 0 END AS r{index + 1}"


def _sum(model: RuleEnsemble, label: int) -> str:
    """Add the weights in the order of the rules; a rule that does not fire adds zero, which changes nothing."""
    terms = [sql_number(model.intercepts[label])]
    for index, rule in enumerate(model.rules):
        for entry in rule.head:
            if entry.label == label:
                terms.append(f"CASE WHEN r{index + 1} = 1 THEN {sql_number(entry.weight)} ELSE 0.0e0 END")
    return " + ".join(terms)
