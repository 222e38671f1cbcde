"""Limits on what the bodies of rules may test, as users state them: by names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from polyrule.covering.constraints import listed_names
from polyrule.errors import OptionError
from polyrule.estimators.options import check_parameters

_ALLOWED = "None, a Constraints or a dict with the keys 'features', 'forbid', 'monotone' and 'keep_columns'"


@dataclass(frozen=True)
class Constraints:
    """Limits on what the bodies of rules may test.

    Estimators take one as their parameter `constraints`, or a dict with the same keys.

    Parameters
    ----------
    features : dict of str to list of str, default=None
        Only features that rules for a label may test, by label. Labels that are not named may use all.
    forbid : list of str, default=None
        Features that no rule may test. Use it for columns that are not known when the model predicts.
    monotone : dict of str to {"up", "down"}, default=None
        Numeric features that may count in one direction only. With "up" conditions use ``>`` alone and the sums of an
        ensemble never fall as the feature rises.
    keep_columns : list of str, or a pattern such as ``"*_id"``, default=None
        Columns that rules may test although their values are nearly all distinct, as those of text, keys and counters.
        Others of them are left out with a warning; None keeps none, or all in `SeCoClassifier`.

    Examples
    --------
    >>> from polyrule import Constraints, RuleListClassifier
    >>> limits = Constraints(forbid=["region"], monotone={"income": "up"})
    >>> RuleListClassifier(constraints=limits)
    RuleListClassifier(constraints=Constraints(forbid=['region'], monotone={'income': 'up'}))
    """

    features: Mapping[str, Sequence[str]] | None = None
    forbid: Sequence[str] | None = None
    monotone: Mapping[str, Any] | None = None
    keep_columns: Any = None

    @classmethod
    def of(cls, value: Any) -> Constraints:
        """Return constraints as an object, from an object, a dict or None."""
        if isinstance(value, Mapping):
            unknown = [key for key in value if key not in _NAMES]
            if unknown:
                raise OptionError(f"there is no {unknown[0]!r}; it must be {_ALLOWED}", parameter="constraints")
            value = cls(**value)
        if value is not None and not isinstance(value, cls):
            raise OptionError(parameter="constraints", value=value, allowed=_ALLOWED)
        constraints: Constraints = cls() if value is None else value
        check_parameters(constraints.as_dict())
        return constraints

    @property
    def limits_bodies(self) -> bool:
        """True if bodies may not test everything."""
        return bool(self.features or self.forbidden or self.monotone)

    @property
    def forbidden(self) -> list[str]:
        """Names of the features that no rule may test."""
        forbid: Any = self.forbid
        forbid = forbid.tolist() if hasattr(forbid, "tolist") else forbid
        return listed_names(forbid, "forbid") if forbid else []

    def named(self) -> set[str]:
        """Return the names of the columns that a limit mentions, other than forbidden ones."""
        lists = self.features.values() if isinstance(self.features, Mapping) else ()
        names = {name for part in lists if isinstance(part, Iterable) and not isinstance(part, str) for name in part}
        return {name for name in {*names, *(self.monotone or ())} if isinstance(name, str)}

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are not None."""
        return {name: value for name in _NAMES if (value := getattr(self, name)) is not None}

    def __repr__(self) -> str:
        return f"Constraints({', '.join(f'{name}={value!r}' for name, value in self.as_dict().items())})"


_NAMES = tuple(field.name for field in fields(Constraints))
