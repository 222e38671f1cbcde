"""Settings of the default rule list, and its constants with the reason for each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from polyrule.errors import OptionError
from polyrule.selection.objective import QUANTUM, Costs

# Costs of a rule, a condition (or group member) and a label in a head, in units. The unit is a number of examples or
# a share of all targets, whichever is more: on small tables a rule must predict a minimum number of labels correctly,
# on large ones it must raise the F-measure.
_COST_SHARES = 1.5, 0.5, 0.25
_UNIT_EXAMPLES, _UNIT_SHARE = 0.44, 0.0007
SELECTION_VERSION = 2  # of the objective, in model files: lists of other versions are not selected again
_MIN_ROWS = 5  # of a rule: fewer would describe single persons


@dataclass(frozen=True)
class ListSettings:
    """Objective of a list, and limits on its rules.

    Parameters
    ----------
    optimize : str
        "f1" or another F-measure, or "hamming".
    simplicity : float
        Factor on all costs.
    teacher : bool
    max_rules, max_head_size : int or None
    min_precision : float
        Minimum precision to expect of each label in a head.
    min_rows : int or None
        Minimum number of examples that a rule covers, whatever their weight; None for five, or a tenth of the examples
        if they are fewer than fifty.
    max_members : int
        Maximum size of a group; 0 for rules without groups.
    """

    optimize: str = "f1"
    simplicity: float = 1.0
    teacher: bool = True
    max_rules: int | None = None
    max_head_size: int | None = None
    min_precision: float = 0.0
    min_rows: int | None = None
    max_members: int = 0

    def __post_init__(self) -> None:
        _ = self.beta_squared  # raises for other measures

    @property
    def beta_squared(self) -> Fraction | None:
        """Square of the F-measure's beta; None for Hamming accuracy."""
        name = str(self.optimize).lower().removeprefix("micro-")
        if name == "hamming":
            return None
        try:
            beta = Fraction(name.removeprefix("f"))
        except ValueError:
            beta = Fraction(-1)
        if not name.startswith("f") or beta <= 0:
            known = "'f1', another F-measure such as 'f0.5', or 'hamming'"
            raise OptionError(parameter="optimize", value=self.optimize, allowed=known)
        return beta * beta

    @property
    def min_level(self) -> int:
        """Value of the list, in units of 1 / QUANTUM, from which labels are predicted only at `min_precision`."""
        factor = Fraction(1) if self.beta_squared is None else 1 + self.beta_squared
        return ceil(factor * Fraction(self.min_precision) * QUANTUM)

    def least_rows(self, n_rows: int) -> int:
        """Return the minimum number of rows that a rule covers."""
        return min(_MIN_ROWS, max(1, n_rows // 10)) if self.min_rows is None else self.min_rows

    def costs(self, total: float, example: float) -> Costs:
        """Return the costs in the unit of gains.

        Parameters
        ----------
        total : float
            Sum of all targets.
        example : float
            Weight of one example.
        """
        unit = self.simplicity * max(_UNIT_EXAMPLES * QUANTUM * example, _UNIT_SHARE * total)
        rule, condition, literal = (max(1, round(part * unit)) for part in _COST_SHARES)
        return Costs(rule, condition, literal)
