import io

import pytest

from polyrule.data.sniff import find_format
from polyrule.data.sources import Source
from polyrule.errors import DataError, OptionError

CONTENT = {
    "arff": b"% c\n\n@RELATION x\n@attribute a numeric\n@data\n",
    "csv": b"a,b\n1,2\n",
    "tsv": b"a\tb\n1\t2\n",
    "jsonl": b'{"a": 1}\n',
    "libsvm": b"1,2 1:0.5 3:1\n2 1:1\n",
    "parquet": b"PAR1....",
}


@pytest.mark.parametrize("format", CONTENT)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_by_content(format, bom):
    raw = CONTENT[format] if format == "parquet" else bom + CONTENT[format]
    assert find_format(Source(io.BytesIO(raw))) == format


def test_an_array_of_objects_is_json_too():
    """As text with commas its first object would name columns."""
    assert find_format(Source(io.BytesIO(b'[{"a": 1}, {"a": 2}]'))) == "jsonl"


def test_extreme_classification_by_its_header():
    assert find_format(Source(io.BytesIO(b"2 5 3\n0,2 0:0.5 4:2\n1 2:1\n"))) == "libsvm"


@pytest.mark.parametrize(
    ("name", "format"), [("x.csv", "csv"), ("x.tsv.gz", "tsv"), ("x.svm", "libsvm"), ("x.TAB", "tsv")]
)
def test_by_ending(tmp_path, name, format):
    path = tmp_path / name
    path.write_bytes(b"one two three\n")
    assert find_format(Source(path)) == format


def test_content_wins_over_the_ending(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(CONTENT["arff"])
    assert find_format(Source(path)) == "arff"


def test_what_cannot_be_read():
    with pytest.raises(
        OptionError, match="format must be one of arff, csv, tsv, parquet, jsonl, libsvm, xlsx, got 'xls'"
    ):
        find_format(Source(io.BytesIO(b"")), "xls")
    with pytest.raises(DataError, match="the file is empty"):
        find_format(Source(io.BytesIO(b"  \n")))
    with pytest.raises(DataError, match="binary data of no known format"):
        find_format(Source(io.BytesIO(b"\x00\x01\x02abc")))
