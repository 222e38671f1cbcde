import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.data import Feature, read
from polyrule.errors import DataError

NAN = float("nan")


def lines(*objects, **options):
    text = "\n".join(item if isinstance(item, str) else json.dumps(item) for item in objects)
    return read(io.BytesIO(text.encode()), **{"labels": None, "format": "jsonl", **options})


def test_kinds_missing_keys_and_tags():
    data = lines(
        {"size": 1, "hue": "red", "big": True, "moods": ["calm", "jazz"]},
        {"hue": "blue", "size": None, "moods": []},
        {"size": 2.5, "new": "late"},
        tags="moods",
    )
    assert data.features == (
        Feature("size"),
        Feature("hue", "nominal", ("blue", "red")),
        Feature("big", "nominal", ("True",)),
        Feature("new", "nominal", ("late",)),
    )
    np.testing.assert_array_equal(data.X.values, [[1, 1, 0, NAN], [NAN, 0, NAN, NAN], [2.5, NAN, NAN, 0]])
    assert data.label_names == ("calm", "jazz")
    assert data.Y.tolist() == [[1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        (['{"a": 1}', '{"a": '], "line 2, column 7"),
        (["[1, 2]"], "line 1: expected one JSON object per line"),
        (
            ['[{"a": 1}, {"a": 2}]'],
            r"line 1: expected one .*; pandas writes them with to_json\(\.\.\., orient='records'",
        ),
        (['{"a": 1, "a": 2}'], "line 1: the key 'a' appears twice"),
        ([{"a": 1}, {"a": "x"}], "column 'a' holds numbers in line 1 and text or booleans in line 2"),
        ([{"a": {"b": 1}}], "line 1, column 'a': nested values and times"),
        ([{"a": 1}, {"a": 10**400}], "column 'a': the value is infinite|Exceeds"),
        (['{"a": Infinity}'], "line 1, column 'a': the value is infinite"),
        (['{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"], "line 1: nested too deeply"),
        ([""], "file is empty|no JSON object"),
    ],
)
def test_bad_lines(objects, message):
    with pytest.raises(DataError, match=message):
        lines(*objects)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1, max_size=6))
def test_random_objects_declared_nominal_come_back(objects):
    names = list(dict.fromkeys(key for found in objects for key in found))
    data = lines(*objects, nominal=names)
    assert list(data.feature_names) == names
    for j, name in enumerate(names):
        categories = data.features[j].categories
        for found, code in zip(objects, data.X.values[:, j], strict=True):
            value = found.get(name)
            if value is None:
                assert np.isnan(code)
            elif isinstance(value, (str, bool)):
                assert categories[int(code)] == str(value)
            else:
                assert float(categories[int(code)]) == value
