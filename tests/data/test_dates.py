"""Dates and ordered categories are the same from text files, from Parquet and from frames."""

import datetime
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyrule
from polyrule import RuleListClassifier
from polyrule.data import Feature, read, read_chunks, to_table
from polyrule.data.dates import day_of, format_date
from polyrule.data.derive.dates import part_of
from polyrule.data.recognize import recognition_off
from polyrule.errors import DataError, DataWarning, ModelError, OptionError
from polyrule.model import RuleList, parse_rule

PLANS = ["basic", "plus", "pro"]
WRITTEN = ["2021-03-05", "2024-02-29", None, "1969-12-31"]
FRAME = pd.DataFrame(
    {
        "plan": pd.Categorical(["pro", "basic", None, "plus"], PLANS, ordered=True),
        "on": pd.to_datetime(WRITTEN),
        "red": [1, 0, 1, 0],
    }
)


def sources(tmp_path):
    parquet, lines = tmp_path / "data.parquet", tmp_path / "data.jsonl"
    FRAME.assign(on=FRAME.on.dt.date, plan=FRAME.plan.astype(str).where(FRAME.plan.notna())).to_parquet(parquet)
    plans = [None if plan != plan else plan for plan in FRAME.plan]
    rows = zip(plans, WRITTEN, FRAME.red.tolist(), strict=True)
    lines.write_text("".join(json.dumps(dict(zip(FRAME, row, strict=True))) + "\n" for row in rows))
    text = FRAME.to_csv(index=False).encode()
    options = {"labels": ["red"], "ordinal": {"plan": PLANS}}
    yield read(io.BytesIO(text), **options).X
    yield read(parquet, **options).X
    yield read(lines, **options).X
    yield to_table(FRAME[["plan", "on"]])
    yield to_table(
        FRAME.assign(on=[None if w is None else datetime.date.fromisoformat(w) for w in WRITTEN])[["plan", "on"]]
    )
    yield to_table(
        pytest.importorskip("polars").DataFrame(
            {"on": [None if w is None else datetime.date.fromisoformat(w) for w in WRITTEN]}
        )
    )


def test_all_sources_agree(tmp_path):
    first, *others = sources(tmp_path)
    assert first.feature_names == ("plan", "on", "on year", "on month", "on weekday")
    assert first.features[0] == Feature("plan", "ordinal", tuple(PLANS))
    nan = np.nan
    expected = [[2, 18691, 2021, 2, 4], [0, 19782, 2024, 1, 3], [nan] * 5, [1, -1, 1969, 11, 2]]
    np.testing.assert_array_equal(first.values, expected)
    for other in others:
        at = [first.feature_names.index(name) for name in other.feature_names]
        assert other.features == tuple(first.features[j] for j in at)
        np.testing.assert_array_equal(other.values, first.values[:, at])


def test_parts_of_dates_are_those_of_the_calendar():
    days = np.arange(-719_162, 2_932_896, 3331)
    for day in days.tolist():
        date = datetime.date.fromisoformat(format_date(day))
        assert day_of(date) == day == day_of(date.isoformat())
        parts = [part_of(np.array([float(day)]), part)[0] for part in ("year", "month", "weekday")]
        assert parts == [date.year, date.month - 1, date.weekday()]


def test_a_model_reads_dates_from_everywhere(tmp_path):
    features = to_table(FRAME[["plan", "on"]]).features
    rule = parse_rule("red <- on weekday in {Thursday, Friday}, on > 2021-12-31, plan <= plus", features, ["red"])
    model = RuleList((rule,), features, ("red",))
    assert model.predict(FRAME).ravel().tolist() == [0, 1, 0, 0]
    assert model.predict(pd.DataFrame({"on": ["2024-02-29"], "plan": ["basic"]})).tolist() == [[1]]
    path = tmp_path / "data.csv"
    FRAME.to_csv(path, index=False)
    data = read(path, labels=["red"], features=model.narrowed.features)
    assert data.features == model.narrowed.features
    assert model.predict(data.X).ravel().tolist() == [0, 1, 0, 0]
    with pytest.raises(DataError, match="column 'on', row 0: expected a date such as 2021-03-05, got 'soon'"):
        model.predict(pd.DataFrame({"on": ["soon"], "plan": ["basic"]}))
    with pytest.raises(DataError, match="held dates when the model was fitted, but numbers were given"):
        model.predict(pd.DataFrame({"on": [3.0], "plan": ["basic"]}))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_hold_dates_as_text(library):
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library]
    frame = getattr(pytest.importorskip(library), make)
    written = to_table(frame({"on": ["2021-03-05", None, "31.12.2021"], "word": ["2021-03-05", "soon", "late"]}))
    assert written.feature_names == ("on", "on year", "on month", "on weekday", "word")
    np.testing.assert_array_equal(written.column(0), [day_of("2021-03-05"), np.nan, day_of("2021-12-31")])
    again = to_table(frame({"on": ["05.03.2021"], "word": ["soon"]}), features=written.features)
    np.testing.assert_array_equal(again.values[0], [*written.values[0, :4], 2])


def test_frames_with_dates_that_may_be_read_in_two_ways_say_so():
    with pytest.warns(DataWarning, match="'on' holds dates such as '3/4/2021' as text.*to_datetime"):
        assert to_table(pd.DataFrame({"on": ["3/4/2021", "4/3/2021"]})).features[0].kind == "nominal"


@pytest.mark.parametrize(
    ("cells", "form", "day"),
    [
        (["3/14/2021", "4/3/2021"], "month/day/year", "2021-03-14"),
        (["14/3/2021", "4/3/2021"], "day/month/year", "2021-03-14"),
        (["1/4/2021", "1/5/2021", "1/6/2021"], "day/month/year", "2021-04-01"),
        (["4/1/2021", "5/1/2021", "6/1/2021"], "month/day/year", "2021-04-01"),
        (["March 14, 2021", "4 March 2021"], "month in words", "2021-03-14"),
    ],
)
def test_the_form_of_dates_is_in_the_model(cells, form, day, tmp_path):
    frame = pd.DataFrame({"on": cells})
    table = to_table(frame)
    assert [f.form if f.derived is None else f.derived.form for f in table.features] == [form] * 4
    assert format_date(table.column(0)[0]) == day
    rule = parse_rule("red <- on month >= March", table.features, ["red"])
    model = RuleList((rule,), table.features, ("red",))
    model.save(tmp_path / "model.json")
    model = polyrule.load(tmp_path / "model.json")
    assert model.predict(pd.DataFrame({"on": [cells[0], None]})).ravel().tolist() == [1, 0]
    assert model.predict(pd.DataFrame({"on": ["2021-01-14", pd.Timestamp("2021-05-01")]})).ravel().tolist() == [0, 1]
    namespace: dict[str, Any] = {}
    exec(model.export("python"), namespace)
    assert namespace["predict"]({"on": cells[0]}) == {"red": 1}
    with pytest.raises(ModelError, match=f"SQL reads dates such as 2021-03-05, and column 'on' has them as {form}"):
        model.export("sql")


def test_a_part_of_the_rows_has_the_features_of_all():
    cells = {"on": ["3/14/2021", "4/3/2021"], "at": pd.to_datetime(["2021-03-05 14:30", "2021-03-06 15:30"])}
    frame = pd.DataFrame({**cells, "due": ["May 3, 2021", "May 4, 2021"], "size": ["3 kg", "4 kg"]})
    with recognition_off():
        parts = [to_table(frame.iloc[[row]]) for row in (0, 1)]
    assert parts[0].feature_names == ("on", "at", "at year", "at month", "at weekday", "due", "size")
    assert [feature.kind for feature in parts[0].features[::5]] == ["nominal", "nominal"]
    assert parts[0].feature_names == parts[1].feature_names


def test_columns_of_a_file_share_a_form():
    text = "on|due|n\n12/31/2021|1/2/2021|1\n"
    assert days(text).column(4).tolist() == [day_of("2021-01-02")]


def test_hours_are_features_if_there_are_times():
    text = "at|n\n2021-03-05 14:30|1\n2021-03-06 00:00|1\n|1\n"
    table = days(text)
    assert table.feature_names[:5] == ("at", "at year", "at month", "at weekday", "at hour")
    assert table.column(0)[:2].tolist() == [day_of("2021-03-05"), day_of("2021-03-06")]
    np.testing.assert_array_equal(table.column(4), [14, 0, np.nan])
    assert "at hour" not in days("at|n\n2021-03-05 00:00|1\n").feature_names
    rule = parse_rule("red <- at hour > 12", table.features, ["red"])
    model = RuleList((rule,), table.features, ("red",))
    assert model.predict(pd.DataFrame({"at": ["2021-01-01T13:00:00Z", "2021-01-01"]})).ravel().tolist() == [1, 0]


def test_text_that_only_begins_with_dates_stays_text():
    rows = ["2021-03-05"] * 30_000 + ["soon"]
    text = ("on,red\n" + "".join(f"{day},1\n" for day in rows)).encode()
    assert read(io.BytesIO(text), labels=["red"]).features == (Feature("on", "nominal", ("2021-03-05", "soon")),)
    assert read(io.BytesIO(b"on,red\n2021-03-05,1\n"), labels=["red"], nominal="on").features[0].kind == "nominal"
    typed = b"@relation r\n@attribute on date\n@attribute red {0,1}\n@data\n2021-03-05T10:00:00,1\nsoon,0\n"
    with pytest.raises(DataError, match="expected a date such as 2021-03-05, found 'soon'"):
        read(io.BytesIO(typed), labels=["red"])


@pytest.mark.parametrize("cells", [["20210305", "20211231"], ["5.3.2021", "soon"], ["2021-03-05", "soon"], ["5", "6"]])
def test_a_column_is_said_to_hold_dates(cells, tmp_path):
    text = "on,red\n" + "".join(f"{cell},1\n" for cell in cells)
    if cells[0] == "20210305":
        data = read(io.BytesIO(text.encode()), labels=["red"], date="on")
        assert [feature.kind for feature in data.features] == ["date", "numeric", "ordinal", "nominal"]
        assert data.X.values[:, 0].tolist() == [18691, 18992]
        again = read(io.BytesIO(text.encode()), labels=["red"], features=data.features)  # a model knows it
        assert again.X.values[:, 0].tolist() == [18691, 18992]
        pd.DataFrame({"on": [20210305, 20211231], "red": [1, 0]}).to_parquet(tmp_path / "t.parquet")
        assert read(tmp_path / "t.parquet", labels=["red"], date=["on"]).X.values[:, 0].tolist() == [18691, 18992]
        return
    wrong = next(cell for cell in cells if cell in ("soon", "5"))
    with pytest.raises(DataError, match=f"expected a date such as 2021-03-05, found '{wrong}'"):
        read(io.BytesIO(text.encode()), labels=["red"], date="on")
    with pytest.raises(OptionError, match="date: column 'on' is named by nominal= too"):
        read(io.BytesIO(text.encode()), labels=["red"], date="on", nominal="on")


def test_ordinal_is_checked():
    text = b"plan,red\nbasic,1\ngold,0\n"
    with pytest.raises(DataError, match="'gold' is not one of the declared values"):
        read(io.BytesIO(text), labels=["red"], ordinal={"plan": PLANS})
    with pytest.raises(OptionError, match="there is no column 'plam'; did you mean 'plan'"):
        read(io.BytesIO(text), labels=["red"], ordinal={"plam": PLANS})
    with pytest.raises(OptionError, match="at least two different values"):
        read(io.BytesIO(text), labels=["red"], ordinal={"plan": ["basic"]})
    with pytest.raises(OptionError, match="column 'plan' needs at least two different values"):
        read(io.BytesIO(text), labels=["red"], ordinal={"plan": 3})
    with pytest.raises(OptionError, match="ordinal must be a dict of column to values"):
        read(io.BytesIO(text), labels=["red"], ordinal=["plan"])
    with pytest.raises(OptionError, match="ordinal: column 'plan' is named by nominal= too"):
        read(io.BytesIO(text), labels=["red"], ordinal={"plan": PLANS}, nominal="plan")


def test_a_part_may_not_have_the_name_of_a_column(tmp_path):
    text = b"on,on year,red\n2021-03-05,7,1\n"
    with pytest.raises(DataError, match="its year is called 'on year', as another column is"):
        read(io.BytesIO(text), labels=["red"])
    with pytest.raises(DataError, match="its year is called 'on year', as another column is"):
        to_table(pd.DataFrame({"on": pd.to_datetime(["2021-03-05"]), "on year": [7]}))


def days(text, **options):
    return read(io.BytesIO(text.encode()), labels=None, delimiter="|", **options).X


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["31.12.2021", "1.2.2022"], {}),
        (["12/31/2021", "2/1/2022"], {}),
        (["31/12/2021", "1/2/2022"], {}),
        (["12/31/2021 9:30 PM", "2/1/2022 10:00"], {}),
        (["12/31/21", "2/1/22"], {}),
        (["December 31, 2021", "1 February 2022"], {}),
        (["31-Dec-21", "Tue, 1st of Feb. 2022"], {}),
        (["31-12-2021", "01-02-2022"], {}),
        (["12/11/2021", "2/1/2022"], {"dates": "month/day/year"}),
        (["11/12/2021", "1/2/2022"], {"dates": "day/month/year"}),
    ],
)
def test_dates_as_people_write_them(cells, options):
    """Found where a whole column agrees, and read as those written the other way."""
    text = "on|n\n" + "".join(f"{cell}|1\n" for cell in (*cells, ""))
    iso = "on|n\n2021-12-31|1\n2022-02-01|1\n|1\n".replace("31", "31" if "31" in cells[0] else "11")
    table = days(text, **options)
    if any(":" in cell for cell in cells):
        assert table.column(4)[:2].tolist() == [21.0, 10.0]
        iso = iso.replace("31|", "31 21:30|").replace("02-01|", "02-01T10:00|")
    assert table.features == days(iso).features
    np.testing.assert_array_equal(table.values, days(iso).values)
    parts = read_chunks(io.BytesIO(text.encode()), labels=None, delimiter="|", rows=1, **options)
    np.testing.assert_array_equal(np.vstack([part.X.values for part in parts]), table.values)
    known = days(text, features=table.features, **options)
    np.testing.assert_array_equal(known.values, table.values)


def test_ambiguous_dates_are_asked_about():
    text = "on|n\n3/4/2021|1\n12/11/2021|2\n"
    with pytest.raises(
        DataError, match=r"dates such as '3/4/2021', in which every day may be a month; pass dates='day/m"
    ):
        days(text)
    features = days("on|n\n12/31/2021|1\n").features
    assert days(text, features=features).column(0)[0] == day_of("2021-03-04")
    iso = days("on|n\n2021-12-31|1\n").features
    with pytest.raises(
        DataError, match=r"expected a date such as 2021-03-05, found '3/4/2021'; pass dates='day/month/"
    ):
        days(text, features=iso)
    assert days(text, nominal="on").features[0].categories == ("12/11/2021", "3/4/2021")
    with pytest.raises(OptionError, match="dates must be one of"):
        days(text, dates="year/day/month")


def test_a_date_that_does_not_agree_is_refused():
    text = "on|n\n" + "12/31/2021|1\n" * 1500 + "31/12/2021|1\n"
    with pytest.raises(
        DataError, match=r"line 1502, column 'on': '31/12/2021' is no date, if dates are written month/"
    ):
        days(text)
    assert days(text.replace("31/12/2021", "soon")).features[0].is_nominal


def lines(*cells, **options):
    text = "".join(json.dumps({"on": cell, "n": 1}) + "\n" for cell in cells)
    return read(io.BytesIO(text.encode()), labels=None, format="jsonl", **options).X


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["31.12.2021", "1.2.2022"], {}),
        (["12/31/2021", "2/1/2022"], {}),
        (["2/1/2022", "12/11/2021"], {"dates": "month/day/year"}),
    ],
)
def test_dates_in_json_lines_are_read_as_in_csv(cells, options):
    table = lines(*cells, None, **options)
    csv = days("on|n\n" + "".join(f"{cell}|1\n" for cell in (*cells, "")), **options)
    assert table.features == csv.features
    np.testing.assert_array_equal(table.values, csv.values)
    np.testing.assert_array_equal(lines(*cells, None, features=table.features, **options).values, table.values)


def test_json_lines_look_at_every_date():
    assert lines("3/4/2021", "soon").features[0].is_nominal
    assert lines("3/4/2021", True).features[0].is_nominal
    assert lines(*["3/4/2021"] * 3, "3/14/2021").features[0].kind == "date"
    with pytest.raises(
        DataError, match=r"dates such as '3/4/2021', in which every day may be a month; pass dates='day/m"
    ):
        lines("3/4/2021", "12/11/2021")
    with pytest.raises(DataError, match="line 2, column 'on': '31/12/2021' is no date, if dates are written mon"):
        lines("12/31/2021", "31/12/2021", features=lines("12/31/2021").features)


def test_dates_that_are_no_feature_stay_as_they_are_written():
    text = b"on|n\n31.12.2021|1\n1.2.2022|2\n"
    assert read(io.BytesIO(text), labels=None, delimiter="|", identifier="on").row_ids == ("31.12.2021", "1.2.2022")
    assert days(text.decode(), nominal="on").features[0].categories == ("1.2.2022", "31.12.2021")


@pytest.mark.parametrize("cell", ["31.12.21", "99/99/2021", "1/2", "1.2.3", "31.13.2021", "1/2.2021"])
def test_what_only_looks_like_dates_is_text(cell):
    assert days(f"on|n\n{cell}|1\n12/31/2021|2\n").features[0].is_nominal


def test_a_day_past_the_year_9999_is_told():
    far = pd.DataFrame({"on": np.array(["9999-12-31", "20000-01-01"], dtype="datetime64[s]")})
    with pytest.raises(DataError, match="column 'on', row 1: expected a date such as 2021-03-05, got Timestamp"):
        to_table(far)


@pytest.mark.parametrize("zone", ["America/New_York", "Etc/GMT+5", "Europe/Berlin", "UTC", "+05:30"])
def test_times_of_every_zone_are_dates(zone: str) -> None:
    """Zones whose names hold an underscore, a digit or a sign were taken for objects that no rule can test."""
    times = pd.to_datetime(["2020-03-04 23:30", "2020-03-06 00:30"]).tz_localize(zone)
    table = to_table(pd.DataFrame({"at": times}))
    assert table.feature_names == ("at", "at year", "at month", "at weekday", "at hour")
    assert table.column(4).tolist() == [23.0, 0.0]
    assert np.diff(table.column(0)).tolist() == [2]  # the day where it was, not that in UTC


@pytest.mark.parametrize("form", ["%Y/%m/%d", "%Y/%-m/%-d", "%Y-%m-%d", "%Y/%m/%d %H:%M"])
def test_dates_that_begin_with_the_year(form: str) -> None:
    """Dates as 2013/06/15 were categories, and the advice to pass `dates` failed, too."""
    days = pd.to_datetime("2012-01-01") + pd.to_timedelta(np.arange(0, 700, 7), unit="D")
    text = pd.DataFrame({"day": days.strftime(form), "y": (days.month > 6).astype(int)}).to_csv(index=False)
    data = read(io.BytesIO(text.encode()), labels="y")
    assert "day month" in data.feature_names
    assert data.X.column(0).tolist() == [(day - pd.Timestamp("1970-01-01")).days for day in days]
    model = RuleListClassifier.paper("precision", max_rules=2).fit(data)
    row = {"day": days[30].strftime(form)}
    code: dict[str, Any] = {}
    exec(model.model_.export("python"), code)
    assert [code["predict"](row)["y"]] == model.model_.predict(pd.DataFrame([row])).ravel().tolist()
