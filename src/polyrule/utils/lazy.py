"""What is imported when first used, by one thread at a time: names of a package, and modules that few need.

Two threads that meet in a circular import, such as scikit-learn's, see half of a module; Python's own locks are per
module and give way to each other there. Nothing that is imported here may ask for such a name while it is imported.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_IMPORTING = threading.RLock()


def import_late(module: str) -> Any:
    """Import a module that is not worth waiting for before it is needed; call this in functions only.

    >>> import_late("polyrule.utils.version").__name__
    'polyrule.utils.version'
    """
    with _IMPORTING:
        return import_module(module)


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `homes` are its modules with their names, "" for names of modules.

    >>> lazy_names("polyrule", {"utils.budget": "limits"})("limits").__name__
    'limits'
    >>> lazy_names("polyrule", {"": "measures"})("measures").__name__
    'polyrule.measures'
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = home_of[name]
        value = getattr(import_late(f"{package}.{home}"), name) if home else import_late(f"{package}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return find
