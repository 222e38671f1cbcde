"""Downloads against a server on this machine that can break off, change its files, or refuse."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest

from polyrule import datasets
from polyrule.datasets import remote
from polyrule.datasets.registry import ENTRIES, entry
from polyrule.datasets.remote import Unreachable, fetch
from polyrule.errors import DataError, OutputError
from polyrule.utils.atomic import try_lock

HEADER = "@relation f\n@attribute a numeric\n@attribute red {0,1}\n@data\n"
FILES = {
    "/flags/flags-train.arff": (HEADER + "1,0\n2,1\n").encode(),
    "/flags/flags-test.arff": (HEADER + "3,1\n").encode(),
    "/flags/flags.xml": b'<labels><label name="red"/></labels>',
    "/big": bytes(range(256)) * 4000,
}


class Server(ThreadingHTTPServer):
    """Serves FILES; `cut` makes it break off once after so many bytes, `etag` names the version of its files."""

    daemon_threads = True
    files, cut, etag, length, ranges = FILES, None, '"v1"', True, True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        content = server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = 0
        wanted = self.headers.get("Range")
        if wanted and server.ranges and self.headers.get("If-Range") == server.etag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("ETag", server.etag)
        if server.length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        cut, server.cut = server.cut, None
        self.wfile.write(content[start : start + cut] if cut else content[start:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No data on this machine, no waiting, no outside sites."""
    monkeypatch.setenv("POLYRULE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POLYRULE_DATA", raising=False)
    monkeypatch.setattr("polyrule.datasets.loading.CHECKOUT_DATA", None)
    monkeypatch.setattr(remote, "SITES", ())
    monkeypatch.setattr(remote, "PAUSE", 0.0)


def leftovers(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_whole_file_arrives_and_nothing_else_stays(server, tmp_path):
    seen = []
    fetch(server.url + "/big", tmp_path / "big", lambda have, total: seen.append((have, total)))
    assert (tmp_path / "big").read_bytes() == FILES["/big"]
    assert seen[-1] == (len(FILES["/big"]), len(FILES["/big"]))
    assert leftovers(tmp_path) == ["big"]


def test_a_broken_download_goes_on_where_it_stopped(server, tmp_path):
    server.cut = 300_000
    fetch(server.url + "/big", tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == FILES["/big"]
    assert server.requests == [("/big", None), ("/big", "bytes=300000-")]
    assert leftovers(tmp_path) == ["big"]


def test_a_download_that_was_whole_but_never_renamed_begins_anew(server, tmp_path):
    (tmp_path / "big.part").write_bytes(FILES["/big"])
    (tmp_path / "big.part.json").write_text('"\\"v1\\""')
    fetch(server.url + "/big", tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == FILES["/big"]
    assert server.requests == [("/big", f"bytes={len(FILES['/big'])}-"), ("/big", None)]
    assert leftovers(tmp_path) == ["big"]


def test_a_download_is_resumed_by_a_later_run(server, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "ATTEMPTS", 1)
    server.cut = 300_000
    with pytest.raises(Unreachable, match="cannot be reached"):
        fetch(server.url + "/big", tmp_path / "big")
    assert not (tmp_path / "big").exists()
    assert "big.part" in leftovers(tmp_path)
    fetch(server.url + "/big", tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == FILES["/big"]
    assert server.requests[-1] == ("/big", "bytes=300000-")


@pytest.mark.parametrize("change", ["etag", "ranges"])
def test_a_file_that_changed_meanwhile_is_fetched_anew(server, tmp_path, monkeypatch, change):
    monkeypatch.setattr(remote, "ATTEMPTS", 1)
    server.cut = 1000
    with pytest.raises(Unreachable):
        fetch(server.url + "/big", tmp_path / "big")
    if change == "etag":
        server.etag, server.files = '"v2"', {"/big": b"new" * 500_000}
    else:
        server.ranges = False
    fetch(server.url + "/big", tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == server.files["/big"]


def test_limits_missing_files_and_foreign_schemes(server, tmp_path):
    with pytest.raises(DataError, match="more than the 1000 that are accepted"):
        fetch(server.url + "/big", tmp_path / "big", largest=1000)
    server.length = False
    with pytest.raises(DataError, match="more than 1000 bytes were sent"):
        fetch(server.url + "/big", tmp_path / "big", largest=1000)
    with pytest.raises(Unreachable, match="the server answered 404"):
        fetch(server.url + "/nothing", tmp_path / "x")
    with pytest.raises(DataError, match="only http and https"):
        fetch("file:///etc/passwd", tmp_path / "x")
    assert not (tmp_path / "big").exists()


def test_another_process_at_work_is_not_disturbed(server, tmp_path):
    (tmp_path / "big.part").write_bytes(b"theirs")
    with (tmp_path / "big.lock").open("a") as lock:
        assert try_lock(lock)
        fetch(server.url + "/big", tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == FILES["/big"]
    assert (tmp_path / "big.part").read_bytes() == b"theirs"
    assert leftovers(tmp_path) == ["big", "big.lock", "big.part"]


def test_a_lock_that_a_killed_process_left_does_not_hold(server, tmp_path):
    (tmp_path / "big.lock").touch()
    fetch(server.url + "/big", tmp_path / "big")
    assert leftovers(tmp_path) == ["big"]


def test_load_downloads_once_and_checks(server, monkeypatch):
    monkeypatch.setenv("POLYRULE_MIRROR", server.url)
    with pytest.raises(DataError, match="the downloaded train part is not the benchmark's"):
        datasets.load("flags")
    assert leftovers(remote.cache_folder()) == []
    monkeypatch.setattr(
        remote, "checksum", lambda data: ENTRIES["flags"].checksums["train" if len(data) == 2 else "test"]
    )
    data = datasets.load("flags")
    assert data.X.values.ravel().tolist() == [1, 2, 3]
    count = len(server.requests)
    assert datasets.load("flags", "test").X.values.ravel().tolist() == [3]
    assert len(server.requests) == count


def test_the_next_site_is_tried(server, monkeypatch):
    monkeypatch.setattr(remote, "SITES", (server.url + "/gone/{file}", server.url + "/{name}/{file}"))
    assert sorted(path.name for path in remote.download(entry("flags")).iterdir()) == [
        "flags-test.arff", "flags-train.arff", "flags.xml",
    ]  # fmt: skip


def test_offline(monkeypatch):
    monkeypatch.setenv("POLYRULE_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"'flags' is not on this machine and could not be downloaded; put its files"):
        datasets.load("flags")
    with pytest.raises(DataError, match="is not on this machine, and download is off"):
        datasets.load("flags", download=False)


def test_a_cache_that_cannot_be_written_is_told(server, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYRULE_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("POLYRULE_MIRROR", server.url)
    with pytest.raises(OutputError, match="flags: cannot be written"):
        datasets.load("flags")


def test_openml_for_the_whole_set(monkeypatch):
    monkeypatch.setenv("POLYRULE_MIRROR", "http://127.0.0.1:9")
    known = entry("yeast")
    random = np.random.default_rng(0)
    found = {
        "data": pd.DataFrame(random.random((known.examples, known.features))).add_prefix("Att"),
        "target": pd.DataFrame(random.choice(["TRUE", "FALSE"], (known.examples, known.labels))).add_prefix("Class"),
    }
    asked = []

    def fetch_openml(**options):
        asked.append(options["data_id"])
        return type("Bunch", (), found)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    data = datasets.load("yeast")
    assert asked == [40597]
    assert data.Y.shape == (known.examples, known.labels)
    np.testing.assert_array_equal(data.Y, (found["target"] == "TRUE").to_numpy().astype(np.uint8))
    with pytest.raises(DataError, match="could not be downloaded"):
        datasets.load("yeast", "train")  # OpenML has no split
    found["data"] = found["data"].iloc[:, :5]
    with pytest.raises(DataError, match="has 2417 examples, 5 features and 14 labels, but yeast has 2417, 103 and 14"):
        datasets.load("yeast")


def test_openml_out_of_reach(monkeypatch):
    monkeypatch.setenv("POLYRULE_MIRROR", "http://127.0.0.1:9")

    def fetch_openml(**_):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.raises(DataError, match="OpenML data set 40597: no network"):
        datasets.load("yeast")


@pytest.mark.parametrize(("platform", "variable"), [("linux", "XDG_CACHE_HOME"), ("win32", "LOCALAPPDATA")])
def test_the_cache_is_where_the_system_keeps_caches(monkeypatch, tmp_path, platform, variable):
    monkeypatch.delenv("POLYRULE_CACHE")
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    assert remote.cache_folder() == tmp_path / "polyrule"
