"""Textures beyond one image: layers, cubes, gathered texels, queries; formatted stores."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.interp.texture import Texture, cube_face
from nvir.ir.errors import LaunchError

HEAD = ".version 8.6\n.target sm_80\n.address_size 64\n"


def fetch(instruction, image, n=4, **texture):
    """What each of `n` threads gets: %f0, %f1, %f2 are its three floats, %r0 its number."""
    out = np.zeros((n, 4), np.float32)
    text = f"""{HEAD}.visible .entry k(.param .u64 h, .param .u64 out, .param .u64 in)
{{ .reg .b64 %h, %o, %i, %t; .reg .b32 %r<4>; .reg .f32 %f<9>;
 ld.param.u64 %h, [h]; ld.param.u64 %o, [out]; ld.param.u64 %i, [in];
 mov.u32 %r0, %tid.x; mul.wide.u32 %t, %r0, 16; add.s64 %o, %o, %t; add.s64 %i, %i, %t;
 ld.global.v4.f32 {{%f0, %f1, %f2, %f8}}, [%i];
 {instruction}
 st.global.v4.f32 [%o], {{%f4, %f5, %f6, %f7}}; ret; }}"""
    module = nvir.read_ptx(text)

    def run(where):
        given = np.zeros((n, 4), np.float32)
        given[:, : where.shape[1]] = where
        textures = {7: Texture(image, **texture)}
        nvir.launch(module, "k", 1, n, [np.uint64(7), out, given], textures=textures)
        return out.copy()

    return run


def test_the_layer_of_an_array_comes_first():
    image = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
    run = fetch("tex.a2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%r0, %f0, %f1, %f1}];", image)
    got = run(np.array([[1.5, 2.5], [0.5, 0.5], [4.5, 3.5], [1.5, 1.5]]))
    # There is no layer 3: the last is taken.
    assert got[:, 0].tolist() == [image[0, 2, 1], image[1, 0, 0], image[2, 3, 4], image[2, 1, 1]]


def test_a_direction_meets_the_face_of_its_greatest_part():
    image = np.repeat(np.arange(6, dtype=np.float32), 4).reshape(6, 2, 2)
    run = fetch("tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0, %f1, %f2, %f2}];", image, 6)
    way = np.array([[3, 1, 1], [-3, 1, 1], [1, 3, 1], [1, -3, 1], [1, 1, 3], [1, 1, -3]])
    assert run(way)[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert run(-way)[:, 0].tolist() == [1, 0, 3, 2, 5, 4]


def test_places_on_a_face_are_those_of_the_guide():
    face, (s, t) = cube_face([np.array([2.0]), np.array([-1.0]), np.array([1.0])])
    assert (face[0], s[0], t[0]) == (0, 0.25, 0.75)


def test_gathered_texels_go_against_the_clock():
    image = np.arange(20, dtype=np.float32).reshape(4, 5)
    run = fetch("tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0, %f1}];", image, 1)
    assert run(np.array([[2.0, 3.0]]))[0].tolist() == [16, 17, 12, 11]
    other = fetch("tld4.a.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0, %f1}];", image, 1)
    assert other(np.array([[2.0, 3.0]]))[0].tolist() == [1, 1, 1, 1]  # a channel it has not


def test_a_level_or_a_gradient_changes_nothing_where_there_is_one_level():
    image = np.arange(8, dtype=np.float32)
    where = np.array([[k + 0.5, 3.0] for k in range(4)])
    plain = fetch("tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0}];", image)(where)
    level = fetch("tex.level.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0}], %f1;", image)(where)
    grad = fetch("tex.grad.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0}], {%f1}, {%f1};", image)
    assert plain.tolist() == level.tolist() == grad(where).tolist()


@pytest.mark.parametrize(("what", "expected"), [
    ("txq.width", 5), ("txq.height", 4), ("suq.depth", 0), ("txq.array_size", 4),
    ("txq.num_mipmap_levels", 1), ("txq.channel_order", 0x10B0), ("suq.channel_data_type", 0x10DE),
])
def test_queries(what, expected):
    image = np.zeros((4, 5), np.float32)
    run = fetch(f"{what}.b32 %r1, [%h]; cvt.rn.f32.u32 %f4, %r1;", image, 1)
    assert run(np.zeros((1, 1)))[0, 0] == expected


@pytest.mark.parametrize(("dtype", "expected"), [
    (np.uint8, [1, 255, 255, 0]), (np.int16, [1, 300, -1, 0]), (np.float32, None),
])
def test_formatted_stores_convert_and_clamp(dtype, expected):
    """sust.p counts x in elements; what an integer does not hold is clamped."""
    image = np.zeros(8, dtype)
    text = f"""{HEAD}.visible .entry k(.param .u64 h, .param .u64 in)
{{ .reg .b64 %h, %i; .reg .b32 %r<4>;
 ld.param.u64 %h, [h]; ld.param.u64 %i, [in];
 mov.u32 %r0, %tid.x; mad.wide.u32 %i, %r0, 4, %i; ld.global.b32 %r1, [%i]; add.s32 %r0, %r0, 2;
 sust.p.1d.b32.trap [%h, {{%r0}}], {{%r1}}; ret; }}"""
    given = np.array([1, 300, -1, 0], np.int32)
    if dtype is np.float32:
        given = np.array([1.5, -2, 0, 3], np.float32)
        expected = given.tolist()
    nvir.launch(nvir.read_ptx(text), "k", 1, 4, [np.uint64(7), given], textures={7: image})
    assert image.tolist() == [0, 0, *expected, 0, 0]


@pytest.mark.parametrize(("dtype", "texels", "expected"), [
    (np.uint8, [0, 51, 255, 1], [0, 51 / 255, 1, 1 / 255]),
    (np.int8, [-128, -127, 127, 0], [-1, -1, 1, 0]),
    (np.uint16, [0, 65535, 13107, 1], [0, 1, 0.2, 1 / 65535]),
])
def test_integer_texels_read_as_numbers_up_to_one(dtype, texels, expected):
    image = np.array([texels], dtype)
    run = fetch("tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0, %f1}];", image,
                read_normalized=True)
    got = run(np.array([[k + 0.5, 0.5] for k in range(4)]))[:, 0]
    assert got.tolist() == np.array(expected, np.float32).tolist()


HALVES = """{ .reg .b16 %a, %b, %c, %d; FETCH.v4.f16.f32 {%a, %b, %c, %d}, [%h, {%f0, %f1}];
 mov.b32 %f4, {%a, %b}; mov.b32 %f5, {%c, %d}; }"""
PAIRS = """{ .reg .f16x2 %a, %b; FETCH.v2.f16x2.f32 {%a, %b}, [%h, {%f0, %f1}];
 mov.b32 %f4, %a; mov.b32 %f5, %b; }"""


@pytest.mark.parametrize("form", [HALVES, PAIRS])
def test_texels_as_halves(form):
    image = np.array([[[0.5, 2.0], [-1.25, 1 / 3]]], np.float32)
    run = fetch(form.replace("FETCH", "tex.2d"), image, 2, channels=2)
    got = np.ascontiguousarray(run(np.array([[0.5, 0.5], [1.5, 0.5]]))[:, :2]).view(np.float16)
    assert got.tolist() == [[0.5, 2.0, 0, 1], [-1.25, float(np.float16(1 / 3)), 0, 1]]
    run = fetch(form.replace("FETCH", "tld4.g.2d"), np.tile(image, (3, 1, 1)), 1, channels=2)
    got = np.ascontiguousarray(run(np.array([[1.0, 1.0]]))[:, :2]).view(np.float16)
    assert got.tolist() == [[2.0, float(np.float16(1 / 3)), float(np.float16(1 / 3)), 2.0]]


@pytest.mark.parametrize(("given", "message"), [
    ({"address": "around"}, "no address mode is called 'around'"),
    ({"filter": "cubic"}, "no filter is called 'cubic'"),
])
def test_textures_that_there_are_not(given, message):
    with pytest.raises(TypeError, match=message):
        Texture(np.zeros(4), **given)


@pytest.mark.parametrize(("instruction", "image", "message"), [
    ("tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0, %f1}];", np.zeros(4, np.float32),
     "a 2-d fetch of a 1-d texture"),
    ("tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%f0, %f1}];", np.zeros(4, np.float32),
     "a 2-d fetch of a 1-d texture"),
])
def test_a_fetch_of_other_axes_than_the_image_has(instruction, image, message):
    with pytest.raises(LaunchError, match=message):
        fetch(instruction, image)(np.zeros((4, 2)))


def test_texels_by_whole_numbers():
    image = np.arange(12, dtype=np.float32).reshape(3, 4)
    run = fetch("{ .reg .b32 %y; and.b32 %y, %r0, 1; "
                "tex.2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%h, {%r0, %y}]; }", image)
    assert run(np.zeros((4, 2)))[:, 0].tolist() == [0, 5, 2, 7]


@pytest.mark.parametrize(("mode", "expected"), [("zero", [3, 0]), ("clamp", [3, 4])])
def test_a_surface_access_out_of_bounds(mode, expected):
    text = f"""{HEAD}.visible .entry k(.param .u64 h, .param .u64 o) {{ .reg .b64 %h, %o, %t;
 .reg .b32 %r<4>; ld.param.u64 %h, [h]; ld.param.u64 %o, [o]; mov.u32 %r0, %tid.x;
 mul.lo.u32 %r1, %r0, 4; add.u32 %r1, %r1, 8; mad.lo.u32 %r1, %r0, 40, %r1;
 suld.b.1d.b32.MODE %r2, [%h, {{%r1}}]; mul.wide.u32 %t, %r0, 4; add.u64 %o, %o, %t;
 st.global.u32 [%o], %r2; ret; }}"""
    image, out = Texture(np.arange(1, 5, dtype=np.uint32)), np.zeros(2, np.uint32)
    module = nvir.read_ptx(text.replace("MODE", mode))
    nvir.launch(module, "k", 1, 2, [np.uint64(7), out], textures={7: image})
    assert out.tolist() == expected
    trap = nvir.read_ptx(text.replace("MODE", "trap"))
    with pytest.raises(LaunchError, match="surface access out of bounds") as error:
        nvir.launch(trap, "k", 1, 2, [np.uint64(7), out], textures={7: image})
    assert error.value.thread == (1, 0, 0)
    with pytest.raises(LaunchError, match="texture"):
        nvir.launch(trap, "k", 1, 2, [np.uint64(8), out], textures={7: image})
