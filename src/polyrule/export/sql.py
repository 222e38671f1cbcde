"""A model as one SQL query of CASE expressions.

Of a list, each rule becomes a 0/1 column that says whether its body holds *as if no rule had a stop*. A rule with label
conditions needs the columns of the earlier rules that write those labels, so rules are computed in levels, one common
table expression each. The first stop that takes effect is found next; it depends on rules before it only, so ignoring
stops until then changes nothing. A label is then what the first rule says that fired, writes it and stands not after
the stop.

Of an ensemble, each rule becomes a 0/1 column, each label a sum, and each label or set of labels a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polyrule.conditions import Condition
from polyrule.conditions.predicate import AtLeast, Compare, Missing, OneOf, lower
from polyrule.data.dates import format_date
from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.errors import OptionError
from polyrule.export.language import at_least, relation_constants, title
from polyrule.export.quoting import rule_comment, sql_name, sql_number, sql_string
from polyrule.model.columns import used_features
from polyrule.model.decisions import AS_GOOD
from polyrule.model.predict import margin_table
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList

_BOOLEAN = ("False", "True")
_BEYOND = "1.0e300"  # larger than any margin


def export(model: RuleList | RuleEnsemble, table: str = "data", keys: Sequence[str] = ()) -> str:
    """Return a query with one row per row of `table`: the columns `keys`, then one 0/1 column per label.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
        An ensemble that decides among label sets needs window functions, and for the largest expected F1 the function
        EXP.
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
    numbered = [f"k{i}" for i in range(len(keys))]
    parts, labels, source = _list(model) if isinstance(model, RuleList) else _ensemble(model, numbered)
    # With an alias, a missing column is an error in every engine.
    columns = [f"t.{sql_name(key)} AS {short}" for key, short in zip(keys, numbered, strict=True)]
    columns += [f"{_read(model.features[j])} AS x{j}" for j in used_features(model.rules)]
    first = f"input AS (\n{_select(columns or ['1 AS unread'], f'{sql_name(table)} AS t')}\n)"
    columns_of_result = [f"{short} AS {sql_name(key)}" for key, short in zip(keys, numbered, strict=True)]
    columns_of_result += [f"{value} AS {sql_name(name)}" for value, name in zip(labels, model.label_names, strict=True)]
    return f"-- {title(model)}\nWITH {', '.join([first, *parts])}\n{_select(columns_of_result, source)};\n"


def _select(columns: list[str], source: str) -> str:
    """One SELECT, a column per line."""
    return "SELECT\n  " + ",\n  ".join(columns) + f"\nFROM {source}"


def _read(feature: Feature) -> str:
    """Return the expression that reads one feature from the table: a double, or text; a date is text, too."""
    cells = [f"t.{sql_name(name)}" for name in feature.sources]
    if (derivation := derivation_of(feature)) is not None:
        return derivation.code("sql", *cells)
    column = cells[0]
    if not feature.has_categories:
        return f"NULLIF(CAST({column} AS DOUBLE PRECISION), 'NaN')"
    if feature.categories != _BOOLEAN:
        return f"CAST({column} AS TEXT)"
    cases = "WHEN 'true' THEN 'True' WHEN '1' THEN 'True' WHEN 'false' THEN 'False' WHEN '0' THEN 'False'"
    return f"CASE LOWER(CAST({column} AS TEXT)) {cases} END"


class _Expression:
    """Visitor that writes a lowered predicate in SQL, where NULL is missing."""

    def __init__(self, features: Sequence[Feature], label: Callable[[int], str] = str) -> None:
        self.features, self.label = features, label

    def compare(self, node: Compare) -> str:
        is_date = self.features[node.column.index].kind == "date"
        value = sql_string(format_date(node.value)) if is_date else sql_number(node.value)
        return f"x{node.column.index} {node.op} {value}"

    def one_of(self, node: OneOf) -> str:
        if node.column.source == "label":
            return f"{self.label(node.column.index)} = {node.codes[0]}"
        categories = self.features[node.column.index].categories
        names = [sql_string(categories[code]) for code in node.codes] or ["NULL"]
        x = f"x{node.column.index}"
        return f"{x} = {names[0]}" if len(names) == 1 else f"{x} IN ({', '.join(names)})"

    def missing(self, node: Missing) -> str:
        x, feature = f"x{node.column.index}", self.features[node.column.index]
        if not feature.has_categories:
            return f"{x} IS {'' if node.missing else 'NOT '}NULL"
        names = ", ".join(map(sql_string, feature.categories)) or "NULL"
        return f"CASE WHEN {x} IN ({names}) THEN 0 ELSE 1 END = 1"

    def at_least(self, node: AtLeast) -> str:
        parts = [part.accept(self) for part in node.parts]
        if node.count > 1:
            parts = [f"CASE WHEN {part} THEN 1 ELSE 0 END" for part in parts]
        return at_least(node.count, parts, " OR ")


def _tests(body: Sequence[Condition], expression: _Expression) -> list[str]:
    return [lower(condition.predicate(), expression.features).accept(expression) for condition in body]


def _list(model: RuleList) -> tuple[list[str], list[str], str]:
    """Return further tables, the expression of every label, and the table that they are taken from."""
    plan, parts, source = _Plan(model), [], "input"
    for depth, rules in enumerate(plan.levels):
        columns = [_rule_column(model, number, plan.tests(number)) for number in rules]
        parts.append(f"level{depth} AS MATERIALIZED (\n{_select(['*', *columns], source)}\n)")
        source = f"level{depth}"
    if plan.stops:
        parts.append(f"stops AS MATERIALIZED (\n{_select(['*', plan.stop_column()], source)}\n)")
        source = "stops"
    if related := relation_constants(model):
        margins = [plan.margin(label) for label in range(len(model.label_names))]
        return _related(related, margins, parts, source)
    return parts, [plan.label(label) for label in range(len(model.label_names))], source


def _related(
    plan: dict[str, Any], margins: list[str], parts: list[str], source: str
) -> tuple[list[str], list[str], str]:
    """Decide related labels together, a table per step; the relations hold, whatever the margins are.

    A label is possible if in each group the member won that the label implies. It is forced if it is implied by the
    winner of an "exactly one" group.
    """
    numbered = [f"{margin} AS m{label}" for label, margin in enumerate(margins)]
    parts.append(f"margins AS MATERIALIZED (\n{_select(['*', *numbered], source)}\n)")
    strength = [f"{_largest([f'm{k}' for k in below])} AS s{label}" for label, below in enumerate(plan["BELOW"])]
    parts.append(f"strengths AS MATERIALIZED (\n{_select(['*', *strength], 'margins')}\n)")
    source = "strengths"
    wins: list[list[str]] = [[] for _ in margins]  # per label, what must be for it to be possible
    forces: list[list[str]] = [[] for _ in margins]
    for step, (members, exactly) in enumerate(plan["GROUPS"]):
        ranks = [f"{_rank(k, wins[k], forces[k])} AS q{step}_{k}" for k in members]
        parts.append(f"ranks{step} AS MATERIALIZED (\n{_select(['*', *ranks], source)}\n)")
        winner = f"{_largest([f'q{step}_{k}' for k in members], list(map(str, members)))} AS w{step}"
        parts.append(f"winners{step} AS MATERIALIZED (\n{_select(['*', winner], f'ranks{step}')}\n)")
        source = f"winners{step}"
        for member in members:
            for label in plan["BELOW"][member]:
                wins[label].append(f"w{step} = {member}")
            if exactly:
                for label in plan["ABOVE"][member]:
                    forces[label].append(f"w{step} = {member}")
    labels = []
    for label in range(len(margins)):
        present = " OR ".join([*forces[label], f"s{label} >= 0"])
        labels.append(f"CASE WHEN {' AND '.join([*wins[label], f'({present})'])} THEN 1 ELSE 0 END")
    return parts, labels, source


def _rank(label: int, wins: list[str], forces: list[str]) -> str:
    """Return how strong a member of a group is: beyond all others if it is forced, below them if impossible."""
    rank = f"s{label}"
    if forces:
        rank = f"CASE WHEN {' OR '.join(forces)} THEN {_BEYOND} ELSE {rank} END"
    return f"CASE WHEN {' AND '.join(wins)} THEN {rank} ELSE -{_BEYOND} END" if wins else rank


def _largest(columns: list[str], results: list[str] | None = None) -> str:
    """Return the largest of some columns, or the result that belongs to it; the first of equals."""
    results = results or columns
    cases = [
        f"WHEN {' AND '.join(f'{one} >= {other}' for other in columns[place + 1 :])} THEN {results[place]}"
        for place, one in enumerate(columns[:-1])
    ]
    return f"CASE {' '.join(cases)} ELSE {results[-1]} END" if cases else results[-1]


class _Plan:
    """Plan of a query: the level on which each rule is computed."""

    def __init__(self, model: RuleList) -> None:
        self.model, self.heads, self.writers = model, model.heads, model.writers
        self.stops = [number for number, rule in enumerate(model.rules) if rule.stop]
        self.levels = self._levels()

    def _levels(self) -> list[list[int]]:
        depth: list[int] = []
        for number, tests in enumerate(self.model.label_tests):
            needed = [depth[writer] for test in tests for writer in self.writers[test.label] if writer < number]
            depth.append(max(needed, default=-1) + 1)
        return [[n for n, d in enumerate(depth) if d == level] for level in range(max(depth, default=-1) + 1)]

    def tests(self, number: int) -> list[str]:
        def label(index: int) -> str:
            writers = [writer for writer in self.writers[index] if writer < number]
            return self._first_writer(index, writers, "-1")

        return _tests(self.model.rules[number].body, _Expression(self.model.features, label))

    def _first_writer(
        self, label: int, writers: list[int], otherwise: str, limit: str = "", values: dict[int, str] | None = None
    ) -> str:
        if not writers:
            return otherwise
        shown = {w: str(self.heads[w][label]) for w in writers} if values is None else values
        cases = " ".join(f"WHEN r{w + 1} = 1{limit.format(rule=w + 1)} THEN {shown[w]}" for w in writers)
        return f"CASE {cases} ELSE {otherwise} END"

    def stop_column(self) -> str:
        """Return the number of the first rule whose stop takes effect: it fired and set an unset label."""
        cases = []
        for stop in self.stops:
            before = [[w + 1 for w in self.writers[label] if w < stop] for label in self.heads[stop]]
            if all(before):
                free = " ".join(f"WHEN 1 NOT IN ({', '.join(f'r{w}' for w in ws)}) THEN 1" for ws in _distinct(before))
                cases.append(f"WHEN r{stop + 1} = 1 AND CASE {free} ELSE 0 END = 1 THEN {stop + 1}")
            else:
                cases.append(f"WHEN r{stop + 1} = 1 THEN {stop + 1}")
        return f"CASE {' '.join(cases)} ELSE {len(self.model.rules) + 1} END AS stopped"

    def margin(self, label: int) -> str:
        limit = " AND stopped >= {rule}" if self.stops else ""
        table = margin_table(self.model)
        values = {rule: sql_number(float(table[rule, label])) for rule in self.writers[label]}
        return self._first_writer(label, self.writers[label], sql_number(float(table[-1, label])), limit, values)

    def label(self, label: int) -> str:
        limit = " AND stopped >= {rule}" if self.stops else ""
        return self._first_writer(label, self.writers[label], str(self.model.defaults[label]), limit)


def _distinct(lists: list[list[int]]) -> list[list[int]]:
    return [list(key) for key in dict.fromkeys(map(tuple, lists))]


def _ensemble(model: RuleEnsemble, keys: list[str]) -> tuple[list[str], list[str], str]:
    """Return parts, labels and source for an ensemble."""
    decision, labels = model.decision, []
    tests = [_tests(rule.body, _Expression(model.features)) for rule in model.rules]
    fired = ["*", *(_rule_column(model, index, body_tests) for index, body_tests in enumerate(tests))]
    parts, source = [f"fired AS (\n{_select(fired, 'input')}\n)"], "fired"
    if related := relation_constants(model):
        margins = [
            f"(({_sum(model, label)}) - {sql_number(decision.cuts[label])}) * {sql_number(float(model.worth[label]))}"
            for label in range(len(model.label_names))
        ]
        return _related(related, margins, parts, source)
    if decision.uses_sets:
        parts += _set_parts(model, keys)
        source = "chosen JOIN summed ON summed.example = chosen.example"
    for label in range(len(model.label_names)):
        if decision.uses_sets:
            places = [str(place) for place, members in enumerate(decision.label_sets) if label in members]
            present = f"place IN ({', '.join(places)})" if places else "1 = 0"
        else:
            present = f"{_sum(model, label)} >= {sql_number(decision.cuts[label])}"
        labels.append(f"CASE WHEN {present} THEN 1 ELSE 0 END")
    return parts, labels, source


def _rule_column(model: Any, index: int, tests: list[str]) -> str:
    """Return the column of a rule: 1 if its body holds, with the rule as a comment."""
    text = rule_comment(model, index, unicode=True)
    return f"-- {text}\n  CASE WHEN {' AND '.join(tests) or '1 = 1'} THEN 1 ELSE 0 END AS r{index + 1}"


def _sum(model: RuleEnsemble, label: int) -> str:
    """Add the weights in the order of the rules; a rule that does not fire adds zero, which changes nothing."""
    terms = [sql_number(model.intercepts[label])]
    for index, rule in enumerate(model.rules):
        for entry in rule.head:
            if entry.label == label:
                terms.append(f"CASE WHEN r{index + 1} = 1 THEN {sql_number(entry.weight)} ELSE 0.0e0 END")
    return " + ".join(terms)


def _set_parts(model: RuleEnsemble, keys: list[str]) -> list[str]:
    """Tables that end in `chosen`: per example the place of its label set."""
    decision = model.decision
    sums = [f"{_sum(model, label)} AS s{label}" for label in range(len(model.label_names))]
    numbered = ["ROW_NUMBER() OVER (ORDER BY 1) AS example", *keys, *sums]
    sizes = ", ".join(f"({place}, {len(labels)})" for place, labels in enumerate(decision.label_sets))
    totals = "\n  ".join(f"WHEN {place} THEN {_total(model, place)}" for place in range(len(decision.label_sets)))
    parts = [
        f"summed AS (\n{_select(numbered, 'fired')}\n)",
        f"sets(place, size) AS (VALUES {sizes})",
        f"totals AS (\n{_select(['example', 'place', 'size', f'CASE place {totals} END AS merit'], 'summed, sets')}\n)",
    ]
    if decision.kind == "expected-f1":
        parts += _expected_f1(model)
        best = "SELECT example, place, merit, MAX(merit) OVER (PARTITION BY example) AS most FROM merits"
        good = f"SELECT example, MIN(place) AS place FROM ({best}) AS b WHERE merit >= {sql_number(AS_GOOD)} * most"
        return [*parts, f"chosen AS (\n{good} GROUP BY example\n)"]
    place = "ROW_NUMBER() OVER (PARTITION BY example ORDER BY merit DESC, place) AS n"
    ranked = f"SELECT example, place, {place} FROM totals"
    return [*parts, f"chosen AS (\nSELECT example, place FROM ({ranked}) AS b WHERE n = 1\n)"]


def _total(model: RuleEnsemble, place: int) -> str:
    decision = model.decision
    terms = [sql_number(decision.every_bonus[place])]
    cuts = decision.every_cut(len(model.label_names))
    terms += [f"(s{label} - {sql_number(cuts[label])})" for label in sorted(decision.label_sets[place])]
    return " + ".join(terms)


def _expected_f1(model: RuleEnsemble) -> list[str]:
    """Return parts for the probability of sets, of labels in sets of each size, and the expected F1 of sets.

    A set without labels has the label -1, so that no label where there is none counts as right.
    """
    sets = model.decision.label_sets
    members = ", ".join(f"({place}, {label})" for place, labels in enumerate(sets) for label in labels or (-1,))
    unit = sql_number(model.common_unit)
    return [
        f"members(place, label) AS (VALUES {members})",
        f"""chances AS (
SELECT example, place, size, EXP({unit} * (merit - MAX(merit) OVER (PARTITION BY example))) AS chance
FROM totals
)""",
        """meetings AS (
SELECT example, size, label, SUM(chance) AS chance
FROM chances JOIN members ON members.place = chances.place
GROUP BY example, size, label
)""",
        """merits AS (
SELECT m.example, s.place,
  SUM(CASE WHEN m.label < 0 THEN m.chance ELSE 2.0e0 / (s.size + m.size) * m.chance END) AS merit
FROM sets AS s JOIN members AS own ON own.place = s.place JOIN meetings AS m ON m.label = own.label
GROUP BY m.example, s.place
)""",
    ]
