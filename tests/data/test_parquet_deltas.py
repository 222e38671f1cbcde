"""Texts that Parquet stores as differences or lengths: read like all others, and no larger than allowed."""

import contextlib
import io
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyrule.data import read
from polyrule.data.formats.parquet_pages import (
    DELTA_BYTE_ARRAY,
    BrokenHeader,
    Compact,
    _sum_of_lengths,
    chunks,
    pages,
    unpacked_texts,
)
from polyrule.errors import DataError, LimitError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(values, kind, encoding="DELTA_BYTE_ARRAY", **options):
    place = "a.list.element" if pa.types.is_list(kind) else "a"
    table = pa.table({"a": pa.array(values, kind), "n": range(len(values))})
    for name in (place, place.replace("element", "item")):  # as later and earlier versions of Arrow call it
        file = io.BytesIO()
        pq.write_table(table, file, use_dictionary=False, column_encoding={name: encoding}, **options)
        if encoding in str(pq.ParquetFile(file).metadata.row_group(0).column(0).encodings):
            break
    return file.getvalue()


def texts(count, seed):
    rng = random.Random(seed)
    some = ["".join(rng.choices("ab\u00e9", k=rng.choice((0, 1, 5, 300)))) for _ in range(50)]
    return [rng.choice((None, *some)) for _ in range(count)]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("in_lists", [False, True])
def test_what_the_texts_become_is_known_before(codec, version, in_lists):
    values = texts(1500, seed=codec + version)
    kind = pa.list_(pa.string()) if in_lists else pa.string()
    column = [None if text is None else [text, "and"] for text in values] if in_lists else values
    raw = written(column, kind, compression=codec, data_page_version=version, data_page_size=2000)
    metadata = pq.ParquetFile(io.BytesIO(raw)).metadata
    chunk, leaf = chunks(io.BytesIO(raw), metadata.num_columns)[0], metadata.schema.column(0)
    found = list(pages(io.BytesIO(raw), chunk.start, chunk.packed))
    assert len(found) > 1
    assert {page.encoding for page in found} == {DELTA_BYTE_ARRAY}
    size = sum(unpacked_texts(page, raw[page.start : page.start + page.packed], leaf, chunk.codec) for page in found)
    assert size == sum(len(text.encode()) + 3 * in_lists for text in values if text is not None)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_read_as_any_other_text(encoding, kind):
    values = texts(700, seed=3)
    data = read(io.BytesIO(written(values, kind, encoding)), format="parquet", labels=None)
    plain = read(io.BytesIO(written(values, kind, "PLAIN")), format="parquet", labels=None)
    assert data.features == plain.features
    assert np.array_equal(data.X.column(0), plain.X.column(0), equal_nan=True)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_tags_read_as_any_others(encoding):
    values = [["red", "reddish"], [], None, ["blue"]] * 5
    data = read(io.BytesIO(written(values, pa.list_(pa.string()), encoding)), format="parquet", tags="a")
    assert data.label_names == ("blue", "red", "reddish")
    assert data.Y.sum(axis=0).tolist() == [5, 5, 5]


def test_a_few_bytes_that_become_many():
    options = {"compression": "zstd", "write_statistics": False, "data_page_size": 1 << 30}
    raw = written(["x" * 500_000] * 50, pa.string(), **options)
    assert len(raw) < 5_000
    with pytest.raises(LimitError, match=r"unpacked content of 25000000 bytes .* max_bytes"):
        read(io.BytesIO(raw), format="parquet", labels=None, max_bytes=5_000_000)
    assert len(read(io.BytesIO(raw), format="parquet", labels=None)) == 50
    raw = written(["x" * 2_000_000], pa.string(), **options)
    with pytest.raises(DataError, match="column 'a' holds a text of 2000000 bytes"):
        read(io.BytesIO(raw), format="parquet", labels=None)


@given(st.binary(max_size=80), st.integers(0, 10_000))
def test_no_bytes_break_the_reader_of_lengths(raw, most):
    with contextlib.suppress(BrokenHeader):
        reader = Compact(raw)
        assert _sum_of_lengths(reader, most) >= 0
        assert 0 <= reader.at <= len(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x80\x01\x04\x05\x09",  # -5 is no length
        b"\x80\x01\x04\xff\xff\xff\xff\x7f\x00",  # more lengths than there are texts
        b"\x80\x01\x00\x05\x02",
        b"\x80\x01\x03\x05\x02",
        b"\x80\x01\x04\x05\x02\x00\x40\x00\x00\x00",  # 64 bits each
        b"\x80\x01\x04\x05\x02\x00\x08\x00\x00\x00abc",
        b"\x80\x01\x04\x05\x02\x09\x00\x00\x00\x00",  # falls below 0
    ],
)
def test_lengths_that_cannot_be(raw):
    with pytest.raises(BrokenHeader):
        _sum_of_lengths(Compact(raw), 100)
