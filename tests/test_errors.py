"""Errors that carry their parameter, in Python and on the command line."""

import pickle

import pytest

from polyrule.errors import DataError, OptionError, PolyruleError
from polyrule.utils.messages import argument, literal, option_names, parameter_name


def test_the_sentence_is_built_from_the_parameter():
    error = OptionError(parameter="max_rules", value=0, allowed="a whole number of at least 1")
    assert str(error) == "max_rules must be a whole number of at least 1, got 0"
    with option_names({}):
        assert str(error) == "--max-rules must be a whole number of at least 1, got 0"
    assert (error.parameter, error.value, error.allowed) == ("max_rules", 0, "a whole number of at least 1")


def test_a_message_begins_with_file_and_parameter():
    error = DataError("there is no column 'sad'", parameter="labels")
    error.source = "b.csv"
    assert str(error) == "b.csv: labels: there is no column 'sad'"
    with option_names({"labels": "label-columns"}):
        assert str(error) == "b.csv: --label-columns: there is no column 'sad'"


def test_errors_survive_a_process():
    error = pickle.loads(pickle.dumps(OptionError("no", parameter="cv", value=[1], allowed="3")))
    assert str(error) == "cv: no"
    assert (error.value, error.allowed) == ([1], "3")


@pytest.mark.parametrize(
    ("in_python", "as_option", "text"),
    [
        ("drop=", "--drop", lambda: argument("drop")),
        ("header=False", "--no-header", lambda: argument("header", False)),
        ("refine=True", "--refine", lambda: argument("refine", True)),
        ("lift=None", "--lift none", lambda: argument("lift", None)),
        ("heads='single'", "--heads single", lambda: argument("heads", "single")),
        ("dates='day/month/year'", "--dates 'day/month/year'", lambda: argument("dates", "day/month/year")),
        ("n_jobs", "--threads", lambda: parameter_name("n_jobs")),
        ("None", "none", lambda: literal(None)),
        ("'auto'", "'auto'", lambda: literal("auto")),
    ],
)
def test_parameters_are_options_where_a_command_runs(in_python, as_option, text):
    assert text() == in_python
    with option_names({"n_jobs": "threads"}):
        assert text() == as_option
    assert text() == in_python


def test_long_messages_are_cut():
    assert len(str(PolyruleError("x" * 10_000))) < 2100
    assert len(str(OptionError(parameter="cv", value="x" * 10_000, allowed="y"))) < 200
