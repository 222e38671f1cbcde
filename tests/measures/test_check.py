from __future__ import annotations

import numpy as np
import pytest

from polyrule import measures
from polyrule.errors import MeasureError, OptionError


def test_an_expression_is_proved_refuted_or_open():
    report = measures.check("tp/(tp+fp+0.5*fn)")
    assert report.entry("micro", "head").status == "proved"
    assert report.entry("example", "all").status == "refuted"
    assert "{3}=1/2 > {1,3}=9/20 but {1,2,3}=1/2" in str(report.entry("example", "all"))
    assert "once labels are set: neither, refuted" in report.text()
    assert len(report.frame()) == 24
    assert report.frame().loc[0, "search"] == "decomposable"


def test_a_function_is_checked_by_worlds():
    def gain(tp, fp, tn, fn):
        return np.sqrt(tp) / (1 + fp)

    report = measures.check(gain, budget=300)
    entry = report.entry("micro", "head")
    assert (entry.status, entry.properties.fact) == ("open", "no counterexample")
    assert "open, perhaps anti-monotone: no counterexample in 300 small problems, among them all with" in str(entry)
    assert report.entry("label", "head").properties.fact == "C"
    assert report.measure.name == "gain"
    assert report.records()[0]["fact"] is None


def test_positive_literals_only():
    assert measures.check("wracc", negative=False, budget=200).entry("micro", "all").status == "proved"
    assert measures.check("wracc", budget=200).entry("micro", "all").status == "refuted"


def test_it_is_deterministic():
    assert measures.check("tp*tn", budget=200).text() == measures.check("tp * tn ", budget=200).text().replace(
        "tp * tn", "tp*tn"
    )


def test_bad_input():
    with pytest.raises(OptionError, match="budget"):
        measures.check("f1", budget=0)
    with pytest.raises(MeasureError, match="unknown measure"):
        measures.check("nonsense")
