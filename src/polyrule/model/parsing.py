"""Reading a rule from the text that `printing` writes, or that a person types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from polyrule.budget import current_limits
from polyrule.data.table import Feature
from polyrule.errors import ModelError, did_you_mean
from polyrule.model.rule import Condition, LabelCondition, Literal, NominalCondition, NumericCondition, Rule

_NUMBERED = re.compile(r"\s*\d+[.:]\s+")
_COUNTS = re.compile(r"\s*\((?:TP [^()]*, FP [^()]*|not counted)\)\s*$")
_MARKS = re.compile(r"\s*\[([a-z, ]*)\]\s*$")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<-|<=|>|=|,|¬|[^"<>=,¬]+|.', re.DOTALL)


def parse_rule(text: str, features: Sequence[Feature], label_names: Sequence[str]) -> Rule:
    """Read a rule such as ``red, ¬orange <- colours > 5.5, stripes <= 4``.

    Absent is written ``¬``, ``!``, ``~`` or ``not``. A bare name in the body is a label condition. Names with commas,
    comparison signs, quotes or line breaks stand in double quotes with JSON's escapes. A leading number, trailing
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
    allowed = current_limits()
    allowed.check_bytes("rule", len(text.encode("utf-8", "surrogatepass")))
    allowed.check_time("rule")
    reader = _Reader(text, features, label_names)
    return reader.rule()


@dataclass
class _Reader:
    """One text being read against the names of one model."""

    text: str
    features: Sequence[Feature]
    label_names: Sequence[str]

    def fail(self, what: str) -> NoReturn:
        shown = self.text.strip()
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        what = what if len(what) <= 1000 else what[:997] + "..."
        raise ModelError(f"rule {shown!r}: {what}")

    def rule(self) -> Rule:
        text, stop = self._strip(self.text)
        tokens = _TOKEN.findall(text)
        if '"' in tokens:
            self.fail("a quoted name is not closed")
        head, body = self._halves(tokens)
        literals = sorted((self._literal(part) for part in self._parts(head, "head")), key=lambda x: x.label)
        if len({literal.label for literal in literals}) < len(literals):
            self.fail("a label occurs twice in the head")
        whole_body = "".join(body).strip()
        conditions = () if whole_body in ("", "true") else tuple(map(self._condition, self._parts(body, "body")))
        return Rule(tuple(literals), conditions, stop=stop, origin="hand")

    def _strip(self, text: str) -> tuple[str, bool]:
        """The text without its number, counts and marks, and whether it is marked as a stop."""
        stop = False
        marks = _MARKS.search(text)
        if marks and not _inside_quotes(text, marks.start()):
            words = [word.strip() for word in marks[1].split(",")]
            unknown = [word for word in words if word not in ("stop", "hand", "edited", "learned")]
            if unknown:
                self.fail(f"unknown mark [{unknown[0]}]; a rule can be marked [stop]")
            stop = "stop" in words
            text = text[: marks.start()]
        counts = _COUNTS.search(text)
        if counts and not _inside_quotes(text, counts.start()):
            text = text[: counts.start()]
        number = _NUMBERED.match(text)
        return text[number.end() :] if number else text, stop

    def _halves(self, tokens: list[str]) -> tuple[list[str], list[str]]:
        arrows = [i for i, token in enumerate(tokens) if token == "<-"]
        if len(arrows) != 1:
            self.fail("a rule is written 'labels <- conditions', with one arrow '<-'")
        return tokens[: arrows[0]], tokens[arrows[0] + 1 :]

    def _parts(self, tokens: list[str], what: str) -> list[list[str]]:
        """Tokens between commas, without surrounding blanks."""
        parts: list[list[str]] = [[]]
        for token in tokens:
            if token == ",":
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

    def _signed(self, tokens: list[str]) -> tuple[int, int]:
        """Label and value of ``red`` or ``¬red``."""
        tokens, value = list(tokens), 1
        if tokens[0] == "¬":
            tokens, value = tokens[1:], 0
        elif not tokens[0].startswith('"'):
            negation = re.match(r"[!~]\s*|not(?:\s+|$)", tokens[0])
            if negation:
                rest = tokens[0][negation.end() :]
                tokens, value = [*([rest] if rest else []), *tokens[1:]], 0
        return self._index(self.label_names, self._name(tokens), "label"), value

    def _literal(self, tokens: list[str]) -> Literal:
        return Literal(*self._signed(tokens))

    def _condition(self, tokens: list[str]) -> Condition:
        signs = [i for i, token in enumerate(tokens) if token in ("<=", ">", "=", "<")]
        if not signs:
            return LabelCondition(*self._signed(tokens))
        if tokens[signs[0]] == "<" or (tokens[signs[0]] == ">" and len(signs) > 1):
            self.fail("conditions on numbers are written '<=' or '>'")
        if len(signs) > 1:
            self.fail(f"more than one comparison in {' '.join(tokens)!r}; put odd names in double quotes")
        left, op, right = tokens[: signs[0]], tokens[signs[0]], tokens[signs[0] + 1 :]
        index = self._index([feature.name for feature in self.features], self._name(left), "feature")
        feature = self.features[index]
        if op == "=":
            if not feature.is_nominal:
                self.fail(f"feature {feature.name!r} is numeric: use '<=' or '>'")
            return NominalCondition(index, self._index(feature.categories, self._name(right), "category"))
        if feature.is_nominal:
            self.fail(f"feature {feature.name!r} is nominal: use '='")
        return NumericCondition(index, "<=" if op == "<=" else ">", self._number(right))

    def _number(self, tokens: list[str]) -> float:
        text = "".join(tokens)
        try:
            number = float(text)
        except ValueError:
            self.fail(f"{text!r} is not a number")
        if not math.isfinite(number):
            self.fail(f"{text!r} is not a finite number")
        return number

    def _index(self, names: Sequence[str], name: str, what: str) -> int:
        found = [i for i, other in enumerate(names) if other == name]
        if not found:
            known = ", ".join(repr(other) for other in names[:8]) + (", …" if len(names) > 8 else "")
            self.fail(f"there is no {what} {name!r}{did_you_mean(name, names)} (known: {known or 'none'})")
        if len(found) > 1:
            self.fail(f"{what} {name!r} occurs {len(found)} times, so its name says too little")
        return found[0]


def _inside_quotes(text: str, position: int) -> bool:
    return any(match.start() < position < match.end() for match in _QUOTED.finditer(text))
