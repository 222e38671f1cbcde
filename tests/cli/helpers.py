"""Running the command line inside the test process, and as a program of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

from polyrule.cli import app

PROGRAM = [sys.executable, "-c", "import sys; sys.argv[0] = 'polyrule'; from polyrule.cli import main; main()"]

# Programs run on the kernels that are always there, so that none of them warns about a missing build.
PLAIN = {"POLYRULE_KERNELS": "reference"}


def run(*words: object, input: bytes | str | None = None, env: dict[str, str | None] | None = None) -> Result:
    """Run a command as the shell would; the result has exit_code, stdout and stderr."""
    result = CliRunner().invoke(app, [str(word) for word in words], input=input, env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ok(*words: object, **options: Any) -> str:
    """Run a command that must succeed and return its output."""
    result = run(*words, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


def ok_json(*words: object) -> Any:
    """Run a command with --json and read its output, in which NaN is not allowed."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(ok(*words, "--json"), parse_constant=refuse)


def program(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line as a program of its own."""
    env = {**os.environ, **PLAIN, "PYTHONWARNINGS": "error", **options.pop("env", {})}
    return subprocess.run(
        [*PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, env=env, **options
    )


def write_songs(folder: Path, rows: int = 120, seed: int = 0, name: str = "songs.csv") -> Path:
    """A small file with numbers, categories, gaps, row names and three labels that follow from the rest."""
    rng = np.random.default_rng(seed)
    lines = ["id,tempo,key,loudness,calm,happy,sad"]
    for number in range(rows):
        tempo, loud = int(rng.integers(60, 180)), round(float(rng.normal()), 3)
        key = str(rng.choice(["major", "minor"]))
        calm, happy = int(tempo < 100), int(key == "major" and tempo > 90)
        sad = int(key == "minor" and loud < 0)
        shown = "?" if rng.random() < 0.1 else str(loud)
        lines.append(f"s{number},{tempo},{key},{shown},{calm},{happy},{sad}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


READING = ("--labels", "calm,happy,sad", "--id", "id")
