import bz2
import gzip
import io
import lzma
import subprocess
import sys

import pytest
import zstandard

from polyrule.data import read
from polyrule.data.sources import Source, line_blocks
from polyrule.errors import DataError

TEXT = b"a,L\n1,0\n2,1\n"
PACKERS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("packer", PACKERS)
def test_compression_is_found_by_content(packer, tmp_path):
    path = tmp_path / "misnamed.csv"
    path.write_bytes(PACKERS[packer](TEXT))
    for origin in (path, str(path), io.BytesIO(PACKERS[packer](TEXT))):
        assert read(origin, labels="L").X.values.ravel().tolist() == [1, 2]


@pytest.mark.parametrize("packer", [name for name in PACKERS if name != "plain"])
def test_damage_is_reported_not_raised_from_the_depths(packer):
    packed = PACKERS[packer](b"a,L\n" + b"1,0\n" * 5000 + bytes(range(48, 58)) * 50)
    for cut in (8, len(packed) // 2, len(packed) - 3):
        with pytest.raises(DataError, match=r"damaged or cut off|is empty"):
            read(io.BytesIO(packed[:cut]), labels="L")


@pytest.mark.parametrize("packer", [name for name in PACKERS if name != "plain"])
def test_a_bomb_stops_at_the_limit(packer):
    bomb = PACKERS[packer](b"a,L\n" + b"1,0\n" * 40_000)
    with pytest.raises(DataError, match="expands to more than 100000 bytes; pass a larger max_bytes"):
        read(io.BytesIO(bomb), labels="L", max_bytes=100_000)
    assert len(read(io.BytesIO(bomb), labels="L", max_bytes=10_000_000)) == 40_000


def test_a_bomb_of_one_endless_line_stops_at_the_longest_line(monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.LONGEST_LINE", 1 << 20)
    bomb = gzip.compress(b"0" * (1 << 25))
    with pytest.raises(DataError, match="line 1: the line is longer than 1 MiB"):
        read(io.BytesIO(bomb), labels=None, format="csv")


def test_missing_files_and_directories(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv: no such file"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match=rf"^{tmp_path}: is a directory, expected a file$"):
        read(tmp_path)


def test_standard_input():
    code = "import polyrule.data as d; print(d.read('-', labels='L').X.values.ravel().tolist())"
    done = subprocess.run([sys.executable, "-c", code], input=gzip.compress(TEXT), capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[1.0, 2.0]"


def test_text_streams_are_refused():
    with pytest.raises(DataError, match="binary mode"):
        read(io.StringIO("a\n1\n"))


def test_zstandard_without_its_package(monkeypatch):
    packed = io.BytesIO(zstandard.compress(TEXT))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"pip install polyrule\[files\]"):
        read(packed, labels="L")


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_whatever_the_encoding_the_ends_and_the_block_size(block, encoding, end):
    lines = ["größe,L", "", "1,0", "é€é,1", "last"]
    raw = end.join(lines).encode(encoding)
    found, number = [], 1
    for part in line_blocks(Source(io.BytesIO(raw)), block):
        assert part.first == number
        found += part.lines()
        number += len(part.lines())
    assert found == lines


def test_text_that_is_neither_utf8_nor_windows():
    raw = "größe,L\n".encode() + b"\xff\xfe1,0\n"
    with pytest.raises(DataError, match="neither UTF-8 nor one other encoding throughout; pass encoding="):
        list(line_blocks(Source(io.BytesIO(raw)), 9))
    with pytest.raises(DataError, match="not valid utf-8"):
        read(io.BytesIO(b"gr\xf6\xdfe\n1\n"), labels=None, encoding="utf-8")
    with pytest.raises(DataError, match="unknown text encoding 'klingon'"):
        read(io.BytesIO(b"a\n1\n"), labels=None, encoding="klingon")
    assert read(io.BytesIO("größe\n1\n".encode("cp437")), labels=None, encoding="cp437").feature_names == ("größe",)
