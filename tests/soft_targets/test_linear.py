"""Linear ridge regression on text: its closed form against leaving each example out in turn."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.soft_targets import regression
from polyrule.soft_targets.regression import LinearRidge, common_values, looks_like_text


def world(seed: int, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    design = np.where(rng.random((rows, columns)) < 0.15, rng.integers(1, 4, (rows, columns)), 0).astype(np.float32)
    truth = np.stack([design[:, 0] > 0, design[:, 1] + design[:, 2] > 0], axis=1).astype(np.uint8)
    return design, truth, rng.integers(1, 4, rows).astype(float)


@pytest.mark.parametrize(("rows", "columns"), [(40, 60), (90, 12)])
def test_what_is_said_without_an_example_is_what_a_fit_without_it_says(monkeypatch, rows: int, columns: int) -> None:
    monkeypatch.setattr(regression, "_RIDGES", (1.0,))
    design, truth, weights = world(0, rows, columns)
    model = LinearRidge(design, truth, weights, common_values(design))
    words = model._words(design).toarray()
    share = weights / weights.mean()
    for row in (0, 7, rows - 1):
        keep = np.arange(rows) != row
        left = words[keep] * share[keep, None]
        slopes = np.linalg.solve(left.T @ words[keep] + np.eye(columns), left.T @ (truth[keep] - model._shares))
        assert model.out_of_fold[row] == pytest.approx(words[row] @ slopes + model._shares, abs=1e-5)


def test_words_that_make_a_label_are_found_and_other_rows_are_predicted(monkeypatch) -> None:
    design, truth, weights = world(1, 400, 80)
    whole = LinearRidge(design, truth, weights, common_values(design))
    assert np.abs(whole.out_of_fold - truth).mean() < 0.25
    monkeypatch.setattr(regression, "_MAX_WORD_EXAMPLES", 200)
    part = LinearRidge(design, truth, weights, common_values(design))
    assert part.out_of_fold[200:] == pytest.approx(part.predict(design[200:]), abs=1e-5)


def test_text_is_told_from_other_tables() -> None:
    numbers = np.random.default_rng(0).normal(size=(50, 100)).astype(np.float32)
    tables = (world(2, 50, 100)[0], numbers, world(2, 50, 10)[0])
    assert [looks_like_text(table, common_values(table)) for table in tables] == [True, False, False]


def test_missing_values_count_as_usual_ones() -> None:
    design, truth, weights = world(3, 60, 70)
    holes = design.copy()
    holes[design == 0] = np.where(np.random.default_rng(0).random((design == 0).sum()) < 0.1, np.nan, 0)
    assert LinearRidge(holes, truth, weights, common_values(holes)).out_of_fold == pytest.approx(
        LinearRidge(design, truth, weights, common_values(design)).out_of_fold, abs=1e-6
    )


def test_a_column_without_a_known_value_has_a_usual_one_all_the_same():
    design = np.array([[1, np.nan, 2], [1, np.nan, np.nan], [3, np.nan, 4]], dtype=np.float32)
    assert common_values(design).tolist() == [1, 0, 3]
