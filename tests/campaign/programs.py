"""A mismatch as a program of its own: needs polyrule only, exits 0 once the engines agree."""

from __future__ import annotations

from tests.campaign.comparing import Result
from tests.campaign.worlds import World

_ENGINES = '''"""{title}"""

import sys
from math import nan

import numpy as np
import scipy.sparse as sp

from polyrule.data.table import Feature, Table
from polyrule.data.examples import integer_weights
from polyrule.search.protocol import GrowOptions
from polyrule.search.native import NativeEngine
from polyrule.search.reference import ReferenceEngine
from polyrule.measures import Objective

X = {X}
Y = {Y}
kinds = {kinds}
weights = {weights}
# what to grow (grow, literal or single), for which literal, and how to commit it (stop_threshold, keep_covered)
steps = {steps}

features = [Feature(f"f{{j}}", kind, tuple(f"c{{i:03}}" for i in range(n))) for j, (kind, n) in enumerate(kinds)]
values = np.array(X, dtype=float).reshape(len(X), len(kinds))
table = Table.from_array({values}, features)
truth = {truth}
whole, unit = integer_weights(weights, len(X))
objective, options = Objective(**{objective}).in_units(unit), GrowOptions(**{options}).in_units(unit)
arguments = (table, truth, whole, objective, options)
mine = NativeEngine(*arguments, n_jobs={threads}, limits={limits})
reference = ReferenceEngine(*arguments)


def shown(rule):
    return rule and (rule.value, tuple(rule.head), tuple(rule.body), rule.covered.tolist())


for number, (what, literal, commit) in enumerate(steps, 1):
    if not reference.has_unset or not reference.remaining:
        break
    found, expected = (e.grow_single() if what == "single" else e.grow(*(literal or ())) for e in (mine, reference))
    if shown(found) != shown(expected):
        sys.exit(f"step {{number}} ({{what}}):\\n  native    {{shown(found)}}\\n  reference {{shown(expected)}}")
    if expected is None:
        break
    outcomes = mine.commit(expected, *commit), reference.commit(expected, *commit)
    states = [(e.remaining, e.has_unset, np.asarray(e.leftover()).tolist()) for e in (mine, reference)]
    if outcomes[0] != outcomes[1] or states[0] != states[1]:
        both = zip(("native", "reference"), outcomes, states)
        sys.exit(f"step {{number}}, commit: " + ", ".join(map(str, both)))
print("the engines agree")
'''

_FIT = '''"""{title}"""

import sys
from math import nan

import numpy as np
import scipy.sparse as sp

from polyrule import {estimator}, config_context
from polyrule.data.table import Feature, Table

X = {X}
Y = {Y}
kinds = {kinds}
weights = {weights}

features = [Feature(f"f{{j}}", kind, tuple(f"c{{i:03}}" for i in range(n))) for j, (kind, n) in enumerate(kinds)]
values = np.array(X, dtype=float).reshape(len(X), len(kinds))
table = Table.from_array({values}, features)
truth = {truth}
lists = []
ways = [("reference", {{}}), (None, {{}})]
if {counted}:
    ways.append((None, {{"max_bins": 255}}))
for kernels, way in ways:
    with config_context(kernels=kernels):
        model = {estimator}(**{parameters}, **way).fit(table, truth, weights).rules_
    lists.append((model.rules, model.defaults, model.default_counts))
if order := {order}:
    model = {estimator}(**{parameters}).fit(table[order], truth[order], np.array(weights)[order]).rules_
    lists.append((model.rules, model.defaults, model.default_counts))
for found in lists[1:]:
    if found != lists[0]:
        for mine, other in zip(found[0], lists[0][0]):
            if mine != other:
                print(mine, other, sep="\\n")
        sys.exit("the lists differ")
print("the lists agree")
'''


def program(world: World, result: Result) -> str:
    """Return the source of the program."""
    shared = {
        "title": f"{result.what} differs ({', '.join(world.tags()) or 'nothing unusual'}). Exits 0 once all agree.",
        "X": _rows(world.X),
        "Y": _rows(world.Y),
        "kinds": world.kinds,
        "weights": world.weights,
        "values": "sp.csc_array(values)" if world.sparse else "values",
        "truth": "sp.csr_array(np.array(Y, dtype=np.uint8))" if world.sparse_labels else "np.array(Y, dtype=np.uint8)",
    }
    if world.fit is not None:
        fit = {"estimator": world.fit[0], "parameters": world.fit[1]}
        return _FIT.format(**shared, **fit, counted=world.counted, order=world.order)
    return _ENGINES.format(
        **shared,
        steps=_rows(world.steps),
        objective=world.objective,
        options=world.options,
        threads=world.threads,
        limits=world.limits,
    )


def _rows(rows: list[object]) -> str:
    return "[\n" + "".join(f"    {row},\n" for row in rows) + "]"
