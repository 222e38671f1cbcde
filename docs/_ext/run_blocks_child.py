"""Runs the examples that `run_blocks` found; reads them as JSON from standard input, writes failures as JSON."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import sys
import tempfile
import traceback
import warnings

import numpy as np
import pandas as pd

os.environ.setdefault("MPLBACKEND", "Agg")

SONGS = """\
title,tempo,key,loudness,mood_calm,mood_sad,mood_happy,mood
Dawn,64,minor,2,1,1,0,calm|sad
Rain,70,minor,1,1,1,0,calm|sad
Harbour,76,major,2,1,0,0,calm
Letter,82,minor,3,0,1,0,sad
Market,118,major,6,0,0,1,happy
Parade,124,major,8,0,0,1,happy
Meadow,96,major,3,1,0,1,calm|happy
Carnival,132,major,9,0,0,1,happy
"""


def lay_out_files() -> None:
    """What pages call their files: a table of songs, and two pieces of a table too large for one."""
    with open("songs.csv", "w", encoding="utf-8") as stream:
        stream.write(SONGS)
    os.mkdir("big")
    random = np.random.default_rng(0)
    for piece in range(2):
        table = pd.DataFrame(random.normal(size=(200, 3)).round(2), columns=["width", "height", "depth"])
        table["y_wide"] = (table["width"] > 0.5).astype(int)
        table["y_tall"] = (table["height"] > table["width"]).astype(int)
        table.to_parquet(f"big/piece-{piece}.parquet", index=False)


def run_page(blocks: list[tuple[int, str]]) -> tuple[int, str] | None:
    """Run the blocks of one page in one namespace; the first failure ends it."""
    names: dict[str, object] = {"__name__": "__main__"}
    for line, code in blocks:
        try:
            if ">>>" in code:
                _run_doctest(code, names)
            else:
                exec(compile(code, "example", "exec"), names)
        except BaseException as error:
            return line, "".join(traceback.format_exception_only(error)).strip()
    return None


def _run_doctest(code: str, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(code, names, "example", None, 0)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    result = runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    if result.failed:
        raise AssertionError(report.getvalue())


def main() -> None:
    """Run every page in a folder of its own."""
    failures = []
    for page, blocks in json.load(sys.stdin).items():
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            os.chdir(folder)
            lay_out_files()
            with warnings.catch_warnings():
                failure = run_page(blocks)
            os.chdir("/")
        if failure:
            failures.append([page, *failure])
    print(json.dumps(failures))


if __name__ == "__main__":
    main()
