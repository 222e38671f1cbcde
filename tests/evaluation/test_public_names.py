import subprocess
import sys

import pytest

import polyrule.evaluation as evaluation


def test_every_public_name_is_there():
    for name in evaluation.__all__:
        assert getattr(evaluation, name) is not None
    assert dir(evaluation) == sorted(evaluation.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = evaluation.nothing


def test_scoring_does_not_wait_for_the_statistics():
    code = "import sys; from polyrule.evaluation import score; score([[1]], [[1]]); print('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
