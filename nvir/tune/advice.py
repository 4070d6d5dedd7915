"""What to write in CUDA to get a candidate: pragmas at lines, launch bounds."""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.module import Module
from nvir.tune.candidates import Choices, LoopSetting


def advice(module: Module, kernel: str, settings: Choices, block: int) -> list[str]:
    """A line for each change of a kernel, the loops' by their places in the source if known."""
    places = _places(module, kernel)
    out = [
        f"{text} {places.get(header, f'at loop {header}')}"
        for header, setting in settings.loops for text in _of_loop(setting)
    ]
    if settings.launch is not None:
        name, n = settings.launch
        out.append(f"__launch_bounds__({block}, {n}) on the kernel" if name == "minnctapersm"
                   else f"__maxnreg__({n}) on the kernel, or -maxrregcount={n}")
    return out


def _of_loop(setting: LoopSetting) -> Iterator[str]:
    if setting.apart:
        yield "__restrict__ on the pointers of the loop"
    if setting.free:
        yield "no `#pragma unroll 1` (or another factor)"
    if setting.unroll == 0:
        yield "#pragma unroll"
    elif setting.unroll is not None:
        yield f"#pragma unroll {setting.unroll}"
    if setting.depth:
        iterations = "iteration" if setting.depth == 1 else "iterations"
        yield f"load {setting.depth} {iterations} ahead into registers (or take the PTX)"


def _places(module: Module, kernel: str) -> dict[str, str]:
    files = {n: name for n, name, _ in module.debug.files}
    found = {}
    for b in module[kernel].blocks:
        loc = next((i.loc for i in b if i.loc is not None and i.loc.line
                    and not i.form.is_phi), None)
        if loc is not None and loc.file in files:
            found[str(b.name)] = f"at {files[loc.file].rpartition('/')[2]}:{loc.line}"
        else:
            found[str(b.name)] = f"at loop {b.name}" + (f" (line {b.line})" if b.line else "")
    return found
