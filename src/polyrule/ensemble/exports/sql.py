"""An ensemble as one SQL query: a 0/1 column per rule, a sum per label, a comparison per label or set of labels."""

from __future__ import annotations

from collections.abc import Sequence

from polyrule.ensemble.decisions import AS_GOOD
from polyrule.ensemble.exports import rule_comment
from polyrule.ensemble.model import RuleEnsemble
from polyrule.errors import OptionError
from polyrule.model.exports.condition_code import sql_read, sql_test
from polyrule.model.exports.quoting import sql_name, sql_number
from polyrule.model.exports.sql import select
from polyrule.model.narrowing import used_features


def export(model: RuleEnsemble, table: str = "data", keys: Sequence[str] = ()) -> str:
    """Return a query with one row per row of `table`: the columns `keys`, then one 0/1 column per label.

    Parameters
    ----------
    model : RuleEnsemble
        One that decides among label sets needs window functions, and for the largest expected F1 the function EXP.
    table : str
        Name of the table or view; its columns are found by the names of the features.
    keys : sequence of str
        Columns to pass through, so that rows can be told apart.
    """
    if isinstance(keys, str):
        raise OptionError("keys must be a list of column names, not one string")
    columns = [f"t.{sql_name(key)} AS k{i}" for i, key in enumerate(keys)]
    columns += [f"{sql_read(model.features[j])} AS x{j}" for j in used_features(model.rules)]
    parts = [f"input AS (\n{select(columns or ['1 AS nothing'], f'{sql_name(table)} AS t')}\n)"]
    fired = ["*", *(_rule_column(model, index) for index in range(len(model.rules)))]
    parts.append(f"fired AS (\n{select(fired, 'input')}\n)")
    chosen = [f"k{i} AS {sql_name(key)}" for i, key in enumerate(keys)]
    decision, source = model.decision, "fired"
    if decision.uses_sets:
        parts += _set_parts(model, [f"k{i}" for i in range(len(keys))])
        source = "chosen JOIN summed ON summed.example = chosen.example"
    for label, name in enumerate(model.label_names):
        if decision.uses_sets:
            places = [str(place) for place, labels in enumerate(decision.label_sets) if label in labels]
            present = f"place IN ({', '.join(places)})" if places else "1 = 0"
        else:
            present = f"{_sum(model, label)} >= {sql_number(decision.cuts[label])}"
        chosen.append(f"CASE WHEN {present} THEN 1 ELSE 0 END AS {sql_name(name)}")
    header = "-- Weighted multi-label rules, exported by polyrule.\n"
    return f"{header}WITH {', '.join(parts)}\n{select(chosen, source)};\n"


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


def _set_parts(model: RuleEnsemble, keys: list[str]) -> list[str]:
    """Tables that end in `chosen`: per example the place of its label set."""
    decision = model.decision
    sums = [f"{_sum(model, label)} AS s{label}" for label in range(len(model.label_names))]
    numbered = ["ROW_NUMBER() OVER (ORDER BY 1) AS example", *keys, *sums]
    sizes = ", ".join(f"({place}, {len(labels)})" for place, labels in enumerate(decision.label_sets))
    totals = "\n  ".join(f"WHEN {place} THEN {_total(model, place)}" for place in range(len(decision.label_sets)))
    parts = [
        f"summed AS (\n{select(numbered, 'fired')}\n)",
        f"sets(place, size) AS (VALUES {sizes})",
        f"totals AS (\n{select(['example', 'place', 'size', f'CASE place {totals} END AS merit'], 'summed, sets')}\n)",
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
    """How probable the sets are, then labels in sets of each size, then every set's expected F1.

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
