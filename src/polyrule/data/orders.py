"""Ordered categories, by their words: low, medium, high; or by the numbers in them: 18-24, more than $1,000."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import inf

MIN_CATEGORIES = 3
"""Fewer categories have no order that conditions could use."""
_MAX_CATEGORIES = 40

SCALES = (
    "none, minimal, very mild, mild, moderate, severe, very severe, extreme",
    "lowest, extremely low, very low, low, lower, somewhat low, below average, medium low, medium, moderate, average, "
    "normal, medium high, above average, somewhat high, elevated, high, higher, very high, extremely high, highest",
    "xxs, xs, s, m, l, xl, xxl, xxxl",
    "extra small, very small, small, medium, large, very large, extra large",
    "tiny, small, medium, big, huge",
    "very short, short, medium, long, very long",
    "very slow, slow, medium, moderate, fast, very fast",
    "very light, light, somewhat light, medium light, medium, medium dark, somewhat dark, dark, very dark",
    "very weak, weak, somewhat weak, somewhat light, medium, moderate, somewhat strong, strong, very strong",
    "very cold, cold, cool, mild, warm, hot, very hot",
    "never, almost never, very rarely, rarely, seldom, occasionally, sometimes, regularly, often, frequently, usually, "
    "very often, most of the time, almost always, always",
    "never, yearly, monthly, weekly, daily, hourly",
    "terrible, awful, very bad, very poor, bad, poor, below average, fair, acceptable, average, ok, okay, typical, "
    "satisfactory, above average, good, very good, great, excellent, outstanding",
    "very dissatisfied, dissatisfied, somewhat dissatisfied, neutral, neither satisfied nor dissatisfied, "
    "somewhat satisfied, satisfied, very satisfied",
    "very unsatisfied, unsatisfied, neutral, satisfied, very satisfied",
    "strongly disagree, disagree, somewhat disagree, slightly disagree, neutral, neither agree nor disagree, "
    "undecided, slightly agree, somewhat agree, agree, strongly agree",
    "very unlikely, unlikely, somewhat unlikely, neutral, possible, somewhat likely, likely, very likely",
    "very difficult, difficult, hard, medium, moderate, normal, easy, very easy",
    "beginner, novice, elementary, basic, intermediate, upper intermediate, advanced, expert, professional",
    "not at all, not important, slightly, a little, slightly important, somewhat, moderately, moderately important, "
    "quite, important, very, very much, very important, extremely, extremely important",
    "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth",
    "bronze, silver, gold, platinum, diamond",
    "freshman, sophomore, junior, senior",
    "no formal education, less than high school, elementary school, primary school, middle school, secondary school, "
    "some high school, high school, high school graduate, high school diploma, some college, "
    "some college or associate's degree, associate degree, associate's degree, bachelor, bachelors, bachelor's, "
    "bachelor degree, bachelor's degree, graduate degree, master, masters, master's, master degree, master's degree, "
    "professional degree, doctorate or professional degree, doctorate, doctoral degree, phd",
    "january, february, march, april, may, june, july, august, september, october, november, december",
    "jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec",
    "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
    "mon, tue, wed, thu, fri, sat, sun",
)
"""Words that ascend, separated by commas."""
_RANKS = tuple({word.strip(): rank for rank, word in enumerate(scale.split(","))} for scale in SCALES)

_NUMBER = r"[^\w\s<>=+.,-]?\s?(\d+(?:,\d{3})*(?:\.\d+)?)\s?([^\W\d_]{0,10}|%|°)?"
_RANGE = re.compile(rf"(?:from |between )?{_NUMBER}\s?(?:-|–|—|to|and|\.\.)\s?{_NUMBER}(.*)")
_BELOW = re.compile(rf"(?:<=?|less than|under|below|up to|at most|fewer than|younger than)\s?{_NUMBER}(.*)")
_ABOVE = re.compile(rf"(?:>=?|more than|over|above|at least|greater than|older than)\s?{_NUMBER}(.*)")
_AND_MORE = re.compile(rf"{_NUMBER}\s?(?:\+|and more|or more|and over|and above|and older|or older|or over|and up)(.*)")
_ONE = re.compile(rf"{_NUMBER}(.*)")
_NOTHING = frozenset(("none", "zero", "no", "nothing", "never"))


def find_order(categories: Sequence[str]) -> tuple[str, ...]:
    """Return categories in ascending order if their words or numbers show one, else nothing.

    >>> find_order(["high", "low", "medium"]), find_order(["red", "low", "high"])
    (('low', 'medium', 'high'), ())
    >>> find_order(["More than $1,000", "$500-$1000", "Less than $20", "$20-$500"])
    ('Less than $20', '$20-$500', '$500-$1000', 'More than $1,000')
    >>> find_order([">65 years old", "18-24 years old", "<18 years old"])
    ('<18 years old', '18-24 years old', '>65 years old')
    """
    if not MIN_CATEGORIES <= len(categories) <= _MAX_CATEGORIES:
        return ()
    word_of = {c: " ".join(c.lower().replace("_", " ").replace("-", " ").split()) for c in categories}
    words = list(word_of.values())
    for ranks in _RANKS:
        if all(word in ranks for word in words) and len(set(words)) == len(words):
            return tuple(sorted(categories, key=lambda category: ranks[word_of[category]]))
    return _by_numbers(categories)


def _by_numbers(categories: Sequence[str]) -> tuple[str, ...]:
    """Return categories in the order of the ranges that they name, if these do not overlap."""
    spans = [_span(category) for category in categories]
    ranges = [span for span in spans if span is not None]
    if len(ranges) < len(spans) or len({rest for *_, rest in ranges if rest is not None}) > 1:
        return ()
    if all(low == high for low, high, _ in ranges):
        return ()  # numbers, or codes such as W01
    ordered = sorted(zip(ranges, categories, strict=True), key=lambda one: (one[0][0], one[0][1], one[1]))
    for (first, _), (second, _) in pairwise(ordered):
        if second[0] < first[1] or first[:2] == second[:2]:
            return ()
    return tuple(category for _, category in ordered)


def _span(category: str) -> tuple[float, float, str | None] | None:
    """Return both ends of a range of numbers and the words behind it; no words if it names no number."""
    text = " ".join(category.lower().split())
    if text in _NOTHING:
        return 0.0, 0.0, None
    if parts := _RANGE.fullmatch(text):
        return _number(parts[1]), _number(parts[3]), _rest(parts[4], parts[5])
    if parts := _BELOW.fullmatch(text):
        return -inf, _number(parts[1]), _rest(parts[2], parts[3])
    if parts := _ABOVE.fullmatch(text):
        return _number(parts[1]), inf, _rest(parts[2], parts[3])
    if parts := _AND_MORE.fullmatch(text):
        return _number(parts[1]), inf, _rest(parts[2], parts[3])
    if parts := _ONE.fullmatch(text):
        return _number(parts[1]), _number(parts[1]), _rest(parts[2], parts[3])
    return None


def _number(digits: str) -> float:
    return float(digits.replace(",", ""))


def _rest(unit: str | None, words: str) -> str:
    return f"{unit or ''}{words}".strip().rstrip("s")
