"""Launching a kernel: memory is laid out, waves of CTAs take turns, results are copied back.

Arrays are copied into the arena and back, so a kernel that fails leaves them as they were. CTAs run
in waves of up to `WAVE_LANES` threads side by side. A wave runs to its end unless its threads only
wait (for CTAs that have not started); then the next one has its turn. So all CTAs of a grid make
progress together, as in a cooperative launch, and yet a large grid without such waiting needs
memory for one wave only.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from nvir.interp.arguments import DeviceArray, check_array, parameter_bytes, placeholders
from nvir.interp.builtins import HEAP_SIZE
from nvir.interp.layout import Array
from nvir.interp.memory import Fault
from nvir.interp.program import Program
from nvir.interp.wave import Wave
from nvir.ir import Function, LaunchError, Module

WAVE_LANES = 1 << 14
WAVE_BYTES = 1 << 28
PATIENCE = 64
SHARED_LIMIT = 228 << 10
GRID_LIMIT = ((1 << 31) - 1, 65535, 65535)
LOOK = 500  # steps between looks at the clock
MAX_PRINTED = 1 << 26  # characters; a GPU's buffer holds 2^20 unless it is told to hold more
RESIDENT_THREADS = 1 << 20  # of waves that wait for each other; a GPU holds fewer
CHECKS = ("bounds", "uninit", "race", "barrier")

Dim = int | Sequence[int]


@attrs.frozen
class LaunchResult:
    """What a launch leaves beside its buffers.

    stdout        what the kernel printed
    block_counts  function name → block name → how many threads entered the block; multiplied by the
                  block's instructions that is the work done there
    globals       final contents of the module's `.global` variables, by name: arrays of the
                  declared element type and shape, or those that were given
    steps         instructions executed, counted once for each group of lanes; what `max_steps`
                  bounds
    """

    stdout: str
    block_counts: dict[str, dict[str, int]]
    globals: dict[str, Any]
    steps: int = 0


def launch(
    module: Module,
    kernel: str,
    grid: Dim,
    block: Dim,
    args: Sequence[Any],
    dynamic_smem: int = 0,
    *,
    globals: Mapping[str, Any] | None = None,
    textures: Mapping[Any, Any] | None = None,
    max_steps: int = 10**8,
    max_bytes: int = 1 << 31,
    check: Sequence[str] = ("bounds",),
) -> LaunchResult:
    """Run a kernel on numpy lanes.

    grid, block   threads blocks of the grid and threads of a block: an int, or up to three
    args          one for each parameter: a C-contiguous array is a device buffer, copied back in
                  place (the same array twice is one buffer); a numpy or Python scalar by the
                  parameter's type; bytes or a structured scalar for a struct; a `Texture`
    dynamic_smem  bytes of `.extern .shared` memory a block
    globals       initial contents of `.global` and `.const` variables by name
    textures      arrays or `Texture`s: by the name of a `.texref` or by the handle passed as
                  argument
    max_steps, max_bytes  instructions executed, and global memory, beyond which it is an error
    check         beyond bounds: "uninit" (loads of shared or local bytes that were never written),
                  "race" (conflicting accesses of shared memory without a barrier between),
                  "barrier" (an aligned one that not all threads of a warp execute)

    Raises LaunchError for what the kernel does wrong (with block, thread, instruction, line,
    address) or for a configuration that no GPU takes; Unsupported; TypeError for arguments of wrong
    types.
    """
    run = GridLaunch(module, kernel, grid, block, dynamic_smem, max_steps, check, max_bytes)
    run.bind(args, globals or {}, textures or {})
    return run.run()


class GridLaunch:
    """One launch. `trace`, set before `run`, is called after each instruction (see cli/run.py)."""

    def __init__(
        self, module: Module, kernel: str, grid: Dim, block: Dim, dynamic_smem: int = 0,
        max_steps: int = 10**8, check: Sequence[str] = ("bounds",), max_bytes: int = 1 << 31,
        program: Program | None = None, cluster: tuple[int, int, int] | None = None,
        max_seconds: float | None = None,
    ) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"the module is a {type(module).__name__}, not what read_ptx gives")
        self.module = module
        self.kernel = _kernel(module, kernel)
        self.grid, self.block = _dim3(grid, "grid"), _dim3(block, "block")
        unknown = set(check) - set(CHECKS)
        if unknown:
            raise TypeError(f"check knows {', '.join(CHECKS)}, not {', '.join(sorted(unknown))}")
        self.check = tuple(check)
        self.max_steps, self.max_bytes, self.steps = max_steps, max_bytes, 0
        self.max_seconds, self.began = max_seconds, time.process_time()
        self.pause = 0  # the step after which to look at the limits
        self.threads, self.n_ctas = math.prod(self.block), math.prod(self.grid)
        self.cluster = cluster or self._cluster()
        self.cluster_size = math.prod(self.cluster)
        self.sms = 108
        self.stdout: list[str] = []
        self.printed = 0  # characters
        self.program = Program(module, self.kernel) if program is None else program
        self.dynamic_smem = int(dynamic_smem)
        self.shared_size = self.program.dynamic + self.dynamic_smem
        self._check_configuration()
        self.stack_size = self.program.stack_size
        self.environment: dict[str, int] = {}  # special registers that whoever launches sets
        self.heap = 0
        self.host_stores = False  # whether others may store into its memory meanwhile
        self.copied: list[tuple[int, Array]] = []
        self.restored: list[tuple[int, int, int]] = []
        self.given: dict[str, Any] = {}
        self._actual: dict[int, int] = {}  # placeholder → address

    # ------------------------------------------------------- configuration

    def _cluster(self) -> tuple[int, int, int]:
        numbers = self.kernel.directives.get("reqnctapercluster", ())
        x, y, z = (*numbers, 1, 1, 1)[:3]
        return (x, y, z)

    def print(self, text: str) -> None:
        """Add to what the kernel printed, and have the clock looked at behind this step."""
        self.pause = min(self.pause, self.steps)
        self.printed += len(text)
        if self.printed > MAX_PRINTED:
            raise Fault(f"the kernel prints more than {MAX_PRINTED:,} characters")
        self.stdout.append(text)

    def over(self) -> tuple[str, str]:
        """The limit that is passed, in words, and its option; called when `steps` is beyond
        `pause`."""
        if self.steps > self.max_steps:
            return f"more than {self.max_steps} steps", "--max-steps"
        seconds = self.max_seconds
        if seconds is not None and time.process_time() - self.began > seconds:
            return f"more than {seconds:g} seconds of processor time", "--max-seconds"
        step = self.max_steps if seconds is None else self.steps + LOOK
        self.pause = min(step, self.max_steps)
        return "", ""

    def _check_configuration(self) -> None:
        if any(n > most for n, most in zip(self.grid, GRID_LIMIT, strict=True)):
            self._refuse(f"a grid of {self.grid}: {GRID_LIMIT} is the largest")
        if not 1 <= self.threads <= 1024:
            self._refuse(f"a block of {self.threads} threads: 1 to 1024 are possible")
        if self.dynamic_smem < 0 or self.shared_size > SHARED_LIMIT:
            self._refuse(f"{self.shared_size} bytes of shared memory a block")
        need = self.kernel.directives.get("reqntid")
        if need and tuple((*need, 1, 1)[:3]) != self.block:
            self._refuse(f"a block of {self.block}: the kernel requires .reqntid {need}")
        most = self.kernel.directives.get("maxntid")
        if most and self.threads > int(np.prod(most)):
            self._refuse(f"a block of {self.threads} threads: .maxntid allows {int(np.prod(most))}")
        if any(g % c for g, c in zip(self.grid, self.cluster, strict=True)):
            self._refuse(f"a grid of {self.grid} is no multiple of the cluster {self.cluster}")

    def _refuse(self, what: str) -> None:
        raise LaunchError(f"cannot launch {what}", kernel=str(self.kernel.name))

    def cta_coordinates(self, cta: Any) -> tuple[Any, Any, Any]:
        """The place in the grid of a CTA by its number; the CTAs of a cluster have neighbouring
        ones."""
        gx, gy, _ = self.grid
        if self.cluster_size == 1:
            return cta % gx, cta // gx % gy, cta // (gx * gy)
        kx, ky, kz = self.cluster
        c, r = cta // self.cluster_size, cta % self.cluster_size
        nx, ny = gx // kx, gy // ky
        return (
            c % nx * kx + r % kx,
            c // nx % ny * ky + r // kx % ky,
            c // (nx * ny) * kz + r // (kx * ky),
        )

    def coordinates(self, cta: int, thread: int) -> tuple[Any, Any]:
        """(CTA, thread) as triples of ints."""
        bx, by, _ = self.block
        x, y, z = self.cta_coordinates(cta)
        return (int(x), int(y), int(z)), (thread % bx, thread // bx % by, thread // (bx * by))

    # ------------------------------------------------------------- memory

    def bind(
        self, args: Sequence[Any], globals: Mapping[str, Any], textures: Mapping[Any, Any]
    ) -> None:
        """Lay out memory and copy everything in."""
        params = self.program.signature
        if len(args) != len(params):
            raise TypeError(f"{self.kernel.name} has {len(params)} parameters, {len(args)} given")
        known = {str(v.name) for v in self.module.globals}
        for name, value in globals.items():
            if name not in known:
                raise TypeError(f"the module has no variable {name!r}")
            array = value.array if isinstance(value, DeviceArray) else np.asarray(value)
            self.given[name] = np.ascontiguousarray(array).reshape(array.shape)
        from nvir.interp.texture import TextureTable

        table = TextureTable(self.program, textures)
        self.program.place_globals(self.given)
        buffers = _ArrayArguments(self)
        values: list[Any] = []
        for k, (value, param) in enumerate(zip(args, params, strict=True)):
            texture = table.by_name.get(str(param.name))
            value = value if texture is None else texture
            values.append(self._argument(value, param, k, buffers, table))
        table.bind()
        blocks = [np.frombuffer(v, np.uint8) for v in values if isinstance(v, bytes)]
        buffers.follow([*blocks, *(a.reshape(-1).view(np.uint8) for a in self.given.values())])
        self.program.place_parameters()
        if self.program.uses("call"):
            self.heap = self._reserve_heap()
        arena = self.program.arena
        if arena.top > self.max_bytes:
            self._refuse(f"with {arena.top} bytes of memory; max_bytes is {self.max_bytes}: "
                         "--max-bytes allows more")
        arena.seal()
        self.program.initialise()
        for name, array in self.given.items():
            v = next(v for v in self.module.globals if v.name == name)
            if v in self.program.addresses:
                self._copy_in(self.program.addresses[v], array, buffers)
        buffers.copy_in()
        for param, value in zip(params, values, strict=True):
            data = value if isinstance(value, bytes) else int(value).to_bytes(8, "little")
            if param.size < len(data):
                data = data[: param.size]
            self._copy_in(self.program.params[param], np.frombuffer(data, np.uint8), buffers)
        self.restored.clear() if not buffers.patched else None

    def _reserve_heap(self) -> int:
        names = {str(f.name) for f in self.module.functions}
        if "malloc" not in names:
            return 0
        self.heap_end = self.program.arena.allocate("heap", HEAP_SIZE) + HEAP_SIZE
        return self.heap_end - HEAP_SIZE

    def heap_take(self, size: int) -> int:
        """Bytes of the device heap; 0 when it is full."""
        start = -(-self.heap // 16) * 16
        if not self.heap or start + size > self.heap_end:
            return 0
        self.heap = start + size
        return start

    def _argument(
        self, value: Any, param: Any, k: int, buffers: _ArrayArguments, table: Any
    ) -> Any:
        """Parameter bytes, or the address of a buffer."""
        from nvir.interp.tensormap import SIZE, TensorMap
        from nvir.interp.texture import Texture

        if isinstance(value, DeviceArray):
            return buffers.address(value.array, str(param.name))
        if isinstance(value, Texture):
            return table.handle(value)
        if isinstance(value, TensorMap):
            if param.size != SIZE:
                raise TypeError(f"argument {k} ({param.name}) has {param.size} bytes, not {SIZE}")
            return value.encode(buffers.address(value.data, str(param.name)))
        if isinstance(value, np.ndarray) and value.ndim:
            check_array(value)
            if param.size < self.module.address_size // 8:
                raise TypeError(f"argument {k} ({param.name}) is {param.size} bytes, no pointer")
            return buffers.address(value, str(param.name))
        if isinstance(value, np.ndarray):
            value = value[()]
        return parameter_bytes(value, param, k)

    def _copy_in(self, address: int, array: Array, buffers: _ArrayArguments) -> None:
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        place = self.program.arena.bytes_at(address, raw.size)
        place[:] = raw
        buffers.patch(address, place)

    # ---------------------------------------------------------------- running

    def make_watch(self, wave: Wave) -> Any:
        if "uninit" in self.check or "race" in self.check:
            from nvir.interp.checks import Watch

            return Watch(wave, "uninit" in self.check, "race" in self.check)
        return None

    def run(self) -> LaunchResult:
        """Run all CTAs and copy back."""
        self.run_grid()
        self._copy_back()
        return LaunchResult("".join(self.stdout), self._counts(), self._final_globals(), self.steps)

    def waves(self) -> range:
        """The first CTA of each wave."""
        return range(0, self.n_ctas, self._wave_width())

    def run_grid(self, starts: Iterable[int] | None = None) -> None:
        """Run all CTAs, or those of the waves that begin at `starts`."""
        width = self._wave_width()
        with np.errstate(all="ignore"):
            try:
                self._take_turns(iter(self.waves() if starts is None else starts), width)
            except RecursionError:
                raise LaunchError("calls nest too deeply", kernel=str(self.kernel.name)) from None

    def _wave_width(self) -> int:
        """How many CTAs run side by side: whole clusters, whose memory is not too large."""
        frame: int = self.program.plan(self.kernel).frame.size + self.stack_size
        width = min(
            WAVE_LANES // self.threads,
            WAVE_BYTES // max(self.shared_size, 1),
            WAVE_BYTES // max(frame * self.threads, 1),
        )
        return max(width // self.cluster_size, 1) * self.cluster_size

    def _take_turns(self, starts: Iterator[int], width: int) -> None:
        """Run each wave until it ends or only waits; new ones start when all others wait."""
        waiting: deque[Wave] = deque()
        idle = 0  # turns behind each other in which nothing changed
        first = next(starts, None)
        while first is not None or waiting:
            if first is not None:
                if len(waiting) * width * self.threads > RESIDENT_THREADS:
                    self._refuse(f"more than {RESIDENT_THREADS} threads that wait for each other")
                try:
                    wave = Wave(self, first, min(width, self.n_ctas - first))
                except Fault as fault:
                    raise LaunchError(fault.message, kernel=str(self.kernel.name)) from fault
                first = next(starts, None)
            else:
                wave = waiting.popleft()
            alone, before = first is None and not waiting, wave.writes
            over = wave.run(0 if alone else PATIENCE)
            if over:
                vars(wave).clear()  # its groups refer to it: memory that the collector may miss
                idle = 0
                continue
            waiting.append(wave)
            idle = idle + 1 if wave.stuck and wave.writes == before else 0
            if idle > len(waiting) and first is None:
                wave.deadlock()

    def _copy_back(self) -> None:
        arena = self.program.arena
        for address, word, placeholder in self.restored:
            place = arena.bytes_at(address + 8 * word, 8).view(np.uint64)
            actual = self._actual.get(placeholder)
            if actual == int(place[0]):
                place[0] = placeholder
        for a in arena.allocations:
            if a.source is not None and not a.read_only and a.source.size:
                raw = arena.data[a.start : a.end]
                a.source[...] = raw.view(a.source.dtype).reshape(a.source.shape)

    def _counts(self) -> dict[str, dict[str, int]]:
        return {
            str(f.name): {b.name: s.count for b, s in plan.heads.items() if s.count}
            for f, plan in self.program.plans.items()
        }

    def _final_globals(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for v in self.module.globals:
            if v.space != "global" or v not in self.program.addresses:
                continue
            allocation = self.program.arena.find(self.program.addresses[v])
            if allocation is None or allocation.end == allocation.start:
                continue
            given = self.given.get(str(v.name))
            if given is not None:
                out[str(v.name)] = given
                continue
            raw = self.program.arena.data[allocation.start : allocation.end].copy()
            dtype, shape = self.program.storage.dtype(v)
            out[str(v.name)] = raw.view(dtype).reshape(shape) if raw.size else raw
        return out


class _ArrayArguments:
    """The arrays of a launch, each once, and the placeholders of DeviceArrays in their bytes."""

    def __init__(self, launch: GridLaunch) -> None:
        self.launch = launch
        self.known: dict[tuple[int, int], int] = {}
        self.arrays: list[tuple[int, Array]] = []
        self.patched = False

    def address(self, array: Array, name: str) -> int:
        """The device address of an array's buffer."""
        check_array(array)
        key = (array.__array_interface__["data"][0], array.nbytes)
        found = self.known.get(key)
        if found is None:
            arena = self.launch.program.arena
            locked = not array.flags.writeable
            found = arena.allocate(f"buffer of {name}", array.nbytes, 256, locked, array)
            self.known[key] = found
            self.arrays.append((found, array))
        return found

    def follow(self, blocks: list[Array]) -> None:
        """Make buffers of the DeviceArrays that bytes point to, and of those that these point
        to."""
        queue = [*blocks, *(a.reshape(-1).view(np.uint8) for _, a in self.arrays)]
        for data in queue:
            for _, pointed, _ in placeholders(data):
                before = len(self.arrays)
                self.address(pointed.array, "a DeviceArray")
                if len(self.arrays) > before:
                    queue.append(pointed.array.reshape(-1).view(np.uint8))

    def copy_in(self) -> None:
        for address, array in self.arrays:
            if array.size:
                self.launch._copy_in(address, array, self)

    def patch(self, address: int, place: Array) -> None:
        """Replace placeholders by addresses."""
        for word, pointed, offset in placeholders(place):
            actual = self.address(pointed.array, "a DeviceArray") + offset
            place[8 * word : 8 * word + 8] = np.frombuffer(actual.to_bytes(8, "little"), np.uint8)
            placeholder = pointed.ptr + offset
            self.launch._actual[placeholder] = actual
            self.launch.restored.append((address, word, placeholder))
            self.patched = True


def _kernel(module: Module, name: str) -> Function:
    for f in module.functions:
        if f.name == name and f.is_kernel and f.blocks:
            return f
    names = ", ".join(str(f.name) for f in module.kernels) or "none"
    raise LaunchError(f"the module has no kernel {name!r}; there are: {names}")


def _dim3(value: Dim, what: str) -> tuple[int, int, int]:
    numbers = (value,) if isinstance(value, int | np.integer) else tuple(value)
    if not 1 <= len(numbers) <= 3 or not all(isinstance(n, int | np.integer) for n in numbers):
        raise TypeError(f"{what} is an int or up to three ints, not {value!r}")
    x, y, z = (*(int(n) for n in numbers), 1, 1)[:3]
    if min(x, y, z) < 1:
        raise LaunchError(f"cannot launch a {what} of {(x, y, z)}")
    return x, y, z
