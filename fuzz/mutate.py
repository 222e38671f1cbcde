"""Inputs made from inputs: bytes, words and trees of JSON are changed in the places that matter."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

EDGE_NUMBERS = (
    *("0", "1", "-1", "2", "1e999", "-1e999", "nan", "inf", "1e308", "5e-324", "0.1", "9" * 25, "1" + "0" * 400),
    *("4294967296", "2147483648", "-2147483649", "9223372036854775808", "1_0", "0x1", "1.5.2", "+", "-", ".", "1e"),
)
EDGE_TEXTS = (
    *("", " ", "?", "\x00", "\u202e", "\ud800", "p\u0430y", "=1+1", "'", '"', "\\", "\n", "\r", "\t", "a" * 300),
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        ";",
        "|",
        "%",
        "#",
        "@",
        "<-",
        "<=",
        ">",
        "¬",
        "not ",
        "true",
        "NaN",
        "é",
        "\ufeff",
    ),
)
EDGE_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, 10**20, 10**400, -(10**30), 1e308, "", "0", "1/0", "3/4", [], {}, [[]]),
    *([None], {"a": 1}, [0, 1], ["red"], {"": []}, "a" * 300, "\x00", "\u202e", "\ud800", [[[[[[[]]]]]]]),
)


def mutate_bytes(raw: bytes, others: Sequence[bytes], words: Sequence[bytes], rng: random.Random) -> bytes:
    """Change a few places of a text: set, remove, repeat, splice, or put in a word of the format."""
    made = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randint(0, len(made))
        length = rng.choice((0, 1, 2, 4, 8, 20))
        match rng.randrange(8):
            case 0:
                made[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del made[at : at + length]
            case 2:
                made[at:at] = made[max(0, at - length) : at] * rng.choice((1, 2, 30))
            case 3:
                other = rng.choice(others)
                start = rng.randint(0, len(other))
                made[at:at] = other[start : start + rng.choice((1, 5, 30))]
            case 4:
                made[at:at] = rng.choice(EDGE_TEXTS).encode("utf-8", "surrogatepass")
            case 5:
                _replace_number(made, at, rng)
            case 6:
                _swap_lines(made, rng)
            case _:
                made[at:at] = rng.choice(words) if words else b"\n"
    return bytes(made[:20_000])


def _replace_number(made: bytearray, at: int, rng: random.Random) -> None:
    """Put an edge case in the place of the next number."""
    start = next((j for j in range(at, len(made)) if chr(made[j]).isdigit()), None)
    if start is None:
        return
    stop = start
    while stop < len(made) and chr(made[stop]) in "0123456789.eE":
        stop += 1
    made[start:stop] = rng.choice(EDGE_NUMBERS).encode()


def _swap_lines(made: bytearray, rng: random.Random) -> None:
    lines = bytes(made).split(b"\n")
    if len(lines) > 1:
        one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
        made[:] = b"\n".join(lines)


def mutate_json(raw: bytes, others: Sequence[bytes], words: Sequence[bytes], rng: random.Random) -> bytes:
    """Change values, members and elements of a JSON document; now and then its text."""
    if rng.random() < 0.15:
        return mutate_bytes(raw, others, words, rng)
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return mutate_bytes(raw, others, words, rng)
    for _ in range(rng.choice((1, 1, 2, 4))):
        document = _change(document, rng)
    try:
        return json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")[:40_000]
    except (ValueError, RecursionError):
        return raw


def _change(document: Any, rng: random.Random) -> Any:
    places = [(None, None), *_places(document)]
    holder, key = rng.choice(places[:2000])
    if holder is None:
        return _edge_value(rng) if rng.random() < 0.1 else document
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, holder[key])
        case 1:
            holder[rng.choice(("x", "", str(key) * 2, "\u202e"))] = holder[key]
        case 2:
            other, name = rng.choice(places[1:])
            holder[key] = json.loads(json.dumps(other[name])) if other is not None else None
        case _:
            holder[key] = _edge_value(rng)
    return document


def _edge_value(rng: random.Random) -> Any:
    """A value of one's own: it will be changed in its turn."""
    return copy.deepcopy(rng.choice(EDGE_VALUES))


def _places(value: Any) -> list[tuple[Any, Any]]:
    found, todo = [], [value]
    while todo and len(found) < 3000:
        holder = todo.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, inner in items:
            found.append((holder, key))
            todo.append(inner)
    return found


def mutate_words(raw: bytes, others: Sequence[bytes], words: Sequence[bytes], rng: random.Random) -> bytes:
    """Change the words of a command line, one per line."""
    lines = raw.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randint(0, len(lines))
        match rng.randrange(6):
            case 0:
                del lines[at : at + 1]
            case 1:
                lines[at:at] = [rng.choice(words)]
            case 2:
                lines[at : at + 1] = [rng.choice(words)]
            case 3:
                lines[at:at] = [rng.choice((*EDGE_NUMBERS, *EDGE_TEXTS)).encode("utf-8", "replace")]
            case 4:
                lines += rng.choice(others).split(b"\n")[1:3]
            case _ if at < len(lines):
                lines[at] = mutate_bytes(lines[at], others, (), rng).replace(b"\n", b" ")
    return b"\n".join(lines)[:2000]
