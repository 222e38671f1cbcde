"""The how-to guides on other people's tools are run, block by block, each in a process and folder of its own."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "needs"), [("mlflow.md", "mlflow"), ("onnx.md", "onnxruntime")])
def test_a_guide_runs_from_top_to_bottom(page, needs, tmp_path):
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    blocks = BLOCK.findall((HOWTO / page).read_text(encoding="utf-8"))
    assert blocks
    guide = tmp_path / "guide.py"
    guide.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, guide], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
