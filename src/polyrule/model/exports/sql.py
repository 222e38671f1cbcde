"""A rule list as one SQL query of CASE expressions.

Each rule becomes a 0/1 column that says whether its body holds *as if no rule had a stop*. A rule with label conditions
needs the columns of the earlier rules that write those labels, so rules are computed in levels, one common table
expression each. The first stop that takes effect is found next; it depends on rules before it only, so ignoring stops
until then changes nothing. A label is then what the first rule says that fired, writes it and stands not after the
stop.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyrule.errors import OptionError
from polyrule.model import printing
from polyrule.model.exports.condition_code import head_of, sql_read, sql_test
from polyrule.model.exports.quoting import comment, sql_name
from polyrule.model.narrowing import used_features
from polyrule.model.rule import Condition, LabelCondition, Rule
from polyrule.model.rule_list import RuleList


def export(model: RuleList, table: str = "data", keys: Sequence[str] = ()) -> str:
    """Return a query with one row per row of `table`: the columns `keys`, then one 0/1 column per label.

    Parameters
    ----------
    model : RuleList
    table : str
        Name of the table or view; its columns are found by the names of the features.
    keys : sequence of str
        Columns to pass through, so that rows can be told apart.

    Notes
    -----
    NULL is missing, and NaN where the engine has it. Nominal columns are compared as text; a boolean one may hold
    true/false or 1/0. Dates are dates, or text that begins as in 2021-03-05. Tested on SQLite (3.35 or
    later) and DuckDB.
    """
    if isinstance(keys, str):
        raise OptionError("keys must be a list of column names, not one string")
    plan = _Plan(model)
    parts = [f"input AS (\n{_input(model, table, keys)}\n)"]
    source = "input"
    for depth, rules in enumerate(plan.levels):
        columns = [plan.rule_column(number) for number in rules]
        parts.append(f"level{depth} AS MATERIALIZED (\n{select(['*', *columns], source)}\n)")
        source = f"level{depth}"
    if plan.stops:
        parts.append(f"stops AS MATERIALIZED (\n{select(['*', plan.stop_column()], source)}\n)")
        source = "stops"
    chosen = [f"k{i} AS {sql_name(key)}" for i, key in enumerate(keys)]
    chosen += [f"{plan.label(k)} AS {sql_name(name)}" for k, name in enumerate(model.label_names)]
    header = "-- A multi-label rule list, exported by polyrule.\n"
    return f"{header}WITH {', '.join(parts)}\n{select(chosen, source)};\n"


def select(columns: list[str], source: str) -> str:
    """One SELECT, a column per line."""
    return "SELECT\n  " + ",\n  ".join(columns) + f"\nFROM {source}"


def _input(model: RuleList, table: str, keys: Sequence[str]) -> str:
    """Read the used columns under short names; with an alias, a missing column is an error in every engine."""
    used = used_features(model.rules)
    columns = [f"t.{sql_name(key)} AS k{i}" for i, key in enumerate(keys)]
    columns += [f"{sql_read(model.features[j])} AS x{j}" for j in used]
    return select(columns or ["1 AS nothing"], f"{sql_name(table)} AS t")


class _Plan:
    """Which rule is computed at which level, and how."""

    def __init__(self, model: RuleList) -> None:
        self.model = model
        width = len(model.label_names)
        self.heads = [head_of(model, rule) for rule in model.rules]
        self.writers: list[list[int]] = [[] for _ in range(width)]
        for number, head in enumerate(self.heads):
            for label in head:
                self.writers[label].append(number)
        self.stops = [number for number, rule in enumerate(model.rules) if rule.stop]
        self.levels = self._levels()

    def _levels(self) -> list[list[int]]:
        depth: list[int] = []
        for number, rule in enumerate(self.model.rules):
            read = [c.label for c in rule.body if isinstance(c, LabelCondition)]
            needed = [depth[writer] for label in read for writer in self.writers[label] if writer < number]
            depth.append(max(needed, default=-1) + 1)
        return [[n for n, d in enumerate(depth) if d == level] for level in range(max(depth, default=-1) + 1)]

    def rule_column(self, number: int) -> str:
        rule: Rule = self.model.rules[number]
        text = printing.format_rule(rule, self.model.features, self.model.label_names, counts=False)
        tests = " AND ".join(self._test(condition, number) for condition in rule.body) or "1 = 1"
        return f"-- {number + 1}: {comment(text, unicode=True)}\n  CASE WHEN {tests} THEN 1 ELSE 0 END AS r{number + 1}"

    def _test(self, condition: Condition, number: int) -> str:
        if not isinstance(condition, LabelCondition):
            return sql_test(condition, self.model.features)
        writers = [writer for writer in self.writers[condition.label] if writer < number]
        return f"{self._first_writer(condition.label, writers, '-1')} = {condition.value}"

    def _first_writer(self, label: int, writers: list[int], otherwise: str, limit: str = "") -> str:
        if not writers:
            return otherwise
        cases = " ".join(f"WHEN r{w + 1} = 1{limit.format(rule=w + 1)} THEN {self.heads[w][label]}" for w in writers)
        return f"CASE {cases} ELSE {otherwise} END"

    def stop_column(self) -> str:
        """Return the number of the first rule whose stop takes effect: it fired and found a label that nobody wrote."""
        cases = []
        for stop in self.stops:
            before = [[w + 1 for w in self.writers[label] if w < stop] for label in self.heads[stop]]
            if all(before):
                free = " ".join(f"WHEN 1 NOT IN ({', '.join(f'r{w}' for w in ws)}) THEN 1" for ws in _distinct(before))
                cases.append(f"WHEN r{stop + 1} = 1 AND CASE {free} ELSE 0 END = 1 THEN {stop + 1}")
            else:
                cases.append(f"WHEN r{stop + 1} = 1 THEN {stop + 1}")
        return f"CASE {' '.join(cases)} ELSE {len(self.model.rules) + 1} END AS stopped"

    def label(self, label: int) -> str:
        limit = " AND stopped >= {rule}" if self.stops else ""
        return self._first_writer(label, self.writers[label], str(self.model.defaults[label]), limit)


def _distinct(lists: list[list[int]]) -> list[list[int]]:
    return [list(key) for key in dict.fromkeys(map(tuple, lists))]
