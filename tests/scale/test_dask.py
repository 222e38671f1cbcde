"""The same list from workers of a cluster: collections and stores, whoever dies meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster
from tests.scale.worlds import counted

import polyrule.dask
from polyrule import RuleListClassifier, pack
from polyrule.errors import DataError, OptionError
from polyrule.kernels.engine import GrowOptions
from polyrule.measures import Objective
from polyrule.scale.coded import Layout, Range, Step
from polyrule.scale.counter import LocalCounter
from polyrule.scale.questions import CountRows
from polyrule.scale.workers import answer_block

# distributed and tornado leave sockets and loops to the interpreter's end
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with Client(cluster) as opened:
        yield opened
    cluster.close()


def world(rows: int = 900, seed: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"a": rng.normal(size=rows), "b": rng.integers(0, 30, rows), "c": rng.choice(["u", "v", "w"], rows)}
    )
    X.loc[rng.random(rows) < 0.05, "a"] = np.nan
    Y = pd.DataFrame(
        {
            "p": ((X["a"] > 0.3) | (X["c"] == "u")).astype(int),
            "q": ((X["b"] > 12) & (X["a"] < 1)).astype(int),
            "r": (rng.random(rows) < 0.3).astype(int),
        }
    )
    return X, Y


OPTIONS = {"max_rules": 8, "max_conditions": 3}


def test_frames_arrays_and_stores_give_the_list_of_one_machine(client, tmp_path) -> None:
    X, Y = world()
    expected = RuleListClassifier.paper(max_bins=32, **OPTIONS).fit(X, Y)
    frames = dd.from_pandas(X, npartitions=5), dd.from_pandas(Y, npartitions=5)
    learner = polyrule.dask.RuleListClassifier(client, max_bins=32, **OPTIONS)
    learner.fit(*frames)
    assert str(learner.rules_) == str(expected.rules_)
    assert learner.model_.default_counts == expected.model_.default_counts
    lazy = learner.predict(frames[0])
    assert hasattr(lazy, "dask")
    np.testing.assert_array_equal(lazy.compute(), expected.predict(X))
    np.testing.assert_array_equal(learner.predict(X), expected.predict(X))

    store = pack(pd.concat([X, Y], axis=1), out=tmp_path / "s", labels="p,q,r", max_bins=32, block_rows=200)
    learner = polyrule.dask.RuleListClassifier(client, **OPTIONS).fit(store)
    assert str(learner.rules_) == str(expected.rules_)

    numbers = X[["a", "b"]].to_numpy()
    expected = RuleListClassifier.paper(max_bins=32, **OPTIONS).fit(numbers, Y.to_numpy())
    chunks = da.from_array(numbers, chunks=(250, 1)), da.from_array(Y.to_numpy(), chunks=(250, 3))
    learner = polyrule.dask.RuleListClassifier(client, max_bins=32, **OPTIONS).fit(*chunks)
    assert str(learner.rules_) == str(expected.rules_)
    predicted = learner.predict_proba(chunks[0])
    assert predicted.shape == (900, 3)
    np.testing.assert_array_equal(predicted.compute(), expected.predict_proba(numbers))


def test_mistakes_are_told(client) -> None:
    X, Y = world(50)
    learner = polyrule.dask.RuleListClassifier(client)
    with pytest.raises(DataError, match="fits a dask frame or array X with its labels y"):
        learner.fit(X, Y)
    with pytest.raises(DataError, match="repartition them alike"):
        learner.fit(dd.from_pandas(X, npartitions=2), dd.from_pandas(Y, npartitions=3))
    with pytest.raises(OptionError, match=r"leave it out with polyrule\.dask"):
        polyrule.dask.RuleListClassifier(client, device="cuda").fit(
            dd.from_pandas(X, npartitions=2), dd.from_pandas(Y, npartitions=2)
        )
    assert polyrule.dask.RuleListClassifier(client, max_rules=3).get_params()["max_rules"] == 3


def test_a_late_or_repeated_task_changes_nothing() -> None:
    X, Y = world(80)
    packed = polyrule.store.pack_table(polyrule.data.to_table(X), Y.to_numpy(), None, ("p", "q", "r"))
    layout = Layout.of(packed.bins, 3, (0, 1, 2))
    question = CountRows((Range(1, 0, 10),), layout, (0, 0, 0))
    steps = (Step((Range(1, 0, 4),), ((0, 1),), "all"), Step((Range(2, 1, 1),), ((1, 0),), "none"))

    def asked(count: int) -> np.ndarray:
        return answer_block(packed.blocks[0], "fit", 0, 3, steps[:count], question).kinds

    first = [asked(count) for count in (0, 1, 2)]
    for count in (1, 0, 2, 2, 0):
        np.testing.assert_array_equal(asked(count), first[count])
    local = LocalCounter(packed)
    for count in range(3):
        np.testing.assert_array_equal(local.ask(question).kinds, first[count])
        if count < 2:
            local.advance(steps[count])
    assert counted(packed, local, Objective("f1"), GrowOptions()).total == 80


def test_a_worker_that_dies_changes_nothing(tmp_path) -> None:
    X, Y = world(3000)
    store = pack(pd.concat([X, Y], axis=1), out=tmp_path / "s", labels="p,q,r", block_rows=300)
    expected = RuleListClassifier.paper(**OPTIONS).fit(store).rules_
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    try:
        with Client(cluster) as client:
            victim = min(nanny.pid for nanny in cluster.workers.values())

            def kill() -> None:
                time.sleep(0.3)
                os.kill(victim, signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            learner = polyrule.dask.RuleListClassifier(client, **OPTIONS)
            lists = [str(learner.fit(store).rules_) for _ in range(2)]
            killer.join()
            assert victim not in [nanny.pid for nanny in cluster.workers.values()]
            assert lists == [str(expected)] * 2
    finally:
        cluster.close()
