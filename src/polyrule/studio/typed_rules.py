"""Rules as people type them: plain words become the notation of rules; what is unclear is answered with a question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polyrule.binning.thresholds import short_between
from polyrule.conditions import thresholds
from polyrule.conditions.text import format_category, format_feature, format_name
from polyrule.data.derive.vocabulary import MIN_ROWS
from polyrule.data.derive.words import Cell
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError, OptionError
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.studio.steps import Step, apply, rule_text_at
from polyrule.utils.messages import did_you_mean

_SIGNS = {
    ">": ">|above|over|more than|greater than|higher than|exceeds",
    "<=": "<=|≤|at most|up to|no more than|not above",
    ">=": ">=|≥|at least|not below",
    "<": "<|below|under|less than|lower than",
    "!=": "!=|≠|not|not =|isn't",
    "=": "=|==|equals|is",
}
_OPERATORS = {
    f"{verb}{word}": sign
    for sign, words in _SIGNS.items()
    for word in words.split("|")
    for verb in ("", "is ")
    if word not in ("is", "not") or (word == "is") != bool(verb)
}
_OPERATOR = re.compile(
    "|".join(
        re.escape(word).replace(r"\ ", r"\s+") + (r"(?!\w)" if word[-1].isalpha() else "")
        for word in sorted(_OPERATORS, key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-−+]?(?:\d[\d'\u2019\u202f ]*\d|\d)(?:[.,]\d+)*(?:[eE][-+]?\d+)?|[-−+]?\.\d+")
_AND = re.compile(r"\s*(?:,\s*and\b|,|;|&&?|\band\b)\s*", re.IGNORECASE)
_IF = re.compile(r"\b(?:if|when|where)\b", re.IGNORECASE)
_THEN = re.compile(r"[,\s]*\bthen\b\s*", re.IGNORECASE)
_ABSENT = re.compile(r"(?:not|no|without|¬|!|~)\s*", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:is\s+)?between\b\s*", re.IGNORECASE)
_STATE = re.compile(r"is\s+(missing|known|unknown)\b", re.IGNORECASE)
_HAS = re.compile(r"(has|have|contains|includes|lacks|does not have|does not contain)\s+", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Reading(NamedTuple):
    """A typed rule in the notation of rules, and notes on how it was read."""

    text: str
    notes: list[str]


def understand(text: str, model: Any, table: Table, step: Step) -> Reading:
    """Return the rule that a person means by a text, or raise with a question.

    `step` is the change that brings the rule into the model; `table` holds the values among which thresholds lie.
    """
    reading = Reading(text.strip(), [])
    try:
        after = apply(model, {**step, "text": text})
    except (ModelError, OptionError) as problem:
        translated = _Sentence(text, model, table).reading()
        if translated is None:
            if "<-" in text:
                raise
            raise OptionError(
                "This is not understood as a rule. Write a label, if, and conditions, for example: "
                f"{format_name(model.label_names[0])} if {_sample(model.features)} above 3"
            ) from problem
        reading = translated
        try:
            after = apply(model, {**step, "text": reading.text})
        except (ModelError, OptionError):
            raise problem from None
    index = step["at"] if step["do"] == "insert" else step["rule"]
    _require_thresholds(after.rules[index], model.features, table)
    return Reading(rule_text_at(after, index), reading.notes)


def _require_thresholds(rule: Any, features: Sequence[Feature], table: Table) -> None:
    """Refuse the bare name of a quantity, which the notation of rules reads as "is not 0"."""
    for one in thresholds(rule.body):
        if one.threshold == 0.5 and one.divides_0_from_1:
            values = table.column(one.feature)
            observed = values[~np.isnan(values)]
            if len(observed) and not np.isin(observed, (0, 1)).all():
                name, middle = features[one.feature].name, float(np.median(observed))
                raise OptionError(
                    f"{name} is a quantity, from {observed.min():g} to {observed.max():g}: say above or up to which "
                    f"value, for example {format_name(name)} > {middle:g}, its median"
                )


@dataclass
class _Sentence:
    """One text that is not in the notation of rules."""

    text: str
    model: Any
    table: Table

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.columns = {feature.name.lower(): at for at, feature in enumerate(self.model.features)}
        self.labels = {name.lower(): name for name in self.model.label_names}

    def reading(self) -> Reading | None:
        """Return the text in the notation of rules; None if this grammar does not know it, either."""
        halves = self._halves()
        if halves is None or re.search(r"\b(?:any|at least \d+) of\b", halves[1]):
            return None
        head = self._head(halves[0])
        body = self._body(halves[1], strict="<-" not in self.text)
        return None if head is None or body is None else Reading(f"{head} <- {body}", self.notes)

    def _halves(self) -> tuple[str, str] | None:
        """Head and body of "head <- body", "head if body" and "if body then head"."""
        text = self.text.strip().rstrip(".")
        if "<-" in text:
            head, _, body = text.partition("<-")
            return head, body
        begun = _IF.match(text)
        if begun:
            body, then, head = _parted(text[begun.end() :], _THEN)
            return (head, body) if then else None
        head, marked, body = _parted(text, _IF)
        return (head, body) if marked else None

    def _head(self, text: str) -> str | None:
        if isinstance(self.model, RuleEnsemble):
            return text.strip()
        literals = []
        for part in _parts(text):
            absent = _ABSENT.match(part) if part.lower() not in self.labels else None
            name = part[absent.end() :] if absent else part
            label = self.labels.get(_unquoted(name).lower())
            if label is None and "<-" not in self.text:
                hint = did_you_mean(_unquoted(name), self.model.label_names)
                raise OptionError(f"there is no label “{_unquoted(name)}”{hint}")
            if label is None:
                return None
            literals.append(("¬" if absent else "") + format_name(label))
        return ", ".join(literals)

    def _body(self, text: str, strict: bool) -> str | None:
        """Return the conditions of a text in the notation of rules; if not `strict`, None if it is not understood."""
        conditions, rest = [], text.strip()
        while rest:
            parsed = self._condition(rest)
            if parsed is None:
                if strict:
                    hint = did_you_mean(re.split(r"\s", rest)[0], [feature.name for feature in self.model.features])
                    raise OptionError(
                        f"“{rest[:60]}” is not understood{hint or ': it does not begin with the name of a column'}"
                    )
                return None
            condition, rest = parsed
            conditions.append(condition)
            if not rest:
                break
            between = _AND.match(rest)
            if between is None:
                if re.match(r"or\b", rest, re.IGNORECASE):
                    raise OptionError("“or” is written as a group: any of (age > 65, smoker = yes); or as two rules")
                return None
            rest = rest[between.end() :]
        return ", ".join(conditions) if conditions else None

    def _condition(self, text: str) -> tuple[str, str] | None:
        """One condition at the beginning of a text, in the notation of rules, and what follows it."""
        absent = None if self._column(text) else _ABSENT.match(text)
        named = self._column(text[absent.end() :] if absent else text)
        if named is None:
            return None
        at, rest = named
        feature, rest = self.model.features[at], rest.lstrip()
        name = format_feature(feature.name)
        if state := _STATE.match(rest):
            return f"{name} is {'known' if state[1].lower() == 'known' else 'missing'}", rest[state.end() :].strip()
        if isinstance(feature.derived, Cell):
            return self._item(feature.derived.column, rest)
        if begun := _BETWEEN.match(rest):
            low = self._number(at, rest[begun.end() :])
            middle = low and re.match(r"(?:and|to|-)\s*", low[1], re.IGNORECASE)
            high = low and middle and self._number(at, low[1][middle.end() :])
            if not low or not high:
                return None
            return f"{self._compared(at, '>=', low[0])}, {self._compared(at, '<=', high[0])}", high[1]
        sign = _OPERATOR.match(rest)
        if sign is None:
            bare = re.match(r"\s*(?:,|;|&|and\b|or\b|$)", rest, re.IGNORECASE)
            return (("¬" if absent else "") + name, rest.strip()) if bare else None
        operator = _OPERATORS[re.sub(r"\s+", " ", sign[0].lower())]
        rest = rest[sign.end() :].lstrip()
        if feature.is_nominal:
            return self._category(feature, operator, rest)
        if feature.kind == "numeric":
            parsed = self._number(at, rest)
            return None if parsed is None else (self._compared(at, operator, parsed[0]), parsed[1])
        value = re.match(r"[^,;&]+", rest)
        words = value and re.split(r"\s+and\b", value[0], flags=re.IGNORECASE)[0].strip()
        return (f"{name} {operator} {words}", rest[len(words) :].strip()) if words else None

    def _item(self, column: str, text: str) -> tuple[str, str] | None:
        """A word or member that a text or list has or lacks, and what follows it."""
        verb = _HAS.match(text)
        if verb is None:
            return None
        rest = text[verb.end() :]
        items = {f.derived.item.lower(): f.name for f in self.model.features if f.column == column and f.derived}
        end = next((end for end in _ends(rest) if _unquoted(rest[:end]).lower() in items), None)
        if end is None:
            word = _AND.split(rest)[0].strip()
            raise OptionError(
                f"no rule can test “{word}” in {column}: it is in fewer than {MIN_ROWS} training examples, or always "
                "together with another word"
            )
        absent = "¬" if verb[1].lower() not in ("has", "have", "contains", "includes") else ""
        return absent + format_feature(items[_unquoted(rest[:end]).lower()]), rest[end:].strip()

    def _column(self, text: str) -> tuple[int, str] | None:
        """The longest name of a feature at the beginning of a text, and what follows it."""
        if quoted := _QUOTED.match(text):
            at = self.columns.get(quoted[1].lower())
            return None if at is None else (at, text[quoted.end() :])
        for end in _ends(text):
            at = self.columns.get(text[:end].strip().lower())
            if at is not None:
                return at, text[end:]
        return None

    def _category(self, feature: Feature, operator: str, text: str) -> tuple[str, str] | None:
        by_name = {category.lower(): category for category in feature.categories}
        ends = [quoted.end()] if (quoted := _QUOTED.match(text)) else list(_ends(text))
        end = next((end for end in ends if _unquoted(text[:end]).lower() in by_name), None)
        if end is None or operator not in ("=", "!="):
            return None
        category = by_name[_unquoted(text[:end]).lower()]
        if operator == "=":
            return f"{format_feature(feature.name)} = {format_category(category)}", text[end:].strip()
        rest_of_categories = ", ".join(format_category(other) for other in feature.categories if other != category)
        return f"{format_feature(feature.name)} in {{{rest_of_categories}}}", text[end:].strip()

    def _number(self, at: int, text: str) -> tuple[float, str] | None:
        match = _NUMBER.match(text)
        if match is None:
            return None
        digits = match[0].rstrip()
        number = self._value(at, digits)
        if number is None:
            return None
        rest = text[len(digits) :]
        unit = re.match(r"\s*[^\s,;&\d]{1,8}(?=\s*(?:,|;|&|and\b|or\b|$))", rest)  # 2 mmol/l, 94 min
        if unit and not re.match(r"\s*(?:and|or)\b", unit[0], re.IGNORECASE):
            self.notes.append(f"the unit {unit[0].strip()} is left out")
            rest = rest[unit.end() :]
        return number, rest.strip()

    def _value(self, at: int, digits: str) -> float | None:
        """A number in either notation; if it can be read in two ways, the one that the column has."""
        plain = re.sub(r"['\u2019\u202f ]", "", digits.replace("−", "-"))
        readings = {plain.replace(",", "."), plain.replace(",", ""), plain.replace(".", "").replace(",", ".")}
        numbers = {float(text) for text in readings if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", text)}
        if re.fullmatch(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?", plain) and plain.count(".") <= 1:
            return float(plain)
        if not re.search(r",\d{3}(?!\d)", plain):  # no thousands
            numbers &= {float(plain.replace(".", "").replace(",", "."))} if plain.count(",") == 1 else numbers
        values = self.table.column(at)
        observed = values[~np.isnan(values)]
        inside = [number for number in numbers if len(observed) and observed.min() <= number <= observed.max()]
        if not numbers:
            return None
        value = min(inside or numbers)
        self.notes.append(f"{digits} is read as {value:g}")
        return value

    def _compared(self, at: int, operator: str, number: float) -> str:
        """A comparison of a number; rules have "above" and "at most", and no value lies between two that occur."""
        feature, values = self.model.features[at], self.table.column(at)
        name, observed = format_feature(feature.name), values[~np.isnan(values)]
        if operator in (">", "<="):
            return f"{name} {operator} {number!r}"
        below = observed[observed < number]
        low = short_between(float(below.max()), number) if len(below) else np.nextafter(number, -np.inf)
        if operator == "=":
            return f"{name} > {float(low)!r}, {name} <= {number!r}"
        if operator == "!=":
            raise OptionError(f"{feature.name} is a number: say above or up to which value")
        word = "at least" if operator == ">=" else "below"
        sign = ">" if operator == ">=" else "<="
        self.notes.append(f"{word} {number:g} is written {sign} {float(low):g}, as no value lies between")
        return f"{name} {sign} {float(low)!r}"


def _sample(features: Sequence[Feature]) -> str:
    """The name of a column of numbers, for an example."""
    return next((f.name for f in features if f.kind == "numeric" and f.derived is None and not f.flag), "age")


def _ends(text: str) -> Iterator[int]:
    """Return positions at which a name at the beginning of a text may end, the longest first."""
    ends = [match.end() for match in re.finditer(r"[\w.)\]/%-]+", text[:300])]
    return reversed(ends[:12])


def _parted(text: str, mark: re.Pattern[str]) -> tuple[str, str, str]:
    match = mark.search(text)
    return (text[: match.start()], match[0], text[match.end() :]) if match else (text, "", "")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in _AND.split(text.strip()) if part.strip()]


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text.startswith('"') and text.endswith('"') else text


def rule_counts(rule_index: int, runs: Sequence[Any]) -> list[dict[str, int]]:
    """Return per part on how many examples a rule holds, and how many labels it sets rightly and wrongly."""
    return [
        {
            "covers": int(run.covers[rule_index]),
            "right": int(run.right[rule_index].sum()),
            "wrong": int(run.wrong[rule_index].sum()),
        }
        for run in runs
    ]
