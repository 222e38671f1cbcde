"""Columns of text that hold dates as people write them, in every format whose cells are text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyrule.data.columns import shorten
from polyrule.data.dates import DateForms, are_dates
from polyrule.data.formats.blocks import Column, ColumnKind, Hints

TIMES = "times of day, which are not used"


def column_of_text(name: str, sample: Sequence[Any]) -> Column:
    """Describe a column of text: dates written as 2021-03-05 in its first rows, or categories.

    >>> column_of_text("at", ["2021-03-05 14:30:00", None]).remark
    'times of day, which are not used'
    """
    if not are_dates(sample):
        return Column(name, "nominal")
    return Column(name, "auto-date", remark=TIMES if any(":" in str(cell) for cell in sample) else "")


def column_of_dates(name: str, kind: ColumnKind, dates: DateForms, asked: str | None, hints: Hints) -> Column | None:
    """Describe a column by what is left of the forms of its dates; None where it holds no such dates.

    Where more than one form is left the column is "mixed", unless the user was `asked`. What was found about slashes is
    noted in `hints`, because new data may not tell.

    >>> column_of_dates("on", "date", DateForms(["3/4/2021"]), None, Hints()).advice
    "pass dates='day/month/year' or dates='month/day/year'"
    >>> column_of_dates("on", "date", DateForms(["31.12.2021"]), None, Hints()).date_form
    'day/month/year'
    """
    forms = [asked] if asked in dates.left else dates.left
    if not forms:
        return None
    if len(forms) > 1:
        remark = f"dates such as {shorten(dates.example)}, in which every day may be a month"
        return Column(name, "mixed", remark=remark, advice="pass " + " or ".join(f"dates={form!r}" for form in forms))
    if dates.slashes:
        hints.dates = forms[0]
    return Column(name, kind, date_form=forms[0], remark=TIMES if ":" in (dates.example or "") else "")
