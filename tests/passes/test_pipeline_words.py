"""Loads of narrow vectors that become loads of words: what they load, and what is left alone."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.passes.loop.pipeline.words import join_words

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o) {{
.reg .pred %p<4>; .reg .b16 %h<5>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; cvta.to.global.u64 %rd1, %rd1;
cvta.to.global.u64 %rd2, %rd2; mov.u32 %r5, %tid.x; setp.eq.u32 %p1, %r5, 0;
mov.b64 %rd3, 0; mov.b64 %rd4, 0; mov.b64 %rd5, 0; mov.b64 %rd6, 0;
{body}
ret; }}
"""


def names_of(body: str, changed: int) -> list[str]:
    """The spellings of a kernel that stores what it loads; it does the same with words."""
    plain, made = (nvir.read_ptx(TEXT.format(body=body)) for _ in range(2))
    assert sum(join_words(b) for b in made.functions[0].blocks) == changed
    nvir.verify(made)
    found = []
    for module in (plain, made, nvir.read_ptx(nvir.print_ptx(made))):
        data = (np.arange(16, dtype=np.uint32) * np.uint32(2654435761)).view(np.uint8)
        out = np.zeros(8, np.uint64)
        nvir.launch(module, "k", 1, 1, [data, out])
        found.append(out.tobytes())
    assert found[0] == found[1] == found[2]
    return [i.form.spelling for b in made.functions[0].blocks for i in b]


def stores(registers: list[str], kind: str) -> str:
    return "".join(f"st.global.{kind} [%rd2+{8 * k}], {r};" for k, r in enumerate(registers))


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("kind", ["u8", "s8", "b8", "u16", "s16", "b16"])
@pytest.mark.parametrize(("register", "width"), [("%h", "u16"), ("%r", "u32"), ("%rd", "u64")])
def test_narrow_vectors_become_words(count: int, kind: str, register: str, width: str) -> None:
    first = 3 if register == "%rd" else 1
    into = [f"{register}{first + k}" for k in range(count)]
    body = f"ld.global.nc.v{count}.{kind} {{{', '.join(into)}}}, [%rd1+8];" + stores(into, width)
    names = names_of(body, 1)
    bits = count * int(kind[1:])
    load = "ld.global.nc.v2.u32" if bits == 64 else f"ld.global.nc.u{bits}"
    assert load in names
    assert f"ld.global.nc.v{count}.{kind}" not in names


@pytest.mark.parametrize("body", [
    "ld.global.v2.u32 {%r1, %r2}, [%rd1];" + stores(["%r1", "%r2"], "u32"),
    "ld.global.u8 %r1, [%rd1];" + stores(["%r1"], "u32"),
    "mov.u32 %r1, 0; mov.u32 %r2, 0; @%p1 ld.global.v2.u16 {%r1, %r2}, [%rd1];"
    + stores(["%r1", "%r2"], "u32"),
    "ld.volatile.global.v2.u16 {%r1, %r2}, [%rd1];" + stores(["%r1", "%r2"], "u32"),
])
def test_what_is_left_alone(body: str) -> None:
    names_of(body, 0)
