"""Whether two modules do the same: both are launched on the same seeded inputs and compared bit by
bit.

    before = behaviour(module, "k", seed)
    run_the_pass(module)
    check_same(before, behaviour(module, "k", seed))

or, with two modules at hand, `same_behaviour(a, b, "k", seed)`.

Inputs follow from the kernel's signature and code: a parameter that addresses are made of becomes a
buffer of random bytes, an integer a small size, a float a small number. Random kernels of
kernels.py are made so that no such input is out of bounds. Where the first module already fails on
its inputs (an index read from a random buffer, say) the next kind of data is tried, and if all fail
there is nothing to compare: `same_behaviour` returns False.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

import nvir
from nvir.ir.errors import LaunchError
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.ir.symbols import Variable
from nvir.ir.values import SymbolOffset

BUFFER_BYTES = 1 << 14
FLAVOURS = ("bits", "floats", "small", "few")
_PASSES_ADDRESSES = frozenset(("cvta", "add", "sub", "mov", "phi", "selp", "mad", "cvt"))


@attrs.frozen
class Inputs:
    """A launch: everything but the module."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Any, ...]
    dynamic_smem: int = 0


@attrs.frozen
class Behaviour:
    """What a kernel did: bytes of its buffers and globals, its output, or how it failed."""

    kernel: str
    seed: int
    flavour: str
    buffers: tuple[bytes, ...] = ()
    globals: tuple[tuple[str, bytes], ...] = ()
    stdout: str = ""
    error: str = ""
    given: Inputs | None = attrs.field(default=None, eq=False, repr=False)
    steps: int = attrs.field(default=0, eq=False, repr=False)


def pointers(function: Function) -> set[str]:
    """Names of the parameters that addresses are made of."""
    out = set()
    for p in function.params:
        if p.attributes.get("ptr") is not None or "points" in p.attributes:
            out.add(str(p.name))
    work: list[tuple[Any, str]] = []
    for i in function.instructions():
        if i.form.name == "ld" and i.form.space.startswith("param"):
            symbol = getattr(i.operands[0], "symbol", i.operands[0])
            if symbol in function.params and i.type.bits == 64:
                work.append((i, str(symbol.name)))
    seen = {v for v, _ in work}
    while work:
        value, name = work.pop()
        for user in value.users:
            bases = {user.operands[b] for b, _ in user.form.addresses}
            if value in bases or user.form.is_call:
                out.add(name)
            elif user.form.name in _PASSES_ADDRESSES and user not in seen:
                seen.add(user)
                work.append((user, name))
    return out


def inputs(
    module: Module, kernel: str, seed: int = 0, flavour: str = "bits",
    grid: tuple[int, ...] = (2,), block: tuple[int, ...] = (64,), size: int = 0,
) -> Inputs:
    """Seeded arguments for a kernel, and a launch that its directives allow. `size`: every integer,
    where it is not 0."""
    rng = np.random.default_rng([seed, FLAVOURS.index(flavour)])
    f = module[kernel]
    need = f.directives.get("reqntid")
    if need:
        block = tuple(need)
    elif "maxntid" in f.directives:
        block = (min(int(np.prod(block)), int(np.prod(f.directives["maxntid"]))),)
    addressed = pointers(f)
    args: list[Any] = []
    for p in f.params:
        if p.name in addressed:
            args.append(_buffer(rng, flavour))
        elif p.dimensions or p.vector > 1:
            args.append(_structure(f, p, rng))
        elif p.element_type.is_float:
            args.append(float(rng.integers(-4, 5)))
        else:
            args.append(size or int(rng.integers(1, 24)))
    dynamic = 4096 if any(
        v.space == "shared" and v.linkage == "extern" for v in module.globals
    ) else 0
    return Inputs(grid, block, tuple(args), dynamic)


def _structure(function: Function, parameter: Variable, rng: Any) -> bytes:
    """Small numbers in a parameter of several, each as wide as the kernel reads it."""
    made = bytearray(parameter.size)
    for i in function.instructions():
        if i.form.name != "ld" or not i.form.space.startswith("param"):
            continue
        at = i.operands[0]
        offset = at.offset if isinstance(at, SymbolOffset) else 0
        if getattr(at, "symbol", at) is not parameter:
            continue
        for r in i.results:
            width = r.type.bits // 8
            number = int(rng.integers(1, 5))
            text = np.float32(number).tobytes() if r.type.is_float and width == 4 else (
                number.to_bytes(width, "little"))
            made[offset : offset + width] = text[: max(len(made) - offset, 0)]
            offset += width
    return bytes(made)


def _buffer(rng: Any, flavour: str) -> Any:
    if flavour == "bits":
        return rng.integers(0, 1 << 32, BUFFER_BYTES // 4, np.uint32)
    if flavour == "floats":
        return rng.standard_normal(BUFFER_BYTES // 4).astype(np.float32)
    made = rng.integers(0, 4, BUFFER_BYTES // 4, np.int32)
    if flavour == "few":  # as numbers of 64 bits, too
        made[1::2] = 0
    return made


def run(
    module: Module, kernel: str, given: Inputs, *, seed: int = 0, flavour: str = "",
    max_steps: int = 500_000,
) -> Behaviour:
    """Launch on copies of the inputs."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in given.args]
    try:
        result = nvir.launch(
            module, kernel, given.grid, given.block, args, given.dynamic_smem, max_steps=max_steps
        )
    except LaunchError as e:
        return Behaviour(kernel, seed, flavour, error=str(e), given=given)
    return Behaviour(
        kernel,
        seed,
        flavour,
        tuple(a.tobytes() for a in args if isinstance(a, np.ndarray)),
        tuple(sorted((name, np.asarray(a).tobytes()) for name, a in result.globals.items())),
        result.stdout,
        given=given,
        steps=result.steps,
    )


def behaviour(module: Module, kernel: str, seed: int = 0, **launch: Any) -> Behaviour:
    """What the kernel does on inputs of the first kind on which it does not fail."""
    found = None
    for flavour in FLAVOURS:
        given = inputs(module, kernel, seed, flavour, **launch)
        found = run(module, kernel, given, seed=seed, flavour=flavour)
        if not found.error:
            return found
    assert found is not None
    return found


def again(module: Module, before: Behaviour) -> Behaviour:
    """The same launch as `before`, of a changed module; with more steps, for code may have grown
    and lanes may go apart, but not with millions: a defect that counts for ever is found at once.

    The inputs are those of `before`: in a changed module no load may tell any more which
    parameters are pointers."""
    assert before.given is not None
    return run(
        module, before.kernel, before.given, seed=before.seed, flavour=before.flavour,
        max_steps=20_000 + 64 * before.steps,
    )


def check_same(before: Behaviour, after: Behaviour) -> bool:
    """Raise AssertionError at the first difference; False if there was nothing to compare."""
    if before.error:
        return False
    where = f"kernel {before.kernel}, seed {before.seed}, {before.flavour}"
    assert not after.error, f"{where}: the changed module fails: {after.error}"
    assert before.stdout == after.stdout, f"{where}: other output"
    for k, (x, y) in enumerate(zip(before.buffers, after.buffers, strict=True)):
        assert x == y, f"{where}: buffer {k} differs {_first(x, y)}"
    for (name, x), (_, y) in zip(before.globals, after.globals, strict=True):
        assert x == y, f"{where}: global {name} differs {_first(x, y)}"
    return True


def _first(x: bytes, y: bytes) -> str:
    a, b = (np.frombuffer(v[: len(v) // 4 * 4], np.uint32) for v in (x, y))
    if len(a) != len(b):
        return f"in size: {len(x)}, {len(y)} bytes"
    at = np.flatnonzero(a != b)
    if not len(at):
        return "in its last bytes"
    k = int(at[0])
    return f"in {len(at)} words, the first {k}: {a[k]:#010x}, then {b[k]:#010x}"


def same_behaviour(a: Module, b: Module, kernel: str, seed: int = 0, **launch: Any) -> bool:
    """Launch both on the same inputs; AssertionError where any buffer, global or output differs.

    False if the first one fails on all inputs, so that nothing was compared.
    """
    before = behaviour(a, kernel, seed, **launch)
    return check_same(before, again(b, before)) if not before.error else False
