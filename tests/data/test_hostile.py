"""Files made to hurt: refused early, by name, before anything large is built."""

import gzip
import io

import pytest

from polyrule.data import read
from polyrule.errors import DataError

WIDE = {
    "csv header": (b"," * 200 + b"\n1\n", "csv", "line 1: more than the 100 columns"),
    "csv row": (b"a,b\n" + b"," * 200 + b"\n", "csv", "line 2: more than the 100 columns"),
    "arff header": (
        b"@relation r\n" + b"@attribute a numeric\n" * 200 + b"@data\n",
        "arff",
        "more than 100 attributes",
    ),
    "arff values": (
        b"@relation r\n@attribute a {" + b"x," * 200 + b"y}\n@data\n",
        "arff",
        "line 2: attribute 'a' declares more",
    ),
    "arff row": (
        b"@relation r\n@attribute a {x}\n@data\n" + b"," * 200,
        "arff",
        "line 4: the row has more than 100 values",
    ),
    "libsvm index": (b"1 101:1\n", "libsvm", "line 1: feature index 101 is larger"),
    "xc features": (b"1 1000000000 2\n0 0:1\n", "libsvm", "the header claims 1000000000 features"),
    "xc labels": (b"1 5 1000000000\n0 0:1\n", "libsvm", "the header claims 1000000000 labels"),
    "json keys": (b"".join(b'{"k%d": 1}\n' % j for j in range(200)), "jsonl", "more than 100 different keys"),
}


@pytest.mark.parametrize("case", WIDE)
def test_more_columns_than_can_be_meant(case, monkeypatch):
    for module in ("arff", "delimited", "jsonlines", "libsvm"):
        monkeypatch.setattr(f"polyrule.data.formats.{module}.MOST_COLUMNS", 100)
    raw, format, message = WIDE[case]
    with pytest.raises(DataError, match=message):
        read(io.BytesIO(raw), format=format, labels=None)


@pytest.mark.parametrize("format", ["arff", "csv", "jsonl", "libsvm"])
@pytest.mark.parametrize("byte", [b"\x00", b"0", b'"', b"{", b" ", b",", b"'"])
def test_an_endless_line_of_anything(format, byte, monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.LONGEST_LINE", 1 << 16)
    monkeypatch.setattr("polyrule.data.sources.BLOCK_BYTES", 1 << 12)
    bomb = gzip.compress(byte * (1 << 20))
    with pytest.raises(DataError):
        read(io.BytesIO(bomb), format=format, labels=None)


def test_nothing_in_a_file_is_ever_run(tmp_path):
    """Values that other readers evaluate, expand or unpickle are text like any other."""
    marker = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    text = f'a,b,L\n"{code}",=cmd|x,1\n"!!python/object:os.system","${{HOME}}",0\n'
    data = read(io.BytesIO(text.encode()), labels="L")
    assert set(data.features[0].categories) == {code, "!!python/object:os.system"}
    assert set(data.features[1].categories) == {"=cmd|x", "${HOME}"}
    assert not marker.exists()


@pytest.mark.parametrize("options", [{"nominal": ["a"]}, {"identifier": "a"}])
def test_whole_numbers_as_names_keep_their_digits(options):
    numbers = ["9007199254740992", "9007199254740993", "1" + "0" * 400]
    raw = "".join(f'{{"a": {number}, "L": 1}}\n' for number in numbers).encode()
    data = read(io.BytesIO(raw), format="jsonl", labels=["L"], **options)
    found = data.features[0].categories if "nominal" in options else data.row_ids
    assert sorted(found) == sorted(numbers)


def test_a_message_stays_short_however_long_the_names_are():
    name = b"x" * 50_000
    with pytest.raises(DataError, match="expected a number") as caught:
        read(io.BytesIO(name + b",L\n1,0\nred,1\n"), labels=["L"], numeric=[0], name="wide")
    assert len(str(caught.value)) < 2100
    assert str(caught.value).startswith("stream, line 3, column 'xxx")
