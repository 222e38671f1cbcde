"""The compiled kernels, where they are built; `None` where they are not, and then the NumPy kernels do the work."""

from __future__ import annotations

import importlib
import logging
import os
from types import ModuleType

logger = logging.getLogger(__name__)


def _load() -> ModuleType | None:
    """Import the extension unless the environment variable POLYRULE_KERNELS is set to ``reference``."""
    if os.environ.get("POLYRULE_KERNELS", "").strip().lower() == "reference":
        return None
    try:
        return importlib.import_module("polyrule._native")
    except ImportError as error:
        logger.warning(
            "polyrule runs on its slow NumPy kernels because the compiled ones cannot be loaded (%s); "
            "install it where a C++ compiler is at hand to get them",
            error,
        )
        return None


#: The extension module, or None.
native: ModuleType | None = _load()
