"""Rule lists and ensembles from dask collections and from stores, with the workers of a cluster.

The conventions are those of `xgboost.dask` and `lightgbm.dask`: the classes have the names of the ordinary ones, take a
``client``, fit dask frames and arrays (or a store) and predict lazily. The model is the ordinary one, to the last tie.
Workers read and pack the data. A list as it is grown is counted by them, too; a list whose rules are chosen and an
ensemble are learned by the client from `max_samples` examples, which are drawn where they lie, and counted on all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from polyrule import estimators
from polyrule.errors import OptionError
from polyrule.estimators.base import TrainingData
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

__all__ = ["RuleEnsembleClassifier", "RuleListClassifier"]


class _OnCluster:
    """What both learners share: the client, packing, and prediction block by block."""

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
        bins, values = self._how_packed()
        if labels is not None:
            raise OptionError("labels= is for frames in memory; with polyrule.dask pass the label columns as y")
        if feature_names is not None:
            raise OptionError("feature_names is for arrays in memory; dask frames bring their own")
        if not isinstance(X, Store):
            given = self.client or default_client(), X, y, bins, values, label_names, sample_weight
            X, y, sample_weight, label_names = again(lambda: pack_collections(*given)), None, None, None
        training: TrainingData = self._plain._read_training(self, X, y, sample_weight, label_names)
        return training

    def _how_packed(self) -> tuple[int, bool]:
        """Most bins of a feature, and whether the values stay beside them."""
        return 255, False

    def predict(self, X: Any) -> Any:
        """Predict labels: lazily, block by block, for a dask collection."""
        return self._lazily(X, "predict", np.int64)

    def predict_proba(self, X: Any) -> Any:
        """Probability that each label is present; lazily for a dask collection."""
        return self._lazily(X, "predict_proba", np.float64)

    def to_local(self) -> Any:
        """Return the same fitted learner without the cluster."""
        plain = self._plain()
        plain.__dict__.update({name: value for name, value in self.__dict__.items() if name != "client"})
        plain.callback = None
        return plain

    def _lazily(self, X: Any, name: str, dtype: Any) -> Any:
        plain = self.to_local()
        predict = getattr(plain, name)
        if not hasattr(X, "dask"):
            return predict(X)
        width = len(plain.label_names_)
        parts, lengths = parts_of(X)
        blocks = [
            dask.array.from_delayed(dask.delayed(predict)(part), (length, width), dtype)
            for part, length in zip(parts, lengths, strict=True)
        ]
        return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)


class RuleListClassifier(_OnCluster, estimators.RuleListClassifier):
    """A rule list learned with a dask cluster; the same list as the ordinary class gives with the same bins.

    `fit` takes a dask frame or array and its labels, or a store that all workers can read. Weights are whole numbers.
    Labels and weights may be partitioned otherwise than X.

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

    _plain = estimators.RuleListClassifier

    def _how_packed(self) -> tuple[int, bool]:
        if self.device != "cpu":
            raise OptionError("device: workers of a cluster count on their processors; leave it out with polyrule.dask")
        return self.max_bins or 255, self.refine

    def _fit_to(self, training: TrainingData, start: RuleList | None) -> Self:
        if self.prune is not None:
            return self._fit(_here(training, self.max_samples), Counting(None, self.refine), start)
        if start is not None:
            raise OptionError("start is for lists whose rules are chosen; leave it out or give prune='f1'")
        client, packed = self.client or default_client(), training.table
        assert isinstance(packed, Remote | Store)
        shares = packed.shares if isinstance(packed, Remote) else partial(store_shares, client, packed)
        counter = DaskCounter(client, shares)
        try:
            return self._fit(training, Counting(None, self.refine, maker=lambda packed: counter))
        finally:
            counter.close()


class RuleEnsembleClassifier(_OnCluster, estimators.RuleEnsembleClassifier):
    """An ensemble of rules from the data of a dask cluster; the same as the ordinary class learns from a store.

    `fit` takes what that of `RuleListClassifier` here does.

    Parameters
    ----------
    client : dask.distributed.Client, optional
        The cluster; the current one by default.
    **options
        As in `polyrule.RuleEnsembleClassifier`.
    """

    _plain = estimators.RuleEnsembleClassifier

    def _fit_to(self, training: TrainingData, start: RuleEnsemble | None) -> Self:
        return super()._fit_to(_here(training, self.max_samples), start)


def _here(training: TrainingData, most: int | None) -> TrainingData:
    """Fetch what the client learns from; of more examples than `most`, a sample is drawn where they lie."""
    packed = training.table
    whole = most is None or len(packed) <= most
    return replace(training, table=packed.fetched()) if whole and isinstance(packed, Remote) else training
