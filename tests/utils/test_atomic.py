import os
import stat
import threading

import pytest

from polyrule.errors import OutputError
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


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("", "'': the name of the output is empty"),
        ("folder", r"folder: cannot be written \(it is a folder\)"),
        ("file/model.json", r"file/model.json: cannot be written \(.*file is no folder\)"),
        ("nowhere/model.json", r"nowhere/model.json: cannot be written \(there is no folder .*nowhere\)"),
        ("a" * 300, "aaa: cannot be written \\(File name too long"),
        ("a\0b", "cannot be written"),
    ],
)
def test_places_that_cannot_be_written_are_named_as_they_were_passed(tmp_path, place, message):
    """Some errors named the temporary file, others had no type of ours, and "" wrote into the folder above."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    path = str(tmp_path / place) if place else ""
    with pytest.raises(OutputError, match=message) as caught, atomic_write(path) as stream:
        stream.write("new")
    assert ".part" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "old"


def test_errors_of_other_files_pass(tmp_path):
    """What the caller reads while it writes is not the output."""
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "file"):
        (tmp_path / "elsewhere" / "input").read_text()
    assert os.listdir(tmp_path) == []


def test_a_link_is_followed_or_replaced(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    with atomic_write(tmp_path / "link") as stream:
        stream.write("followed")
    assert (tmp_path / "target").read_text() == "followed"
    with atomic_write(tmp_path / "link", follow_links=False) as stream:
        stream.write("replaced")
    assert (tmp_path / "target").read_text() == "followed"
    assert not (tmp_path / "link").is_symlink()
