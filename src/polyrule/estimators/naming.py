"""Names of features that an estimator at the end of a pipeline was not told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from polyrule.data.frames import renamed
from polyrule.errors import OptionError
from polyrule.estimators.base import RuleEstimator

Fitted = TypeVar("Fitted")


def name_features(fitted: Fitted, names: Sequence[str] | None = None) -> Fitted:
    """Name the features of a fitted pipeline's rules, such as words in place of x247; nothing else changes.

    A vectorizer hands on a sparse matrix, which has no names. It knows them, though, and this passes them on.

    Parameters
    ----------
    fitted : Pipeline, a search with its best estimator, or one of polyrule's classifiers
        Its last step must be one of polyrule's classifiers.
    names : sequence of str, optional
        One for each column of the classifier. None takes those of the pipeline.

    Returns
    -------
    The same object, whose classifier prints, explains, exports and stores these names.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> import polyrule
    >>> texts = ["the invoice is wrong", "invoice of March", "I cannot log in", "log in fails"] * 3
    >>> topics = [["billing"], ["billing"], ["account"], ["account"]] * 3
    >>> model = make_pipeline(CountVectorizer(binary=True), polyrule.RuleListClassifier(teacher=None))
    >>> model = polyrule.name_features(model.fit(texts, topics))
    >>> model[-1].rules_.format_rule(0)
    'account <- in   (right 6 of 6; expect 75 %)'
    """
    inner: Any = getattr(fitted, "best_estimator_", fitted)
    if isinstance(inner, Pipeline):
        check_is_fitted(inner)
        if names is None:
            names = [str(name) for name in inner[:-1].get_feature_names_out()]
        inner = inner[-1]
    if not isinstance(inner, RuleEstimator):
        raise OptionError(f"{type(inner).__name__} is none of polyrule's classifiers, nor a pipeline that ends in one")
    check_is_fitted(inner)
    if names is None:
        raise OptionError("names: a classifier without a pipeline has no names of its features; give their names")
    model: Any = inner.model_
    features = renamed(model.features, names)
    inner.__dict__.update(features_=features, model_=replace(model, features=features))
    return fitted
