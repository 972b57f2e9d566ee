"""The kernels of truth_table.cu as C++ on this machine, behind as much of CuPy as `duotone.graphs.cuda` uses.

A block has one thread, which does all of a block's items in turn, so that barriers have nothing to do: what is tested is the
arithmetic, the places in memory and the launches, not that threads wait for each other.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

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
    """A name for a kernel that C has, too."""
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


def fake_cupy(folder: Path) -> Any:
    """CuPy, as far as it is used, for arrays in the main memory."""

    class RawModule:
        def __init__(self, code: str, options: tuple[str, ...], name_expressions: list[str]) -> None:  # noqa: ARG002
            self.library = library(code, name_expressions, folder)

        def get_function(self, name: str) -> Any:
            function = getattr(self.library, f"run_{plain(name)}")

            def launch(grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...], shared_mem: int = 0) -> None:
                kinds = {np.int32: ctypes.c_int32, np.int64: ctypes.c_int64, np.uint64: ctypes.c_uint64}
                function(
                    grid[0],
                    *(a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else kinds[type(a)](a) for a in arguments),
                )

            return launch

    cupy: Any = ModuleType("cupy")
    cupy.RawModule, cupy.asarray, cupy.asnumpy, cupy.tile, cupy.zeros = RawModule, np.array, np.array, np.tile, np.zeros
    cupy.empty = lambda size, dtype: (
        np.full(size, 0xAB, dtype=np.uint8).astype(dtype) if dtype == np.int8 else np.full(size, 0xAB, dtype=dtype)
    )
    runtime = SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError)
    cupy.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(mem_info=(2**33, 2**33)), runtime=runtime)
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)
    return cupy
