"""What `cuda` needs of CuPy: a GPU, its memory, and the kernels of truth_table.cu, which are compiled when first used."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from duotone.errors import DuotoneError, MissingExtra

FORMS = {4: 15, 5: 31, 6: 37}
"""The bits in memory of a distance, and the largest that they hold."""
FIRST, TILE = 13, 12
"""Tiles have 2^FIRST or 2^TILE words of 32 datasets."""
SHARED = 4 * (max(FORMS) + 1) << FIRST
"""The bytes of the largest tile, in the shared memory of a multiprocessor."""


def cupy() -> Any:
    """CuPy, if it is installed and there is a GPU that is large enough."""
    try:
        import cupy as library
    except ModuleNotFoundError:
        raise MissingExtra("a truth table on a GPU", "gpu") from None
    except ImportError as error:
        raise DuotoneError(f"CuPy is installed but cannot be used: {str(error).splitlines()[0]}") from None
    try:
        devices = library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError:
        devices = 0
    if not devices:
        raise DuotoneError("there is no GPU here that CUDA can use: leave device='cuda' out")
    shared = library.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    if not shared >= SHARED:
        raise DuotoneError(
            f"this GPU has {shared / 2**10:.0f} KiB of shared memory for a block, and {SHARED / 2**10:.0f} KiB are needed: "
            "an H100, H200 or larger has them"
        )
    return library


def memory(size: int, what: str, kind: Any = np.uint32) -> Any:
    """An array on the GPU, or one sentence if it does not fit."""
    library, need = cupy(), size * np.dtype(kind).itemsize
    try:
        return library.empty(size, dtype=kind)
    except library.cuda.memory.OutOfMemoryError:
        free = library.cuda.Device().mem_info[0] + library.get_default_memory_pool().free_bytes()
        raise DuotoneError(
            f"{what} need {need / 2**30:.1f} GiB of the GPU's memory, more than the {free / 2**30:.1f} GiB that are free"
        ) from None


@lru_cache(maxsize=1)
def _module() -> Any:
    code = Path(__file__).with_name("truth_table.cu").read_text(encoding="utf-8")
    names = ["weigh"]
    for bits in FORMS:
        names += [f"{name}<{bits}>" for name in ("first_trip", "tally", "look", "spread")]
        names += [f"further_trip<{bits}, {size}>" for size in (TILE, FIRST)]
    return cupy().RawModule(code=code, options=("-std=c++17",), name_expressions=names)


def launch(name: str, blocks: int, threads: int, arguments: tuple[Any, ...], shared: int = 0) -> None:
    """A kernel, with so many bytes of shared memory for each block."""
    kernel = _module().get_function(name)
    if shared:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel((blocks,), (threads,), arguments, shared_mem=shared)


def for_each(name: str, items: int, arguments: tuple[Any, ...]) -> None:
    """A kernel that looks at one item after the other, of which there may be none."""
    if items:
        launch(name, min(2048, -(-items // 256)), 256, arguments)
