"""A short slice of the campaign with fixed draws, and what a mismatch leaves behind."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.campaign.__main__ import world_of
from tests.campaign.comparing import Result, compare
from tests.campaign.programs import program
from tests.campaign.shrinking import shrink
from tests.campaign.tally import Tally, kept
from tests.campaign.worlds import World

from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


def mismatches(numbers: range, with_zero_weights: bool) -> list[tuple[int, str]]:
    found = []
    for number in numbers:
        world, small = world_of(0, number)
        if ("weight 0" in world.tags()) == with_zero_weights:
            result = compare(world, twin=small)
            if result is not None and result.differs:
                found.append((number, result.what))
    return found


@pytest.mark.parametrize("part", range(4))
def test_worlds_of_every_kind(part: int) -> None:
    assert mismatches(range(120 + 30 * part, 150 + 30 * part), with_zero_weights=False) == []


def test_examples_of_weight_0_are_left_out() -> None:
    assert mismatches(range(150), with_zero_weights=True) == []


@pytest.mark.parametrize("fit", [None, ("RuleListClassifier", {"measure": "f1", "teacher": None})])
def test_the_program_of_a_mismatch_runs_alone(tmp_path, fit) -> None:
    """Here the engines agree, so the program says so and exits 0."""
    nan = float("nan")
    world = World(
        [[0.0, 1.0], [nan, 0.0], [2.0, 1.0]], [[1, 0], [0, 1], [1, 1]], [("numeric", 0), ("nominal", 2)], [1, 2, 1],
        {"measure": "f1"}, {"beam_width": 2}, {"sorted_rows": 1},
        [("grow", None, (0.01, True)), ("single", None, (None, False))],
        fit=fit,
    )  # fmt: skip
    path = tmp_path / "mismatch.py"
    path.write_text(program(world, Result(step=0, what="grow")), encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()[-1]) == (0, "agree"), done.stderr


def test_shrinking_keeps_what_matters() -> None:
    world, _ = world_of(0, 7)
    rows = len(world.X)
    small = shrink(world, lambda candidate: len(candidate.X) >= 2, seconds=5)
    assert rows > 2
    assert len(small.X) == 2
    assert not small.steps
    assert not small.limits


def test_a_tally_goes_on_where_it_ended(tmp_path) -> None:
    one = Tally("core", 3, worlds=100, of_reference=40, cpu_minutes=0.5)
    one.rules["grow (native)"] = 240
    one.save(tmp_path)
    again = kept(tmp_path, "core", 3)
    assert again == one
    again.add(Tally("core", 3, worlds=100, of_reference=2, rules=one.rules.copy()))
    assert (again.worlds, again.of_reference, again.rules.total()) == (200, 42, 480)
    assert kept(tmp_path, "another core", 3).worlds == 0


def test_rules_differ_only_in_limits_that_are_tried_beside_others() -> None:
    """A set of limits that differs is found among the others, and the shrunk world has it alone."""
    world = next(w for w, small in (world_of(0, n) for n in range(1, 60)) if not small and w.fit is None and w.steps)
    odd = world.more[2] | {"sorted_rows": 7}
    world = World(**vars(world) | {"more": [*world.more[:2], odd]})
    small = shrink(world, lambda candidate: odd in (candidate.limits, *candidate.more), seconds=5)
    assert small.limits == odd
    assert not small.more
