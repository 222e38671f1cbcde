"""Small files that once ran up large bills: each is read, or refused, in time and memory that fit its size."""

import bz2
import contextlib
import functools
import gzip
import io
import lzma
import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import polyrule
from polyrule.data import read, read_chunks
from polyrule.data.formats.parquet_pages import BrokenHeader, chunks, pages
from polyrule.errors import DataError, LimitError, OptionError


def arff(attribute: bytes, data: bytes = b"") -> bytes:
    return b"@relation r\n@attribute a " + attribute + b"\n@data\n" + data


MANY = 60_000
REFUSED = {
    "libsvm index": (b"1 4999999:1", "libsvm", "4999999 features .* more than the 262144 .* file of 11 bytes"),
    "xc labels": (b"1 5 999999\n0 0:1\n", "libsvm", "999999 labels .* are more than"),
    "json keys": (b"".join(b'{"k%d": 1}\n' % j for j in range(10_000)), "jsonl", "a table of 100000000 cells"),
    "arff duplicate": (
        arff(b"{" + b",".join(b"v%d" % j for j in range(MANY)) + b",v%d}" % (MANY - 1)),
        "arff",
        "twice",
    ),
    "arff don't": (arff(b"{b}", b"don't " * MANY + b"%\n"), "arff", "is not one of the declared values"),
    "csv unclosed": (b'a,b\n1,2\n1,"' + b"x,y\n" * (1 << 20), "csv", "line 3: a quote is opened but not closed within"),
    "csv long cell": (b'a,b\n1,"' + b"x" * 200_000 + b'"\n', "csv", "line 2: a cell is longer than 131072 characters"),
    "relation": (b"@relation 'x: -C " + b"1" * 5000 + b"'\n@attribute a numeric\n@data\n", "arff", "-C 1111111111"),
}
READ = {
    "arff quoted": arff(b"{" + b",".join(b"'v%d'" % j for j in range(MANY)) + b"}", b"'v1'\n"),
    "arff escapes": arff(b"{'" + b"\\'" * (4 * MANY) + b"'}"),
    "csv over many lines": b'a,b\n"' + b"x\n" * 60_000 + b'",2\n' * 1,
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_once(case):
    raw, format, message = REFUSED[case]
    with pytest.raises(DataError, match=message), polyrule.limits(seconds=20):
        read(
            io.BytesIO(raw), format=format, labels="auto" if format in ("arff", "libsvm") and "-C" in message else None
        )


@pytest.mark.parametrize("case", READ)
def test_read_in_linear_time(case):
    with polyrule.limits(seconds=20):
        assert len(read(io.BytesIO(READ[case]), labels=None).features) >= 1


def test_rows_of_quoted_cells_over_many_blocks(monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.BLOCK_BYTES", 50)
    raw = b"a,b\n" + b"".join(b'"line %d\nand, ""more""",%d\n' % (j, j) for j in range(40))
    data = read(io.BytesIO(raw), labels=None, identifier="a")
    assert data.row_ids[7] == 'line 7\nand, "more"'
    assert data.X.column(0).tolist() == list(range(40))


def test_a_long_dictionary_text_in_parquet(tmp_path):
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 40, pa.int32()), pa.array(["x" * 5_000_000]))
    pq.write_table(
        pa.table({"t": text, "L": [0, 1] * 20}),
        tmp_path / "x.parquet",
        compression="zstd",
        dictionary_pagesize_limit=1 << 30,
        store_schema=False,
        write_statistics=False,
    )
    assert os.path.getsize(tmp_path / "x.parquet") < 5_000
    with pytest.raises(DataError, match="column 't' holds a text of 5000000 bytes"):
        read(tmp_path / "x.parquet", labels=["L"])
    with pytest.raises(LimitError, match=r"unpacked content of .* max_bytes"):
        read(tmp_path / "x.parquet", labels=["L"], max_bytes=1_000_000)


def test_constant_rows_in_parquet(tmp_path):
    with pq.ParquetWriter(tmp_path / "x.parquet", pa.schema([("a", pa.int8())]), compression="zstd") as writer:
        table = pa.table({"a": pa.array(np.zeros(5_000_000, np.int8))})
        for _ in range(5):
            writer.write_table(table)
    with pytest.raises(LimitError, match="a table of 25000000 cells"):
        read(tmp_path / "x.parquet", labels=None)


def varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_pages_that_ask_for_more_than_the_footer_says(tmp_path, version):
    table = pa.table({"a": pa.array(np.arange(1000.0))})
    options = {"compression": "zstd", "use_dictionary": False, "data_page_version": version}
    pq.write_table(table, tmp_path / "x.parquet", **options)
    raw = (tmp_path / "x.parquet").read_bytes()
    assert len(read(tmp_path / "x.parquet", labels=None)) == 1000
    chunk = pq.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0).column(0)
    start, stop = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
    honest = next(pages(io.BytesIO(raw), start, stop - start))
    assert honest.values == 1000
    assert 8000 <= honest.unpacked <= 8200
    stated = varint(2 * honest.unpacked)  # signed numbers are doubled
    grown = varint(2 * 2_000_000_000)
    at = raw.index(stated, start)
    changed = raw[:at] + grown + raw[at + len(stated) :]
    shift = len(grown) - len(stated)
    footer = changed[stop + shift :]
    claim = varint(2 * chunk.total_compressed_size)
    assert footer.count(claim) >= 2  # of the column and of its group of rows
    changed = changed[: stop + shift] + footer.replace(claim, varint(2 * (chunk.total_compressed_size + shift)))
    (tmp_path / "y.parquet").write_bytes(changed)
    with pytest.raises(LimitError, match="unpacked content of 2000000000 bytes"):
        read(tmp_path / "y.parquet", labels=None, max_bytes=1_000_000)
    with pytest.raises(LimitError, match="unpacked content of 2000000000 bytes"):
        read(io.BytesIO(changed), labels=None, format="parquet", max_bytes=1_000_000)


@pytest.mark.parametrize("make", [pa.list_, pa.large_list])
def test_a_long_text_in_many_lists_in_parquet(tmp_path, make):
    lists = pa.array([["x" * 500_000, "y"], [], None] * 400, make(pa.string()))
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, "write_statistics": False}
    pq.write_table(pa.table({"t": lists, "n": list(range(1200))}), tmp_path / "x.parquet", **options)
    data = read(tmp_path / "x.parquet", tags="t")  # one text, not 400 of them
    assert sorted(map(len, data.label_names)) == [1, 500_000]
    assert data.Y.sum(axis=0).tolist() == [400, 400]


def test_pages_of_all_kinds_add_up(tmp_path):
    table = pa.table({"a": ["x", "y", None] * 500, "t": [["u"], [], None] * 500, "n": [1.5, None, 2] * 500})
    for options in ({}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"data_page_size": 100}):
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=400, **options)
        metadata = pq.ParquetFile(tmp_path / "x.parquet").metadata
        with open(tmp_path / "x.parquet", "rb") as file:
            told = iter(chunks(file, metadata.num_columns))
            for group in range(metadata.num_row_groups):
                for j in range(metadata.num_columns):
                    chunk = metadata.row_group(group).column(j)
                    start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
                    sizes = chunk.num_values, chunk.total_uncompressed_size, chunk.total_compressed_size
                    here = next(told)  # as we read the footer, and as Arrow does
                    assert (here.column, here.values, here.unpacked, here.packed, here.start) == (j, *sizes, start)
                    found = list(pages(file, start, chunk.total_compressed_size))
                    assert sum(page.values for page in found) == chunk.num_values
                    assert sum(page.unpacked for page in found) <= chunk.total_uncompressed_size


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader_of_page_headers(raw):
    with contextlib.suppress(BrokenHeader):
        for _ in pages(io.BytesIO(raw), 0, len(raw)):
            pass


def test_invalid_text_in_parquet(tmp_path):
    pq.write_table(pa.table({"name": ["caf\u00e9"], "L": [1]}), tmp_path / "x.parquet", compression="none")
    raw = (tmp_path / "x.parquet").read_bytes()
    for good, bad in ((b"caf\xc3\xa9", b"caf\xff\xff"), (b"name", b"\xff\xfeme")):
        (tmp_path / "y.parquet").write_bytes(raw.replace(good, bad))
        with pytest.raises(DataError, match=r"y\.parquet"):
            read(tmp_path / "y.parquet", labels=["L"])


@pytest.mark.parametrize("encoding", ["hex", "zlib", "rot13", "no such", "a\x00b"])
def test_encodings_that_are_none(encoding):
    with pytest.raises(DataError, match="unknown text encoding"):
        read(io.BytesIO(b"a,b\n1,2\n"), labels=None, encoding=encoding)


@pytest.mark.parametrize("raw", [b"name,n\nx\xe9,1\ny,2\nZ\xc3", b"n,name\n1,caf\xe9", b"n,\xe9t\xe9\n1,2\n"])
def test_windows_1252_to_the_last_byte(raw):
    raw = raw + b",3\n" if raw.endswith(b"\xc3") else raw
    assert len(read(io.BytesIO(raw), labels=None))


def test_the_last_byte_of_windows_1252_may_look_like_utf8(monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.BLOCK_BYTES", 8)
    data = read(io.BytesIO(b"n,name\n1,abc\n2,caf\xe9"), labels=None)
    assert data.features[1].categories == ("abc", "caf\u00e9")


def test_quoted_names_keep_their_spaces():
    data = read(io.BytesIO(b'" a ", b ,"c, ""d"" "\n1,2,3\n'), labels=None)
    assert data.feature_names == (" a ", "b", 'c, "d" ')


ROWS = 10_000
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}


@functools.cache
def expanding() -> dict[str, tuple[bytes, dict[str, Any]]]:
    """Contents of many cells that compress to almost nothing, and how they are read."""
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": np.ones(4 * ROWS), "y": np.zeros(4 * ROWS)}), stream, use_dictionary=False)
    no_labels = {"labels": None}
    return {
        "csv": (b"a,y\n" + b"1,0\n" * ROWS, no_labels),
        "arff": (arff(b"numeric\n@attribute y numeric", b"1,0\n" * ROWS), no_labels),
        "jsonl": (b'{"a": 1, "b": 2, "c": 3, "d": 4}\n' + b"{}\n" * ROWS, no_labels),
        "libsvm": (b"1 1:1\n" * ROWS, {"format": "libsvm"}),
        "parquet": (stream.getvalue(), no_labels),
        "identifiers": (b"a,y\n" + b"1,0\n" * ROWS, {"labels": None, "identifier": "a", "drop": ["y"]}),
        "tags": (b"a,t\n" + b"1,u|v|w|x|y|z\n" * (ROWS // 5), {"tags": "t", "drop": ["a"]}),
        "dates": (b"on\n" + b"2021-03-05\n" * (ROWS // 2), no_labels),
    }


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("case", expanding())
def test_a_compressed_file_may_become_64_cells_for_each_of_its_own_bytes(case, packer, monkeypatch):
    raw, options = expanding()[case]
    monkeypatch.setattr("polyrule.utils.budget.DEFAULT_CELLS", 1000)
    packed = PACKERS[packer](raw)
    with pytest.raises(LimitError, match=f"for a file of {len(packed)} bytes"):
        read(io.BytesIO(packed), **options)


@pytest.mark.parametrize("case", expanding())
def test_a_file_that_spells_its_cells_out_may_have_as_many(case, monkeypatch):
    raw, options = expanding()[case]
    monkeypatch.setattr("polyrule.utils.budget.DEFAULT_CELLS", 1000)
    assert len(read(io.BytesIO(raw), **options)) > 0


def test_a_label_matrix_that_the_rows_do_not_spell_out():
    labels = b"".join(b"@attribute y%d {0,1}\n" % j for j in range(300))
    raw = b"@relation r\n@attribute a numeric\n" + labels + b"@data\n" + b"{}\n" * 1000
    assert read(io.BytesIO(raw), labels="last:300").Y.shape == (1000, 300)
    with pytest.raises(LimitError, match="a label matrix of 300000 bytes"):
        read(io.BytesIO(raw), labels="last:300", max_bytes=50_000)


def test_limits_hold_for_everything_inside():
    raw = b"a,b\n" + b"1,2\n" * 100
    assert len(read(io.BytesIO(raw), labels=None)) == 100
    with polyrule.limits(max_bytes=100), pytest.raises(LimitError, match="404 bytes"):
        read(io.BytesIO(raw), labels=None)
    with polyrule.limits(max_cells=199), pytest.raises(LimitError, match="200 cells"):
        read(io.BytesIO(raw), labels=None)
    with polyrule.limits(seconds=0), pytest.raises(LimitError, match="within the 0 seconds"):
        read(io.BytesIO(raw), labels=None)
    with polyrule.limits(max_cells=10):
        assert sum(len(part) for part in read_chunks(io.BytesIO(b"a,b\n1,2\n3,4\n"), labels=None, rows=1)) == 2


def test_the_tighter_of_two_limits_holds():
    with polyrule.limits(max_cells=3), polyrule.limits(max_cells=100), pytest.raises(LimitError, match="the 3 that"):
        read(io.BytesIO(b"a,b\n1,2\n3,4\n"), labels=None)


@pytest.mark.parametrize("limits", [{"max_bytes": -1}, {"seconds": float("nan")}, {"max_cells": "many"}])
def test_limits_that_are_none(limits):
    with pytest.raises(OptionError, match="must be a number of at least 0"), polyrule.limits(**limits):
        pass


def test_a_plain_file_may_be_larger_than_the_default():
    """The default only limits what a file expands to: content that is there in full is read."""
    raw = b"a\n" + b"1\n" * 300_000
    assert len(read(io.BytesIO(raw), labels=None)) == 300_000
