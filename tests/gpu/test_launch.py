"""Launching on a GPU: the calls made of the driver, and both ways side by side where one is."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import nvir
from nvir.ir.errors import LaunchError, NvirError, Unsupported

PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 a, .param .u32 n, .param .f32 s)
{
.reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<5>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [s];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.u32 %p1, %r5, %r1; @%p1 ret;
cvta.to.global.u64 %rd2, %rd1; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd2, %rd3;
ld.global.f32 %f2, [%rd4]; mul.f32 %f3, %f2, %f1; st.global.f32 [%rd4], %f3; ret;
}
"""


class Memory:
    """A stand-in for the driver: device memory is host memory, the kernel is `scale`."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[str] = []
        self.live: dict[int, object] = {}
        self.fails = fails
        self.text = b""

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            self.calls.append(name)
            if name == self.fails:
                return (700,)
            return (0, *getattr(self, f"do_{name}", lambda *a: (1,))(*arguments))

        return call

    def cuGetErrorString(self, code):
        return 0, b"an illegal memory access was encountered"

    def do_cuModuleLoadDataEx(self, text, *_):
        self.text = text
        return (7,)

    def do_cuMemAlloc(self, size):
        buffer = (ctypes.c_ubyte * size)()
        self.live[ctypes.addressof(buffer)] = buffer
        return (ctypes.addressof(buffer),)

    def do_cuMemFree(self, address):
        del self.live[address]
        return ()

    def do_cuMemcpyHtoD(self, target, source, size):
        ctypes.memmove(target, source, size)
        return ()

    do_cuMemcpyDtoH = do_cuMemcpyHtoD

    def do_cuLaunchKernel(self, _f, gx, gy, gz, bx, by, bz, smem, _stream, parameters, _extra):
        assert (gy, gz, by, bz, smem) == (1, 1, 1, 1, 0)
        pointers = (ctypes.c_uint64 * 3).from_address(parameters)
        address = ctypes.c_uint64.from_address(pointers[0]).value
        n = ctypes.c_uint32.from_address(pointers[1]).value
        s = ctypes.c_float.from_address(pointers[2]).value
        data = (ctypes.c_float * n).from_address(address)
        for k in range(min(n, gx * bx)):
            data[k] *= s
        return ()


def test_arguments_reach_the_device_and_come_back():
    driver = Memory()
    a = np.arange(100, dtype=np.float32)
    result = nvir.gpu.launch(
        nvir.read_ptx(PTX), "scale", 4, (32, 1), [a, 100, np.float32(3)], driver=driver
    )
    assert np.array_equal(a, np.arange(100, dtype=np.float32) * 3)
    assert b".entry scale" in driver.text
    assert result.stdout == ""
    assert not driver.live  # all memory is freed
    assert driver.calls[-1] == "cuDevicePrimaryCtxRelease"


class Timed(Memory):
    """A stand-in whose launches do nothing and take the next of some times, in milliseconds."""

    def __init__(self, *times: float) -> None:
        super().__init__()
        self.times = list(times)

    def do_cuLaunchKernel(self, *_):
        return ()

    def do_cuEventElapsedTime(self, *_):
        return (self.times.pop(0),)


def test_a_measured_time_is_the_median_behind_runs_that_warm_up():
    driver = Timed(3.0, 1.0, 2.0)
    a = np.ones(8, np.float32)
    us = nvir.gpu.measure(
        nvir.read_ptx(PTX), "scale", 1, 32, [a, 8, np.float32(3)], runs=3, warm=0, driver=driver)
    assert us == 2000
    assert driver.calls.count("cuLaunchKernel") == 4
    assert driver.calls.count("cuEventDestroy") == driver.calls.count("cuEventCreate") == 4
    assert not driver.live
    assert np.array_equal(a, np.ones(8))


def test_an_error_of_the_driver_is_a_launch_error_and_frees_all():
    driver = Memory(fails="cuCtxSynchronize")
    with pytest.raises(LaunchError, match="illegal memory access"):
        nvir.gpu.launch(
            nvir.read_ptx(PTX), "scale", 1, 32, [np.zeros(4, np.float32), 4, 1.0], driver=driver
        )
    assert not driver.live
    assert "cuModuleUnload" in driver.calls


def test_what_cannot_be_launched_is_said():
    m = nvir.read_ptx(PTX)
    with pytest.raises(Unsupported, match="textures"):
        nvir.gpu.launch(m, "scale", 1, 1, [], textures={"t": 0}, driver=Memory())
    image = nvir.Texture(np.ones((4, 4), np.float32))
    with pytest.raises(Unsupported, match="textures as arguments"):
        nvir.gpu.launch(m, "scale", 1, 1, [image, 4, 1.0], driver=Memory())
    with pytest.raises(TypeError, match="3 arguments, 0 given"):
        nvir.gpu.launch(m, "scale", 1, 1, [], driver=Memory())
    with pytest.raises(KeyError, match="the module has scale"):
        nvir.gpu.launch(m, "other", 1, 1, [], driver=Memory())


def test_without_a_gpu_the_message_says_so():
    if nvir.gpu.available():
        pytest.skip("there is a GPU")
    with pytest.raises(NvirError, match="there is no NVIDIA driver"):
        nvir.gpu.launch(nvir.read_ptx(PTX), "scale", 1, 1, [np.zeros(4, np.float32), 4, 1.0])


@pytest.mark.gpu
def test_the_gpu_and_the_interpreter_agree():
    m = nvir.read_ptx(PTX)
    one = np.linspace(-3, 3, 1000, dtype=np.float32)
    other = one.copy()
    nvir.launch(m, "scale", 8, 128, [one, 1000, np.float32(1.7)])
    nvir.gpu.launch(m, "scale", 8, 128, [other, 1000, np.float32(1.7)])
    assert np.array_equal(one.view(np.uint32), other.view(np.uint32))
