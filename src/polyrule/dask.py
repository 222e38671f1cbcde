"""Rule lists from dask collections and from stores, counted by the workers of a cluster.

The conventions are those of `xgboost.dask` and `lightgbm.dask`: the classes have the names of the ordinary ones, take a
``client``, fit dask frames and arrays (or a store) and predict lazily. The list is the ordinary one, to the last tie:
workers count, the client decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from polyrule import estimators
from polyrule.errors import OptionError
from polyrule.model import RuleList
from polyrule.scale.counting import Counting
from polyrule.store import Packed, Store

try:
    import dask
    import dask.array
    from dask.distributed import Client, default_client
except ImportError as problem:  # pragma: no cover
    raise ImportError("polyrule.dask needs dask and distributed; pip install polyrule[dask]") from problem

from polyrule.cluster.counter import DaskCounter, again, store_shares
from polyrule.cluster.packing import pack_collections, parts_of

__all__ = ["RuleListClassifier"]


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
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn rules from a dask frame or array and its labels, or from a store that all workers can read."""
        client = self.client or default_client()
        if labels is not None:
            raise OptionError("labels= is for frames in memory; with polyrule.dask pass the label columns as y")
        if start is not None:
            raise OptionError("start is not supported here; it is for lists that are pruned in memory")
        if feature_names is not None:
            raise OptionError("feature_names is for arrays in memory; dask frames bring their own")
        if sample_weight is not None:
            raise OptionError("sample_weight is not supported here; pack the data with weights and fit the store")
        if self.device != "cpu":
            raise OptionError("device is chosen by the workers' machines; leave it out with polyrule.dask")
        if isinstance(X, Store):
            packed: Packed = X
            shares: Callable[[], list[Any]] = partial(store_shares, client, X)
        else:
            options = self.max_bins or 255, self.refine, label_names
            packed, shares = again(lambda: pack_collections(client, X, y, *options))
        counter = DaskCounter(client, shares)
        try:
            counting = Counting(None, self.refine, maker=lambda packed: counter)
            return self._fit(self._read_training(packed, None, None, None), counting)
        finally:
            counter.close()

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
        parts, lengths = parts_of(X)
        blocks = [
            dask.array.from_delayed(dask.delayed(predict)(part), (length, width), dtype)
            for part, length in zip(parts, lengths, strict=True)
        ]
        return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)
