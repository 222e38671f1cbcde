"""The same list from workers of a cluster: collections and stores, whoever dies meanwhile."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
from dask.distributed import CancelledError, Client, LocalCluster
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.search.counted.worlds import counted, learn_both, packed_of
from tests.search.strategies import Problem, problems

import dask
import polyrule.dask
from polyrule import RuleEnsembleClassifier, RuleListClassifier, SeCoClassifier, pack
from polyrule.binning.bins import bins_of
from polyrule.dask.counter import TRIES, DaskCounter, again
from polyrule.dask.packing import pack_collections
from polyrule.errors import DataError
from polyrule.measures import Objective
from polyrule.search.counted.counter import LocalCounter
from polyrule.search.counted.queries import RowCounts
from polyrule.search.counted.requests import CommittedRule, Layout, Range
from polyrule.search.counted.workers import Share, add_up, answer_share, unpacked_answer
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine

# distributed and tornado leave sockets and loops to the interpreter's end
pytestmark = [
    pytest.mark.usefixtures("few_trees"),
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
    expected = SeCoClassifier(max_bins=32, **OPTIONS).fit(X, Y)
    frames = dd.from_pandas(X, npartitions=5), dd.from_pandas(Y, npartitions=5)
    learner = polyrule.dask.SeCoClassifier(client, max_bins=32, **OPTIONS)
    learner.fit(*frames)
    assert str(learner.rules_) == str(expected.rules_)
    assert learner.model_.default_counts == expected.model_.default_counts
    lazy = learner.predict(frames[0])
    assert hasattr(lazy, "dask")
    np.testing.assert_array_equal(lazy.compute(), expected.predict(X))
    np.testing.assert_array_equal(learner.predict(X), expected.predict(X))

    store = pack(pd.concat([X, Y], axis=1), out=tmp_path / "s", labels="p,q,r", max_bins=32, block_rows=200)
    learner = polyrule.dask.SeCoClassifier(client, **OPTIONS).fit(store)
    assert str(learner.rules_) == str(expected.rules_)

    numbers = X[["a", "b"]].to_numpy()
    expected = SeCoClassifier(max_bins=32, **OPTIONS).fit(numbers, Y.to_numpy())
    chunks = da.from_array(numbers, chunks=(250, 1)), da.from_array(Y.to_numpy(), chunks=(250, 3))
    learner = polyrule.dask.SeCoClassifier(client, max_bins=32, **OPTIONS).fit(*chunks)
    assert str(learner.rules_) == str(expected.rules_)
    predicted = learner.predict_proba(chunks[0])
    assert predicted.shape == (900, 3)
    np.testing.assert_array_equal(predicted.compute(), expected.predict_proba(numbers))


def test_short_lists_and_ensembles_are_those_of_one_machine(client) -> None:
    X, Y = world(500)
    weights = np.random.default_rng(4).integers(0, 3, len(X))
    frames = dd.from_pandas(X, npartitions=5), dd.from_pandas(Y, npartitions=3), da.from_array(weights, chunks=170)
    expected = RuleListClassifier(max_bins=255).fit(X, Y, weights)
    learner = polyrule.dask.RuleListClassifier(client).fit(*frames)
    assert len(expected.rules_) > 1
    assert str(learner.rules_) == str(expected.rules_)
    np.testing.assert_array_equal(learner.predict(frames[0]).compute(), expected.predict(X))

    options = {"max_rules": 4, "cv": 2, "teacher": None}
    packed = polyrule.store.pack_table(polyrule.data.to_table(X), Y.to_numpy(), None, ("p", "q", "r"))
    alone = RuleEnsembleClassifier(**options).fit(packed)
    together = polyrule.dask.RuleEnsembleClassifier(client, **options).fit(*frames[:2])
    assert str(together.model_) == str(alone.model_)
    np.testing.assert_array_equal(together.predict_proba(frames[0]).compute(), alone.predict_proba(X))
    assert str(together.to_local().model_) == str(alone.model_)


def test_a_sample_is_drawn_and_counted_where_the_data_lies(client, monkeypatch) -> None:
    monkeypatch.setattr(polyrule.dask.packing.Remote, "fetched", None)  # all codes at once must not come here
    X, Y = world(500)
    frames = dd.from_pandas(X, npartitions=5), dd.from_pandas(Y, npartitions=3)
    for kind, options in (
        ("RuleListClassifier", {"max_samples": 100, "teacher": None}),
        ("RuleEnsembleClassifier", {"max_samples": 100, "max_rules": 3, "cv": 2, "teacher": None}),
    ):
        packed = polyrule.store.pack_table(polyrule.data.to_table(X), Y.to_numpy(), None, ("p", "q", "r"))
        expected = getattr(polyrule, kind)(**options).fit(packed)
        learner = getattr(polyrule.dask, kind)(client, **options).fit(*frames)
        assert len(expected.rules_) > 0
        assert str(learner.rules_) == str(expected.rules_)
        assert learner.rules_.info["examples"] == len(X)


def test_cuts_of_many_distinct_values_are_sent_under_names_of_their_own(client) -> None:
    for seed in (1, 2):  # large arguments of one fit must not be taken for those of another
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6000, 4))
        Y = np.stack([X[:, 0] > 0.5 * seed, X[:, 1] < X[:, 2]], axis=1).astype(int)
        learner = polyrule.dask.SeCoClassifier(client, max_rules=2, max_conditions=1)
        learner.fit(da.from_array(X, chunks=(2000, -1)), da.from_array(Y, chunks=(2000, -1)))
        expected = SeCoClassifier(max_bins=255, max_rules=2, max_conditions=1).fit(X, Y)
        assert str(learner.rules_) == str(expected.rules_)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    problem=problems(max_rows=20, max_features=3, max_labels=4),
    blocks=st.sampled_from([1, 2, 5]),
)
def test_random_worlds_on_a_cluster(client, problem: Problem, blocks: int) -> None:
    packed, objective, options = packed_of(problem, blocks), Objective("f0.5"), GrowOptions()
    labels = len(packed.label_names)
    counter = DaskCounter(client, lambda: [client.submit(Share, [b], labels, pure=False) for b in packed.blocks])
    reference = ReferenceEngine(problem.table, problem.truth, problem.weights, objective, options)
    learn_both(counted(packed, counter, objective, options), reference, problem.seed, rounds=3)


def test_mistakes_are_told(client, tmp_path) -> None:
    X, Y = world(50)
    learner = polyrule.dask.RuleListClassifier(client)
    with pytest.raises(DataError, match="fits a dask frame or array X with its labels y"):
        learner.fit(X, Y)
    with pytest.raises(DataError, match="X has 50 rows but y has 40"):
        learner.fit(dd.from_pandas(X, npartitions=2), dd.from_pandas(Y[:40], npartitions=3))
    with pytest.raises(DataError, match="sample_weight: a cluster counts in whole numbers"):
        learner.fit(*(dd.from_pandas(one, npartitions=2) for one in (X, Y)), da.from_array(np.full(50, 0.5)))
    store = pack(pd.concat([X, Y], axis=1), out=tmp_path / "s", labels="p,q,r")
    given = {"y": Y, "sample_weight": np.ones(50), "label_names": ["p", "q", "r"]}
    for name, own in given.items():
        with pytest.raises(DataError, match=f"{name} must be None if X is a store, which contains the labels"):
            learner.fit(store, **{name: own})
    assert polyrule.dask.RuleListClassifier(client, max_rules=3).get_params()["max_rules"] == 3


@pytest.mark.parametrize("problem", [OSError("connection lost"), CancelledError("key")])
def test_what_the_cluster_loses_is_asked_again(problem) -> None:
    told: list[str] = []

    def run(failures: int) -> str:
        told.append("asked")
        if told.count("asked") <= failures:
            raise problem
        return "answer"

    assert again(lambda: run(TRIES - 1), lambda: told.append("lost")) == "answer"
    assert told == ["asked", "lost"] * (TRIES - 1) + ["asked"]
    told.clear()
    with pytest.raises(type(problem)):
        again(lambda: run(TRIES))
    assert told == ["asked"] * TRIES


def test_partitions_of_several_kinds_are_refused(client) -> None:
    X, Y = world(40)
    X["size"] = pd.Categorical(np.resize(["small", "mid", "large"], 40), ["small", "mid", "large"], ordered=True)
    other = X.assign(size=X["size"].cat.remove_categories("small"))
    learner = polyrule.dask.RuleListClassifier(client)
    parts = dd.from_delayed([dask.delayed(X), dask.delayed(other)], meta=X, verify_meta=False)
    with pytest.raises(DataError, match="partition 1: column 'size' has other ordered values here"):
        learner.fit(parts, dd.from_pandas(pd.concat([Y, Y]), npartitions=2, sort=False))
    parts = dd.from_delayed([dask.delayed(Y), dask.delayed(Y[["q", "p", "r"]])], meta=Y, verify_meta=False)
    with pytest.raises(DataError, match="partition 1: its labels are not those of the first chunk"):
        learner.fit(dd.from_pandas(pd.concat([X, X]), npartitions=2, sort=False), parts)


def test_empty_partitions_say_nothing_about_kinds(client) -> None:
    X, Y = (one.astype(object) if "c" in one else one for one in world(60))
    X = X.astype({"a": float, "b": int})
    parts = [[dask.delayed(one[rows]) for rows in (slice(0), slice(40), slice(40, 60), slice(0))] for one in (X, Y)]
    frames = [
        dd.from_delayed(part, meta=one, verify_meta=False) for part, one in zip(parts, (X[:0], Y[:0]), strict=True)
    ]
    learner = polyrule.dask.SeCoClassifier(client, max_bins=16, max_rules=3).fit(*frames)
    expected = SeCoClassifier(max_bins=16, max_rules=3).fit(X, Y)
    assert str(learner.rules_) == str(expected.rules_)
    with pytest.raises(DataError, match="there are no rows to pack"):
        learner.fit(*(dd.from_pandas(one[:0], npartitions=1) for one in (X, Y)))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**31),
    distinct=st.sampled_from([1, 20, 10**6]),
    max_bins=st.sampled_from([2, 9, 50]),
    blocks=st.sampled_from([1, 4]),
)
def test_cuts_are_those_of_the_whole_column(client, monkeypatch, seed, distinct, max_bins, blocks) -> None:
    monkeypatch.setattr(polyrule.dask.packing, "SAMPLE", 12)
    rng = np.random.default_rng(seed)
    X = rng.integers(-distinct, distinct, (400, 3)) / 7
    X[rng.random(400) < 0.95, 1] = distinct  # one value in most rows
    X[100:, 2] = np.nan
    given = (da.from_array(one, chunks=(400 // blocks, -1)) for one in (X, (X[:, :1] > 0).astype(int)))
    found = pack_collections(client, *given, max_bins, False)
    for j, (feature, bins) in enumerate(zip(found.features, found.bins, strict=True)):
        expected = bins_of(X[:, j], feature, max_bins)
        np.testing.assert_array_equal(bins.highs, expected.highs)
        np.testing.assert_array_equal(bins.lows, expected.lows)


def test_a_late_or_repeated_task_changes_nothing() -> None:
    X, Y = world(80)
    packed = polyrule.store.pack_table(polyrule.data.to_table(X), Y.to_numpy(), None, ("p", "q", "r"))
    layout = Layout.of(packed.bins, 3, (0, 1, 2))
    question = RowCounts((Range(1, 0, 10),), layout, (0, 0, 0))
    steps = (CommittedRule((Range(1, 0, 4),), ((0, 1),), "all"), CommittedRule((Range(2, 1, 1),), ((1, 0),), "none"))

    share = Share(list(packed.blocks), 3)

    def asked(count: int) -> np.ndarray:
        return share.answer(steps[:count], question).outcomes

    first = [asked(count) for count in (0, 1, 2)]
    for count in (1, 0, 2, 2, 0):
        np.testing.assert_array_equal(asked(count), first[count])
    local = LocalCounter(packed)
    for count in range(3):
        np.testing.assert_array_equal(local.run(question).outcomes, first[count])
        if count < 2:
            local.advance(steps[count])
    assert counted(packed, local, Objective("f1"), GrowOptions()).total == 80


@pytest.mark.parametrize(
    ("source", "kind"),
    [("store", "all workers"), ("store", "the connection"), ("frames", "a worker"), ("frames", "the connection")],
)
def test_what_breaks_in_mid_fit_changes_nothing(breakable, tmp_path, source: str, kind: str) -> None:
    """Something breaks after the first rule; with no worker left, questions wait for those that come back."""
    cluster, client = breakable
    X, Y = world(1500)
    if source == "store":
        data: tuple = (pack(pd.concat([X, Y], axis=1), out=tmp_path / "s", labels="p,q,r", block_rows=300),)
        expected = SeCoClassifier(**OPTIONS).fit(*data).rules_
    else:
        data = tuple(dd.from_pandas(frame, npartitions=3) for frame in (X, Y))
        expected = SeCoClassifier(max_bins=255, **OPTIONS).fit(X, Y).rules_
    broken = []

    def strike(progress) -> None:
        if not broken:
            broken.append(kind)
            if kind == "the connection":
                client.loop.add_callback(client.scheduler_comm.comm.abort)
            else:
                victims = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                for victim in victims[:1] if kind == "a worker" else victims:
                    os.kill(victim, signal.SIGKILL)

    found: list[str] = []
    learner = polyrule.dask.SeCoClassifier(client, **OPTIONS)
    fit = threading.Thread(target=lambda: found.append(str(learner.fit(*data, callback=strike).rules_)), daemon=True)
    fit.start()
    fit.join(300)  # a question that nobody answers any more must not keep the tests for ever
    assert broken
    assert found == [str(expected)]


@pytest.fixture(scope="module")
def processes():
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})  # a busy machine starts them slowly
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def breakable(processes):
    with Client(processes) as client:
        client.wait_for_workers(2)  # those that were killed come back
        yield processes, client


@settings(max_examples=50, deadline=None)
@given(
    problem=problems(max_rows=30, max_features=3, max_labels=4),
    usual=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    scale=st.sampled_from([1, 300, 2**33]),
)
def test_counts_arrive_as_they_were_sent(problem: Problem, usual: list[int], scale: int) -> None:
    packed = packed_of(Problem(problem.table, problem.truth, problem.weights * scale, 0), 2)
    labels = len(packed.label_names)
    layout = Layout.of(packed.bins, labels, tuple(range(len(packed.features))))
    question = RowCounts((), layout, tuple(usual[:labels]))
    steps = (CommittedRule((Range(0, 0, 1),), ((0, 1),), "all"),)
    shares = [Share([block], labels) for block in packed.blocks]
    whole = Share(list(packed.blocks), labels).answer(steps, question)
    sent = [pickle.loads(pickle.dumps(answer_share(share, steps, question))) for share in shares]
    found = unpacked_answer(add_up(sent))
    np.testing.assert_array_equal(found.outcomes, whole.outcomes)
    np.testing.assert_array_equal(found.weight, whole.weight)
    assert found.outcomes.dtype == np.int64


def test_a_share_that_moves_replays_its_rules() -> None:
    X, Y = world(80)
    packed = polyrule.store.pack_table(polyrule.data.to_table(X), Y.to_numpy(), None, ("p", "q", "r"))
    question = RowCounts((), Layout.of(packed.bins, 3, (0, 1, 2, 3)), (0, 0, 0))
    steps = (CommittedRule((Range(1, 0, 4),), ((0, 1),), "none"),)
    share = Share(list(packed.blocks), 3)
    expected = share.answer(steps, question)
    moved = pickle.loads(pickle.dumps(share))
    np.testing.assert_array_equal(moved.answer(steps, question).outcomes, expected.outcomes)
