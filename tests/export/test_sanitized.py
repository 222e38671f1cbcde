"""Exported C under the address and undefined-behaviour sanitizers, on rows that nobody checked."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from tests.export.cases import HOSTILE, random_model

from polyrule.data import Table
from polyrule.export import export
from polyrule.export.quoting import c_string
from polyrule.model.predict import predict

ODD = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, -1e308, 5e-324, 2.0, 3.0, -1.0, 0.5, 1e18, 2.0**31, -(2.0**63))

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
%s
static void check(const char *path, int width, int labels, void (*predict)(const double *, unsigned char *)) {
  FILE *file = fopen(path, "rb");
  double *x = malloc(sizeof(double) * (size_t)width); /* exactly as large as promised: one step more is seen */
  unsigned char *y = malloc((size_t)labels);
  while (fread(x, sizeof(double), (size_t)width, file) == (size_t)width) {
    predict(x, y);
    for (int k = 0; k < labels; ++k) putchar('0' + y[k]);
    putchar('\\n');
  }
  fclose(file);
  free(x);
  free(y);
}
int main(void) {
%s
  return 0;
}
"""


def sanitized(folder) -> bool:
    (folder / "probe.c").write_text("int main(void) { return 0; }\n")
    flags = ["-fsanitize=address,undefined", "probe.c", "-o", "probe"]
    made = subprocess.run(["gcc", *flags], cwd=folder, capture_output=True, check=False)
    return made.returncode == 0


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_rows_of_odd_numbers_and_texts_that_are_no_category(tmp_path):
    if not sanitized(tmp_path):
        pytest.skip("gcc has no sanitizers here")
    rng = np.random.default_rng(5)
    declared, calls, sources, expected = [], [], ["main.c"], []
    for number in range(6):
        model = random_model(100 + number)
        rows = np.asfortranarray(rng.choice(ODD, size=(60, len(model.features))))
        expected += ["".join(map(str, row)) for row in predict(model, Table(rows, model.features)).labels.tolist()]
        (tmp_path / f"m{number}.c").write_text(export(model, "c", prefix=f"m{number}"), encoding="ascii")
        (tmp_path / f"rows{number}.bin").write_bytes(np.ascontiguousarray(rows).tobytes())
        sources.append(f"m{number}.c")
        declared.append(f"void m{number}_predict(const double *x, unsigned char *y);")
        declared.append(f"double m{number}_category(int feature, const char *text);")
        texts = [c_string(text) for text in (*HOSTILE[:20], "", "x" * 5000)]
        for feature in range(len(model.features)):
            calls += [f"  (void)m{number}_category({feature}, {text});" for text in texts]
        calls.append(f'  check("rows{number}.bin", {rows.shape[1]}, {len(model.label_names)}, m{number}_predict);')
    (tmp_path / "main.c").write_text(MAIN % ("\n".join(declared), "\n".join(calls)))
    flags = ["-std=c99", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    done = subprocess.run(
        ["gcc", *flags, *sources, "-o", "run", "-lm"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([tmp_path / "run"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == expected
