"""The GPU as CuPy shows it: what it can do, and the kernels compiled for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from polyrule.errors import LimitError, OptionError
from polyrule.utils.messages import argument, parameter_name

#: How the kernels read the codes of a column: a feature in one or two bytes, a label.
CODES = ("FeatureCodes<unsigned char>", "FeatureCodes<unsigned short>", "LabelCodes")


@dataclass(frozen=True)
class Tuning:
    """Constants that the counting kernels are compiled with: see the head of counting.cu."""

    threads: int = 1024
    resident: int = 2
    together: int = 4
    chunk: int = 4096
    touches: int = 1 << 28  # listed at a time, four bytes each
    deciders: int = 256

    def options(self) -> tuple[str, ...]:
        """Return the options of the compiler."""
        values = {"THREADS": self.threads, "RESIDENT": self.resident, "TOGETHER": self.together, "CHUNK": self.chunk}
        return tuple(f"-DPOLYRULE_{name}={value}" for name, value in values.items())


TUNING = Tuning()


def check_device(name: str) -> None:
    """Refuse what is no device."""
    if name not in ("cpu", "cuda"):
        raise OptionError(parameter="device", value=name, allowed="'cpu' or 'cuda'")


@contextmanager
def report_out_of_memory() -> Iterator[None]:
    """Raise `LimitError` if the GPU runs out of memory."""
    try:
        yield
    except MemoryError as problem:
        if not type(problem).__module__.startswith("cupy"):
            raise
        raise LimitError(
            f"{_cuda()}: the GPU has too little memory ({problem}); leave it out, or learn from fewer examples "
            f"({parameter_name('max_samples')})"
        ) from problem


def _cuda() -> str:
    return argument("device", "cuda")


def cupy() -> Any:
    """Return CuPy, or raise `OptionError` with what is missing."""
    try:
        import cupy as module

        if module.cuda.runtime.getDeviceCount() < 1:
            raise OptionError(f"{_cuda()}: this machine has no GPU that CUDA can use; leave it out to count on the CPU")
    except ImportError as problem:
        raise OptionError(f"{_cuda()} needs CuPy and an NVIDIA GPU; pip install polyrule[cuda]") from problem
    except OptionError:
        raise
    except Exception as problem:  # CuPy raises its errors for drivers that are missing or too old
        raise OptionError(f"{_cuda()}: the GPU cannot be used ({problem}); leave it out to count on the CPU") from None
    return module


@cache
def kernels(tuning: Tuning) -> dict[str, Any]:
    """Return the compiled kernels that count and decide by name."""
    counting = [f"count_shared<{cell}, {codes}>" for cell in ("unsigned", "u64") for codes in CODES]
    direct = [f"count_direct<{codes}>" for codes in CODES]
    names = (*counting, *direct, "list_touches", "fill_modes", "running_sums", "decide", "best_of_all")
    return compiled(("counting.h", "counting.cu"), names, ("--device-int128", *tuning.options()))


def device_folder() -> Path:
    """Return the folder of the device code: in the installed package, or `native/device` of a source tree."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_device"
    return installed if installed.is_dir() else package.parents[1] / "native" / "device"


def compiled(files: tuple[str, ...], names: tuple[str, ...], options: tuple[str, ...]) -> dict[str, Any]:
    """Compile some files of `device_folder` as one text, and return the kernels in it by name."""
    folder = device_folder()
    text = "".join((folder / name).read_text(encoding="utf-8") for name in files)
    module = cupy().RawModule(
        code=text.replace("#pragma once", ""), options=("-std=c++17", *options), name_expressions=names
    )
    return {name: module.get_function(name) for name in names}


@cache
def shared_limit() -> int:
    """Bytes of shared memory that one block of threads can have."""
    return int(cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


@cache
def processors() -> int:
    """Multiprocessors of the device."""
    return int(cupy().cuda.Device().attributes["MultiProcessorCount"])


def kernel(name: str) -> Any:
    """Return one kernel."""
    return kernels(TUNING)[name]
