from __future__ import annotations

import math
import pickle
from fractions import Fraction as F

import pytest

from polyrule.errors import MeasureError, OptionError
from polyrule.measures import Lift, Objective


def test_names_are_looked_up_and_it_travels():
    objective = Objective("f0.5", lift="kln:0.16")
    assert objective.measure.name == "f0.5"
    assert objective.lift == Lift.kln(0.16)
    assert pickle.loads(pickle.dumps(objective)) == objective
    assert str(Objective("f1", scope="all", lift="root:4", max_head_size=3, negative=False)) == (
        "f1, micro, scope all, lift root:4, at most 3 labels, positive literals only"
    )


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"measure": "nope"}, MeasureError, "unknown measure"),
        ({"averaging": "weighted"}, OptionError, "averaging must be one of"),
        ({"scope": "partial"}, OptionError, "scope must be one of"),
        ({"search": "fast"}, OptionError, "search must be one of"),
        ({"max_head_size": 0}, OptionError, "max_head_size"),
        ({"max_head_size": 1.5}, OptionError, "max_head_size"),
        ({"max_head_size": True}, OptionError, "max_head_size"),
        ({"max_head_size": "3"}, OptionError, "max_head_size"),
        ({"lift": "log"}, OptionError, "cannot be read"),
        ({"lift": "kln:-1"}, OptionError, "must not be negative"),
        ({"lift": "kln:nan"}, OptionError, "finite"),
        ({"lift": "kln:1e300"}, OptionError, "finite and at most 1e100"),
        ({"lift": "peak:2,1e300"}, OptionError, "finite and at most 1e100"),
        ({"measure": "f" + "9" * 400}, MeasureError, "beta must be a finite number, got '999"),
        ({"measure": "m" + "9" * 400}, MeasureError, "m must be a finite number, got '999"),
        ({"lift": "root:0.5"}, OptionError, "at least 1"),
        ({"lift": "root"}, OptionError, "cannot be read"),
        ({"lift": "peak:0,2"}, OptionError, "peak"),
        ({"lift": "peak:2.5,2"}, OptionError, "cannot be read"),
        ({"lift": "kln:x"}, OptionError, "cannot be read"),
    ],
)
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words):
        Objective(**{"measure": "f1", **options})


def test_lifts():
    assert Lift.parse(None) == Lift.parse("none") == Lift.none()
    for text in ("none", "kln:0.16", "root:4", "peak:3,1.2,2"):
        lift = Lift.parse(text)
        assert str(lift) == text
        assert lift.rho(1, 6) == 1
    assert float(Lift.kln(0.16).rho(3, 6)) == pytest.approx(1 + 0.16 * math.log(3), abs=1e-9)
    assert float(Lift.root(2).rho(4, 6)) == 2
    assert Lift.root(3).rho(5, 6).denominator <= 2**30
    peak = Lift.peak(3, 1.5, 1)
    assert [peak.rho(k, 6) for k in (1, 2, 3, 4, 5, 6)] == [
        F(1), F(5, 4), F(3, 2), F(round(F(4, 3) * 2**30), 2**30), F(round(F(7, 6) * 2**30), 2**30), F(1),
    ]  # fmt: skip
    bulging = Lift.peak(5, 2, 2)
    assert bulging.factor(3, 9) > Lift.peak(5, 2, 1).factor(3, 9)
    with pytest.raises(OptionError, match="only 2"):
        peak.rho(1, 2)
    assert Lift.peak(1, 2).rho(1, 1) == 2
