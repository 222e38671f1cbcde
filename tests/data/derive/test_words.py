"""Words are cut alike everywhere, and vocabularies hold what rules can use."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unicodedata

import numpy as np
import pytest

from polyrule.data.derive.members import split_members
from polyrule.data.derive.stop_words import STOP_WORDS
from polyrule.data.derive.unicode_table import lower_case, word_ranges
from polyrule.data.derive.vocabulary import MAX_ITEMS, MIN_ROWS, find_items, find_words
from polyrule.data.derive.words import Word, split_words

SCRIPTS = [
    "Großmutter's Äpfel, naïve CAFÉ — 1,5 kg",
    "ΑΓΆΠΗ και φως: ο Οδυσσέας",
    "Ёлка и СНЕГ; в лесу",
    "İstanbul'da IŞIK ve ılık",
    "हिन्दी में कुछ शब्द, क्षत्रिय",
    "שָׁלוֹם עולם",
    "السَّلامُ عليكم",
    "ＦＵＬＬ width ① ² ٣",
    "emoji 😀zombie😀 \ud83dbroken",
    "a\u200bb c\u00add e\u0301te\u0301 𝒶 𐐀𐐨 ǅ ﬁ",
    "snake_case CamelCase x2y 3D",
]


def test_characters_of_words_are_letters_digits_and_marks():
    """Python may know a later version of Unicode: only characters that were unassigned may differ."""
    codes = {code for first, last in word_ranges() for code in range(first, last + 1)}
    for code in range(0x110000):
        category = unicodedata.category(chr(code))
        if (code in codes) != (category[0] in "LNM"):
            assert unicodedata.unidata_version != "14.0.0"
            assert code not in codes


def test_lower_case_is_that_of_single_characters():
    mapping = lower_case()
    assert all(len(chr(code).lower()) == 1 or code == 0x130 for code in mapping)
    for code in range(0x110000):
        lower = chr(code).lower()
        if len(lower) == 1 and code != ord("ς"):
            assert mapping.get(code, code) == ord(lower) or unicodedata.unidata_version != "14.0.0"
    assert chr(mapping[ord("ς")]) == "σ" == chr(mapping[ord("Σ")])


@pytest.mark.parametrize("text", [*SCRIPTS, "", "zombie", "  A--B  ", "O'Neil's 2nd"])
def test_words_are_found_one_character_at_a_time(text):
    """The slow obvious way: go through the characters."""
    mapping, ranges = lower_case(), word_ranges()
    words, current = [], ""
    for character in [*text, " "]:
        code = mapping.get(ord(character), ord(character))
        if any(first <= code <= last for first, last in ranges):
            current += chr(code)
        else:
            words += [current] if current else []
            current = ""
    assert split_words(text) == words
    assert split_words(text + " é")[:-1] == words  # not ASCII any more


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_finds_the_same_words_in_all_scripts():
    texts = [text for text in SCRIPTS if text.isprintable() or "\u200b" in text]
    words = sorted({word for text in texts for word in split_words(text)})
    expected = [Word("x", word).values(texts).tolist() for word in words]
    script = (
        f"{Word.HELPERS['javascript']}\nconst texts = {json.dumps(texts)}, words = {json.dumps(words)};"
        "console.log(JSON.stringify(words.map((word) => texts.map((text) => hasWord(text, word)))));"
    )
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected


def test_python_code_finds_the_same_words_in_all_scripts():
    namespace: dict[str, object] = {}
    exec(Word.HELPERS["python"], namespace)
    for text in SCRIPTS:
        for word in split_words(text):
            assert eval(Word("x", word).code("python", repr(text)), namespace) == 1.0
            assert eval(Word("x", f"{word}x").code("python", repr(text)), namespace) == 0.0


def slow_vocabulary(rows: list[str | None]) -> dict[str, list[int]]:
    """Return words with the rows that have them, by counting each word in each row."""
    found: dict[str, list[int]] = {}
    for row, text in enumerate(rows):
        for word in set(re.findall(r"[a-z0-9]+", (text or "").lower())):
            found.setdefault(word, []).append(row)
    usable = {
        word: places
        for word, places in found.items()
        if MIN_ROWS <= len(places) <= len(rows) - MIN_ROWS and len(word) > 1 and word not in STOP_WORDS
    }
    longest: dict[tuple[int, ...], str] = {}
    for word, places in usable.items():
        other = longest.get(tuple(places))
        if other is None or (-len(word), word) < (-len(other), other):
            longest[tuple(places)] = word
    return {word: list(places) for places, word in longest.items()}


def test_vocabularies_are_those_of_counting_each_word():
    rng = np.random.default_rng(0)
    words = [f"w{j}" for j in range(40)] + ["the", "and", "x", "Zombie", "los"]
    share = rng.random(len(words)) ** 2
    texts = [" ".join(w for w, p in zip(words, share, strict=True) if rng.random() < p) for _ in range(60)]
    texts = [text.replace("los", "los angeles") for text in texts]
    codes = rng.integers(-1, 60, 150)
    rows = [None if code < 0 else texts[code] for code in codes]
    items = find_words(texts, codes)
    expected = slow_vocabulary(rows)
    assert list(items.names) == sorted(expected)
    dense = items.rows.toarray()
    for place, word in enumerate(items.names):
        assert np.flatnonzero(dense[:, place]).tolist() == expected[word]
    assert "los" not in items.names  # the same rows have "angeles"


def test_texts_of_other_rows_are_not_looked_at():
    texts = ["secret word", "plain zombie", "plain film"]
    items = find_words(texts, np.array([1, 2] * 8))
    assert items.names == ("film", "zombie")


def test_vocabularies_are_bounded():
    texts = [f"a{j} b{j}x" for j in range(MAX_ITEMS)]
    items = find_items(texts, np.repeat(np.arange(MAX_ITEMS), 6), str.split)
    assert len(items.names) == MAX_ITEMS


@pytest.mark.parametrize(
    ("text", "separator", "members"),
    [
        ("a, b,,  c ", ",", ["a", "b", "c"]),
        ("a (x, y), b", ",", ["a (x, y)", "b"]),
        ("a (x, b", ",", ["a (x, b"]),
        ("a) x, b", ",", ["a) x", "b"]),
        ("a|b, c", "|", ["a", "b, c"]),
        ("", ",", []),
        ("a, b", "", ["a, b"]),
        ('["a, b", 3, null]', "[]", ["a, b", "3"]),
        ("[not json", "[]", []),
    ],
)
def test_members(text, separator, members):
    assert split_members(text, separator) == members
