"""A stand-in for CuPy: NumPy's arrays, and kernels that a C++ compiler builds with the words of CUDA defined away."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polyrule.search.gpu import counts as gpu_count
from polyrule.search.gpu import device
from polyrule.search.gpu import gradients as gpu_slopes

SHARED_LIMIT = 9000


class Kernel:
    """One kernel, called as CuPy's are."""

    max_dynamic_shared_size_bytes = 49152

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, grid: tuple[int, ...], block: tuple[int], arguments: Any, shared_mem: int = 0) -> None:
        assert shared_mem <= max(SHARED_LIMIT, 49152)
        assert all(a.flags.c_contiguous or a.ndim == 2 for a in arguments if isinstance(a, np.ndarray))
        values = [np.uint64(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments]
        cells = [np.array([value]) for value in values]
        pointers = (ctypes.c_void_p * len(cells))(*(cell.ctypes.data for cell in cells))
        across, down = (*grid, 1)[:2]
        self._function(across, down, block[0], ctypes.c_size_t(shared_mem), pointers)


class Emulated:
    """The part of the module cupy that `polyrule.search.gpu` uses."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._modules = folder, 0
        attributes = {"MaxSharedMemoryPerBlockOptin": SHARED_LIMIT, "MultiProcessorCount": 2}
        self.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(attributes=attributes))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def RawModule(self, code: str, options: tuple[str, ...], name_expressions: list[str]) -> Any:
        """Compile the kernels for the processor."""
        header = Path(__file__).with_name("emulated.h").read_text()
        text = code.replace("extern __shared__ u64 memory[];", "u64* memory = shared_memory;")
        runs = "".join(
            f'extern "C" void run{i}(unsigned x, unsigned y, unsigned threads, std::size_t shared, void** values) '
            f"{{ launch(&{name}, x, y, threads, shared, values); }}\n"
            for i, name in enumerate(name_expressions)
        )
        self._modules += 1
        source, library = (self._folder / f"kernels{self._modules}.{kind}" for kind in ("cpp", "so"))
        source.write_text(header + text + runs)
        flags = ["-O1", "-std=gnu++20", "-shared", "-fPIC", "-Wno-unknown-pragmas", "-ffp-contract=off"]
        defines = [option for option in options if option.startswith("-D")]
        subprocess.run(["g++", *flags, *defines, str(source), "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
        names = {name: Kernel(loaded[f"run{i}"]) for i, name in enumerate(name_expressions)}
        return SimpleNamespace(get_function=names.__getitem__)


@contextmanager
def no_gpu(folder: Path) -> Iterator[pytest.MonkeyPatch]:
    """Small chunks, tiles and blocks of threads on a GPU that is none, so that small worlds go through all of them."""
    fake, caches = (
        Emulated(folder),
        (device.kernels, device.shared_limit, device.processors, gpu_count._plan, gpu_slopes.kernels),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "cupy", lambda: fake)
        patch.setattr(device, "TUNING", device.Tuning(threads=4, together=3, chunk=8, touches=64, deciders=4))
        for cached in caches:
            cached.cache_clear()
        yield patch
    for cached in caches:
        cached.cache_clear()
