"""Fifty random rational expressions and what is proved about them.

``make prove`` settles all of them anew, writes verdicts, certificates and worlds to ``random_expressions.json`` and
says how many were result and how long it took; the tests check what is written there, which takes no search and no z3.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

STORED = Path(__file__).with_name("random_expressions.json")
COUNTS = ("tp", "fp", "tn", "fn")
SECONDS = 10.0


def expressions(number=50, seed=2018):
    """Ratios of linear and of quadratic functions, sums and products of two ratios; all with small coefficients."""
    rng = random.Random(seed)
    shapes = (_linear_ratio, _ratio_with_constants, _quadratic_ratio, _sum_of_ratios, _product_of_ratios)
    found = []
    while len(found) < number:
        text = shapes[len(found) % len(shapes)](rng)
        if text not in found:
            found.append(text)
    return found


def _linear_ratio(rng):
    # a difference on top, a positive sum below
    return f"({_sum(rng, signs=True)})/({_sum(rng, always=('tp',))})"


def _ratio_with_constants(rng):
    return f"({_sum(rng, signs=True)} + {rng.randint(0, 3)})/({_sum(rng)} + {rng.randint(1, 4)})"


def _quadratic_ratio(rng):
    return f"({_quadratic(rng, signs=True)})/({_quadratic(rng, always='tp*tp')})"


def _sum_of_ratios(rng):
    sign = rng.choice("+-")
    return f"tp/({_sum(rng, always=('tp',))}) {sign} {rng.choice(COUNTS)}/({_sum(rng, always=('tp',))})"


def _product_of_ratios(rng):
    return f"({_sum(rng)})/({_sum(rng, always=('tp',))}) * tp/({_sum(rng, always=('tp',))})"


def _sum(rng, signs=False, always=()):
    chosen = sorted({*always, *rng.sample(COUNTS, rng.randint(1, 3))}, key=COUNTS.index)
    return _join(rng, chosen, signs)


def _quadratic(rng, signs=False, always=""):
    products = [f"{a}*{b}" for i, a in enumerate(COUNTS) for b in COUNTS[i:]]
    chosen = sorted({*([always] if always else []), *rng.sample(products, rng.randint(1, 3))}, key=products.index)
    return _join(rng, chosen, signs)


def _join(rng, terms, signs):
    text = ""
    for term in terms:
        sign = rng.choice("++-") if signs and text else "+"
        weight = rng.choice(("", "", "2*", "3*"))
        text += f" {sign} {weight}{term}" if text else f"{weight}{term}"
    return text


def main():
    from polyrule import measures
    from polyrule.measures.proofs import prove_measure

    records, slowest, settled_count = [], 0.0, 0
    for text in expressions():
        measure = measures.get(text)
        result = prove_measure(measure, nothing_set=False, negative=True, seconds=SECONDS)
        slowest = max(slowest, result.seconds)
        settled_count += result.status != "open" and result.seconds <= SECONDS
        witness = result.witness
        record = {"expression": text, "verdict": result.status}
        if result.proof is not None:
            record["proof"] = result.proof.to_dict(measure)
        if result.status == "neither":
            record["world"] = {
                "truth": ["".join(map(str, row)) for row in witness.truth],
                "covered": [int(x) for x in witness.covered],
                "set": ["".join("01"[x != -1] for x in row) for row in witness.assigned],
                "heads": [[list(literal) for literal in head] for head in witness.heads],
            }
        records.append(record)
        sys.stdout.write(f"{result.seconds:6.2f} s  {result.status:14} {text}  {result.open_because}\n")
        sys.stdout.flush()
    STORED.write_text("[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n", encoding="utf-8")
    sys.stdout.write(
        f"{settled_count} of {len(records)} result within {SECONDS:g} s each, the slowest in {slowest:.1f} s\n"
    )


if __name__ == "__main__":
    main()
