"""The tree: types and their layout, the compact way to write it, and its JSON."""

from __future__ import annotations

import json

import pytest

from nvir.frontend import build as b
from nvir.frontend.tree import types as t
from nvir.frontend.tree.expressions import OPERATORS
from nvir.frontend.tree.json_form import from_json, to_json
from nvir.frontend.tree.json_schema import schema
from nvir.frontend.tree.layout import LayoutError, find_member, layout, size_of
from nvir.frontend.tree.vectors import VECTORS
from nvir.ir.errors import NvirError


@pytest.mark.parametrize(
    "text",
    [
        "int x", "const float *p", "float *const p", "int a[4][2]", "int (*f)(int, float)",
        "unsigned long long n", "float4 v", "const volatile int *q", "float (*m)[4]", "int &r",
    ],
)
def test_a_declaration_is_spelled_as_it_was_read(text):
    kind, name = b.parse_declaration(text)
    spelled = t.spell(kind, name)
    assert b.parse_declaration(spelled.replace("struct ", ""))[0] == kind


@pytest.mark.seed("TYP-05")
def test_a_chain_of_typedefs_leads_to_its_type():
    chain: t.CType = t.FLOAT
    for k in range(5):
        chain = t.Typedef(f"t{k}", t.Qualified(chain, const=k == 2))
    assert t.strip(chain) is t.FLOAT
    assert t.qualifiers(chain) == (True, False, False)
    assert t.type_tag(chain) == 12


@pytest.mark.seed("TYP-07", "TYP-08")
def test_the_numbers_of_type_nodes():
    rec = b.record("r", "int a")
    tags = {1: t.VOID, 6: t.Pointer(t.INT), 7: t.FunctionType(t.INT), 8: t.Array(t.INT, 2),
            10: rec, 11: b.union("u", "int a"), 16: t.INT128}
    assert {t.type_tag(v) for v in tags.values()} == set(tags)
    assert all(t.type_tag(v) == k for k, v in tags.items())
    aggregates = [k for k, v in tags.items() if t.is_aggregate(v)]
    assert aggregates == [8, 10, 11]
    assert [t.type_class(x) for x in (t.INT, t.Pointer(t.INT), t.Vector(t.INT, 2))] == [11, 15, 16]
    assert all(1 <= t.type_class(x) <= 6 for x in (t.HALF, t.FLOAT, t.DOUBLE, t.BFLOAT16))


@pytest.mark.seed("TYP-03")
def test_qualifier_words_name_spaces():
    assert [t.space_of_qualifier(w) for w in (1, 32, 33, 0, 7)] == [1, 3, 4, 0, 0]
    assert t.space_of_qualifier(0x8000 | 32) == 0


def test_layouts():
    cases = {
        "char c, int i, char d": (12, 4, (0, 32, 64)),
        "char c, double d": (16, 8, (0, 64)),
        "int a : 3, int b : 5, int c : 30": (8, 4, (0, 3, 32)),
        "int a : 3, int : 0, int c : 4": (8, 4, (0, 32, 32)),
        "char a, int b : 8": (4, 4, (0, 8)),
    }
    for text, expected in cases.items():
        made = layout(b.record("s", text))
        assert (made.size, made.align, made.offsets) == expected, text
    packed = layout(b.record("s", "char c, int i", packed=True))
    assert (packed.size, packed.align) == (5, 1)
    u = layout(b.union("u", "char c, int i[3], double d"))
    assert (u.size, u.align) == (16, 8)


def test_layouts_equal_those_of_the_host_compiler(tmp_path):
    """Sizes, alignments and bit offsets of records with bit-fields, against gcc."""
    import random
    import shutil
    import subprocess

    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc is not installed")
    rng = random.Random(5)
    kinds = {"char": 8, "short": 16, "int": 32, "long": 64, "unsigned": 32, "double": 0}
    records, program = [], ["#include <stdio.h>", "#include <string.h>"]
    main = []
    for n in range(60):
        fields = []
        for k in range(rng.randint(1, 7)):
            kind = rng.choice(list(kinds))
            if kinds[kind] and rng.random() < 0.5:
                width = rng.randint(0 if rng.random() < 0.2 else 1, kinds[kind])
                fields.append(f"{kind} {'' if width == 0 else f'f{k}'} : {width}")
            else:
                fields.append(f"{kind} f{k}")
        if all(": 0" in f for f in fields):
            continue
        made = layout(b.record(f"s{n}", ", ".join(fields)))
        records.append((made.size, made.align))
        program.append(f"struct s{n} {{ {'; '.join(fields)}; }};")
        main.append(f'printf("%zu %zu\\n", sizeof(struct s{n}), _Alignof(struct s{n}));')
        for k, f in enumerate(fields):
            if ":" in f and ": 0" not in f:
                name = f.split(":")[0].split()[-1]
                main.append(
                    f"{{ struct s{n} v; memset(&v, 0, sizeof v); v.{name} = -1;"
                    f" unsigned char *p = (void *)&v; int i = 0;"
                    f' while (!(p[i / 8] >> (i % 8) & 1)) i++; printf("%d 0\\n", i); }}'
                )
                records.append((made.offsets[k], 0))
    source = tmp_path / "layouts.c"
    source.write_text("\n".join(program) + "\nint main(void) {\n" + "\n".join(main) + "\n}\n")
    subprocess.run([gcc, "-w", "-o", str(tmp_path / "a.out"), str(source)], check=True)
    out = subprocess.run([str(tmp_path / "a.out")], capture_output=True, text=True, check=True)
    got = [tuple(int(w) for w in line.split()) for line in out.stdout.splitlines()]
    assert got == records


def test_a_record_inside_itself_has_no_layout():
    rec = t.Record("r")
    rec.set_fields([t.Field("inner", rec)])
    with pytest.raises(LayoutError, match="contains itself"):
        size_of(rec)
    with pytest.raises(LayoutError, match="incomplete"):
        size_of(t.Record("unknown"))


def test_no_member_is_looked_for_in_a_record_inside_itself():
    record = t.Record("inside")
    record.set_fields([t.Field("", record)])
    with pytest.raises(LayoutError, match="contains itself"):
        find_member(record, "x")


@pytest.mark.parametrize(("kind", "fits"), [
    (t.FLOAT, False), (t.Pointer(t.INT), False), (t.INT, True), (t.BOOL, True),
])
def test_bit_fields_are_integers(kind, fits):
    record = t.Record("r").set_fields([t.Field("b", kind, bits=1)])
    if fits:
        assert layout(record).size in (1, 4)
    else:
        with pytest.raises(LayoutError, match="bit-field 'b' is of type"):
            layout(record)


def test_members_are_found_through_unnamed_ones_and_bases():
    inner = t.Record("", "union").set_fields([t.Field("f", t.FLOAT), t.Field("u", t.UINT)])
    base = b.record("base", "int b")
    rec = t.Record("r").set_fields(
        [t.Field("base", base, base=True), t.Field("a", t.INT), t.Field("", inner)]
    )
    assert find_member(rec, "u") == (2, 1)
    assert find_member(rec, "b") == (0, 0)
    assert find_member(rec, "nothing") is None


def test_vectors_have_cudas_alignments():
    sizes = {n: (layout(VECTORS[n]).size, layout(VECTORS[n]).align)
             for n in ("float4", "float3", "double2", "double4", "uchar4", "dim3",
                      "short2")}
    assert sizes == {
        "float4": (16, 16), "float3": (12, 4), "double2": (16, 16), "double4": (32, 16),
        "uchar4": (4, 4), "dim3": (12, 4), "short2": (4, 4),
    }


@pytest.mark.seed("TYP-10")
def test_there_are_the_noted_operators():
    assert len(OPERATORS) >= 40
    noted = {o.name: o.opcode for o in OPERATORS.values() if o.opcode is not None}
    assert noted == {"arraydecay": 0x15, "lnot": 0x1D, "pdiff": 0x34, "land": 0x57, "lor": 0x58,
                     "cond": 0x67}


def sample():
    types: dict[str, t.CType] = {}
    b.record("node", [t.Field("value", t.INT)], types)
    b.record("list", "node *head, unsigned size : 5, float w[3]", types)
    b.typedef("float real", types)
    n, x, i, lst = b.names("n x i lst")
    k = b.kernel(
        "k", "int n, real *x, list lst",
        b.let("int i", b.blockIdx.x * b.blockDim.x + b.threadIdx.x),
        b.for_(b.let("int j", 0), b.name("j") < n, b.inc(b.name("j")),
               b.assign(x[i], b.f32(float("inf")) * lst.w[0], "+="), unroll=4),
        b.switch(i, b.case(1, b.break_()), b.default(b.ret())),
        b.asm("mov.u32 %0, %%tid.x;", [("=r", i)], volatile=True),
        types=types, launch_bounds=b.d.LaunchBounds(256, 4),
    )
    table = b.variable("float table[2]", b.init(1.0, (1, 2.0)), memory="constant")
    return b.unit(table, k, file="sample.cu")


@pytest.mark.seed("TYP-10", "EXP-22")
def test_a_tree_survives_json():
    tree = sample()
    text = json.dumps(to_json(tree))
    again = from_json(json.loads(text))
    assert json.dumps(to_json(again)) == text
    assert again.functions[0].params[2].type.fields[1].bits == 5
    assert again.functions[0].attributes.launch_bounds.max_threads == 256


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda j: j.pop("schema"), "schema"),
        (lambda j: j["declarations"][1].pop("name"), "lacks name"),
        (lambda j: j["declarations"][1].update(colour=1), "has no colour"),
        (lambda j: j["declarations"][0].update(type="flout"), "no type is named 'flout'"),
        (lambda j: j["declarations"][0].update(memory="ram"), "memory"),
        (lambda j: j["declarations"].append({"node": "Nonsense"}), "no node is called"),
        (lambda j: j["declarations"].append(5), "an object is wanted"),
        (lambda j: j["declarations"].append({"node": "Break"}), "is no declaration"),
    ],
)
def test_what_is_no_tree_is_told(change, message):
    data = to_json(sample())
    change(data)
    with pytest.raises(NvirError, match=message):
        from_json(data)


def test_deep_json_is_refused():
    data = {"schema": "nvir.tree/1", "declarations": []}
    t_: object = "int"
    for _ in range(2000):
        t_ = {"pointer": t_}
    data["declarations"].append({"node": "Variable", "name": "v", "type": t_})
    with pytest.raises(NvirError, match="nested deeper"):
        from_json(data)


def test_the_schema_names_every_node():
    made = schema()
    assert {"Binary", "If", "Function", "Expr", "Type"} <= set(made["$defs"])
    assert made["$defs"]["If"]["required"] == ["node", "cond", "then"]
    json.dumps(made)
