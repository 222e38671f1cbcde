import json
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from polyrule.evaluation.confusion import count
from polyrule.evaluation.experiment import RowStore, StoreError


def test_rows_come_back_as_they_were(tmp_path):
    store = RowStore(tmp_path)
    store.add("b", {"x": 1.5, "name": "ünïcode"})
    store.add("a", {"x": None})
    assert store.keys() == {"a", "b"}
    assert store.rows() == [{"x": None}, {"name": "ünïcode", "x": 1.5}]
    store.add("a", {"x": 2})
    assert store.read("a") == {"x": 2}


def test_a_broken_row_is_named(tmp_path):
    store = RowStore(tmp_path)
    (store.row_directory / "bad.json").write_text('{"x": ')
    with pytest.raises(StoreError, match=r"bad\.json.*delete it to have it made again"):
        store.rows()
    (store.row_directory / "bad.json").write_text("[1]")
    with pytest.raises(StoreError, match="not a table"):
        store.rows()


def _counted():
    """The row of a run in whose test part one example has no known label, and another lacks one."""
    truth = np.array([[1, 0], [np.nan, np.nan], [0, np.nan]])
    return {"status": "ok", "counts": count(truth, [[1, 1], [1, 1], [0, 1]]).as_dict()}


def test_rows_with_unknown_labels_come_back(tmp_path):
    store = RowStore(tmp_path)
    store.add("a", _counted())
    assert store.read_run("a") == _counted()


@pytest.mark.parametrize(
    "change",
    [
        {"known": [2]},
        {"known": [3, 1]},  # of an example that is in no group
        {"known": [0, 1], "tp": [0, 0]},  # fewer than there are in groups
        {"known": "2, 1"},
        {"tp": [3, 0]},  # more than are known
        {"example_groups": []},
        {"example_groups": [[0, 0, 0, 4]]},
        {"examples": 1},
    ],
)
def test_counts_of_known_labels_that_do_not_fit_are_refused(tmp_path, change):
    row, store = _counted(), RowStore(tmp_path)
    row["counts"] |= change
    store.add("a", row)
    with pytest.raises(StoreError, match=r"a\.json holds counts that do not fit together"):
        store.read_run("a")


@pytest.mark.parametrize("name", ["fit_seconds", "fit_cpu_seconds", "label_conditions"])
def test_what_tables_calculate_with_is_a_number(tmp_path, name):
    store = RowStore(tmp_path)
    store.add("a", _counted() | {name: "long"})
    with pytest.raises(StoreError, match=rf"a\.json holds no number under '{name}'"):
        store.read_run("a")


def test_a_failed_write_leaves_the_old_row_and_no_litter(tmp_path):
    store = RowStore(tmp_path)
    store.add("a", {"x": 1})
    with pytest.raises(TypeError):
        store.add("a", {"x": object()})
    assert store.read("a") == {"x": 1}
    assert [path.name for path in store.row_directory.iterdir()] == ["a.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_made(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot create"):
        RowStore(tmp_path / "sub")


def test_a_path_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create"):
        RowStore(tmp_path / "file")


WRITER = textwrap.dedent(
    """
    import sys
    from polyrule.evaluation.experiment.store import RowStore
    store = RowStore(sys.argv[1])
    with store.locked():
        print("ready", flush=True)
        n = 0
        while True:
            store.add(f"row-{n % 50}", {"n": n, "filler": "x" * 20000})
            n += 1
    """
)


def test_one_process_holds_the_directory_and_leaves_whole_rows_only_when_killed_while_writing(tmp_path):
    for moment in (0.02, 0.15):
        process = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(moment)
        try:
            with (
                pytest.raises(StoreError, match=rf"another experiment is running .*process {process.pid}"),
                RowStore(tmp_path).locked(),
            ):
                pass
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        store = RowStore(tmp_path)
        for row in store.rows():
            assert len(row["filler"]) == 20000
        with store.locked():  # the dead process holds nothing, and its unfinished file is cleared away
            assert not list(store.row_directory.glob(".*"))
    assert store.rows()


def test_rows_are_plain_json(tmp_path):
    store = RowStore(tmp_path)
    store.add("a", {"b": 1, "a": 2})
    assert json.loads((store.row_directory / "a.json").read_text()) == {"a": 2, "b": 1}
