import numpy as np
import pytest
import scipy.sparse as sp

from polyrule.data.table import Feature, Table
from polyrule.errors import DataError
from polyrule.evaluation.encoding import EqualFrequencyDiscretiser, MatrixEncoder

FEATURES = (
    Feature("size"),
    Feature("flag", "nominal", ("no", "yes")),
    Feature("hue", "nominal", ("red", "green", "blue")),
)


def test_values_are_learned_from_the_fitted_examples_only():
    train = Table.from_array([[1.0, 0, 0], [5.0, 1, 1]], FEATURES)
    test = Table.from_array([[np.nan, np.nan, 2], [9.0, 1, np.nan]], FEATURES)
    encoder = MatrixEncoder().fit(train)
    assert encoder.columns_ == [(0, None), (1, 1), (2, 0), (2, 1)]
    # the median 3 is that of the training part; blue was never seen, so it has no column
    assert encoder.transform(test).tolist() == [[3.0, 0, 0, 0], [9.0, 1, 0, 0]]


def test_sparse_stays_sparse_and_equals_dense():
    rng = np.random.default_rng(1)
    for _ in range(10):
        values = np.column_stack([rng.random(12).round(1), rng.integers(0, 2, 12), rng.integers(0, 3, 12)])
        values[rng.random((12, 3)) < 0.5] = 0
        dense, sparse = Table.from_array(values, FEATURES), Table.from_array(sp.csr_array(values), FEATURES)
        encoded = MatrixEncoder().fit(sparse).transform(sparse)
        assert sp.issparse(encoded)
        full = MatrixEncoder().fit(dense)
        # the dense form has one more column, for the first colour
        keep = [i for i, column in enumerate(full.columns_) if column != (2, 0)]
        assert (encoded.toarray() == full.transform(dense)[:, keep]).all()


def test_missing_throughout():
    table = Table.from_array([[np.nan], [np.nan]], FEATURES[:1])
    assert MatrixEncoder().fit(table).transform(table).tolist() == [[0.0], [0.0]]


def test_other_features_are_refused():
    with pytest.raises(DataError, match="differ"):
        MatrixEncoder().fit(Table.from_array([[0.0]])).transform(Table.from_array([[0.0, 1.0]]))


def test_columns_have_names_and_frames_on_request():
    hue = Feature("hue", "nominal", ("red", "green", "blue"))
    table = Table.from_array([[1.0, 0.0], [2.0, 2.0], [3.0, 1.0]], [Feature("size"), hue])
    encoder = MatrixEncoder().set_output(transform="pandas").fit(table)
    assert encoder.get_feature_names_out().tolist() == ["size", "hue=red", "hue=green", "hue=blue"]
    frame = encoder.transform(table)
    assert list(frame.columns) == ["size", "hue=red", "hue=green", "hue=blue"]
    assert EqualFrequencyDiscretiser(2).fit(table).get_feature_names_out().tolist() == ["size", "hue"]
