"""Settings of the machine that learns: kernels and device. No model depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from typing import Any

from polyrule.errors import OptionError
from polyrule.estimators.options import check_parameters
from polyrule.utils.compute import native
from polyrule.utils.messages import argument, literal


@dataclass(frozen=True, slots=True)
class Config:
    """Settings that `fit` reads when it begins.

    Parameters
    ----------
    kernels : {None, "native", "reference"}, default=None
        Engine. None selects the compiled one if it is built, "reference" the slow one in NumPy.
    device : {"cpu", "cuda"}, default="cpu"
        Processor that counts bins and computes gains.
    """

    kernels: str | None = None
    device: str = "cpu"

    def changed(self, settings: Mapping[str, Any]) -> Config:
        """Return these settings with some replaced, after checking them."""
        unknown = sorted(settings.keys() - asdict(self).keys())
        if unknown:
            raise OptionError(f"there is no setting {unknown[0]!r}; there are 'device' and 'kernels'")
        check_parameters(settings)
        if settings.get("kernels") == "native" and native is None:
            problem = "needs the compiled kernels, which are not built here"
            raise OptionError(f"{argument('kernels', 'native')} {problem}; use {literal(None)}")
        return replace(self, **settings)


_process = Config()
_CONTEXT: ContextVar[Config | None] = ContextVar("polyrule_config", default=None)


def current_config() -> Config:
    """Return the settings of the innermost `config_context`, else those of the process."""
    return _CONTEXT.get() or _process


def get_config() -> dict[str, Any]:
    """Return the settings as a dict.

    Examples
    --------
    >>> get_config()
    {'kernels': None, 'device': 'cpu'}
    """
    return asdict(current_config())


def set_config(**settings: Any) -> None:
    """Change settings of this process, for all its threads.

    Parameters
    ----------
    **settings
        `kernels` and `device`, see `config_context`.

    Examples
    --------
    >>> set_config(device="cpu")
    >>> get_config()["device"]
    'cpu'
    """
    global _process
    _process = _process.changed(settings)
    if _CONTEXT.get() is not None:
        _CONTEXT.set(current_config().changed(settings))


@contextmanager
def config_context(**settings: Any) -> Iterator[None]:
    """Change settings within a ``with`` block.

    `fit` reads the settings once, when it begins, and passes them to the threads, joblib workers and Dask workers that
    it starts. A thread or a process that you start yourself, such as those of ``GridSearchCV(n_jobs=2)``, has the
    settings of its process: use `set_config` for threads and the environment variable ``POLYRULE_KERNELS`` for
    processes.

    Parameters
    ----------
    kernels : {None, "native", "reference"}, default=None
        Engine. None selects the compiled one if it is built, "reference" the slow one in NumPy. Both learn the same
        model. Change it to check one against the other.
    device : {"cpu", "cuda"}, default="cpu"
        Processor that counts bins and computes gains. Both learn the same model. Use "cuda" for ensembles and binned
        data with millions of examples.

    Examples
    --------
    >>> with config_context(kernels="reference"):
    ...     get_config()["kernels"]
    'reference'
    """
    token = _CONTEXT.set(current_config().changed(settings))
    try:
        yield
    finally:
        _CONTEXT.reset(token)
