"""The server of `nvir exec`: each process that calls CUDA is one session, forked off here.

A session owns the device memory (a file in memory that the program maps too), reads the PTX out of
the fat binaries that the program registers, and runs its launches in order on `interp.Device`.

Protocol    a question is (operation, bytes) and a payload, an answer (status, bytes) and a payload;
            statuses are the runtime's errors, negative where the program is to end. standin.c has
            the other end.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from mmap import mmap
from pathlib import Path
from typing import Any

import attrs

from nvir.exec.build import LIBRARY, library
from nvir.ir.errors import LaunchError, NvirError
from nvir.sm.profile import Profile, profile

_LAUNCH = struct.Struct("<i3I3I3III")
_OBJECT = struct.Struct("<5Q5iIi18i")


@attrs.frozen
class ExecSettings:
    """What `nvir exec` is told: a pipeline to run on every module, and what to look for."""

    profile: Profile
    passes: str = ""
    policy: str = "observed"
    tune: bool = False
    check: tuple[str, ...] = ()
    stats: bool = False
    memory: int = 4 << 30
    max_steps: int = 10**8
    max_seconds: float = 60


def execute(command: Sequence[str], settings: ExecSettings, cache: Path | None = None) -> int:
    """Run a program against the stand-ins; returns its exit status, 1 where it ended with 0
    although one of its kernels failed."""
    folder = library(cache)
    with tempfile.TemporaryDirectory(prefix="nvir-") as place:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(f"{place}/socket")
        listening.listen(16)
        environment = {**os.environ, "NVIR_EXEC_SOCKET": f"{place}/socket"}
        for name, value, between in (
            ("LD_PRELOAD", folder / LIBRARY, " "), ("LD_LIBRARY_PATH", folder, ":")
        ):
            before = os.environ.get(name)
            environment[name] = f"{value}{between}{before}" if before else str(value)
        try:
            program = subprocess.Popen(list(command), env=environment)
        except OSError as e:
            raise NvirError(f"{command[0]}: {e.strerror or e}") from None
        failed = _serve(listening, program, settings)
        status = program.wait()
    if status < 0:
        return 128 - status
    return 1 if failed and not status else status


def _serve(
    listening: socket.socket, program: subprocess.Popen[bytes], settings: ExecSettings
) -> bool:
    """Fork a session for each process that connects, until the program has ended; did one fail?"""
    import nvir.interp.device  # what every session needs: loaded while the program starts
    import nvir.ptx.reader  # noqa: F401

    gc.freeze()
    ended = os.pidfd_open(program.pid)
    sessions: list[int] = []
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the program's to answer
    while True:
        ready, _, _ = select.select([listening.fileno(), ended], [], [])
        if listening.fileno() not in ready:
            break
        connection, _ = listening.accept()
        child = os.fork()
        if not child:
            listening.close()
            os._exit(_session(connection, settings))
        connection.close()
        sessions.append(child)
    os.close(ended)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in sessions]
    signal.signal(signal.SIGINT, ignored)
    return any(statuses)


def _session(connection: socket.socket, settings: ExecSettings) -> int:
    try:
        session = Session(connection, settings)
        session.run()
        session.finish()
        sys.stderr.flush()
        return int(session.failed)
    except BaseException:
        import traceback

        traceback.print_exc()
        return 70


class Session:
    """One process's device."""

    def __init__(self, connection: socket.socket, settings: ExecSettings) -> None:
        import numpy as np

        from nvir.exec import facts
        from nvir.interp.device import BASE, Device

        self.connection, self.settings = connection, settings
        self.failed = False
        self.properties = facts.properties(settings.profile, settings.memory)
        fd = os.memfd_create("nvir device memory")
        os.ftruncate(fd, settings.memory)
        self.map = mmap(fd, settings.memory)
        self.observer: Any = None
        if settings.stats:
            from nvir.exec.profile import Observer

            self.observer = Observer(settings.check)
        self.device = Device(
            np.frombuffer(self.map, np.uint8), ("bounds", *settings.check), settings.max_steps,
            self.observer and self.observer.watch, self.observer and self.observer.trace,
            fork=len(os.sched_getaffinity(0)) > 1, host_stores=True,
            max_seconds=settings.max_seconds,
        )
        self.device.sms = int(self.properties["multiProcessorCount"])  # type: ignore[arg-type]
        self.modules: list[Any] = []
        self.kernels: list[tuple[Any, str]] = []
        self.buffers = 0
        hello = struct.pack(
            "<QQi256i4x", BASE, settings.memory, "uninit" in settings.check,
            *facts.attributes(self.properties),
        )
        socket.send_fds(connection, [hello], [fd])
        os.close(fd)

    def run(self) -> None:
        """Answer until the program hangs up."""
        answers: dict[int, Callable[[bytes], bytes]] = {
            1: self.load, 2: self.kernel, 3: self.variable, 4: self.allocate, 5: self.free,
            6: self.launch, 7: self.texture, 8: self.drop, 9: self.occupancy, 10: self.error,
            11: self.wrote, 12: self.describe,
        }
        stream = self.connection.makefile("rb")
        while len(head := stream.read(8)) == 8:
            op, size = struct.unpack("<II", head)
            status, data = self._answer(answers[op], stream.read(size))
            self.connection.sendall(struct.pack("<iI", status, len(data)) + data)

    def _answer(self, method: Callable[[bytes], bytes], data: bytes) -> tuple[int, bytes]:
        from nvir.exec.facts import error_code

        try:
            return 0, method(data)
        except _Refused as e:
            return e.code, b""
        except MemoryError:
            return 2, b""
        except (NvirError, TypeError) as e:
            code = error_code(e) if isinstance(e, NvirError) else 999
            self.failed |= isinstance(e, LaunchError)
            print(f"nvir exec: error: {e}", file=sys.stderr, flush=True)
            text = "".join(getattr(e, "printed", ())).encode()
            ends = self.settings.check and isinstance(e, LaunchError)
            return -code if ends else code, text

    # ------------------------------------------------------------- modules

    def load(self, data: bytes) -> bytes:
        """A fat binary or PTX text; its number."""
        self.modules.append(data)
        if data[:1] == b"\x7f":
            self._no_ptx("the module is a cubin")
        return struct.pack("<i", len(self.modules))

    def module(self, number: int) -> Any:
        """A module, read and put through the passes when it is first needed."""
        found = self.modules[number - 1]
        if isinstance(found, bytes):
            from nvir.ptx.reader import read_ptx

            texts = [self._ptx(x) for x in _containers(found)]
            if len(texts) > 1:
                from nvir.exec.link import link_ptx

                texts = [link_ptx([x.decode() for x in texts]).encode()]
            found = self.modules[number - 1] = read_ptx(texts[0])
            if self.settings.passes:
                from nvir.passes.driver import run_passes

                run_passes(found, self.settings.passes, policy=self.settings.policy)  # type: ignore[arg-type]
            if self.settings.tune:
                _tune(found, self.settings.profile)
        return found

    def _ptx(self, data: bytes) -> bytes:
        """The newest PTX that the device takes."""
        from nvir.toolchain.errors import ToolError, ToolMissing
        from nvir.toolchain.fatbin import CONTAINER, read_fatbin

        if not data.startswith(struct.pack("<I", CONTAINER)):
            return data.rstrip(b"\0")
        try:
            images = read_fatbin(data, ("ptx",))
        except ToolMissing as missing:
            from nvir.toolchain.cuobjdump import embedded

            try:
                images = embedded(data, ("ptx",))
            except ToolError:
                raise NvirError(str(missing)) from None
        except ToolError as e:
            raise NvirError(str(e)) from None
        fitting = [i for i in images if int(i.arch[3:]) <= self.settings.profile.capability]
        if not fitting:
            has = ", ".join(i.arch.replace("sm", "compute") for i in images) or "none"
            self._no_ptx(f"PTX for {has}")
        return max(fitting, key=lambda i: int(i.arch[3:])).data

    def _no_ptx(self, what: str) -> None:
        print(
            f"nvir exec: error: no PTX for {self.settings.profile.name} ({what}): build with "
            "-gencode arch=compute_80,code=compute_80, or choose --arch",
            file=sys.stderr, flush=True,
        )
        self.failed = True
        raise _Refused(209)

    def kernel(self, data: bytes) -> bytes:
        """(module, name) → number, facts and the places of the parameters."""
        number, name = struct.unpack_from("<i", data)[0], data[4:].decode()
        module = self.module(number)
        function = next((f for f in module.kernels if f.name == name and f.blocks), None)
        if function is None:
            raise _Refused(98)
        from nvir.interp.layout import parameter_layout

        layout = parameter_layout(function.params)
        places = [x for p, at in layout.offsets.items() for x in (at, p.size)]
        if len(places) > 512:
            raise NvirError(f"{name} has {len(places) // 2} parameters")
        program = self.device.program(module, name)
        most = function.directives.get("maxntid") or function.directives.get("reqntid") or (1024,)
        threads = 1
        for n in most:
            threads *= int(n)
        self.kernels.append((module, name))
        facts = (
            len(places) // 2, layout.size, program.dynamic, min(threads, 1024),
            _registers(function, self.settings.profile), program.plan(function).frame.size, 0,
            int("".join(filter(str.isdigit, module.target))),
        )
        return struct.pack(f"<9i{len(places)}i", len(self.kernels), *facts, *places)

    def variable(self, data: bytes) -> bytes:
        """(module, name) → address, bytes."""
        number, name = struct.unpack_from("<i", data)[0], data[4:].decode()
        found = self.device.variables(self.module(number)).get(name)
        if found is None:
            raise _Refused(13)
        return struct.pack("<QQ", *found)

    # -------------------------------------------------------------- memory

    def allocate(self, data: bytes) -> bytes:
        size, align, kind = struct.unpack("<QQQ", data)
        self.buffers += 1
        what = {1: "pinned", 2: "device", 3: "managed"}[kind]
        name = f"{what} buffer {self.buffers}"
        return struct.pack("<Q", self.device.allocate(size, name, align, written=kind != 2))

    def free(self, data: bytes) -> bytes:
        address, size = struct.unpack("<QQ", data)
        if not self.device.free(address):
            raise _Refused(1)
        first = -(-(address - self.device.memory.base) // 4096) * 4096
        pages = (address - self.device.memory.base + size) // 4096 * 4096 - first
        if pages >= 1 << 20:
            self.map.madvise(9, first, pages)  # MADV_REMOVE: give the pages back
        return b""

    def wrote(self, data: bytes) -> bytes:
        self.device.memory.mark(*struct.unpack("<QQ", data))
        return b""

    def texture(self, data: bytes) -> bytes:
        """A texture or surface over device memory; its handle."""
        import numpy as np

        from nvir.interp.texture import Texture

        (address, width, height, depth, pitch, x, y, z, w, kind, flags, how, *sampled) = (
            _OBJECT.unpack_from(data)
        )
        channels = sum(map(bool, (x, y, z, w)))
        dtype = np.dtype(f"{'iuf'[kind]}{x // 8}")
        line = dtype.itemsize * channels
        shape = [n for n in (depth, height, width) if n]
        strides = [(pitch or width * line) * (height or 1), pitch or width * line, line]
        strides = [s for s, n in zip(strides, (depth, height, width), strict=True) if n]
        if channels > 1:
            shape, strides = [*shape, channels], [*strides, dtype.itemsize]
        last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
        raw = self.device.memory.bytes_at(address, last)
        view = np.lib.stride_tricks.as_strided(raw.view(dtype), shape, strides)
        del flags, how
        modes = ("wrap", "clamp", "mirror", "border")
        texture = Texture(
            view, channels, modes[sampled[0] & 3], "linear" if sampled[3] else "point",
            bool(sampled[10]), sampled[4] == 1 and dtype.kind != "f",
        )
        handle = 1 + max(self.device.textures, default=0)
        self.device.textures[handle] = texture
        return struct.pack("<Q", handle)

    def drop(self, data: bytes) -> bytes:
        self.device.textures.pop(struct.unpack("<Q", data)[0], None)
        return b""

    # ------------------------------------------------------------- launches

    def launch(self, data: bytes) -> bytes:
        number, gx, gy, gz, bx, by, bz, cx, cy, cz, smem, _ = _LAUNCH.unpack_from(data)
        module, name = self.kernels[number - 1]
        run = self.device.launch(
            module, name, (gx, gy, gz), (bx, by, bz), data[_LAUNCH.size :], smem,
            cluster=(cx, cy, cz) if cx else None,
        )
        if self.observer is not None:
            self.observer.launched(name)
        return "".join(run.stdout).encode()

    def occupancy(self, data: bytes) -> bytes:
        from nvir.sm.occupancy import occupancy

        number, threads, smem = struct.unpack("<qqq", data)
        module, name = self.kernels[number - 1]
        static = self.device.program(module, name).dynamic
        registers = _registers(module[name], self.settings.profile)
        found = occupancy(self.settings.profile, registers, threads, smem, static_smem=static)
        return struct.pack("<i", found.blocks_per_sm)

    def error(self, data: bytes) -> bytes:
        from nvir.exec.facts import error_text

        return error_text(*struct.unpack("<i", data)).encode()

    def describe(self, data: bytes) -> bytes:
        from nvir.exec.facts import property_bytes

        return property_bytes(self.properties, *struct.unpack("<i", data))

    def finish(self) -> None:
        """At the program's end: the table of `--stats`."""
        if self.observer is not None:
            self.observer.print()


class _Refused(Exception):
    """A question that has an error of the runtime for an answer."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"error {code}")


def _containers(data: bytes) -> list[bytes]:
    """The containers of fat binaries one behind the other; anything else is one."""
    from nvir.toolchain.fatbin import CONTAINER, container_size

    found, at = [], 0
    while data.startswith(struct.pack("<I", CONTAINER), at):
        size = container_size(data[at : at + 16])
        found.append(data[at : at + size])
        at += size + -size % 8
    return found or [data]


def _registers(function: Any, machine: Profile) -> int:
    """Registers a thread, as the model of ptxas predicts them."""
    from nvir.assembler.regalloc.predict import predict

    try:
        return predict(function, machine).registers
    except NvirError:
        return 32


def _tune(module: Any, machine: Profile) -> None:
    """Put the winners of `nvir tune` in the place of the kernels."""
    from nvir.toolchain import available
    from nvir.tune.search import tune, tuned

    sass = available("ptxas", "nvdisasm")
    try:
        found = tune(module, machine, machine.name, judge="sass" if sass else "model")
    except NvirError as e:  # ptxas takes no line table of nvcc -G beside the candidates' own
        print(f"nvir exec: kernels stay as they are: {e}", file=sys.stderr)
        return
    tuned(module, found, machine)


def machine(arch: str | None, program: str) -> Profile:
    """The device: `arch`, else the newest that the program has PTX for, and sm_80 at least."""
    from nvir.toolchain.errors import ToolError
    from nvir.toolchain.fatbin import program_images

    if arch:
        return profile(arch)
    newest = 80
    try:
        images = program_images(program) if os.path.isfile(program) else []
    except ToolError:
        images = []
    for image in images:
        newest = max(newest, int(image.arch[3:]))
    from nvir.sm.profile import PROFILES

    known = [int(p[3:]) for p in PROFILES if p[3:].isdigit()]
    return profile(f"sm_{min((k for k in known if k >= newest), default=max(known))}")
