"""A device: memory that outlives launches, and kernels that are launched on addresses in it.

What a CUDA context holds: buffers that are allocated and freed, the variables of each module, the
heap of device-side malloc. `nvir.launch` makes all that anew for arrays that are given; here a
kernel takes the bytes of its parameters, with raw addresses in them. Plans and generated code are
kept, so that launching a kernel again costs a fraction of a millisecond beside what it runs.

    device = Device(np.zeros(1 << 24, np.uint8))
    x = device.allocate(4096)
    device.launch(module, "k", 4, 256, x.to_bytes(8, "little"))
"""

from __future__ import annotations

import bisect
import os
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

from nvir.interp.builtins import HEAP_SIZE
from nvir.interp.grid import Dim, GridLaunch
from nvir.interp.layout import Array, Windows, align_up, parameter_layout
from nvir.interp.memory import GUARD, Arena, ArenaRange, ByteRegion
from nvir.interp.program import Program
from nvir.ir.errors import LaunchError, NvirError
from nvir.ir.module import Module
from nvir.ir.symbols import Variable

BASE = Windows().arena
_MANY = 4  # waves from which on a second process is worth while


class DeviceMemory(Arena):
    """The whole of a device's memory, with ranges that come and go.

    `data` is the memory, its byte 0 at address `BASE`. `shadow` keeps which bytes were written.
    """

    __slots__ = ("full",)

    def __init__(self, data: Array, shadow: bool) -> None:
        super().__init__(BASE)
        self.full = len(data)
        ByteRegion.__init__(self, self.full, shadow, data)

    def allocate(
        self, name: str, size: int, align: int = 256, read_only: bool = False, source: Any = None
    ) -> int:
        """Reserve bytes behind the last range, or in the first gap. Raises MemoryError."""
        align = max(align, 16)
        at, start = len(self.starts), align_up(self.top, align)
        if start + size + GUARD > self.full:
            at, start = self._gap(size, align)
        else:
            self.top = start + size + GUARD
        self.allocations.insert(at, ArenaRange(name, start, start + size, read_only, source))
        self.starts.insert(at, start)
        self.ends.insert(at, start + size)
        self.read_only.insert(at, read_only)
        return self.base + start

    def _gap(self, size: int, align: int) -> tuple[int, int]:
        free = GUARD
        for k, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            if align_up(free, align) + size + GUARD <= start:
                return k, align_up(free, align)
            free = end + GUARD
        raise MemoryError(f"{size} bytes of device memory")

    def mark(self, address: int, size: int, written: bool = True) -> None:
        """Say which bytes have been written, where that is kept."""
        if self.written is not None:
            start = address - self.base
            self.written[start : start + size] = written

    def release(self, address: int) -> ArenaRange | None:
        """Free the range that begins at an address; None if there is none."""
        offset = address - self.base
        k = bisect.bisect_left(self.starts, offset)
        if k == len(self.starts) or self.starts[k] != offset:
            return None
        gone = self.allocations.pop(k)
        del self.starts[k], self.ends[k], self.read_only[k]
        if k == len(self.starts):
            self.top = (self.ends[-1] if self.ends else 0) + GUARD
        self.mark(address, gone.end - gone.start, False)
        return gone


class Device:
    """Memory, the modules that are loaded, and launches in order.

    data       the bytes of the memory (uint8); may be shared with another process
    check      as for `nvir.launch`; "uninit" covers global memory as well
    max_steps, max_seconds  instructions executed, and processor time, beyond which a launch is an
               error
    watch      makes the observer of a wave's accesses (see checks.py), or None
    trace      called with (group, instruction, results) after each instruction, or None
    textures   `Texture`s by handle
    host_stores  whether the host may store while a kernel runs: threads that wait for that are no
               deadlock
    fork       run half of a large grid in a second process, where CTAs can't tell; `data` must then
               be memory that processes share
    """

    def __init__(
        self, data: Array, check: Sequence[str] = ("bounds",), max_steps: int = 10**8,
        watch: Callable[[Any], Any] | None = None, trace: Callable[..., None] | None = None,
        fork: bool = False, host_stores: bool = False, max_seconds: float | None = None,
    ) -> None:
        self.memory = DeviceMemory(data, "uninit" in check)
        self.check, self.max_steps, self.max_seconds = tuple(check), max_steps, max_seconds
        self.watch, self.trace = watch, trace
        self.fork = fork and watch is None and self.check == ("bounds",)
        self.host_stores = host_stores
        self.textures: dict[Any, Any] = {}
        self.sms = 108
        self._programs: dict[tuple[Module, str], Program] = {}
        self._variables: dict[Module, dict[Any, int]] = {}
        self._heap = (0, 0)  # next free byte and end of device-side malloc's memory
        self._workspace = 0

    def allocate(self, size: int, name: str = "", align: int = 256, written: bool = False) -> int:
        """The address of `size` new bytes; `name` is how errors call them. Raises MemoryError."""
        address = self.memory.allocate(name or "a buffer", size, align)
        if written:
            self.memory.mark(address, size)
        return address

    def free(self, address: int) -> bool:
        """Give an allocation back; False where none begins at the address."""
        return self.memory.release(address) is not None

    def variables(self, module: Module) -> dict[str, tuple[int, int]]:
        """(address, bytes) of each `.global` and `.const` variable of a module, by name."""
        kernel = next((f for f in module.kernels if f.blocks), None)
        if kernel is None:
            return {}
        self.program(module, str(kernel.name))
        return {
            str(v.name): (at, v.size)
            for v, at in self._variables[module].items() if isinstance(v, Variable)
        }

    def program(self, module: Module, kernel: str) -> Program:
        """A kernel made ready to run, once."""
        found = self._programs.get((module, kernel))
        if found is not None:
            return found
        function = next((f for f in module.kernels if f.name == kernel and f.blocks), None)
        if function is None:
            raise LaunchError(f"the module has no kernel {kernel!r}")
        program = Program(module, function, self.memory)
        program.trace, program.textures = self.trace, self.textures
        placed = self._variables.get(module)
        if placed is None:
            first = len(self.memory.starts)
            program.place_globals({})
            program.initialise()
            for a in self.memory.allocations[first:]:
                self.memory.mark(self.memory.base + a.start, a.end - a.start)
            named = (*module.globals, *(v for f in module.functions for v in f.locals))
            self._variables[module] = {
                v: program.addresses[v] for v in named if v in program.addresses
            }
        else:
            program.addresses.update(placed)
        program.place_parameters()
        size = parameter_layout(program.signature).size
        self.memory.mark(next(iter(program.params.values()), BASE), size)
        self._programs[module, kernel] = program
        return program

    def launch(
        self, module: Module, kernel: str, grid: Dim, block: Dim, parameters: bytes,
        dynamic_smem: int = 0, cluster: tuple[int, int, int] | None = None,
    ) -> GridLaunch:
        """Run a kernel; returns the launch, with `stdout` (a list of texts) and `steps`.

        `parameters` are the bytes of the parameter block, each at its own alignment. Raises what
        `nvir.launch` raises; memory keeps what was stored until then.
        """
        program = self.program(module, kernel)
        run = GridLaunch(
            module, kernel, grid, block, dynamic_smem, self.max_steps, self.check, program=program,
            cluster=cluster, max_seconds=self.max_seconds,
        )
        run.sms, run.host_stores = self.sms, self.host_stores
        if self.watch is not None:
            run.make_watch = self.watch  # type: ignore[method-assign, assignment]
        layout = parameter_layout(program.signature)
        if len(parameters) < layout.size:
            raise LaunchError(f"{len(parameters)} bytes of parameters, not {layout.size}",
                              kernel=kernel)
        if layout.size:
            program.set_parameters(parameters[: layout.size])
        self._prepare(run)
        try:
            waves = run.waves()
            if len(waves) < _MANY or not self.fork or not program.separable:
                run.run_grid(waves)
            else:
                self._run_both(run, waves)
        finally:
            if run.heap:
                self._heap = run.heap, run.heap_end
        return run

    def _run_both(self, run: GridLaunch, waves: range) -> None:
        """Half of the waves in a child process: memory is shared, nothing else has to come back."""
        run.run_grid(waves[:1])  # so that the child has the generated code
        half = len(waves) // 2 + 1
        ours, theirs = os.pipe()
        spent = time.process_time()
        child = os.fork()
        if not child:
            run.began -= spent  # a new process begins to count
            error: Exception | None = None
            try:
                run.run_grid(waves[half:])
            except NvirError as e:
                error = e
            except BaseException as e:
                error = RuntimeError(repr(e))
            kind, rest = (None, {}) if error is None else (type(error), vars(error))
            os.write(theirs, pickle.dumps((run.steps, kind, str(error), rest)))
            os._exit(0)
        os.close(theirs)
        try:
            before = run.steps
            run.run_grid(waves[1:half])
        finally:
            with open(ours, "rb") as pipe:
                said = pipe.read()
            os.waitpid(child, 0)
        if not said:
            raise LaunchError("the process of half of the grid ended", kernel=str(run.kernel.name))
        steps, kind, text, attributes = pickle.loads(said)
        run.steps += steps - before
        if kind is not None:
            error = kind.__new__(kind)
            error.args = (text,)
            error.__dict__.update(attributes)
            raise error

    def _prepare(self, run: GridLaunch) -> None:
        """The heap of device-side malloc, and the workspace of a grid-wide barrier."""
        if not self._workspace:
            self._workspace = self.allocate(16, "the grid's workspace", written=True)
        self.memory.bytes_at(self._workspace, 16)[:] = 0
        run.environment = {
            "envreg1": self._workspace >> 32, "envreg2": self._workspace & 0xFFFFFFFF
        }
        names = {str(f.name) for f in run.program.reached}
        if "malloc" in names:
            if not self._heap[0]:
                start = self.allocate(HEAP_SIZE, "the heap")
                self._heap = start, start + HEAP_SIZE
            run.heap, run.heap_end = self._heap
