import io
import re

import numpy as np
import pandas as pd
import pytest

from polyrule import pack
from polyrule.data import read
from polyrule.data.labelspec import choose_columns, choose_labels
from polyrule.errors import DataError, OptionError

NAMES = ["size", "hue", "mood_calm", "mood_sad", "red,green", "first:1", "a..b", "0"]


@pytest.mark.parametrize(
    ("spec", "positions"),
    [
        ("hue", [1]),
        ("hue,size", [1, 0]),
        ("hue, size", [1, 0]),
        (["0", "hue"], [7, 1]),
        ([0, -1], [0, 7]),
        ("first:2", [0, 1]),
        ("last:2", [6, 7]),
        ("first:1", [5]),
        ("a..b", [6]),
        ("red,green", [4]),
        ("hue..mood_sad", [1, 2, 3]),
        ("mood_*", [2, 3]),
        ("mood_?a*", [2, 3]),
        ("/^mood/", [2, 3]),
        ("/^(size|hue)$/,mood_*", [0, 1, 2, 3]),
        ("2:4", [2, 3]),
        (re.compile("d$"), [3]),
        (range(1, 3), [1, 2]),
        (slice(-2, None), [6, 7]),
        ({"hue", "size"}, [1, 0]),
        ("0", [7]),
    ],
)
def test_ways_to_name_columns(spec, positions):
    assert choose_columns(spec, NAMES) == positions


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blue", "labels: there is no column 'blue' \\(the columns are 'size', 'hue'"),
        (["size", "size"], "column 'size' is named twice"),
        ([8], "there is no column 8; the file has 8 columns"),
        ("first:99", "99 columns asked for, but the file has 8"),
        ("/xyz/", "matches no column"),
        ("xyz*", "matches no column"),
        ("mood_sad..hue", "matches no column"),
        ("3:99", "goes past the last of 8 columns"),
        (re.compile("xyz"), "matches no column"),
        ("", "there is no column ''"),
        ([1.5j], "neither a column name nor a position"),
        ([1.5], "1.5 is neither a column name nor a position"),
        ([False, True], "False is neither a column name nor a position"),
    ],
)
def test_what_matches_nothing(spec, message):
    with pytest.raises((DataError, OptionError), match=message):
        choose_columns(spec, NAMES)


def test_nonsense():
    with pytest.raises(OptionError, match="labels must be text"):
        choose_columns(5, NAMES)
    with pytest.raises(OptionError, match="is not a regular expression"):
        choose_columns("/(/", NAMES)


def test_a_set_may_hold_names_and_positions():
    assert choose_columns({NAMES[2], 1, NAMES[0]}, NAMES) == [1, 2, 0]


def test_list_files(tmp_path):
    xml = tmp_path / "labels.xml"
    xml.write_text('<labels><label name="mood_sad"/><label name="hue"><label name="mood_calm"/></label></labels>')
    for spec in (xml, str(xml), f"@{xml}"):
        assert choose_labels(spec, NAMES) == ([1, 2, 3], {"mood_calm": "hue"})
    text = tmp_path / "labels.txt"
    text.write_text("# moods\nmood_sad\n\nmood_calm\n")
    assert choose_columns(f"@{text}", NAMES) == [2, 3]
    text.write_text("mood_happy\n")
    with pytest.raises(DataError, match=r"labels\.txt: the label 'mood_happy' is not a column of the data"):
        choose_columns(f"@{text}", NAMES)


def test_labels_may_be_an_array_of_names_everywhere(tmp_path):
    names = np.array(["happy", "sad"])
    frame = pd.DataFrame({"size": [1.5, 2.5], "happy": [0, 1], "sad": [1, 1]})
    assert pack(frame, labels=names, out=tmp_path / "store").label_names == ("happy", "sad")
    assert len(read(io.BytesIO(b"size,n\n1,2\n"), labels=None, drop=names[:0], weights=np.int64(1)).features) == 1
    tagged = read(io.BytesIO(b"size,mood\n1,happy;sad\n2,sad\n"), tags="mood", labels=names)
    assert tagged.Y.tolist() == [[1, 1], [0, 1]]
    with pytest.raises(OptionError, match="label_file= cannot be combined"):
        read(io.BytesIO(b"size,happy\n1,1\n"), labels=names, label_file=io.BytesIO(b"sad\n1\n"))
