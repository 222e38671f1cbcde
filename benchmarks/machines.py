"""How often the last digits of a teacher, which differ between machines, change a model.

Everything of polyrule is computed in whole numbers or from single operations but its teacher: there LAPACK solves
linear equations, and its last digits depend on the processor and the version. The answers are rounded to multiples of
2**-16, and the targets of lists to 1/256; this shows how often rounding hides the difference.

- *perturbed*: each answer of each model in the teacher is multiplied by 1 ± 2**-BITS at random, REPEATS times;
- *processors*: the model is learned in processes whose OpenBLAS and NumPy take the code for other processors, and with
  the libraries of OTHER, the Python of an environment with other versions of NumPy, SciPy and scikit-learn.

    python benchmarks/machines.py [--datasets flags,emotions] [--learners list,ensemble] [--bits 20] [--other PYTHON]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.soft_targets import model as teacher

DATASETS = "flags,emotions,scene,yeast,birds,genbase,medical,CAL500,enron"
LEARNERS: dict[str, Callable[[], Any]] = {
    "list": RuleListClassifier,
    "ensemble": lambda: RuleEnsembleClassifier(max_rules=30),
}
PROCESSORS = {
    "any (SSE)": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
    "2011 (AVX)": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "2013 (AVX2)": {"OPENBLAS_CORETYPE": "Haswell"},
    "2017 (Zen)": {"OPENBLAS_CORETYPE": "Zen"},
    "2017 (AVX-512)": {"OPENBLAS_CORETYPE": "SkylakeX"},
}
MEMBERS = ("Forest", "KernelRidge", "LinearRidge")


@contextmanager
def teachers(bits: float | None, seed: int) -> Iterator[list[np.ndarray]]:
    """Yield the answers about training examples of all teachers; with `bits` their models' last digits are others."""
    rng, answers = np.random.default_rng(seed), []
    originals = {name: getattr(teacher, name) for name in MEMBERS}
    plain = teacher.SoftLabelModel.__init__

    def disturbed(values: Any) -> Any:
        return (values * (1 + 2.0**-bits * rng.choice([-1.0, 1.0], values.shape))).astype(np.float32)

    def other(base: Any) -> Any:
        class Disturbed(base):  # type: ignore[misc]
            def __init__(self, *args: Any) -> None:
                super().__init__(*args)
                self.out_of_fold = disturbed(self.out_of_fold)

            def predict(self, matrix: Any) -> Any:
                return disturbed(super().predict(matrix))

        return Disturbed

    def init(self: Any, *args: Any, **options: Any) -> None:
        plain(self, *args, **options)
        answers.append(self.out_of_fold.copy())

    try:
        teacher.SoftLabelModel.__init__ = init  # type: ignore[method-assign]
        for name, base in originals.items() if bits is not None else ():
            setattr(teacher, name, other(base))
        yield answers
    finally:
        teacher.SoftLabelModel.__init__ = plain  # type: ignore[method-assign]
        for name, base in originals.items():
            setattr(teacher, name, base)


def fit(learner: str, name: str, bits: float | None = None, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Return what a model states and predicts, and the answers of its teacher."""
    data = datasets.load(name, part="train")
    with warnings.catch_warnings(), teachers(bits, seed) as answers:
        warnings.simplefilter("ignore")
        model = LEARNERS[learner]().fit(data).model_
    return str(model), np.concatenate([each.ravel() for each in answers])


def moved(answers: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Return the shares of answers that differ, and that differ as multiples of 1/256."""
    if answers.shape != others.shape:
        return 1.0, 1.0
    coarse = np.rint(256 * answers) != np.rint(256 * others)
    return float((answers != others).mean()), float(coarse.mean())


def perturbed(learner: str, name: str, bits: float, repeats: int) -> None:
    """Print how often a model changes when the last digits of its teacher do."""
    begin = time.monotonic()
    usual, answers = fit(learner, name)
    changed, shares = 0, []
    for seed in range(repeats):
        found, others = fit(learner, name, bits, seed)
        changed += found != usual
        shares.append(moved(answers, others))
    fine, coarse = np.mean(shares, axis=0)
    print(
        f"{learner:9} {name:12} {fine:9.4%} {coarse:9.4%}   {changed} of {repeats} models"
        f"   ({time.monotonic() - begin:.0f} s)",
        flush=True,
    )


def processors(learner: str, name: str, other_python: str | None) -> None:
    """Print on which processors, and whether with other libraries, the model is another one."""
    found = {}
    others = {"other libraries": {}} if other_python else {}
    for processor, settings in {"this": {}, **PROCESSORS, **others}.items():
        python = other_python if processor in others else sys.executable
        command = [str(python), __file__, "--one", learner, name]
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
        found[processor] = json.loads(done.stdout)
    usual = found.pop("this")
    answers = np.array(usual["answers"], dtype=np.float64)
    for processor, other in found.items():
        fine, coarse = moved(answers, np.array(other["answers"], dtype=np.float64))
        says = "another model" if other["model"] != usual["model"] else "the same model"
        print(f"{learner:9} {name:12} {fine:9.4%} {coarse:9.4%}   {processor}: {says}", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--learners", default="list,ensemble")
    parser.add_argument("--bits", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--processors", default="flags,emotions,medical")
    parser.add_argument("--other", help="Python that has polyrule with other libraries")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        found, answers = fit(*args.one)
        json.dump({"model": found, "answers": answers.tolist()}, sys.stdout)
        return
    print(f"learner   data set      answers  as 1/256   (each answer times 1 ± 2**-{args.bits:g})")
    for name in args.datasets.split(","):
        for learner in args.learners.split(","):
            perturbed(learner, name, args.bits, args.repeats)
    print("learner   data set      answers  as 1/256   (code for other processors)")
    for name in filter(None, args.processors.split(",")):
        for learner in args.learners.split(","):
            processors(learner, name, args.other)


if __name__ == "__main__":
    main()
