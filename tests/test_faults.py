"""What goes wrong around a program: kills, full disks, lost permissions, clocks that jump, two writers, links."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import polyrule
from polyrule.errors import PolyruleError
from polyrule.evaluation.experiment import RowStore, StoreError
from polyrule.model import Literal, Rule, RuleList
from polyrule.utils.atomic import atomic_write

MODEL = RuleList((Rule((Literal(0, 1, 3, 1),)),), (), ("red",))
ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def start_writer(target):
    """A process that has begun to write and waits to be killed."""
    program = f"""
        import sys, time
        from polyrule.utils.atomic import atomic_write
        with atomic_write({str(target)!r}) as stream:
            stream.write("half")
            stream.flush()
            print("ready", flush=True)
            time.sleep(60)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    return process


def age(folder, seconds):
    for path in folder.glob(".*.part"):
        then = time.time() - seconds
        os.utime(path, (then, then))


@pytest.mark.parametrize("seconds", [3600, -3600], ids=["clock went on", "clock went back"])
def test_a_killed_writer_leaves_the_old_file_and_the_next_one_cleans_up(tmp_path, seconds):
    target = tmp_path / "model.json"
    MODEL.save(target)
    before = target.read_text()
    process = start_writer(target)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert target.read_text() == before
    assert len(names(tmp_path)) == 2
    age(tmp_path, seconds)
    MODEL.save(target)
    assert names(tmp_path) == ["model.json"]


def test_a_living_writer_s_file_is_not_taken_for_litter(tmp_path):
    target = tmp_path / "model.json"
    process = start_writer(target)
    try:
        age(tmp_path, 3600)
        MODEL.save(target)
        assert len(names(tmp_path)) == 2
    finally:
        process.kill()
        process.communicate()


def test_files_of_others_are_left_alone(tmp_path):
    for name in (".model.json.part", ".model.json.a.b.part", ".other.json.abc.part", "model.json.part"):
        (tmp_path / name).write_text("mine")
    (tmp_path / ".model.json.aaaaaaaa.part").symlink_to(tmp_path / "model.json.part")
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    MODEL.save(tmp_path / "model.json")
    assert len(names(tmp_path)) == 6


def test_two_writers_at_once_leave_one_whole_file(tmp_path):
    target = tmp_path / "model.json"
    models = [RuleList((), (), tuple(f"label {j}" for j in range(200 + k))) for k in range(4)]
    threads = [threading.Thread(target=lambda m=m: [m.save(target) for _ in range(5)]) for m in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(polyrule.load(target).label_names) in range(200, 204)
    assert names(tmp_path) == ["model.json"]


def test_a_full_disk(tmp_path):
    """/dev/full takes nothing; a real file system that is full fails the same call."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with pytest.raises(OSError, match="No space left"):
        MODEL.save("/dev/full")
    store = RowStore(tmp_path)
    (store.row_directory / "a.json").symlink_to("/dev/full")
    with pytest.raises(StoreError, match="No space left"):
        store.add("a", {"x": 1})


def test_a_disk_that_fills_up_while_writing(tmp_path, monkeypatch):
    target = tmp_path / "model.json"
    MODEL.save(target)
    before = target.read_text()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polyrule.utils.atomic.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        RuleList((), (), ("other",)).save(target)
    assert target.read_text() == before
    assert names(tmp_path) == ["model.json"]


def test_a_folder_that_may_not_be_written(tmp_path):
    """Root may write where others may not, but not even root may write into a folder of the kernel's."""
    folder = Path("/proc/self") if ROOT else tmp_path
    if not ROOT:
        tmp_path.chmod(0o500)
    try:
        with pytest.raises(OSError, match=r"denied|No such file|not permitted"):
            MODEL.save(folder / "model.json")
        with pytest.raises(StoreError, match="cannot create"):
            RowStore(folder / "store")
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match="cannot create"):
        RowStore(tmp_path / "store")
    with pytest.raises(OSError, match="is no folder"):
        MODEL.save(tmp_path / "store" / "model.json")


def test_a_store_whose_lock_cannot_be_opened(tmp_path):
    store = RowStore(tmp_path)
    (tmp_path / "lock").mkdir()
    with pytest.raises(StoreError, match="lock"), store.locked():
        pass


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "model.json"
    MODEL.save(target)
    link = tmp_path / "model.json"
    link.symlink_to(target)
    RuleList((), (), ("other",)).save(link)
    assert link.is_symlink()
    assert polyrule.load(target).label_names == ("other",)
    assert names(target.parent) == ["model.json"]


def test_links_that_lead_nowhere_or_round_and_round(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for path in (tmp_path / "a", tmp_path / "no" / "such"):
        with pytest.raises(PolyruleError):
            polyrule.data.read(path)
    with pytest.raises(OSError, match="symbolic link"):
        polyrule.load(tmp_path / "a")


def test_names_that_differ_only_in_capitals_keep_their_rows_apart(tmp_path):
    """On a file system that does not tell capitals apart, two runs may not share one file."""
    from polyrule.evaluation.experiment.one_run import plan_runs
    from polyrule.evaluation.experiment.spec import load_spec

    text = """
name = "capitals"
[[data]]
name = "emotions"
[[learner]]
name = "Tree"
class = "sklearn.tree.DecisionTreeClassifier"
[[learner]]
name = "tree"
class = "sklearn.tree.DecisionTreeClassifier"
"""
    path = tmp_path / "spec.toml"
    path.write_text(text)
    keys = [run.key.lower() for run in plan_runs(load_spec(path))]
    assert len(set(keys)) == len(keys)


def test_a_writer_interrupted_by_an_error_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), atomic_write(tmp_path / "x") as stream:
        stream.write(str(1 / 0))
    assert names(tmp_path) == []
