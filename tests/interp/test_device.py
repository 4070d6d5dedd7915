"""A device keeps memory, variables and code between launches."""

from __future__ import annotations

import mmap
import struct

import numpy as np
import pytest

import nvir
from nvir.interp.device import Device
from nvir.ir.errors import LaunchError

PTX = """
.version 8.0
.target sm_80
.address_size 64
.file 1 "add.cu"
.global .u32 calls = 7;
.visible .entry add(.param .u64 x, .param .u32 n, .param .u32 by)
{
    .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [x];
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [by];
    mov.u32 %r3, %tid.x;
    setp.ge.u32 %p, %r3, %r1;
    @%p bra END;
    mul.wide.u32 %d2, %r3, 4;
    add.s64 %d3, %d1, %d2;
    .loc 1 12 3
    ld.global.u32 %r4, [%d3];
    add.u32 %r4, %r4, %r2;
    st.global.u32 [%d3], %r4;
END:
    ret;
}
.visible .entry count()
{
    .reg .b32 %r;
    atom.global.add.u32 %r, [calls], 1;
    mov.u32 %r, %envreg2;
    st.global.u32 [calls+0], %r;
    ret;
}
"""


@pytest.fixture
def module():
    return nvir.read_ptx(PTX)


def device(**kw) -> Device:
    return Device(np.zeros(1 << 16, np.uint8), **kw)


def words(d: Device, address: int, count: int) -> np.ndarray:
    return d.memory.bytes_at(address, 4 * count).view(np.uint32)


def test_a_kernel_that_runs_again_takes_new_parameters(module):
    d = device()
    x, y = d.allocate(128), d.allocate(128)
    for address, n, by in ((x, 32, 5), (y, 4, 100), (x, 2, 1)):
        d.launch(module, "add", 1, 32, struct.pack("<QII", address, n, by))
    assert words(d, x, 32).tolist() == [6, 6] + [5] * 30
    assert words(d, y, 32).tolist() == [100] * 4 + [0] * 28


def test_faults_name_the_source_line_and_freed_memory(module):
    d = device()
    x = d.allocate(64, "the buffer")
    with pytest.raises(LaunchError, match="byte 64 of the buffer of 64 bytes") as e:
        d.launch(module, "add", 1, 32, struct.pack("<QII", x, 32, 1))
    assert e.value.source == "add.cu:12"
    d.launch(module, "add", 1, 32, struct.pack("<QII", x, 16, 1))
    assert d.free(x)
    assert not d.free(x)
    with pytest.raises(LaunchError, match="out of bounds"):
        d.launch(module, "add", 1, 32, struct.pack("<QII", x, 16, 1))


def test_memory_is_found_again_when_it_is_full(module):
    d = device()
    a = d.allocate(30000)
    b = d.allocate(30000)
    with pytest.raises(MemoryError):
        d.allocate(30000)
    d.free(a)
    assert d.allocate(20000) == a
    assert d.memory.find(b + 29999) is not None


def test_unwritten_global_memory_is_noticed_where_asked(module):
    d = device(check=("bounds", "uninit"))
    x = d.allocate(128)
    d.memory.mark(x, 64)
    d.launch(module, "add", 1, 32, struct.pack("<QII", x, 16, 1))
    with pytest.raises(LaunchError, match=r"never written.*thread \(16, 0, 0\)"):
        d.launch(module, "add", 1, 32, struct.pack("<QII", x, 17, 1))


def test_variables_stay_and_the_grid_has_a_workspace(module):
    d = device()
    address, size = d.variables(module)["calls"]
    assert (size, words(d, address, 1).tolist()) == (4, [7])
    d.launch(module, "count", 1, 1, b"")
    assert words(d, address, 1)[0]  # the low half of the workspace's address


LARGE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry number(.param .u64 x)
{
    .reg .b32 %r<5>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [x];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %d2, %r4, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r4;
    ret;
}
.visible .entry order(.param .u64 x)
{
    .reg .b32 %r; .reg .b64 %d;
    ld.param.u64 %d, [x];
    atom.global.add.u32 %r, [%d], 1;
    ret;
}
"""


def test_half_of_a_large_grid_runs_in_a_second_process():
    module = nvir.read_ptx(LARGE)
    d = Device(np.frombuffer(mmap.mmap(-1, 1 << 20), np.uint8), fork=True)
    count = 1 << 17  # eight waves
    x = d.allocate(4 * count)
    alone = Device(np.zeros(1 << 20, np.uint8))
    there = alone.allocate(4 * count).to_bytes(8, "little")
    steps = alone.launch(module, "number", 128, 1024, there)
    run = d.launch(module, "number", 128, 1024, x.to_bytes(8, "little"))
    assert (words(d, x, count) == np.arange(count)).all()
    assert run.steps == steps.steps
    assert d.program(module, "number").separable
    with pytest.raises(LaunchError, match=r"out of bounds.*block \(128, 0, 0\)") as e:
        d.launch(module, "number", 130, 1024, x.to_bytes(8, "little"))
    assert e.value.thread == (0, 0, 0)  # as it was in the other process
    words(d, x, 1)[0] = 0
    d.launch(module, "order", 128, 1024, x.to_bytes(8, "little"))
    assert words(d, x, 1)[0] == count
    assert not d.program(module, "order").separable


def test_what_a_device_lacks_is_told(module):
    d = device()
    with pytest.raises(LaunchError, match="the module has no kernel 'nothing'"):
        d.launch(module, "nothing", 1, 1, b"")
    with pytest.raises(LaunchError, match="12 bytes of parameters, not 16"):
        d.launch(module, "add", 1, 1, bytes(12))
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    assert d.variables(nvir.read_ptx(head + ".global .u32 alone;")) == {}


def test_the_last_allocation_is_free_again_at_once():
    d = device()
    a, b = d.allocate(1000), d.allocate(1000)
    d.free(b)
    assert d.allocate(2000) == b
    d.free(b)
    d.free(a)
    assert d.allocate(50000) == a


def test_the_heap_of_a_device_goes_on_between_launches():
    """Each thread of two launches gets 16 bytes of its own; what does not fit gets none."""
    text = """.version 8.0\n.target sm_80\n.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.visible .entry take(.param .u64 out, .param .u64 size) { .reg .b64 %d<5>; .reg .b32 %r;
 ld.param.u64 %d1, [out]; ld.param.u64 %d2, [size]; mov.u32 %r, %tid.x; mul.wide.u32 %d3, %r, 8;
 add.u64 %d1, %d1, %d3; { .param .b64 n; .param .b64 p; st.param.b64 [n], %d2;
 call (p), malloc, (n); ld.param.b64 %d4, [p]; } st.global.u64 [%d1], %d4; ret; }"""
    module = nvir.read_ptx(text)
    d = Device(np.zeros(9 << 20, np.uint8))
    x = d.allocate(8 * 32)
    seen = []
    for size in (10, 16, 8 << 20):
        d.launch(module, "take", 1, 32, struct.pack("<QQ", x, size))
        seen.append(d.memory.bytes_at(x, 256).view(np.uint64).tolist())
    first = seen[0][0]
    assert seen[0] + seen[1] == [first + 16 * k for k in range(64)]
    assert seen[2] == [0] * 32
