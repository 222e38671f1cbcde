"""Tables, figures and the page are made from rows alone."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from polyrule.data.dataset import Dataset
from polyrule.data.table import Table
from polyrule.errors import DataError
from polyrule.evaluation.experiment import Results, RowStore, make_figures, make_tables, parse_spec, write_results
from polyrule.evaluation.experiment.one_run import describe_run, plan_runs
from polyrule.evaluation.experiment.report_tables import (
    ResultTable,
    TableCell,
    failure_table,
    rank_table,
    score_table,
    size_table,
)
from polyrule.evaluation.experiment.writer import models_beside_published, performance_beside_published, read_published
from polyrule.evaluation.scores import score

TEXT = """
name = "made"
title = "Made <b>up</b>"
[scores]
empty_label = 1
[[data]]
name = "d0"
[[data]]
name = "d1"
[[data]]
name = "d2"
[[data]]
name = "d3"
[[data]]
name = "d4"
[[data]]
name = "d5"
[[learner]]
name = "single"
class = "a.B"
grid.measure = ["f1", "precision"]
[[learner]]
name = "multi"
class = "a.C"
grid.measure = ["f1", "precision"]
[[comparison]]
name = "all"
measures = ["micro_f1", "hamming_loss"]
"""


MINIMAL = """
[[data]]
name = "d"
[[learner]]
name = "a"
class = "a.B"
[split]
kind = "folds"
folds = 3
"""


def make_rows(directory, spec, broken=()):
    """Store plausible rows without fitting anything: the quality of a learner grows with its position."""
    store, rng = RowStore(directory), np.random.default_rng(0)
    position = {learner.name: index for index, learner in enumerate(spec.learners)}
    for run in plan_runs(spec):
        if (run.data.name, run.learner.name) in broken:
            store.add(run.key, {**describe_run(run), "status": "timeout", "error": "more than 4 s"})
            continue
        truth = np.zeros((40, 4), dtype=int)
        truth[:, :3] = rng.random((40, 3)) < 0.4
        noise = np.zeros_like(truth)
        noise[:, :3] = rng.random((40, 3)) < 0.3 - 0.08 * position[run.learner.name]
        scores = score(truth, truth ^ noise)
        row = {
            **describe_run(run),
            "status": "ok",
            **scores.as_dict(),
            "counts": scores.counts.as_dict(),
            "labels": 4,
            "rules": 10,
            "conditions": 25,
            "multi_label_rules": 5,
            "head_literals": 15,
            "fit_seconds": 0.5,
            "fit_cpu_seconds": 0.25 * (1 + position[run.learner.name]),
            "predict_seconds": 0.01,
            "used_memory_mb": 12.0,
            "versions": {},
        }
        store.add(run.key, row)


@pytest.fixture
def results(tmp_path):
    spec = parse_spec(TEXT)
    make_rows(tmp_path, spec, broken={("d3", "multi f1")})
    return Results.load(spec, tmp_path)


def test_scores_follow_the_files_convention_whatever_was_stored(results):
    row = results.finished[0]
    tp, fp, fn = (np.array(row["counts"][name]) for name in ("tp", "fp", "fn"))
    by_hand = [1 if t + p + n == 0 else 2 * t / (2 * t + p + n) for t, p, n in zip(tp, fp, fn, strict=True)]
    assert row["macro_f1"] == pytest.approx(np.mean(by_hand))
    assert by_hand[3] == 1


def test_score_table_marks_the_best_and_shows_what_failed(results):
    table = score_table(results, "micro_f1")
    assert table.header == ("learner", "d0", "d1", "d2", "d3", "d4", "d5")
    failed = dict(zip(table.header, table.rows[2], strict=True))["d3"]
    assert failed == TableCell("timeout", bold=False)
    for column in range(1, 7):
        cells = [row[column] for row in table.rows if row[column].text != "timeout"]
        best = max(float(cell.text) for cell in cells)
        assert {float(cell.text) for cell in cells if cell.bold} == {best}
    assert "counts 1" in table.notes[0]


def test_lower_is_better_for_losses(results):
    table = score_table(results, "hamming_loss")
    cells = [row[1] for row in table.rows]
    assert min(float(cell.text) for cell in cells) == next(float(cell.text) for cell in cells if cell.bold)


def test_comparison_leaves_out_data_sets_with_holes_and_says_so(results):
    comparison, notes = results.comparison(results.spec.comparisons[0], "micro_f1")
    assert comparison.data_sets == ("d0", "d1", "d2", "d4", "d5")
    assert notes == ("d3 is left out: no result for multi f1.",)
    table = rank_table(results, results.spec.comparisons[0])
    assert "d3 is left out: no result for multi f1." in table.notes
    assert any("Friedman (N = 5, k = 4)" in note for note in table.notes)
    assert any("only 5 data sets" in note for note in table.notes)


def test_too_few_data_sets_are_not_tested(tmp_path):
    spec = parse_spec(TEXT)
    make_rows(tmp_path, spec, broken={("d3", "multi f1"), ("d2", "multi f1")})
    table = rank_table(Results.load(spec, tmp_path), spec.comparisons[0])
    assert any("no test: 4 data set(s) are too few" in note for note in table.notes)


def test_size_and_failure_tables(results):
    sizes = size_table(results)
    assert len(sizes.rows) == 24
    first = dict(zip(sizes.header, (cell.text for cell in sizes.rows[0]), strict=True))
    assert (first["rules"], first["% multi-label heads"], first["labels per head"]) == ("10", "50.00", "1.50")
    assert [cell.text for cell in failure_table(results).rows[0]] == [
        "d3",
        "multi f1",
        "test",
        "timeout",
        "more than 4 s",
    ]


def test_everything_is_written_from_rows(results, tmp_path):
    out = tmp_path / "out"
    written = write_results(results, out)
    names = {path.relative_to(out).as_posix() for path in written}
    assert {
        "results.csv",
        "results.parquet",
        "index.html",
        "tables/micro_f1.tex",
        "figures/training-times.svg",
    } <= names
    assert "figures/ranks-all-micro_f1.svg" in names
    with open(out / "results.csv", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 24
    assert float(rows[0]["micro_f1"]) == results.rows[0]["micro_f1"]
    page = (out / "index.html").read_text()
    assert "Made &lt;b&gt;up&lt;/b&gt;" in page
    assert "<b>up" not in page
    assert "http://" not in re.sub(
        r"http://www\.w3\.org/\S+|http://purl\.org/\S+|http://creativecommons\.org/\S+", "", page
    )
    before = {path: path.read_bytes() for path in written if path.suffix in (".svg", ".html", ".md")}
    write_results(results, out)
    assert before == {path: path.read_bytes() for path in before}, "the same rows give the same files"


def test_parquet_equals_csv(results, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_results(results, tmp_path / "out")
    table = parquet.read_table(tmp_path / "out" / "results.parquet")
    assert table.num_rows == 24
    assert table.column("micro_f1").to_pylist()[0] == results.rows[0]["micro_f1"]


def test_frame_is_tidy(results):
    frame = results.frame()
    assert frame.shape[0] == 24
    assert list(frame.columns[:6]) == ["data", "split", "learner", "family", "measure", "status"]
    assert "counts" not in frame.columns


def test_tables_and_figures_are_objects(results):
    assert {table.name for table in make_tables(results)} >= {
        "micro_f1",
        "models",
        "failures",
        "ranks-all",
        "means-all",
    }
    figures = {name: figure for name, _, figure in make_figures(results)}
    times = figures["training-times"].frame()
    assert len(times["data"]) == 11  # six data sets by two measures, one pair broken
    assert (times["single_seconds_times_labels"] == times["single_seconds"] * 4).all()


def test_empty_results(tmp_path):
    spec = parse_spec(TEXT)
    results = Results.load(spec, tmp_path)
    assert results.missing == 24
    write_results(results, tmp_path / "out")
    assert "24 not run yet" in (tmp_path / "out" / "index.html").read_text()


def test_published_numbers_are_compared_as_printed(results, tmp_path):
    own = results.value("d0", "multi f1", "micro_f1").mean
    file = tmp_path / "published.csv"
    file.write_text(
        "# a source\ndata,learner,reference,micro_f1,macro_f1\n"
        f"d0,multi f1,yes,{100 * own:.2f},\nd0,single f1,no: lost,0.00,1.00\nd9,multi f1,yes,1.00,1.00\n"
    )
    table = performance_beside_published(results, file)
    assert len(table.rows) == 2  # a data set the experiment does not have is left out
    first, second = ([cell.text for cell in row] for row in table.rows)
    assert first[2] == f"{100 * own:.2f} (=)"
    assert first[3].endswith("(none)")
    assert first[4] == "1 of 2"
    assert "(+" in second[2]
    assert second[5] == "no: lost"


def test_a_table_of_published_numbers_must_have_its_columns(tmp_path):
    (tmp_path / "p.csv").write_text("data,learner\nx,y\n")
    with pytest.raises(DataError, match="needs a column 'reference'"):
        read_published(tmp_path / "p.csv")
    with pytest.raises(DataError, match="cannot read published numbers"):
        read_published(tmp_path / "none.csv")
    with pytest.raises(DataError, match="needs a column 'rules'"):
        models_beside_published(None, published(tmp_path, "yes,0.5"))


def published(folder, row):
    file = folder / "numbers.csv"
    file.write_text(f"data,learner,reference,micro_f1\nd0,single f1,{row}\n", encoding="latin-1")
    return file


@pytest.mark.parametrize("row", ["yes,n/a", "yes,inf", "yes,0.5,0.6"])
def test_published_numbers_are_numbers(tmp_path, row):
    with pytest.raises(DataError, match=r"row 1 holds .*, which is no number"):
        read_published(published(tmp_path, row))


def test_published_numbers_are_text_and_may_be_missing(tmp_path):
    assert read_published(published(tmp_path, "yes"))[0]["micro_f1"] == ""
    with pytest.raises(DataError, match="no table of published numbers in UTF-8"):
        read_published(published(tmp_path, "\xe9,0.5"))


def test_renderings_escape_names():
    table = ResultTable.of("t", "a & b", ["x_1", "<y>"], [["50%|*", TableCell("a_b", bold=True)]])
    assert r"| 50%\|\* | **a\_b** |" in table.markdown()
    assert r"50\%|* & \textbf{a\_b} \\" in table.latex()
    assert "<y>" not in table.html()
    assert "<h2>a &amp; b</h2>" in table.html()
    assert table.frame().shape == (1, 2)


def test_folds_give_intervals(tmp_path):
    spec = parse_spec(TEXT + "[split]\nkind = 'folds'\nfolds = 3\n")
    make_rows(tmp_path, spec)
    results = Results.load(spec, tmp_path)
    table = score_table(results, "micro_f1")
    assert all("±" in cell.text for row in table.rows for cell in row[1:])
    interval = results.value("d0", "multi f1", "micro_f1")
    values = [row["micro_f1"] for row in results.select("d0", "multi f1")]
    assert interval.mean == pytest.approx(np.mean(values))


def test_half_an_interval_is_not_cut_off_at_the_greatest_score(tmp_path):
    spec = parse_spec(MINIMAL)
    store, runs = RowStore(tmp_path), plan_runs(spec)
    for run, wrong in zip(runs, (0, 0, 3), strict=True):
        truth = np.ones((10, 1), dtype=int)
        counts = score(truth, truth * (np.arange(10)[:, None] >= wrong)).counts.as_dict()
        store.add(run.key, {**describe_run(run), "status": "ok", "counts": counts})
    cell = score_table(Results.load(spec, tmp_path), "subset_accuracy").rows[0][1]
    assert cell.text == "0.900 ± 0.680"  # up to 1 it would be 0.100


def test_made_data_sets():
    from polyrule.evaluation.experiment.one_run import load_data
    from polyrule.evaluation.experiment.spec import DataSpec

    made = load_data(DataSpec("m", "sklearn.datasets.make_multilabel_classification", True, {"n_samples": 9}))
    assert isinstance(made, Dataset)
    assert isinstance(made.X, Table)
    assert len(made) == 9


def test_repository_tables_of_published_numbers_are_complete():
    folder = Path(__file__).parents[3] / "experiments" / "published"
    performance, models = (read_published(folder / name) for name in ("performance.csv", "models.csv"))
    assert len(performance) == 8 * 10
    assert len(models) == 8 * 7
    assert {row["reference"] for row in performance if row["data"] == "flags"} == {"yes"}
