"""Rule lists from dask collections and from stores, counted by the workers of a cluster.

The conventions are those of `xgboost.dask` and `lightgbm.dask`: the classes have the names of the ordinary ones, take a
``client``, fit dask frames and arrays (or a store) and predict lazily. The list is the ordinary one, to the last tie:
workers count, the client decides.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd

from polyrule import estimators
from polyrule.arrays import Floats, Ints
from polyrule.data.encode import to_table
from polyrule.data.labels import to_labels
from polyrule.data.table import Feature
from polyrule.errors import DataError, OptionError
from polyrule.model import RuleList
from polyrule.scale.coded import Step
from polyrule.scale.counting import Counting
from polyrule.scale.questions import Question
from polyrule.scale.workers import add_up, answer_block, answer_blocks, forget
from polyrule.store import Block, Packed, Store
from polyrule.store.bins import Bins, check_max_bins, code_type, nominal_bins, quantiles, ranks
from polyrule.store.packed import label_words

try:
    import dask
    import dask.array
    from dask.distributed import Client, default_client, fire_and_forget, wait
except ImportError as problem:  # pragma: no cover
    raise ImportError("polyrule.dask needs dask and distributed; pip install polyrule[dask]") from problem

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
#: Answers that are added by one task.
FAN = 4
#: How often a question is asked again when the cluster loses it.
TRIES = 5


class DaskCounter:
    """Asks the workers of a cluster; sums are made along a tree, the client gets one answer per question.

    Parameters
    ----------
    client : dask.distributed.Client
    blocks : Store, or list of futures of Block
    labels : int
    """

    decides = False

    def __init__(self, client: Client, blocks: Store | list[Any], labels: int) -> None:
        self.client = client
        self.steps: tuple[Step, ...] = ()
        self._blocks = blocks
        self._labels = labels
        self._fit = uuid.uuid4().hex

    def ask(self, question: Question[Answer]) -> Answer:
        """Return the sum of the answers of all blocks."""
        for tries in range(TRIES):
            try:
                answer: Answer = self._tree(self._submit(question)).result()
                return answer
            except (dask.distributed.CancelledError, OSError) as problem:
                if tries + 1 == TRIES:
                    raise
                logger.warning("the cluster lost a question (%s); asking again", type(problem).__name__)
        raise AssertionError

    def advance(self, step: Step) -> None:
        """Note the rule; workers replay it when they are asked again."""
        self.steps = (*self.steps, step)

    def close(self) -> None:
        """Let the workers forget what they keep for this fit; nobody waits for one that has just died."""
        for address in self.client.nthreads():
            task = self.client.submit(forget, self._fit, workers=[address], allow_other_workers=True, pure=False)
            fire_and_forget(task)

    def _submit(self, question: Any) -> list[Any]:
        rest = (self._fit, self._labels, self.steps, question)
        if not isinstance(self._blocks, Store):
            fit, *more = rest
            return [
                self.client.submit(answer_block, block, fit, index, *more, pure=False)
                for index, block in enumerate(self._blocks)
            ]
        store = self._blocks
        # every block goes to the same worker each time, which then still has its state
        threads = sorted(self.client.nthreads().items())
        places = [address for address, count in threads for _ in range(count)]
        shares = min(max(1, len(places)), len(store.blocks))
        return [
            self.client.submit(
                answer_blocks,
                str(store.path.resolve()),
                store.fingerprint,
                list(range(share, len(store.blocks), shares)),
                *rest,
                pure=False,
                **({"workers": [places[share]], "allow_other_workers": True} if places else {}),
            )
            for share in range(shares)
        ]

    def _tree(self, answers: list[Any]) -> Any:
        while len(answers) > 1:
            answers = [
                self.client.submit(add_up, answers[i : i + FAN], pure=False) for i in range(0, len(answers), FAN)
            ]
        return answers[0]


class RuleListClassifier(estimators.RuleListClassifier):
    """A rule list learned by a dask cluster; the same list as the ordinary class gives with the same bins.

    Parameters
    ----------
    client : dask.distributed.Client, optional
        The cluster; the current one by default.
    **options
        As in `polyrule.RuleListClassifier`. `max_bins` is 255 unless it is given.

    Examples
    --------
    ::

        from dask.distributed import Client, LocalCluster
        import dask.dataframe as dd
        from polyrule.dask import RuleListClassifier

        client = Client(LocalCluster(n_workers=2))
        data = dd.read_parquet("big/*.parquet")
        clf = RuleListClassifier(max_rules=50).fit(data[features], data[labels])
        clf.predict(data[features]).to_zarr("predicted")
        clf.model_.save("model.json")
    """

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*estimators.RuleListClassifier._get_param_names(), "client"])

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        label_names: Sequence[str] | None = None,
        labels: Any = None,
        start: RuleList | None = None,
    ) -> Self:
        """Learn rules from a dask frame or array and its labels, or from a store that all workers can read."""
        client = self.client or default_client()
        if labels is not None:
            raise OptionError("labels= is for frames in memory; with polyrule.dask pass the label columns as y")
        if start is not None:
            raise OptionError("start is not supported here; it is for lists that are pruned in memory")
        if sample_weight is not None:
            raise OptionError("sample_weight is not supported here; pack the data with weights and fit the store")
        if isinstance(X, Store):
            packed: Packed = X
            blocks: Any = X
        else:
            packed, blocks = pack_collections(client, X, y, self.max_bins or 255, self.refine, label_names)
        self._counter = DaskCounter(client, blocks, len(packed.label_names))
        try:
            super().fit(packed)
        finally:
            self._counter.close()
            del self._counter
        return self

    def _counting(self) -> Counting:
        if self.device != "cpu":
            raise OptionError("device is chosen by the workers' machines; leave it out with polyrule.dask")
        counter = self._counter
        return Counting(None, self.refine, maker=lambda packed: counter)

    def predict(self, X: Any) -> Any:
        """Predict labels: lazily, block by block, for a dask collection."""
        return self._lazily(X, "predict", np.int64)

    def predict_proba(self, X: Any) -> Any:
        """Probability that each label is present; lazily for a dask collection."""
        return self._lazily(X, "predict_proba", np.float64)

    def to_local(self) -> estimators.RuleListClassifier:
        """Return the same fitted learner without the cluster."""
        plain = estimators.RuleListClassifier()
        plain.__dict__.update({name: value for name, value in self.__dict__.items() if name != "client"})
        plain.callback = None
        return plain

    def _lazily(self, X: Any, name: str, dtype: Any) -> Any:
        predict = getattr(self.to_local(), name)
        if not hasattr(X, "dask"):
            return predict(X)
        width = len(self.label_names_)
        parts, lengths = _parts(X)
        blocks = [
            dask.array.from_delayed(dask.delayed(predict)(part), (length, width), dtype)
            for part, length in zip(parts, lengths, strict=True)
        ]
        return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)


# -- packing collections on the workers --------------------------------------------------------------------------------


def pack_collections(
    client: Client, X: Any, y: Any, max_bins: int, keep_values: bool, label_names: Sequence[str] | None = None
) -> tuple[Packed, list[Any]]:
    """Pack dask collections where they lie; return what the client needs, and futures of the blocks."""
    check_max_bins(max_bins)
    if y is None or not hasattr(X, "dask") or not hasattr(y, "dask"):
        raise DataError("polyrule.dask fits a dask frame or array X with its labels y, or a Store")
    (features_of, _), (labels_of, _) = _parts(X), _parts(y)
    if len(features_of) != len(labels_of):
        raise DataError(f"X has {len(features_of)} partitions but y has {len(labels_of)}; repartition them alike")
    pairs = client.persist(
        [dask.delayed(_read)(a, b, label_names) for a, b in zip(features_of, labels_of, strict=True)]
    )
    pairs = client.compute(pairs)
    described = client.gather(client.map(_describe, pairs, pure=False))
    features = _settled([found[0] for found in described])
    names = described[0][1]
    if any(found[1] != names for found in described):
        raise DataError("the partitions of y have different labels")
    highs = _cuts(client, pairs, features, max_bins)
    encoded = [client.submit(_encode, pair, features, highs, len(names), keep_values, pure=False) for pair in pairs]
    wait(encoded)
    lows = client.gather(client.map(_lows, encoded, pure=False))
    bins = tuple(
        nominal_bins(feature) if feature.is_nominal else Bins(np.min([low[j] for low in lows], axis=0), highs[j])
        for j, feature in enumerate(features)
    )
    blocks = client.map(_block, encoded, pure=False)
    sizes = client.gather(client.map(len, blocks, pure=False))
    kept = [block for block, size in zip(blocks, sizes, strict=True) if size]
    return _Remote(features, bins, names, [], sum(sizes)), kept


class _Remote(Packed):
    """Packed data whose blocks lie on workers: only their number of rows is known here."""

    def __init__(self, features: Any, bins: Any, names: Any, blocks: Any, rows: int) -> None:
        super().__init__(features, bins, names, blocks)
        object.__setattr__(self, "rows", rows)

    def __len__(self) -> int:
        return int(self.rows)  # type: ignore[attr-defined]

    @property
    def total_weight(self) -> int:
        """Weight of all examples."""
        return len(self)


def _parts(collection: Any) -> tuple[list[Any], list[Any]]:
    """Delayed pieces of rows and their lengths, NaN where nobody knows."""
    if hasattr(collection, "npartitions") and not hasattr(collection, "chunks"):
        parts = list(collection.to_delayed())
        return parts, [np.nan] * len(parts)
    whole = collection.rechunk({1: -1}) if collection.ndim == 2 else collection
    return list(whole.to_delayed().ravel()), list(whole.chunks[0])


def _read(X: Any, y: Any, label_names: Any) -> Any:
    table = to_table(X)
    truth, names = to_labels(y.to_frame() if isinstance(y, pd.Series) else y, label_names)
    if len(table) != truth.shape[0]:
        raise DataError(f"a partition of X has {len(table)} rows, that of y has {truth.shape[0]}; partition them alike")
    return table, truth, names


def _describe(pair: Any) -> Any:
    return pair[0].features, pair[2]


def _settled(found: list[tuple[Feature, ...]]) -> tuple[Feature, ...]:
    features = list(found[0])
    for other in found[1:]:
        if [f.name for f in other] != [f.name for f in features]:
            raise DataError("the partitions of X have different columns")
        for j, (mine, its) in enumerate(zip(features, other, strict=True)):
            if mine.kind != its.kind:
                raise DataError(f"column {mine.name!r} holds text in one partition and numbers in another")
            if mine.categories != its.categories:
                features[j] = replace(mine, categories=tuple(sorted({*mine.categories, *its.categories})))
    return tuple(features)


def _cuts(client: Client, pairs: list[Any], features: tuple[Feature, ...], max_bins: int) -> list[Floats]:
    """Exact quantiles of whole columns, in three rounds: fences, counts between them, values around the ranks."""
    samples = client.gather(client.map(_sample, pairs, pure=False))
    fences = [np.unique(np.concatenate([sample[j] for sample in samples])) for j in range(len(features))]
    counts = client.submit(add_up, client.map(_between, pairs, fences=fences, pure=False), pure=False).result()
    wanted = []
    for counted in counts.parts:
        running = np.cumsum(counted)
        places = np.searchsorted(running, ranks(int(running[-1]), max_bins)) if running[-1] else np.zeros(0, dtype=int)
        wanted.append(np.unique(places))
    inside = client.gather(client.map(_inside, pairs, fences=fences, wanted=wanted, pure=False))
    return [
        _quantiles([part[j] for part in inside], counts.parts[j], fences[j], wanted[j], max_bins)
        for j in range(len(features))
    ]


SAMPLE = 4096


class _Sums(list):  # type: ignore[type-arg]
    """Arrays of different lengths that add up one by one."""

    @property
    def parts(self) -> list[Ints]:
        return list(self)

    def __add__(self, other: Any) -> _Sums:
        return _Sums(a + b for a, b in zip(self, other, strict=True))


def _column(pair: Any, j: int) -> Floats:
    column = pair[0].column(j)
    return np.asarray(np.sort(column[~np.isnan(column)]))


def _sample(pair: Any) -> list[Floats]:
    """Evenly spaced values of every column, the ends included; all of them where there are few."""
    found = []
    for j in range(pair[0].shape[1]):
        distinct = np.unique(_column(pair, j))
        places = np.unique(np.linspace(0, len(distinct) - 1, SAMPLE).astype(int)) if len(distinct) > SAMPLE else ...
        found.append(distinct[places])
    return found


def _between(pair: Any, fences: list[Floats]) -> _Sums:
    """How many values lie in each interval (fence before, fence]; all values are at most the last fence."""
    return _Sums(
        np.bincount(np.searchsorted(fence, _column(pair, j)), minlength=max(1, len(fence)))
        for j, fence in enumerate(fences)
    )


def _inside(pair: Any, fences: list[Floats], wanted: list[Ints]) -> list[tuple[Floats, Ints]]:
    found = []
    for j, (fence, places) in enumerate(zip(fences, wanted, strict=True)):
        column = _column(pair, j)
        values, counts = np.unique(column[np.isin(np.searchsorted(fence, column), places)], return_counts=True)
        found.append((values, counts))
    return found


def _quantiles(parts: Any, counts: Ints, fence: Floats, wanted: Ints, max_bins: int) -> Floats:
    """Put the values of the wanted intervals beside the fences of the others; ranks then fall on values."""
    if not counts.sum():
        return np.zeros(0)
    others = np.setdiff1d(np.flatnonzero(counts), wanted)
    values = np.concatenate([part[0] for part in parts] + [fence[others]])
    weights = np.concatenate([part[1] for part in parts] + [counts[others]])
    distinct, position = np.unique(values, return_inverse=True)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, position, weights)
    return quantiles(distinct, total, max_bins)


def _encode(
    pair: Any, features: tuple[Feature, ...], highs: list[Floats], labels: int, keep_values: bool
) -> tuple[Block, list[Floats]]:
    table, truth, _ = pair
    table = to_table(table, features)
    bins = [nominal_bins(f) if f.is_nominal else Bins(highs[j], highs[j]) for j, f in enumerate(features)]
    codes = np.empty((len(features), len(table)), dtype=code_type(max(map(len, bins))))
    lows = []
    for j, of_column in enumerate(bins):
        column = table.column(j)
        codes[j] = of_column.codes(column)
        known = ~np.isnan(column)
        least = np.full(len(of_column), np.inf)
        np.minimum.at(least, codes[j][known], column[known])
        lows.append(least)
    values = np.stack([table.column(j) for j in range(len(features))]) if keep_values else None
    return Block(codes, label_words(truth), None, values), lows


def _block(encoded: Any) -> Block:
    block: Block = encoded[0]
    return block


def _lows(encoded: Any) -> list[Floats]:
    lows: list[Floats] = encoded[1]
    return lows
