import os
import stat
import threading

import pytest

from polyrule.utils.atomic import atomic_write


def test_the_file_appears_only_when_everything_is_written(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as stream:
        stream.write("new")
        assert not path.exists()
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with atomic_write(path) as stream:
            stream.write("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_new_files_get_the_usual_permissions(tmp_path):
    with atomic_write(tmp_path / "file", "wb") as stream:
        stream.write(b"x")
    (tmp_path / "other").write_text("x")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_devices_and_pipes_are_written_to_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with atomic_write(pipe) as stream:
        stream.write("through")
    reader.join()
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
