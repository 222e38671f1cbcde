"""Whatever the bytes: a data set or one typed error, and nothing else; `make fuzz` tries far more of them."""

import gc
import gzip
import io
import random

import numpy as np
import pytest
from fuzz import seeds
from fuzz.mutate import mutate_bytes
from fuzz.runs import attempt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyrule.data import read, read_chunks
from polyrule.errors import DataError, PolyruleError

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FILES = {
    "arff": seeds.ARFF,
    "csv": seeds.CSV,
    "tsv": seeds.CSV.replace(b",", b"\t"),
    "jsonl": seeds.JSONL,
    "libsvm": seeds.LIBSVM,
    "xc": seeds.XC,
}


def try_to_read(raw, **options):
    """The data set, or None after a typed error with a good message."""
    found = []
    attempt(lambda: found.append(read(io.BytesIO(raw), **{"name": "fuzz", **options})))
    return found[0] if found else None


@FUZZ
@given(st.binary(max_size=300), st.sampled_from([None, "arff", "csv", "tsv", "jsonl", "libsvm", "parquet", "xlsx"]))
def test_any_bytes(raw, format):
    try_to_read(raw, format=format, labels=None)
    try_to_read(raw, format=format)


@FUZZ
@given(st.text(st.sampled_from("@attribute relation data numeric {01}?,'\"\\%\n\t :.-eE|[]#;"), max_size=200))
def test_text_of_the_characters_that_matter(text):
    for format in ("arff", "csv", "jsonl", "libsvm"):
        try_to_read(text.encode(), format=format, labels=None)
    head = b"@relation r\n@attribute a {x,'y z'}\n@attribute n numeric\n@data\n"
    try_to_read(head + text.encode(), labels="last:1")


def test_mutated_workbooks():
    rng, words = (
        random.Random(5),
        (b"<row>", b'<c t="s">', b"<v>", b"</v>", b"&lt;", b"<!DOCTYPE a>", b"1e999", b'r="ZZZ9"'),
    )
    read_ones = 0
    for _ in range(150):
        sheet = mutate_bytes(seeds.SHEET, [seeds.CSV, seeds.XML], words, rng)
        read_ones += try_to_read(seeds.workbook(sheet), labels=None) is not None
        try_to_read(mutate_bytes(seeds.workbook(), [seeds.CSV], (b"PK\x03\x04", b"PK\x05\x06"), rng), format="xlsx")
    assert read_ones > 10


@pytest.mark.parametrize("format", FILES)
def test_chunks_of_mutated_files_are_the_whole_in_pieces(format, monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.BLOCK_BYTES", 40)
    rng, others = random.Random(format), list(FILES.values())
    read_ones = 0
    for _ in range(150):
        raw = mutate_bytes(FILES[format], others, (b"{", b"'", b'"', b",", b"%", b"\\", b"@", b":"), rng)
        options = {"format": "libsvm" if format == "xc" else format, "name": "fuzz"}
        options |= {"tags": "t"} if format == "jsonl" else {"labels": "auto" if format in ("libsvm", "xc") else None}
        whole = try_to_read(raw, **options)
        try:
            parts = list(read_chunks(io.BytesIO(raw), rows=2, **options))
        except PolyruleError:
            assert whole is None
            continue
        assert whole is not None
        assert sum(len(part) for part in parts) == len(whole)
        read_ones += 1
        if parts:
            np.testing.assert_array_equal(np.vstack([np.asarray(part.X) for part in parts]), np.asarray(whole.X))
    assert read_ones >= 3


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", ["flags", "birds", "medical", "CAL500"])
def test_mutated_benchmark_files(name, benchmark_root):
    raw = (benchmark_root / name / f"{name}-train.arff").read_bytes()
    start = raw.index(b"@data")
    head, rows = raw[:start], raw[start : raw.index(b"\n", start + 2000)]
    rng = random.Random(7)
    for number in range(25):
        if number % 2:
            raw = mutate_bytes(head[:2000], [seeds.ARFF], seeds.ARFF_WORDS, rng) + head[2000:] + rows
        else:
            raw = head + mutate_bytes(rows, [seeds.ARFF], seeds.ARFF_WORDS, rng)
        try_to_read(raw, labels="last:3")


def test_a_broken_compressed_parquet_file_leaves_no_open_file(recwarn):
    packed = gzip.compress(b"PAR1" * 1000)
    with pytest.raises(DataError):
        read(io.BytesIO(packed[:-20]), format="parquet", name="broken")
    gc.collect()
    assert not [w for w in recwarn if issubclass(w.category, ResourceWarning)]
