import datetime
import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from polyrule import pack
from polyrule.data import Feature, read, read_chunks
from polyrule.errors import DataError

FRAME = pd.DataFrame(
    {
        "size": [1.5, None, 3.0],
        "count": pd.array([1, None, 3], dtype="Int64"),
        "hue": ["red", None, "blue"],
        "big": [True, False, True],
        "kind": pd.Categorical(["p", "q", "p"]),
        "moods": [["calm"], [], ["jazz", "calm"]],
        "L": [1, 0, 1],
    }
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "songs.parquet"
    FRAME.to_parquet(file, row_group_size=2)
    return file


def test_kinds_and_values(path):
    data = read(path, labels="L", drop="moods")
    assert data.features == (
        Feature("size"),
        Feature("count"),
        Feature("hue", "nominal", ("blue", "red")),
        Feature("big", "nominal", ("False", "True")),
        Feature("kind", "nominal", ("p", "q")),
    )
    nan = float("nan")
    np.testing.assert_array_equal(data.X.values, [[1.5, 1, 1, 1, 0], [nan, nan, nan, 0, 1], [3, 3, 0, 1, 0]])
    assert data.Y.ravel().tolist() == [1, 0, 1]


def test_tags_from_lists_and_chunks(path):
    whole = read(path, tags="moods", drop="L")
    assert whole.label_names == ("calm", "jazz")
    assert whole.Y.tolist() == [[1, 0], [0, 0], [1, 1]]
    parts = list(read_chunks(path, tags="moods", drop="L", rows=2))
    assert {part.label_names for part in parts} == {whole.label_names}
    np.testing.assert_array_equal(np.vstack([part.Y for part in parts]), whole.Y)


def test_from_a_stream_and_compressed(path):
    raw = path.read_bytes()
    for stream in (io.BytesIO(raw), io.BytesIO(gzip.compress(raw))):
        options = {} if stream.getvalue() == raw else {"format": "parquet"}
        assert len(read(stream, labels="L", drop="moods", **options)) == 3


def test_times_damage_and_a_missing_library(path, tmp_path, monkeypatch):
    timed = tmp_path / "timed.parquet"
    pd.DataFrame({"when": [datetime.time(10, 30)]}).to_parquet(timed)
    with pytest.raises(DataError, match="column 'when': nested values and times"):
        read(timed, labels=None)
    assert [f.kind for f in read(path, labels="L").features if f.name == "moods"] == ["list"]
    with pytest.raises(DataError, match="column 'moods' holds texts or lists, whose items are chosen"):
        list(read_chunks(path, labels="L"))
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read(io.BytesIO(path.read_bytes()[:-20]), labels=None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install polyrule\[files\]"):
        read(path, labels="L")


def test_a_file_without_rows(tmp_path):
    """What is left of a table when nothing fits a filter; as a part of a large one it must not end the packing."""
    whole = FRAME[["size", "hue", "L"]]
    whole.to_parquet(tmp_path / "a.parquet")
    whole[:0].to_parquet(tmp_path / "b.parquet")
    empty = read(tmp_path / "b.parquet", labels="L")
    assert (empty.X.shape, empty.feature_names) == ((0, 2), ("size", "hue"))
    assert list(read_chunks(tmp_path / "b.parquet", labels="L")) == []
    assert len(pack([tmp_path / "b.parquet", tmp_path / "a.parquet"], labels="L", out=tmp_path / "store")) == 3
