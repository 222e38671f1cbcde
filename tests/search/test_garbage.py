"""The compiled kernels, called directly with arrays that no caller of ours would give them.

What the library hands to the extension is recorded from real calls, so the test follows the extension wherever its
interface goes: every array among the arguments is spoilt in turn, and the call must end in a result or a Python error.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import polyrule.model.predict as predict_module
import polyrule.search.counted.queries as count_module
import polyrule.search.counted.scoring as decide_module
import polyrule.search.native as kernel_module
from polyrule import Feature, RuleListClassifier, Table

native = kernel_module.native
pytestmark = pytest.mark.skipif(
    native is None or sys.platform == "win32", reason="the extension is not built, or processes cannot be forked"
)


class Recorder:
    """Stands in the place of the extension and remembers how its functions are called."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._names = names

    def __getattr__(self, name: str) -> Any:
        real = getattr(native, name)
        if name not in self._names:
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.setdefault(name, (args, kwargs))
            return real(*args, **kwargs)

        return call


def recorded(sparse: bool) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=40), rng.integers(0, 3, 40)]) * (rng.random((40, 2)) < 0.7)
    truth = (rng.random((40, 3)) < 0.4).astype(np.uint8)
    table = Table.from_array(
        sp.csc_array(values) if sparse else values, [Feature("size"), Feature("hue", "nominal", ("a", "b", "c"))]
    )
    recorder = Recorder(("Engine", "predict", "count_rows", "decide_counts"))
    modules: tuple[Any, ...] = (kernel_module, predict_module, count_module, decide_module)
    for module in modules:
        module.native = recorder
    try:
        fitted = RuleListClassifier.paper(max_rules=3).fit(table, sp.csr_array(truth) if sparse else truth)
        fitted.rules_.predict(table)
        if not sparse:
            RuleListClassifier.paper(max_rules=1, max_bins=8).fit(table, truth, np.full(40, 2))
    finally:
        for module in modules:
            module.native = native
    return recorder.calls


def spoilt(array: Any) -> Iterator[tuple[str, Any]]:
    """Ways in which an array can be other than expected."""
    if array.ndim and len(array):
        yield "shorter", np.ascontiguousarray(array[:-1]) if array.ndim == 1 else np.asfortranarray(array[:-1])
        yield "empty", array[:0]
        yield "strided", np.repeat(array, 2, axis=0)[::2]
        wrong = array.copy(order="K")
        wrong.reshape(-1)[...] = 200 if array.dtype == np.uint8 else 10**6
        yield "huge numbers", wrong
        if array.dtype.kind in "if":
            below = array.copy(order="K")
            below.reshape(-1)[...] = -7
            yield "negative numbers", below
        if array.dtype.kind == "f":
            for number in (np.nan, np.inf, 0.5):
                odd = array.copy(order="K")
                odd.reshape(-1)[...] = number
                yield f"all {number}", odd
        if array.dtype.kind == "i":
            yield "reversed", np.ascontiguousarray(array[::-1])
    yield "longer", np.concatenate([array, array])
    yield "another dtype", array.astype(np.float32 if array.dtype != np.float32 else np.int16)
    yield "another order", np.ascontiguousarray(array) if array.ndim == 2 else array.reshape(1, -1)
    yield "no dimensions", np.zeros((), dtype=array.dtype)
    yield "three dimensions", np.zeros((2, 2, 2), dtype=array.dtype)
    yield "read only", _locked(array)
    yield "objects", np.array([None, "x"], dtype=object)
    yield "no array", "garbage"
    yield "None", None


def _locked(array: Any) -> Any:
    array = array.copy(order="K")
    array.flags.writeable = False
    return array


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """Garbage in the place of one argument; arrays inside tuples are spoilt one by one."""
    if isinstance(value, np.ndarray):
        yield from spoilt(value)
    elif isinstance(value, tuple) and any(isinstance(part, np.ndarray) for part in value):
        for j, part in enumerate(value):
            for name, wrong in variants(part):
                yield f"part {j}: {name}", (*value[:j], wrong, *value[j + 1 :])
        yield "too few parts", value[:-1]
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from ((f"{number}", number) for number in (-1, 0, 2**40))
    elif isinstance(value, list):
        yield from (("empty list", []), ("long list", [*value, *value, 7]), ("list of text", ["x"]))


def deadly(calls: Sequence[Callable[[], object]]) -> list[int]:
    """The numbers of the calls that end their process; another process goes on behind them."""
    found: list[int] = []
    first = 0
    while first < len(calls):
        reader, writer = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _make(calls[first:], writer)
        os.close(writer)
        with open(reader, "rb") as begun:
            first += len(begun.read())
        _, status = os.waitpid(child, 0)
        if status != 0:
            found.append(first - 1)
    return found


def _make(calls: Sequence[Callable[[], object]], begun: int) -> None:
    """Make the calls one after the other, and tell of each that it begins; whatever they raise is fine."""
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for call in calls:
        os.write(begun, b".")
        signal.alarm(20)
        with contextlib.suppress(BaseException):
            call()
    os._exit(0)


def test_a_call_that_ends_its_process_is_found() -> None:
    calls = [lambda: None, os.abort, lambda: 1 / 0, lambda: os._exit(1), lambda: None, lambda: os.kill(os.getpid(), 9)]
    assert deadly(calls) == [1, 3, 5]


def use(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call, and go on with what comes back: a constructor that takes garbage may fall over it later."""
    made = getattr(native, name)(*args, **kwargs)
    if name == "Engine":
        made.grow(None, 1, 5.0)
        made.leftover()


#: Whether the extension says that it checks lengths and content, too, and not only types, dimensions and order.
CHECKED = bool(getattr(native, "checks_arguments", False))
#: What nanobind itself refuses; the rest is for the extension to check, and is checked by the library before it calls.
BY_TYPE = (
    "another dtype",
    "no dimensions",
    "three dimensions",
    "objects",
    "no array",
    "None",
    "too few parts",
    "list of text",
)


def findings(sparse: bool, kinds: tuple[str, ...] = ()) -> list[str]:
    """Every kind of garbage (or of `kinds`) that ends the process."""
    named: dict[str, Callable[[], object]] = {}
    for name, (args, kwargs) in recorded(sparse).items():
        use(name, args, kwargs)
        for argument, value in (*enumerate(args), *kwargs.items()):
            for what, wrong in variants(value):
                if not kinds or what.endswith(kinds):
                    call = partial(use, name, *_with(args, kwargs, argument, wrong))
                    named[f"{name}({'sparse' if sparse else 'dense'}): {argument}: {what}"] = call
    assert len(named) > 100
    return [list(named)[number] for number in deadly(list(named.values()))]


def _with(args: tuple[Any, ...], kwargs: dict[str, Any], argument: int | str, value: Any) -> Any:
    if isinstance(argument, str):
        return args, kwargs | {argument: value}
    return (*args[:argument], value, *args[argument + 1 :]), kwargs


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_no_garbage_ends_the_process(sparse):
    assert findings(sparse, () if CHECKED else BY_TYPE) == []


if __name__ == "__main__":
    sys.stdout.write("\n".join([*findings(False), *findings(True)]) + "\n")
