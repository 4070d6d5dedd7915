"""Textures beyond one image: layers, cubes, gathered texels, queries; formatted stores."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.interp.texture import Texture, cube_face

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
