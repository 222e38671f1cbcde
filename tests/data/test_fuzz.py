"""Whatever the bytes: a data set or one typed error, and nothing else."""

import contextlib
import gc
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyrule.data import Dataset, read, read_chunks
from polyrule.data.mulan import read_label_list
from polyrule.data.sources import Source
from polyrule.errors import DataError, PolyruleError

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ARFF = rb"""@relation 'songs: -C 2'
% a comment
@attribute calm {0,1}
@attribute 'don\'t' {1,0}
@attribute size numeric
@attribute hue {'dark red',"a,b",c}
@data
0,1,2.5,'dark red'
1,0,?,c % half
{0 1, 2 3e2, 3 "a,b"}, {0.5}
{}
"""
CSV = b'id,size,hue,L\n1,2.5,"a ""b"", c",1\n2,?,"two\nlines",0\n3,-1e3,x,1\n'
JSONL = b'{"a": 1, "b": "x", "t": ["u", "v"], "L": 1}\n{"a": null, "b": true, "L": 0}\n'
LIBSVM = b"1,3 1:0.5 4:2 # note\n3 2:1\n 1:7e-3\n2\n"
XC = b"2 5 3\n0,2 0:0.5 4:2\n1 2:1\n"
XML = b'<?xml version="1.0"?><labels><label name="a"><label name="b &amp; c"/></label></labels>'
SEEDS = {"arff": ARFF, "csv": CSV, "tsv": CSV.replace(b",", b"\t"), "jsonl": JSONL, "libsvm": LIBSVM, "xc": XC}


def attempt(raw: bytes, **options) -> Dataset | None:
    """Read, and check that an error is one line that says something."""
    try:
        return read(io.BytesIO(raw), **{"name": "fuzz", **options})
    except PolyruleError as problem:
        text = str(problem)
        assert text
        assert len(text) < 2000
        assert "Traceback" not in text
        return None


def mutate(raw: bytes, random: np.random.Generator, other: bytes) -> bytes:
    """Change a few places: bytes set, removed, doubled, swapped for pieces of another file."""
    made = bytearray(raw)
    for _ in range(int(random.integers(1, 6))):
        at = int(random.integers(0, len(made) + 1))
        length = int(random.integers(0, 12))
        kind = random.integers(0, 5)
        if kind == 0:
            made[at : at + 1] = bytes([int(random.integers(0, 256))])
        elif kind == 1:
            del made[at : at + length]
        elif kind == 2:
            made[at:at] = made[max(0, at - length) : at] * int(random.integers(1, 4))
        elif kind == 3:
            start = int(random.integers(0, len(other)))
            made[at:at] = other[start : start + length]
        else:
            made[at:at] = [b"{", b"}", b"'", b'"', b",", b"\n", b"?", b"%", b"\\", b"@", b":", b"\x00", b"1e999"][
                int(random.integers(0, 13))
            ]
    return bytes(made)


@FUZZ
@given(st.binary(max_size=300), st.sampled_from([None, "arff", "csv", "tsv", "jsonl", "libsvm", "parquet"]))
def test_any_bytes(raw, format):
    attempt(raw, format=format, labels=None)
    attempt(raw, format=format)


@FUZZ
@given(st.text(st.sampled_from("@attribute relation data numeric {01}?,'\"\\%\n\t :.-eE|[]#;"), max_size=200))
def test_text_of_the_characters_that_matter(text):
    for format in ("arff", "csv", "jsonl", "libsvm"):
        attempt(text.encode(), format=format, labels=None)
    attempt(b"@relation r\n@attribute a {x,'y z'}\n@attribute n numeric\n@data\n" + text.encode(), labels="last:1")


@pytest.mark.parametrize("format", SEEDS)
def test_mutated_files(format):
    random = np.random.default_rng(len(format))
    others = list(SEEDS.values())
    read_ones = 0
    for number in range(300):
        raw = mutate(SEEDS[format], random, others[number % len(others)])
        options = {"labels": "auto" if format in ("arff", "libsvm", "xc") else ["L"]}
        if format == "jsonl":
            options = {"tags": "t"}
        read_ones += attempt(raw, **options) is not None
        attempt(raw, labels=None, format=format if format != "xc" else "libsvm")
    assert read_ones >= 3


def test_mutated_parquet(tmp_path):
    path = tmp_path / "x.parquet"
    pd.DataFrame({"a": [1.5, None, 2.0], "b": ["x", "y", None], "L": [1, 0, 1]}).to_parquet(path)
    raw, random = path.read_bytes(), np.random.default_rng(1)
    for _ in range(150):
        attempt(mutate(raw, random, raw), labels=None, format="parquet")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_mutated_compression(pack):
    raw, random = pack(CSV * 20), np.random.default_rng(2)
    for _ in range(100):
        attempt(mutate(raw, random, raw), labels=["L"], max_bytes=1_000_000)


@FUZZ
@given(st.integers(0, 10**9))
def test_mutated_label_lists(seed):
    raw = mutate(XML, np.random.default_rng(seed), XML)
    with contextlib.suppress(PolyruleError):
        names, _ = read_label_list(Source(io.BytesIO(raw)))
        assert names


@pytest.mark.parametrize("format", SEEDS)
def test_chunks_of_mutated_files_are_the_whole_in_pieces(format, monkeypatch):
    monkeypatch.setattr("polyrule.data.lines.BLOCK_BYTES", 40)
    random = np.random.default_rng(len(format))
    for _ in range(60):
        raw = mutate(SEEDS[format], random, CSV)
        given_format = "libsvm" if format == "xc" else format
        labels = "auto" if format in ("libsvm", "xc") else None
        whole = attempt(raw, labels=labels, format=given_format)
        try:
            parts = list(read_chunks(io.BytesIO(raw), labels=labels, format=given_format, rows=2, name="fuzz"))
        except PolyruleError:
            assert whole is None
            continue
        assert whole is not None
        assert sum(len(part) for part in parts) == len(whole)
        if parts:
            np.testing.assert_array_equal(np.vstack([np.asarray(part.X) for part in parts]), np.asarray(whole.X))


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", ["flags", "birds", "medical", "CAL500"])
def test_mutated_benchmark_files(name, benchmark_root):
    raw = (benchmark_root / name / f"{name}-train.arff").read_bytes()
    start = raw.index(b"@data")
    raw = raw[: raw.index(b"\n", start + 2000)]
    random = np.random.default_rng(7)
    for _ in range(25):
        attempt(mutate(raw, random, ARFF), labels="last:3")


def test_a_broken_compressed_parquet_file_leaves_no_open_file(recwarn: pytest.WarningsRecorder) -> None:
    packed = gzip.compress(b"PAR1" * 1000)
    with pytest.raises(DataError):
        read(io.BytesIO(packed[:-20]), format="parquet", name="broken")
    gc.collect()
    assert not [w for w in recwarn if issubclass(w.category, ResourceWarning)]
