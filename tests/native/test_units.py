"""The unit tests of the C++ core, compiled and run: what Python cannot reach by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"


def compiler() -> str:
    """A compiler that finds doctest; without one there is nothing to run."""
    found = shutil.which(os.environ.get("CXX", "c++"))
    asked = "#if !__has_include(<doctest/doctest.h>)\n#error\n#endif\n"
    fine = (
        found
        and not subprocess.run([found, "-x", "c++", "-E", "-"], input=asked, capture_output=True, text=True).returncode
    )
    if not fine:
        pytest.skip("the unit tests of native/ need a C++ compiler and doctest (Debian: doctest-dev)")
    return str(found)


def test_units_of_the_core(tmp_path: Path) -> None:
    sources = [*sorted((NATIVE / "tests").glob("*.cpp")), *sorted((NATIVE / "core").glob("*.cpp"))]
    all_of_them = tmp_path / "units.cpp"  # one file: what they include is read once
    all_of_them.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    flags = [
        "-std=c++20",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wno-psabi",
        "-Werror",
        "-pthread",
        f"-I{NATIVE}",
    ]
    program = tmp_path / "units"
    built = subprocess.run([compiler(), *flags, all_of_them, "-o", program], capture_output=True, text=True)
    assert not built.returncode, built.stderr
    ran = subprocess.run([program], capture_output=True, text=True)
    assert not ran.returncode, ran.stdout
