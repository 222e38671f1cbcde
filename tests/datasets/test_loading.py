import os
import re

import numpy as np
import pytest

from polyrule import datasets
from polyrule.datasets import remote
from polyrule.datasets.loading import find_folder
from polyrule.datasets.registry import ENTRIES, entry
from polyrule.errors import DataError, OptionError

SMALL = [name for name in ENTRIES if name not in ("mediamill", "delicious", "tmc2007-500", "bibtex", "emotions")]


def test_emotions_is_embedded_with_the_benchmarks_split():
    whole, train, test = (
        datasets.load("emotions"),
        datasets.load("emotions", "train"),
        datasets.load("emotions", "test"),
    )
    assert (len(train), len(test), len(whole)) == (391, 202, 593)
    np.testing.assert_array_equal(np.vstack([train.X.values, test.X.values]), whole.X.values)
    assert whole.label_names == (
        "amazed-surprised", "happy-pleased", "relaxing-calm", "quiet-still", "sad-lonely", "angry-aggressive",
    )  # fmt: skip
    assert round(float(whole.Y.sum()) / len(whole), 4) == entry("emotions").cardinality
    for part, data in (("train", train), ("test", test)):
        assert remote.checksum(data) == entry("emotions").checksums[part]


def test_the_papers_example():
    data = datasets.load("paper-example")
    assert data.Y.tolist() == [[0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]


@pytest.mark.benchmark_data
def test_embedded_emotions_equals_the_benchmarks_files(benchmark_root):
    from polyrule.data import read

    for part in ("train", "test"):
        file, embedded = read(benchmark_root / "emotions" / f"emotions-{part}.arff"), datasets.load("emotions", part)
        np.testing.assert_array_equal(file.X.values, embedded.X.values)
        np.testing.assert_array_equal(file.Y, embedded.Y)
        assert file.feature_names == embedded.feature_names


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", SMALL)
def test_the_registry_tells_the_truth(name, benchmark_root):
    known = entry(name)
    parts = {part: datasets.load(name, part, download=False) for part in ("train", "test")}
    whole = datasets.load(name, download=False)
    assert (len(parts["train"]), len(parts["test"]), len(whole)) == (known.train, known.test, known.examples)
    assert sum(feature.is_nominal for feature in whole.features) == known.nominal
    assert whole.X.shape[1] == known.features
    assert whole.Y.shape[1] == known.labels
    assert round(float(whole.Y.sum()) / len(whole), 4) == known.cardinality
    for part, data in parts.items():
        assert remote.checksum(data) == known.checksums[part]


@pytest.mark.benchmark_data
def test_categories_keep_their_declared_order_and_text_sets_stay_sparse(benchmark_root):
    flags = datasets.load("flags", "train")
    assert flags.features[0].categories == ("1", "2", "3", "4", "5", "6")
    assert datasets.load("birds", "train").features[-1].categories[:3] == ("2", "10", "1")
    assert "Swainson's Thrush" in datasets.load("birds", "train").label_names
    medical = datasets.load("medical", "train")
    assert medical.X.is_sparse
    assert medical.feature_names[:3] == ("-", "/", "0")
    assert all(feature.categories == ("0", "1") for feature in medical.features)


@pytest.mark.parametrize(("drop", "left"), [(None, 72), ([], 72), (re.compile("^BH"), 64), ("BH*", 64)])
def test_columns_are_dropped_by_any_specification(drop, left):
    assert len(datasets.load("emotions", drop=drop).features) == left


@pytest.mark.benchmark_data
def test_genbases_identifier_stays_unless_dropped(benchmark_root):
    assert datasets.load("genbase", "train").feature_names[0] == "protein"
    assert "protein" not in datasets.load("genbase", "train", drop="protein").feature_names


def test_a_folder_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYRULE_DATA", str(tmp_path))
    monkeypatch.setenv("POLYRULE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("polyrule.datasets.loading.CHECKOUT_DATA", None)
    assert find_folder(entry("flags")) is None
    header = "@relation f\n@attribute a numeric\n@attribute red {0,1}\n@data\n"
    for part, rows in (("train", "1,0\n2,1\n"), ("test", "3,1\n")):
        (tmp_path / f"flags-{part}.arff").write_text(header + rows)
    (tmp_path / "flags.xml").write_text('<labels><label name="red"/></labels>')
    assert datasets.load("flags").X.values.ravel().tolist() == [1, 2, 3]
    assert datasets.load("FLAGS", "test").Y.tolist() == [[1]]
    os.unlink(tmp_path / "flags-test.arff")
    with pytest.raises(DataError, match="the test part of flags is missing"):
        datasets.load("flags", "test")


def test_list_and_describe():
    assert len(datasets.list()) == 14
    for record in datasets.describe():
        assert record["citation"]
        assert record["source"]
        assert record["examples"] == record["train"] + record["test"]
        assert 0 < record["density"] < 1


def test_unknown_names_and_parts():
    with pytest.raises(OptionError, match="there is no data set 'yest'; did you mean 'yeast'"):
        datasets.load("yest")
    with pytest.raises(OptionError, match="part must be 'train', 'test' or None"):
        datasets.load("emotions", "valid")
    with pytest.raises(DataError, match="drop: there is no column 'nope'"):
        datasets.load("emotions", drop=["nope"])
    assert datasets.load("emotions", drop="first:70").X.shape == (593, 2)
