"""The kernels of truth_table.cu as C++ on this machine, with the parts of CuPy that `duotone.graphs.cuda` uses.

A block has one thread, which processes all of a block's items in turn, so barriers do nothing: this tests the
arithmetic, the places in memory and the launches, not synchronisation. Guard words before and after each array show
whether a kernel wrote beyond it.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

GUARD, GUARDS = 64, 0xAB
"""The bytes on each side of an array, and their value."""
HEAD = """
#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)
#define __syncthreads()
#define __popc __builtin_popcount
#define __reduce_add_sync(mask, x) (x)
struct Index { unsigned x; };
static Index blockIdx = {0}, threadIdx = {0}, blockDim = {1}, gridDim = {1};
template <class T> void atomicAdd(T *to, T x) { *to += x; }
unsigned tile[7 << 13];
"""
CALL = """
extern "C" void {name}(unsigned blocks{declared}) {{
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {kernel}({given});
}}
"""
TYPES = {
    "first_trip": ("const word *", "word *"),
    "further_trip": ("word *", "int", "int"),
    "tally": ("const word *", "wide", "wide *"),
    "look": ("const word *", "const wide *", "wide", "unsigned char *"),
    "spread": ("const word *", "wide", "wide", "signed char *"),
    "weigh": (
        *["const long long *", "const word *", "const long long *", "int"],
        *["const long long *", "long long", "wide", "word *"],
    ),
}


def plain(expression: str) -> str:
    """A kernel's name in C."""
    return re.sub(r"\W+", "_", expression).strip("_")


def library(code: str, kernels: list[str], folder: Path) -> ctypes.CDLL:
    """The kernels as functions of a shared library."""
    calls = []
    for kernel in kernels:
        types = TYPES[kernel.split("<")[0]]
        declared = "".join(f", {kind} a{i}" for i, kind in enumerate(types))
        calls.append(
            CALL.format(
                name=f"run_{plain(kernel)}",
                declared=declared,
                kernel=kernel,
                given=", ".join(f"a{i}" for i in range(len(types))),
            )
        )
    source, built = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text("\n".join([HEAD, code, *calls]), encoding="utf-8")
    subprocess.run(["g++", "-O1", "-std=c++17", "-w", "-shared", "-fPIC", source, "-o", built], check=True)
    return ctypes.CDLL(str(built))


class Guarded(np.ndarray[Any, Any]):
    """An array with a guard on each side; `set` copies into it."""

    def set(self, other: Any) -> None:
        assert other.shape == self.shape
        assert other.dtype == self.dtype
        self[:] = other

    def whole(self) -> bool:
        memory = self.base
        return memory is None or bool((np.asarray(memory)[[*range(GUARD), *range(-GUARD, 0)]] == GUARDS).all())


def guarded(size: int, kind: Any) -> Guarded:
    """An array with non-zero contents, as on a GPU."""
    kind = np.dtype(kind)
    memory = np.full(size * kind.itemsize + 2 * GUARD, GUARDS, dtype=np.uint8)
    return np.ndarray.__new__(Guarded, size, kind, memory, GUARD)


def fake_cupy(folder: Path, *, free: int = 2**33, shared: int = 227 * 2**10, devices: int = 1) -> Any:
    """CuPy's functions that are used, for arrays in the main memory."""

    class OutOfMemoryError(MemoryError):
        pass

    class Kernel:
        max_dynamic_shared_size_bytes = 48 * 2**10

        def __init__(self, name: str, function: Any) -> None:
            self.name, self.function = name, function

        def __call__(self, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...], shared_mem: int = 0) -> None:
            """Refuses like a GPU: no block, too many threads for their registers, too little shared memory."""
            assert 1 <= grid[0] < 2**31
            assert block[0] % 32 == 0
            if "trip" in self.name:
                bits, size = (*map(int, re.findall(r"\d+", self.name)), 13)[:2]
                bound = 256 if "first" in self.name else 384 if size == 13 else 192
                assert block[0] <= bound
                assert shared_mem == (bits + 1) * 4 << size
            assert shared_mem <= self.max_dynamic_shared_size_bytes <= shared
            self.function(grid[0], *map(given, arguments))
            assert all(a.whole() for a in arguments if isinstance(a, Guarded))

    class RawModule:
        def __init__(self, code: str, options: tuple[str, ...], name_expressions: list[str]) -> None:  # noqa: ARG002
            self.library = library(code, name_expressions, folder)

        def get_function(self, name: str) -> Kernel:
            return Kernel(name, getattr(self.library, f"run_{plain(name)}"))

    def given(argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return argument.ctypes.data_as(ctypes.c_void_p)
        return {np.int32: ctypes.c_int32, np.int64: ctypes.c_int64, np.uint64: ctypes.c_uint64}[type(argument)](argument)

    def empty(size: int, dtype: Any) -> Guarded:
        if size * np.dtype(dtype).itemsize > free:
            raise OutOfMemoryError
        return guarded(size, dtype)

    cupy: Any = ModuleType("cupy")
    cupy.RawModule, cupy.asarray, cupy.asnumpy, cupy.zeros, cupy.empty = RawModule, np.array, np.array, np.zeros, empty
    device = SimpleNamespace(mem_info=(free, free), attributes={"MaxSharedMemoryPerBlockOptin": shared})
    runtime = SimpleNamespace(getDeviceCount=lambda: devices, CUDARuntimeError=RuntimeError)
    memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
    cupy.cuda = SimpleNamespace(Device=lambda: device, runtime=runtime, memory=memory)
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)
    return cupy
