"""Reading a rule from the text that `printing` writes, or that a person types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from polyrule.conditions import (
    Condition,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    groups_of,
    is_valid,
    label_conditions,
    one_of,
    ungrouped_conditions,
)
from polyrule.conditions.text import is_flag
from polyrule.data.dates import day_of
from polyrule.data.table import Feature
from polyrule.errors import ModelError
from polyrule.model.rule import Literal, Rule
from polyrule.utils.budget import current_limits
from polyrule.utils.messages import did_you_mean

# No pattern here is searched from every blank on, and a quote that is never closed is met once: reading is linear in
# the length of the text.
_NUMBERED = re.compile(r"\s*+\d++[.:]\s++")
_ALWAYS = re.compile(r"\s*+(?:\d++(?:-\d++)?[.:]\s++)?always:")
_SHARE = re.compile(r"\((?:right for )?\d{1,3} %(?: of the weight)?\)$")  # of examples for which a label is right
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.?)*+("?)', re.DOTALL)
_TOKEN = re.compile(_QUOTED.pattern + r'|<-|<=|>=|>|=|,|¬|[^"<>=,¬{}]+|.', re.DOTALL)
_NEGATION = re.compile(r"[!~]\s*+|not(?:\s++|$)")
# What people write between conditions in place of a comma.
_AND = re.compile(r"(?<=\s)(?:and|AND)(?=\s)|&&?|∧")  # blanks are looked at, not matched: a run of them is read once
_SIGNS = ("<=", ">", "=", "<", ">=")
_WORDS = re.compile("[a-z, ]*")
_MARKS = ("stop", "hand", "edited", "learned")
_COUNTS = re.compile(
    r"right [\d.e+-]++ of [\d.e+-]++(?:; [^()]*+)?|TP [\d.e+-]++, FP [\d.e+-]++(?:, [^()]*+)?|not counted|"
    r"covers (?:weight )?[\d.e+-]++"
)
_ITEMS = re.compile(r"(.*\S)\s+has (?:any|at least (\d{1,9})) of", re.DOTALL)
_GROUP = re.compile(r"(?:any|at least (\d{1,9})) of(?=[\s({]|$)\s*+")


def parse_rule(text: str, features: Sequence[Feature], label_names: Sequence[str]) -> Rule:
    """Read a rule such as ``red, ¬orange <- colours > 5.5, stripes <= 4``.

    Absent is written ``¬``, ``!``, ``~`` or ``not``. A bare name in the body is a label condition. Further conditions
    are ``region in {West, South}``, ``age is missing``, ``age is known``, ``3 < age <= 60``, and for ordinal features
    and dates also ``plan >= plus`` and ``plan < pro``. Of texts and lists they are ``plot has zombie``, ``plot lacks
    zombie`` and ``plot has any of {zombie, undead}``. One group of alternatives is written ``any of (age > 65,
    smoker = yes)`` or ``at least 2 of (…)``; columns that only say yes or no stand in braces, by their names: ``any of
    {jam, queue}``. Names with commas, comparison signs, braces, quotes or line
    breaks stand in double quotes with JSON's escapes. A leading number, trailing
    counts and ``[stop]`` marks, as in a printed list, are allowed; the counts are not taken over, as they may be wrong
    for another rule or other data: see `recount`.

    Parameters
    ----------
    text : str
        One rule.
    features : sequence of Feature
        Those of the model, for names and kinds.
    label_names : sequence of str
        Those of the model, in label order.

    Returns
    -------
    Rule
        With origin "hand".

    Raises
    ------
    ModelError
        The text is no rule, or names something the model does not have.

    Examples
    --------
    >>> parse_rule("red, not orange <- colours > 5.5  [stop]", [Feature("colours")], ["red", "orange"]).stop
    True
    """
    return _Reader(text, features, label_names).rule()


def parse_weighted(
    text: str, features: Sequence[Feature], label_names: Sequence[str]
) -> tuple[dict[int, float], tuple[Condition, ...]]:
    """Read a rule whose labels have weights, as `parse_rule` reads others; return the weights by label, and the body.

    >>> parse_weighted("calm +3, happy −0.5 <- tempo <= 90", [Feature("tempo")], ["calm", "happy"])
    ({0: 3.0, 1: -0.5}, (NumericCondition(feature=0, op='<=', threshold=90.0),))
    """
    return _Reader(text, features, label_names).weighted()


def parse_constants(text: str, label_names: Sequence[str]) -> list[int] | None:
    """Read the line in which a printed list names its constant predictions; None for any other line.

    >>> parse_constants("1-2. always: red (right for 80 %), white (73 %)", ["red", "blue", "white"])
    [0, 2]
    >>> parse_constants("red <- true", ["red"])
    """
    return _Reader(text, (), label_names).constants()


def as_member(model: Any, condition: FeatureCondition | str) -> FeatureCondition:
    """Return a condition on a feature of a model, given as such or as text; a name alone means that it is there.

    >>> from polyrule.model import RuleList
    >>> as_member(RuleList((), (Feature("jam", "nominal", ("0", "1")),), ()), "jam")
    NominalCondition(feature=0, value=1)
    """
    if not isinstance(condition, str):
        return condition
    return _Reader(condition, model.features, model.label_names).member()


@dataclass
class _Reader:
    """One text being read against the names of one model."""

    text: str
    features: Sequence[Feature]
    label_names: Sequence[str]

    def __post_init__(self) -> None:
        allowed = current_limits()
        allowed.check_bytes("rule", len(self.text.encode("utf-8", "surrogatepass")))
        allowed.check_time("rule")

    def fail(self, what: str) -> NoReturn:
        text = self.text.strip()
        text = text if len(text) <= 80 else text[:77] + "..."
        what = what if len(what) <= 1000 else what[:997] + "..."
        raise ModelError(f"rule {text!r}: {what}")

    def rule(self) -> Rule:
        text, stop = self._strip(self.text)
        head, body = self._halves(self._tokens(text))
        literals = sorted((self._literal(part) for part in self._parts(head, "head")), key=lambda x: x.label)
        if len({literal.label for literal in literals}) < len(literals):
            self.fail("a label occurs twice in the head")
        return Rule(tuple(literals), self._whole_body(body), stop=stop, origin="hand")

    def weighted(self) -> tuple[dict[int, float], tuple[Condition, ...]]:
        """Read a rule of an ensemble: the weights of its labels, and its body."""
        text, stop = self._strip(self.text)
        if stop:
            self.fail("rules whose weights add up have no [stop]")
        head, body = self._halves(self._tokens(text))
        weights: dict[int, float] = {}
        for part in self._parts(head, "head"):
            *name, weight = [*part[:-1], *part[-1].rsplit(maxsplit=1)]
            if not weight.startswith(("+", "-", "−")) or not name:
                self.fail("every label has its weight behind it, with a sign: 'calm +2, happy -1 <- ...'")
            label = self._index(self.label_names, self._name(name), "label")
            if label in weights:
                self.fail("a label occurs twice in the head")
            weights[label] = self._number([weight.replace("−", "-")])
        conditions = self._whole_body(body)
        if any(label_conditions(conditions)):
            self.fail("rules whose weights add up test features only, such as 'jam = 1'")
        return weights, conditions

    def constants(self) -> list[int] | None:
        """Read the labels behind ``always:``."""
        start = _ALWAYS.match(self.text)
        tokens = self._tokens(self.text[start.end() :]) if start else []
        if start is None or "<-" in tokens:
            return None
        labels = []
        for *name, last in self._parts(tokens, "line"):
            if last not in self.label_names and not last.startswith('"'):
                last = _SHARE.sub("", last).rstrip()
            labels.append(self._index(self.label_names, self._name([*name, *filter(None, [last])]), "label"))
        return labels

    def _whole_body(self, tokens: list[str]) -> tuple[Condition, ...]:
        parts = [] if "".join(tokens).strip() in ("", "true") else self._parts(tokens, "body")
        conditions = tuple(condition for part in parts for condition in self._body(part))
        if len(groups_of(conditions)) > 1:
            self.fail("a rule has at most one group ('any of', 'at least 2 of')")
        return conditions

    def member(self) -> FeatureCondition:
        """Read the text as one condition on a feature, or as the name of one that says yes or no."""
        parts = self._parts(self._tokens(self.text), "condition")
        if len(parts) > 1:
            self.fail("give one condition; put names with commas in double quotes")
        return self._flag(parts[0]) if self._is_bare(parts[0]) else self._member(parts[0])

    def _is_bare(self, tokens: list[str]) -> bool:
        """Return True if a condition is only a name, perhaps with a sign."""
        return not any(token in _SIGNS or token in "{}" or token.endswith((" missing", " known")) for token in tokens)

    def _tokens(self, text: str) -> list[str]:
        tokens = []
        for match in _TOKEN.finditer(text):
            if match[1] == "":
                self.fail("a quoted name is not closed")
            tokens.append(match[0])
        return tokens

    def _strip(self, text: str) -> tuple[str, bool]:
        """The text without its number, counts and marks, and whether it is marked as a stop."""
        stop = False
        before, marks = _last_bracket(text, "[]")
        if marks is not None and _WORDS.fullmatch(marks):
            text, words = before, [word.strip() for word in marks.split(",")]
            unknown = [word for word in words if word not in _MARKS]
            if unknown:
                self.fail(f"unknown mark [{unknown[0]}]; a rule can be marked [stop]")
            stop = "stop" in words
        before, counts = _last_bracket(text, "()")
        if counts is not None and _COUNTS.fullmatch(counts):
            text = before
        number = _NUMBERED.match(text)
        return text[number.end() :] if number else text, stop

    def _halves(self, tokens: list[str]) -> tuple[list[str], list[str]]:
        arrows = [i for i, token in enumerate(tokens) if token == "<-"]
        if len(arrows) != 1:
            self.fail("a rule is written 'labels <- conditions', with one arrow '<-'")
        return tokens[: arrows[0]], tokens[arrows[0] + 1 :]

    def _parts(self, tokens: list[str], what: str) -> list[list[str]]:
        """Tokens between commas that stand outside braces and groups, without surrounding blanks."""
        parts: list[list[str]] = [[]]
        inside, group, depth = False, False, 0
        for token in tokens:
            inside = token == "{" or (inside and token != "}")
            if not parts[-1]:
                group, depth = _GROUP.match(token.lstrip()) is not None, 0
            if group and not token.startswith('"'):
                depth += token.count("(") - token.count(")")
            if token == "," and not inside and depth <= 0:
                parts.append([])
            elif token.strip():
                parts[-1].append(token if token.startswith('"') else token.strip())
        if any(not part for part in parts):
            self.fail(f"nothing stands between two commas or at an end of the {what}")
        return parts

    def _name(self, tokens: list[str]) -> str:
        if len(tokens) != 1:
            self.fail(f"cannot read {' '.join(tokens)!r} as one name; put odd names in double quotes")
        token = tokens[0]
        if not token.startswith('"'):
            return token
        try:
            return str(json.loads(token, strict=False))
        except ValueError:
            self.fail(f"{token} is not a well-formed quoted name")

    def _signed(self, tokens: list[str]) -> tuple[str, int]:
        """Name and value of ``red`` or ``¬red``, or of ``plot has zombie`` or ``plot lacks zombie``."""
        item = self._items.get(self._plain(tokens)) if self._items else None
        if item is not None:
            return item
        if tokens[0] == "¬":
            return self._name(tokens[1:]), 0
        negation = None if tokens[0].startswith('"') else _NEGATION.match(tokens[0])
        if negation is None:
            return self._name(tokens), 1
        return self._name([*filter(None, [tokens[0][negation.end() :]]), *tokens[1:]]), 0

    def _literal(self, tokens: list[str]) -> Literal:
        name, value = self._signed(tokens)
        return Literal(self._index(self.label_names, name, "label"), value)

    def _body(self, tokens: list[str]) -> list[Condition]:
        """One condition, the two of an interval, or a group."""
        if (items := self._item_group(tokens)) is not None:
            return [items]
        begin = _GROUP.match(tokens[0])
        if begin is None:
            return self._conditions(tokens)
        rest = [*filter(None, [tokens[0][begin.end() :]]), *tokens[1:]]
        name = self._name([rest.pop(0)]) if rest and rest[0].startswith('"') else ""
        if rest and rest[0] == "{" and rest[-1] == "}":
            members = [self._flag(part) for part in self._parts(rest[1:-1], "group")]
        elif rest and rest[0].startswith("(") and rest[-1].endswith(")") and not rest[-1].startswith('"'):
            members = [self._member(part) for part in self._parts(_inside(rest), "group")]
        else:
            self.fail("a group is written 'any of {name, name}' or 'at least 2 of (condition, condition)'")
        return [self._group(members, int(begin[1] or 1), name)]

    def _group(self, members: Sequence[FeatureCondition], min_members: int, name: str) -> GroupCondition:
        if len(set(members)) < len(members):
            self.fail("a member occurs twice in the group")
        if not 1 <= min_members < len(members):
            only = "conditions that must all hold stand in a rule without a group"
            self.fail(f"at least {min_members} of {len(members)} is no choice: {only}")
        return GroupCondition(tuple(members), min_members, name)

    @cached_property
    def _items(self) -> dict[str, tuple[str, int]]:
        """Name of a feature and its value, by the text of a condition on a word or member."""
        derived = [(f.name, f.derived) for f in self.features if f.derived is not None and f.derived.item]
        has = {f"{one.column} has {one.item}": (name, 1) for name, one in derived}
        return has | {f"{one.column} lacks {one.item}": (name, 0) for name, one in derived}

    def _plain(self, tokens: list[str]) -> str:
        """Return the text of tokens, names without their quotes."""
        return " ".join(self._name([token]) if token.startswith('"') else token for token in tokens)

    def _item_group(self, tokens: list[str]) -> GroupCondition | None:
        """Read ``plot has any of {zombie, undead}``; None if it is something else."""
        opening = tokens.index("{") if "{" in tokens and tokens[-1] == "}" else 0
        before, name = tokens[:opening], ""
        if len(before) > 1 and before[-1].startswith('"') and before[-2].endswith(" of"):
            name, before = self._name([before[-1]]), before[:-1]
        begin = _ITEMS.fullmatch(self._plain(before)) if before and not before[-1].startswith('"') else None
        if begin is None:
            return None
        parts = [self._name(part) for part in self._parts(tokens[opening + 1 : -1], "group")]
        members = [self._flag([json.dumps(f"{begin[1]} has {part}")]) for part in parts]
        return self._group(members, int(begin[2] or 1), name)

    def _member(self, tokens: list[str]) -> FeatureCondition:
        if self._is_bare(tokens) and self._signed(tokens)[0] in {feature.name for feature in self.features}:
            return self._flag(tokens)
        conditions = self._conditions(tokens)
        if len(conditions) > 1:
            self.fail(f"{' '.join(tokens)!r} is two conditions, and a member of a group is one: a limit on one side")
        member = next(ungrouped_conditions(conditions), None)
        if member is None:
            self.fail(f"{' '.join(tokens)!r} is no condition on a feature; only these can be members of a group")
        return member

    def _flag(self, tokens: list[str]) -> FeatureCondition:
        """Read a member that only says that something is there, or with a sign that it is not."""
        name, there = self._signed(tokens)
        index = self._index([feature.name for feature in self.features], name, "feature")
        feature = self.features[index]
        if is_flag(feature):
            return NominalCondition(index, there)
        if feature.kind != "numeric":
            self.fail(f"feature {name!r} does not say yes or no: write its condition, in a group in '(…)', not '{{…}}'")
        return NumericCondition(index, ">" if there else "<=", 0.5, between=(0.0, 1.0))

    def _conditions(self, tokens: list[str]) -> list[Condition]:
        """One condition, or the two of an interval."""
        if "{" in tokens or "}" in tokens:
            return [self._set(tokens)]
        signs = [i for i, token in enumerate(tokens) if token in _SIGNS]
        if not signs:
            return [self._bare(tokens)]
        ops = [tokens[i] for i in signs]
        if ops == ["<", "<="]:
            low, name, high = tokens[: signs[0]], tokens[signs[0] + 1 : signs[1]], tokens[signs[1] + 1 :]
            index = self._feature(name)
            return [*self._comparison(index, ">", low), *self._comparison(index, "<=", high)]
        if len(signs) > 1:
            between = " ".join(tokens[signs[0] + 1 : signs[1]])
            if _AND.search(between):
                with_commas = ", ".join(part.strip() for part in _AND.split(" ".join(tokens)))
                self.fail(f"conditions are separated by commas, not by 'and': {with_commas}")
            self.fail(f"more than one comparison in {' '.join(tokens)!r}; put odd names in double quotes")
        return self._comparison(self._feature(tokens[: signs[0]]), ops[0], tokens[signs[0] + 1 :])

    def _feature(self, tokens: list[str]) -> int:
        return self._index([feature.name for feature in self.features], self._name(tokens), "feature")

    def _bare(self, tokens: list[str]) -> Condition:
        """Read a label, the name of a feature that says yes or no, or whether a feature is missing."""
        *rest, verb, state = ["", *tokens[-1].rsplit(maxsplit=2)]
        if verb != "is" or state not in ("missing", "known") or tokens[-1].startswith('"'):
            name, value = self._signed(tokens)
            if name not in self.label_names and any(feature.name == name for feature in self.features):
                return self._flag(tokens)
            return LabelCondition(self._index(self.label_names, name, "label"), value)
        return MissingCondition(self._feature([*tokens[:-1], *filter(None, rest)]), state == "missing")

    def _set(self, tokens: list[str]) -> Condition:
        """Read ``region in {West, South}``."""
        opening = tokens.index("{") if "{" in tokens else 0
        word = re.search(r"(?:^|\s)in$", tokens[opening - 1]) if opening else None
        if word is None or tokens[-1] != "}" or tokens[opening - 1].startswith('"'):
            self.fail("a set is written 'feature in {category, category}'; put names with braces in double quotes")
        rest = tokens[opening - 1][: word.start()].strip()
        index = self._feature([*tokens[: opening - 1], *([rest] if rest else [])])
        feature = self.features[index]
        if not feature.is_nominal:
            self.fail(f"feature {feature.name!r} is {feature.kind}: a set can only be asked of a nominal one")
        names = self._parts(tokens[opening + 1 : -1], "set")
        values = {self._index(feature.categories, self._name(name), "category") for name in names}
        return one_of(index, sorted(values))

    def _comparison(self, index: int, op: str, right: list[str]) -> list[Condition]:
        feature = self.features[index]
        if feature.is_nominal:
            if op != "=":
                self.fail(f"feature {feature.name!r} is nominal: use '='")
            return [NominalCondition(index, self._index(feature.categories, self._name(right), "category"))]
        if feature.is_stepped:
            return self._steps(index, op, right)
        if op == "=":
            self.fail(f"feature {feature.name!r} is numeric: use '<=' or '>'")
        if op not in ("<=", ">"):
            self.fail("conditions on numbers are written '<=' or '>'")
        return [NumericCondition(index, "<=" if op == "<=" else ">", self._number(right))]

    def _steps(self, index: int, op: str, right: list[str]) -> list[Condition]:
        """Read a comparison with a category of an ordinal feature or with a date: thresholds lie halfway."""
        feature, name = self.features[index], self._name(right)
        if feature.kind == "ordinal":
            place, last = float(self._index(feature.categories, name, "category")), float(len(feature.categories) - 1)
        else:
            day = day_of(name)
            if day is None:
                self.fail(f"{name!r} is no date; dates are written as 2021-03-05")
            place, last = day, math.inf
        conditions: list[Condition] = []
        if op in (">", ">=", "=") and (op != "=" or place > 0 or feature.kind == "date"):
            conditions.append(NumericCondition(index, ">", place + (0.5 if op == ">" else -0.5)))
        if op in ("<=", "<", "=") and (op != "=" or place < last):
            conditions.append(NumericCondition(index, "<=", place + (-0.5 if op == "<" else 0.5)))
        if not conditions or not is_valid(conditions, self.features):
            self.fail(f"'{feature.name} {op} {name}' holds for all known values or for none; leave it out")
        return conditions

    def _number(self, tokens: list[str]) -> float:
        text = "".join(tokens)
        try:
            number = float(text)
        except ValueError:
            hint = "; separate conditions by a comma, not by 'and'" if _AND.search(text) else ""
            self.fail(f"{text!r} is not a number{hint}")
        if not math.isfinite(number):
            self.fail(f"{text!r} is not a finite number")
        return number

    def _index(self, names: Sequence[str], name: str, what: str) -> int:
        current_limits().check_time("rule")
        positions = [i for i, other in enumerate(names) if other == name]
        if not positions:
            names_text = ", ".join(repr(other) for other in names[:8]) + (", …" if len(names) > 8 else "")
            self.fail(f"there is no {what} {name!r}{did_you_mean(name, names)} (known: {names_text or 'none'})")
        if len(positions) > 1:
            self.fail(f"{what} {name!r} occurs {len(positions)} times, so its name says too little")
        return positions[0]


def _inside(tokens: list[str]) -> list[str]:
    """Tokens without the parentheses around them."""
    tokens = [tokens[0][1:], *tokens[1:]]
    return [*tokens[:-1], tokens[-1][:-1]]


def _last_bracket(text: str, brackets: str) -> tuple[str, str | None]:
    """The text without the brackets it ends in, and what stands in them; None where it does not end in them."""
    end = text.rstrip()
    start = end.rfind(brackets[0])
    inside = end[start + 1 : -1]
    if start < 0 or not end.endswith(brackets[1]) or brackets[1] in inside:
        return text, None
    if any(quoted.start() < start < quoted.end() for quoted in _QUOTED.finditer(text)):
        return text, None
    return end[:start].rstrip(), inside
