"""Options of `read` across formats, labels found beside a file, prediction against a model's features, memory."""

import inspect
import io
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from polyrule.data import Feature, read, read_chunks
from polyrule.errors import DataError, DataWarning, OptionError, UnseenCategoryWarning

NAN = float("nan")
CSV = b"id,size,hue,w,red,calm\nr1,1.5,dark,2,1,0\nr2,?,light,0.5,0,1\n"
ARFF = (
    b"@relation r\n@attribute id string\n@attribute size numeric\n@attribute hue {dark,light}\n@attribute w numeric\n"
    b"@attribute red {0,1}\n@attribute calm {0,1}\n@data\nr1,1.5,dark,2,1,0\nr2,?,light,0.5,0,1\n"
)
JSONL = (
    b'{"id": "r1", "size": 1.5, "hue": "dark", "w": 2, "red": 1, "calm": false}\n'
    b'{"id": "r2", "size": null, "hue": "light", "w": 0.5, "red": 0, "calm": true}\n'
)
FORMATS = {"csv": CSV, "tsv": CSV.replace(b",", b"\t"), "arff": ARFF, "jsonl": JSONL}


@pytest.mark.parametrize("format", FORMATS)
def test_one_table_in_every_format(format):
    data = read(io.BytesIO(FORMATS[format]), labels=["calm", "red"], identifier="id", weights="w", name="songs")
    assert data.features == (Feature("size"), Feature("hue", "nominal", ("dark", "light")))
    np.testing.assert_array_equal(data.X.values, [[1.5, 0], [NAN, 1]])
    assert data.label_names == ("calm", "red")
    assert data.Y.tolist() == [[0, 1], [1, 0]]
    assert data.row_ids == ("r1", "r2")
    assert data.weights.tolist() == [2, 0.5]
    assert data.name == "songs"


@pytest.mark.parametrize("format", FORMATS)
def test_a_models_columns_are_picked_by_name(format):
    features = (Feature("hue", "nominal", ("light", "blue")), Feature("size"))
    with pytest.warns(UnseenCategoryWarning, match=r"1 in 'hue' \('dark'\)"):
        data = read(io.BytesIO(FORMATS[format]), features=features)
    assert data.features == features
    np.testing.assert_array_equal(data.X.values, [[NAN, 1.5], [0, NAN]])
    assert data.Y.shape == (2, 0)
    with pytest.warns(UnseenCategoryWarning):
        scored = read(io.BytesIO(FORMATS[format]), features=features, labels=["red"])
    assert scored.Y.tolist() == [[1], [0]]
    with pytest.raises(DataError, match=r"the model needs column.s. 'loudness', which the file does not have"):
        read(io.BytesIO(FORMATS[format]), features=(Feature("loudness"),))
    with pytest.warns(UnseenCategoryWarning, match="1 value is a category"):
        parts = list(read_chunks(io.BytesIO(FORMATS[format]), features=features, rows=1))
    assert [len(part) for part in parts] == [1, 1]
    np.testing.assert_array_equal(np.vstack([part.X.values for part in parts]), data.X.values)


def test_kinds_can_be_declared():
    text = b"code,year,L\n7,1990,1\n12,2000,0\n"
    data = read(io.BytesIO(text), labels="L", nominal=["code"])
    assert data.features == (Feature("code", "nominal", ("12", "7")), Feature("year"))
    text = b"@relation r\n@attribute n {1,2,10}\n@attribute L {0,1}\n@data\n10,1\n"
    assert read(io.BytesIO(text), labels="L", numeric="n").X.values.tolist() == [[10]]
    with pytest.raises(DataError, match="line 2, column 'hue': expected a number, found 'dark'"):
        read(io.BytesIO(CSV), labels=None, numeric="hue")
    with pytest.raises(OptionError, match="numeric: column 'code' is named by nominal= too"):
        read(io.BytesIO(b"code\n1\n"), labels=None, nominal="code", numeric="code")


def test_labels_from_a_list_beside_the_file(tmp_path):
    (tmp_path / "songs.xml").write_text('<labels><label name="calm"/><label name="red"/></labels>')
    for name in ("songs.arff", "songs-train.arff", "songs-test.arff.gz", "songs_test.arff"):
        (tmp_path / name).write_bytes(ARFF)
        data = read(tmp_path / name, drop=["id"])
        assert data.label_names == ("red", "calm")  # the order of the columns, as in MULAN
    (tmp_path / "songs.xml").write_text('<labels><label name="blue"/></labels>')
    with pytest.raises(DataError, match=r"songs\.xml: the label 'blue' is not a column of the data"):
        read(tmp_path / "songs.arff", drop=["id"])


def test_nested_labels_remember_their_parents(tmp_path):
    (tmp_path / "songs.xml").write_text('<labels><label name="red"><label name="calm"/></label></labels>')
    (tmp_path / "songs.arff").write_bytes(ARFF)
    assert read(tmp_path / "songs.arff", drop="id").info["label_parents"] == {"calm": "red"}


def test_labels_in_a_second_file(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("jazz,rock\n1,0\n0,1\n")
    data = read(io.BytesIO(b"a\n5\n6\n"), label_file=labels)
    assert data.label_names == ("jazz", "rock")
    assert data.Y.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(DataError, match=r"labels\.csv: 2 rows of labels for the 1 examples"):
        read(io.BytesIO(b"a\n5\n"), label_file=labels)
    with pytest.raises(OptionError, match="label_file= cannot be combined"):
        read(io.BytesIO(b"a\n5\n"), label_file=labels, labels=["a"])


@pytest.mark.parametrize("separator", ["|", ";", ","])
def test_the_separator_of_tags_is_found(separator):
    rows = ["jazz%calm", "calm", "jazz", "slow%jazz%calm", "", "slow"]
    text = "size\tmood\n" + "".join(f"1\t{row.replace('%', separator)}\n" for row in rows)
    data = read(io.BytesIO(text.encode()), tags="mood")
    assert data.label_names == ("calm", "jazz", "slow")
    parts = list(read_chunks(io.BytesIO(text.encode()), tags="mood", rows=2))
    assert np.array_equal(np.vstack([part.Y for part in parts]), data.Y)


def test_tags_of_a_vocabulary():
    """Labels that no row has are absent; tags that are no labels are counted and named."""
    text = b"size,mood\n1,jazz|calm\n2,\n3,calm | punk\n4,punk|goth\n"
    with pytest.warns(DataWarning, match=r"3 tag\(s\) are none of the labels and left out: 'punk' \(2\), 'goth' \(1\)"):
        data = read(io.BytesIO(text), tags="mood", labels=["slow", "jazz", "calm"])
    assert data.label_names == ("slow", "jazz", "calm")
    assert data.Y.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
    with pytest.warns(DataWarning, match="none of the labels"):
        parts = list(read_chunks(io.BytesIO(text), tags="mood", labels="slow, jazz, calm", rows=3))
    assert np.array_equal(np.vstack([part.Y for part in parts]), data.Y)
    with pytest.raises(DataError, match="label name 'a' appears twice"):
        read(io.BytesIO(text), tags="mood", labels=["a", "a"])
    with pytest.raises(OptionError, match="labels= gives the names there may be"):
        read(io.BytesIO(text), tags="mood", labels=[0])


def test_tags(tmp_path):
    text = b"size,mood\n1,jazz|calm\n2,\n3,calm | calm\n"
    data = read(io.BytesIO(text), tags="mood")
    assert data.label_names == ("calm", "jazz")
    assert data.Y.tolist() == [[1, 1], [0, 0], [1, 0]]
    spaced = read(io.BytesIO(b"size,mood\n1,jazz calm\n"), tags="mood", tag_separator=" ")
    assert spaced.label_names == ("calm", "jazz")
    with pytest.raises(OptionError, match="tag_separator"):
        read(io.BytesIO(text), tags="mood", tag_separator="")


def test_parts_of_columns_must_not_clash():
    with pytest.raises(OptionError, match="identifier: column 'red' is named by labels= too"):
        read(io.BytesIO(CSV), labels="red", identifier="red")
    with pytest.raises(DataError, match="identifier: there is no column 'nope'"):
        read(io.BytesIO(CSV), labels="red", identifier="nope")
    with pytest.raises(DataError, match="line 3: an example weight must be a number of at least 0"):
        read(io.BytesIO(b"a,w\n1,1\n2,-1\n"), labels=None, weights="w")
    with pytest.raises(OptionError, match="rows must be at least 1"):
        next(read_chunks(io.BytesIO(CSV), rows=0))


def test_labels_are_dense_until_they_are_large(monkeypatch):
    text = b"2 3 4\n0,2 0:1\n3 1:1\n"
    assert isinstance(read(io.BytesIO(text)).Y, np.ndarray)
    monkeypatch.setattr("polyrule.data.tags.LARGEST_DENSE_LABELS", 5)
    large = read(io.BytesIO(text)).Y
    assert isinstance(large, sp.csr_array)
    assert large.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1]]
    for module in ("assemble", "tags"):
        monkeypatch.setattr(f"polyrule.data.{module}.LARGEST_DENSE_LABELS", 3)
    for body in (b"1,0\n0,1\n", b"{0 1}\n{1 1}\n"):
        arff = b"@relation 'r: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n" + body
        made = read(io.BytesIO(arff)).Y
        assert isinstance(made, sp.csr_array)
        assert made.toarray().tolist() == [[1, 0], [0, 1]]


def test_reading_takes_at_most_four_times_the_size_of_the_result():
    rows, width = 20_000, 50
    random = np.random.default_rng(0)
    lines = [",".join(map(repr, row)) + ",1" for row in random.random((rows, width)).round(6).tolist()]
    header = "".join(f"@attribute a{j} numeric\n" for j in range(width))
    text = f"@relation r\n{header}@attribute L {{0,1}}\n@data\n".encode() + "\n".join(lines).encode()
    stream = io.BytesIO(text)
    tracemalloc.start()
    try:
        data = read(stream, labels="L")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = data.X.values.nbytes + data.Y.nbytes
    assert peak - len(text) <= 4 * size  # the stream's own copy of the text is not the reader's doing


@pytest.mark.benchmark_data
def test_mediamills_training_part_takes_at_most_four_times_its_size(benchmark_root):
    tracemalloc.start()
    try:
        data = read(benchmark_root / "mediamill" / "mediamill-train.arff.gz")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data.X.shape == (30_993, 120)
    assert peak <= 4 * (data.X.values.nbytes + data.Y.nbytes)


def test_chunks_take_memory_for_a_block_not_for_the_file(tmp_path):
    path = tmp_path / "long.csv"
    with path.open("w") as out:
        out.write("a,b,L\n")
        for _ in range(200):
            out.write("0.123456,0.654321,1\n" * 5000)
    features = (Feature("a"), Feature("b"))
    tracemalloc.start()
    try:
        rows = sum(len(part) for part in read_chunks(path, features=features, labels=["L"]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 1_000_000
    assert path.stat().st_size == 20_000_006
    assert peak < 40_000_000


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", ["flags", "CAL500", "birds", "genbase"])
def test_benchmark_files_against_a_naive_reader(name, benchmark_root):
    path = benchmark_root / name / f"{name}-test.arff"
    data = read(path)
    text = path.read_text()
    body = [line.split(",") for line in text[text.index("@data") + 6 :].splitlines() if line]
    names = list(data.feature_names)
    assert len(body) == len(data)
    for j, feature in enumerate(data.features):
        cells = [row[j] for row in body]
        if feature.is_nominal:
            assert [feature.categories[int(code)] for code in data.X.column(j)] == cells
        else:
            np.testing.assert_array_equal(data.X.column(j), np.array(cells, dtype=float))
    labels = np.array([row[len(names) :] for row in body], dtype=int)
    np.testing.assert_array_equal(data.Y, labels)


@pytest.mark.benchmark_data
def test_sparse_benchmark_file_against_a_naive_reader(benchmark_root):
    path = benchmark_root / "medical" / "medical-train.arff"
    data = read(path)
    body = path.read_text().split("@data\n")[1].splitlines()
    expected = np.zeros((len(body), 1494))
    for row, line in enumerate(body):
        for entry in line.strip("{}").split(","):
            column, value = entry.split()
            expected[row, int(column)] = int(value)
    np.testing.assert_array_equal(data.X.values.toarray(), expected[:, :1449])
    np.testing.assert_array_equal(data.Y, expected[:, 1449:])
    assert data.X.values.nnz == int(expected[:, :1449].sum())


def test_chunks_take_the_options_of_read_and_no_others():
    told = set(inspect.signature(read).parameters) - {"path", "label_file"}
    defaults = {name: inspect.signature(read).parameters[name].default for name in told}
    text = b"size,hue,red\n1.5,dark,1\n"
    part = next(read_chunks(io.BytesIO(text), **{**defaults, "labels": "red"}))
    assert part.features == read(io.BytesIO(text), labels="red").features
    with pytest.raises(OptionError, match=r"there is no option 'label'; did you mean 'labels'\?"):
        next(read_chunks(io.BytesIO(text), label="red"))


def test_numbers_that_stand_for_missing_values_are_told_where_a_format_says_itself_what_is_missing():
    text = b'{"a": -999, "b": 0}\n{"a": 1, "b": 1}\n'
    with pytest.warns(
        DataWarning, match="stream: jsonl says itself which values are missing, so -999 is read as a value"
    ):
        found = read(io.BytesIO(text), labels="b", missing=["NA", "-999"])
    assert found.X.values.ravel().tolist() == [-999.0, 1.0]
