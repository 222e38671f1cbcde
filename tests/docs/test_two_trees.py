"""`benchmarks/two_trees.py`, which times two versions of the library in turns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_version_beside_itself(benchmark_root) -> None:
    command = [sys.executable, "benchmarks/two_trees.py", "-", "-", "flags:hamming"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    cells = said[2].split(" | ")
    assert cells[0] == "| flags"
    assert float(cells[-1].strip(" |")) > 0
    assert not any("other lists" in line for line in said)
