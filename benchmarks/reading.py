"""How fast and how large reading is: our readers beside pandas, pyarrow, polars, NumPy and SciPy on the same tables.

One table is a benchmark data set of numbers, as ARFF and CSV; the other is made: numbers, categories, a date and
labels, 27 MB as CSV, with missing values and quoted cells. Every reading runs in a process of its own, several times;
the least CPU time counts. Memory is the growth of the peak resident set over an empty run of the same imports, as a
multiple of what the result takes in memory.

    python benchmarks/reading.py [--data mediamill] [--repeat 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

WORKER = """
import json, resource, sys, time
{imports}
def high_water():
    try:  # a child inherits its parent's ru_maxrss, so ask the kernel about this memory map where it tells
        lines = open('/proc/self/status').read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def read():
    {body}
base = high_water()
began, wall = time.process_time(), time.perf_counter()
result = read()
cpu, wall = time.process_time() - began, time.perf_counter() - wall
peak = high_water()
print(json.dumps([cpu, wall, (peak - base) * 1024]))
"""

READERS = {
    "polyrule, ARFF": ("from polyrule.data import read as r", "return r({arff!r}, labels=None)"),
    "polyrule, ARFF gzip": ("from polyrule.data import read as r", "return r({packed!r}, labels=None)"),
    "polyrule, CSV": ("from polyrule.data import read as r", "return r({csv!r}, labels=None)"),
    "polyrule, CSV in chunks": (
        "from polyrule.data import read_chunks as r, Feature",
        "features = [Feature(n) for n in open({csv!r}).readline().strip().split(',')]\n"
        "    return sum(len(part) for part in r({csv!r}, features=features, labels=None))",
    ),
    "pandas, CSV": ("import pandas as pd", "return pd.read_csv({csv!r})"),
    "pandas round_trip, CSV": ("import pandas as pd", "return pd.read_csv({csv!r}, float_precision='round_trip')"),
    "pyarrow one thread, CSV": (
        "import pyarrow.csv as pc",
        "return pc.read_csv({csv!r}, read_options=pc.ReadOptions(use_threads=False))",
    ),
    "NumPy loadtxt, CSV": ("import numpy as np", "return np.loadtxt({csv!r}, delimiter=',', skiprows=1)"),
    "SciPy, ARFF": ("from scipy.io import arff", "return arff.loadarff({arff!r})"),
}
MIXED = {
    "polyrule": ("from polyrule.data import read as r", "return r({mixed!r}, labels=['red', 'blue'])"),
    "polyrule, xlsx (a tenth)": ("from polyrule.data import read as r", "return r({xlsx!r}, labels=['red', 'blue'])"),
    "pandas": ("import pandas as pd", "return pd.read_csv({mixed!r})"),
    "pandas, xlsx (a tenth)": ("import pandas as pd", "return pd.read_excel({xlsx!r}, engine='calamine')"),
    "pyarrow one thread": (
        "import pyarrow.csv as pc",
        "return pc.read_csv({mixed!r}, read_options=pc.ReadOptions(use_threads=False))",
    ),
    "polars one thread": ("import polars as pl", "return pl.read_csv({mixed!r})"),
}
_ROWS = 400_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="mediamill", help="name of a benchmark data set with dense files")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    os.environ["POLARS_MAX_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        files, shape, size = prepare(options.data, Path(folder))
        rows = {name: measure(name, files, options.repeat) for name in READERS}
        text = Path(files["arff"]).name
        print(
            f"{options.data}, train part: {shape[0]} rows, {shape[1]} columns, {size / 1e6:.1f} MB as float64 ({text})"
        )
        show(rows, size, "pandas, CSV", "pyarrow one thread, CSV")
        files = make_mixed(Path(folder))
        mixed = {name: measure(name, files, options.repeat) for name in MIXED}
        print(f"\nnumbers, categories, dates: {_ROWS} rows, {Path(files['mixed']).stat().st_size / 1e6:.1f} MB of text")
        show(mixed, _ROWS * 11 * 8, "pandas", "pyarrow one thread")
    if options.json:
        options.json.write_text(
            json.dumps({"data": options.data, "bytes": size, "readers": rows, "mixed": mixed}, indent=1)
        )


def show(rows: dict[str, tuple[float, float, float]], size: int, *peers: str) -> None:
    """Print the figures, and the CPU time as a multiple of that of both peers."""
    print(f"{'reader':<26}{'CPU s':>8}{'wall s':>8}{'x pandas':>10}{'x pyarrow':>11}{'memory x':>10}")
    for name, (cpu, wall, memory) in rows.items():
        ratios = [cpu / rows[peer][0] for peer in peers]
        print(f"{name:<26}{cpu:>8.2f}{wall:>8.2f}{ratios[0]:>10.1f}{ratios[1]:>11.1f}{memory / size:>10.1f}")


def make_mixed(folder: Path) -> dict[str, str]:
    """Write a table of numbers, categories and dates as CSV, and its first tenth as a workbook."""
    import pandas as pd

    rng = random.Random(0)
    days = [(datetime.date(2020, 1, 1) + datetime.timedelta(days=day)).isoformat() for day in range(1000)]
    names = "size,weight,count,share,hue,city,on,grade,plan,red,blue"
    path = folder / "mixed.csv"
    with path.open("w") as stream:
        stream.write(names + "\n")
        for row in range(_ROWS):
            numbers = f"{rng.gauss(0, 1):.6f},{rng.gauss(0, 1000):.3f},{rng.randrange(1000)}"
            share = "" if row % 17 == 0 else f"{rng.random():.2f}"
            hue = rng.choice(("red", "dark blue", "green", '"pale, grey"'))
            texts = f"{hue},city {rng.randrange(500)},{rng.choice(days)},{rng.choice(('low', 'mid', 'high', 'NA'))}"
            plan = rng.choice(("basic", "plus", "pro"))
            stream.write(f"{numbers},{share},{texts},{plan},{rng.randrange(2)},{rng.randrange(2)}\n")
    pd.read_csv(path, nrows=_ROWS // 10).to_excel(folder / "mixed.xlsx", index=False, engine="xlsxwriter")
    return {"mixed": str(path), "xlsx": str(folder / "mixed.xlsx")}


def prepare(name: str, folder: Path) -> tuple[dict[str, str], tuple[int, int], int]:
    """Write the same numbers as ARFF, packed ARFF and CSV."""
    from polyrule.datasets.loading import find_folder, part_file
    from polyrule.datasets.registry import entry

    known = entry(name)
    source = find_folder(known)
    path = None if source is None else part_file(known, source, "train")
    if path is None:
        raise SystemExit(f"{name} is not on this machine; set POLYRULE_DATA")
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    arff, packed, csv = folder / "data.arff", folder / "data.arff.gz", folder / "data.csv"
    arff.write_bytes(raw)
    packed.write_bytes(gzip.compress(raw, 6))
    header, body = raw[: raw.lower().index(b"@data")], raw[raw.lower().index(b"@data") :].split(b"\n", 1)[1]
    names = [line.split()[1] for line in header.splitlines() if line.lower().startswith(b"@attribute")]
    csv.write_bytes(b",".join(names) + b"\n" + body)
    rows = sum(1 for line in body.splitlines() if line.strip())
    paths = {"arff": str(arff), "packed": str(packed), "csv": str(csv)}
    return paths, (rows, len(names)), rows * len(names) * 8


def measure(name: str, files: dict[str, str], repeat: int) -> tuple[float, float, float]:
    imports, body = (READERS | MIXED)[name]
    code = WORKER.format(imports=imports, body=body.format(**files))
    runs = []
    for _ in range(repeat):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
        runs.append(json.loads(done.stdout))
    return min(run[0] for run in runs), min(run[1] for run in runs), min(run[2] for run in runs)


if __name__ == "__main__":
    main()
