"""Rule lists and ensembles from dask collections and from stores, with the workers of a cluster.

The conventions are those of `xgboost.dask` and `lightgbm.dask`: the classes have the names of the ordinary ones, take a
``client``, fit dask frames and arrays (or a store) and predict lazily. The model is the ordinary one, to the last tie.
Workers read and pack the data. They also count for `SeCoClassifier`; the other learners fetch a sample of `max_samples`
examples, learn on the client, and count on all examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from polyrule import estimators
from polyrule.errors import OptionError
from polyrule.estimators.base import FitContext
from polyrule.estimators.inputs import TrainingData
from polyrule.model import RuleList
from polyrule.search.counted.counting import Counting
from polyrule.store import Store

try:
    import dask.array
    from dask.distributed import Client, default_client

    import dask
except ImportError as problem:  # pragma: no cover
    raise ImportError("polyrule.dask needs dask and distributed; pip install polyrule[dask]") from problem

from polyrule.dask.counter import DaskCounter, again, store_shares
from polyrule.dask.packing import Remote, pack_collections, parts_of
from polyrule.model.rule_ensemble import RuleEnsemble

__all__ = ["RuleEnsembleClassifier", "RuleListClassifier", "SeCoClassifier"]

_MAX_BINS = 255


class _OnCluster:
    """Base of the learners on a cluster: the client, packing, and prediction block by block."""

    client: Client | None
    _plain: ClassVar[Any]

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*cls._plain._get_param_names(), "client"])

    def _read_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        label_names: Sequence[str] | None,
        labels: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> TrainingData:
        bins, with_values = self._how_packed()
        if labels is not None:
            raise OptionError("labels= is for frames in memory; with polyrule.dask pass the label columns as y")
        if feature_names is not None:
            raise OptionError("feature_names is for arrays in memory; dask frames have names already")
        if not isinstance(X, Store):
            arguments = self.client or default_client(), X, y, bins, with_values, label_names, sample_weight
            X, y, sample_weight, label_names = again(lambda: pack_collections(*arguments)), None, None, None
        training: TrainingData = self._plain._read_training(self, X, y, sample_weight, label_names)
        return training

    def _how_packed(self) -> tuple[int, bool]:
        """Return the maximum number of bins of a feature, and True if values are stored beside them."""
        return _MAX_BINS, False

    def predict(self, X: Any) -> Any:
        """Predict labels: lazily, block by block, for a dask collection."""
        return self._lazily(X, "predict", np.int64)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability that each label is present; lazily for a dask collection."""
        return self._lazily(X, "predict_proba", np.float64)

    def to_local(self) -> Any:
        """Return the fitted learner without the cluster."""
        local = self._plain()
        local.__dict__.update({name: value for name, value in self.__dict__.items() if name != "client"})
        return local

    def _lazily(self, X: Any, name: str, dtype: Any) -> Any:
        local = self.to_local()
        predict = getattr(local, name)
        if not hasattr(X, "dask"):
            return predict(X)
        width = len(local.label_names_)
        parts, lengths = parts_of(X)
        blocks = [
            dask.array.from_delayed(dask.delayed(predict)(part), (length, width), dtype)
            for part, length in zip(parts, lengths, strict=True)
        ]
        return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)


class RuleListClassifier(_OnCluster, estimators.RuleListClassifier):
    """A short rule list from the data of a dask cluster; the same as the ordinary class learns from a store.

    `fit` takes a dask frame or array and its labels, or a store that all workers can read. Weights are whole numbers.
    Labels and weights may be partitioned otherwise than X.

    Parameters
    ----------
    client : dask.distributed.Client, default=None
        The cluster; None is the current one.
    **options
        As in `polyrule.RuleListClassifier`. `max_bins` is 255 by default.

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

    _plain = estimators.RuleListClassifier

    @classmethod
    def paper(cls, measure: Any = "f0.5", **options: Any) -> SeCoClassifier:
        """Return ``SeCoClassifier(measure=measure, **options)``, the learner of the paper."""
        return SeCoClassifier(measure=measure, **options)

    def _how_packed(self) -> tuple[int, bool]:
        return self.max_bins or _MAX_BINS, False

    def _fit_to(self, training: TrainingData, start: RuleList | None, context: FitContext) -> Self:
        local = _fetched(training, self.max_samples)
        return self._fit(local, Counting(device=context.device), start, context)


class SeCoClassifier(_OnCluster, estimators.SeCoClassifier):
    """A list of the paper's learner, counted by the workers of a dask cluster.

    It is the same list as the ordinary class learns with the same bins. `fit` takes what that of `RuleListClassifier`
    here takes.

    Parameters
    ----------
    client : dask.distributed.Client, default=None
        The cluster; None is the current one.
    **options
        As in `polyrule.SeCoClassifier`. `max_bins` is 255 by default.
    """

    _plain = estimators.SeCoClassifier

    def _how_packed(self) -> tuple[int, bool]:
        return self.max_bins or _MAX_BINS, self.refine

    def _fit_to(self, training: TrainingData, start: RuleList | None, context: FitContext) -> Self:
        if start is not None:
            raise OptionError("start needs the examples in one place; use polyrule.dask.RuleListClassifier")
        client, packed = self.client or default_client(), training.table
        assert isinstance(packed, Remote | Store)
        shares = packed.shares if isinstance(packed, Remote) else partial(store_shares, client, packed)
        counter = DaskCounter(client, shares)
        try:
            return self._fit(training, Counting(None, self.refine, maker=lambda packed: counter), None, context)
        finally:
            counter.close()


class RuleEnsembleClassifier(_OnCluster, estimators.RuleEnsembleClassifier):
    """An ensemble of rules from the data of a dask cluster; the same as the ordinary class learns from a store.

    `fit` takes what that of `RuleListClassifier` here takes.

    Parameters
    ----------
    client : dask.distributed.Client, default=None
        The cluster; None is the current one.
    **options
        As in `polyrule.RuleEnsembleClassifier`.
    """

    _plain = estimators.RuleEnsembleClassifier

    def _fit_to(self, training: TrainingData, start: RuleEnsemble | None, context: FitContext) -> Self:
        return super()._fit_to(_fetched(training, self.max_samples), start, context)


def _fetched(training: TrainingData, max_samples: int | None) -> TrainingData:
    """Return the training data with what the client learns from; of more examples, workers draw a sample later."""
    packed = training.table
    is_small = max_samples is None or len(packed) <= max_samples
    return replace(training, table=packed.fetched()) if is_small and isinstance(packed, Remote) else training
