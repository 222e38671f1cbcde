"""The compiled kernels, where they are built; `None` where they are not, and then the NumPy kernels do the work."""

from __future__ import annotations

import importlib
import logging
import os
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

logger = logging.getLogger(__name__)


def _load() -> tuple[ModuleType | None, str]:
    """Import the extension unless POLYRULE_KERNELS is set to ``reference``; else say why it is not there."""
    if os.environ.get("POLYRULE_KERNELS", "").strip().lower() == "reference":
        return None, ""
    try:
        return importlib.import_module("polyrule._native"), ""
    except ImportError as error:
        return None, str(error)


#: The extension module, or None.
native: ModuleType | None
native, _problem = _load()


@dataclass(frozen=True, slots=True)
class Compute:
    """Kernels and number of threads; no result depends on them.

    Parameters
    ----------
    threads : int
    kernels : {None, "native", "reference"}
        None selects the compiled kernels if they are built and have the search.
    device : GpuKernels or None
        A GPU that holds what belongs to the examples and goes through all of them, see `polyrule.search.gpu.gradients`.
    """

    threads: int = 1
    kernels: str | None = None
    device: Any = None

    @property
    def compiled(self) -> ModuleType | None:
        """The extension module; None where NumPy is wanted, or nothing else is there."""
        return None if self.kernels == "reference" else native

    @property
    def backend(self) -> Any:
        """Backend of row-wise kernels: the device, the compiled module, or None for NumPy."""
        return self.compiled if self.device is None else self.device

    @property
    def xp(self) -> Any:
        """Module of arrays over examples: NumPy, or CuPy."""
        return np if self.device is None else self.device.xp

    def to_host(self, array: Any) -> Any:
        """Return an array of `xp` as NumPy's."""
        return array if self.device is None else self.device.to_host(array)


ONE_THREAD = Compute()


@cache
def warn_if_slow() -> None:
    """Warn once, at the first fit, if the compiled kernels cannot be loaded.

    An import does not warn, because most uses need no kernels.
    """
    if _problem:
        logger.warning(
            "polyrule learns with its slow NumPy kernels because the compiled ones cannot be loaded (%s); "
            "install a wheel for this platform, or build it where a C++ compiler is at hand",
            _problem,
        )


def which_kernels() -> str:
    """Return the kind of kernels in two words."""
    return "NumPy kernels" if native is None else "compiled kernels"
