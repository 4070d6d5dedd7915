"""Every mistake that the checker, the JSON reader and IR generation tell: by whom, with its place.

Those of tests/frontend/test_fe_check.py (the notes' own strings among them) are not repeated.
Mutated trees follow: whatever is dropped, exchanged or given another type, only NvirError comes.
"""

from __future__ import annotations

import copy
import json

import pytest
from fe_random import Program
from fe_wild import Wild
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nvir
from nvir.frontend import build as b
from nvir.frontend.check import TreeError, check
from nvir.frontend.irgen import IRGenError, generate
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import types as t
from nvir.frontend.tree.json_form import from_json, to_json
from nvir.ir.errors import NvirError, PassError

TYPES: dict[str, t.CType] = {}
b.record("pair", "int a, unsigned c : 3", TYPES)
b.record("fixed", "const int k", TYPES)
TYPES["open"] = t.Record("open", "struct")
TYPES["vf4"] = t.Typedef("vf4", t.Vector(t.FLOAT, 4))
PARAMS = "int i, float f, float *p, const int *q, pair s, pair *sp, open *o, vf4 v, fixed *k"
i, f, p, q, s, sp, o, v, k, arr = b.names("i f p q s sp o v k arr")


def literal(node):
    """A node as a statement, placed where a name made here would be."""
    node.place = b.name("here").node.place
    return b.stmt(b.E(node))


MISTAKES = [
    (lambda: literal(x.Unary("@", i.node)), "there is no unary operator '@'"),
    (lambda: literal(x.Binary("**", i.node, i.node)), r"there is no operator '\*\*'"),
    (lambda: literal(x.Step("**", i.node)), r"there is no step '\*\*'"),
    (lambda: b.stmt(b.assign(i, 1, "**=")), r"there is no assignment '\*\*='"),
    (lambda: b.stmt(~f), "'~' of a value of type 'float'"),
    (lambda: b.stmt(b.inc(s)), r"'\+\+' of a value of type 'struct pair'"),
    (lambda: b.stmt(b.addr(s.c)), "the address of a bit-field"),
    (lambda: b.stmt(b.assign(b.name("arr"), i)), r"'=' of 'int\[2\]', which cannot be assigned"),
    (lambda: b.stmt(b.assign(b.deref(k), b.deref(k))), "'=' of 'struct fixed', which is const"),
    (lambda: b.stmt(v < v), "comparison of vectors is not supported"),
    (lambda: b.stmt(o + 1), r"arithmetic on 'struct open \*'"),
    (lambda: b.stmt(p - q), "'-' of 'float \\*' and 'const int \\*'"),
    (lambda: b.stmt(p == q), r"comparison of 'float \*' and 'const int \*'"),
    (lambda: b.stmt(p < 3), r"comparison of 'float \*' and 'int'"),
    (lambda: b.stmt(b.assign(p, p, "+=")), r"'\+=' of 'float \*' and 'float \*'"),
    (lambda: b.stmt(b.cond(i, s, i)), r"'\?:' of 'struct pair' and 'int'"),
    (lambda: b.stmt(b.cond(i, p, q)), r"'\?:' of 'float \*' and 'const int \*'"),
    (lambda: literal(x.Cast(i.node)), "a cast names no type"),
    (lambda: literal(x.SizeOf()), "sizeof needs a type or an expression"),
    (lambda: b.stmt(b.sizeof("void")), "void"),
    (lambda: b.stmt(b.arrow(s, "a")), "'->' of a value of type 'struct pair'"),
    (lambda: b.stmt(b.arrow(o, "a")), "'struct open' is incomplete"),
    (lambda: b.stmt(s.nothing), "'struct pair' has no member 'nothing'"),
    (lambda: b.stmt(p[f]), r"'float \*' indexed by 'float'"),
    (lambda: b.stmt(b.name("fun")(1)), "too few arguments: 1 for 2"),
    (lambda: b.stmt(b.name("fun")(1, 2, 3)), "too many arguments: 3 for 2"),
    (lambda: literal(x.InitList((x.IntLiteral(1),))), "braces where no type is known"),
    (lambda: literal(x.Designated("a", x.IntLiteral(1))), "a designator outside of braces"),
    (lambda: literal(x.CompoundLiteral(x.InitList(()))), "a compound literal names no type"),
    (lambda: b.let("pair w", b.init(no=1), types=TYPES), "'struct pair' has no member 'no'"),
    (lambda: b.let("pair w", b.init(1, 2, 3), types=TYPES), "more initialisers than 'struct pair'"),
    (lambda: b.let("int w[2]", b.init((5, 1))), r"'int\[2\]' has no element '5'"),
    (lambda: b.let("int w", b.init(1, 2)), "more initialisers than 'int'"),
    (lambda: b.let("int w[2]", i), "an array is initialised by braces or a string"),
    (lambda: b.let("open w", b.init(1), types=TYPES), "'struct open' is incomplete"),
    (lambda: b.let("int w", 1, storage="extern"), "extern variable 'w' with an initialiser"),
    (lambda: b.let("int w", 1, align=3), "an alignment of 3"),
    (lambda: b.let("open w", types=TYPES), "variable 'w': "),
    (lambda: b.while_(i, b.inc(i), unroll=-2), "an unroll count of -2"),
    (lambda: b.switch(i, b.case(3, None, 1)), "a case range from 3 to 1"),
    (lambda: b.switch(i, b.case(1, None, 4), b.case(2)), "case 2 twice, first at"),
    (lambda: b.ret(s), "'k' returns void, not a value"),
    (lambda: b.stmt(b.name("wrong")(1)), "use of undeclared name 'wrong'"),
    (lambda: b.stmt(b.sizeof("open", types=TYPES)), "open"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES, ids=[m for _, m in MISTAKES])
def test_each_mistake_is_told_with_its_place(make, message):
    fun = b.function("int fun", "int x, int y", b.ret(b.name("x")))
    tree = b.unit(fun, b.kernel("k", PARAMS, b.let("int arr[2]", b.init(1, 2)), make(),
                                types=TYPES), types=TYPES)
    with pytest.raises(TreeError, match=message) as caught:
        check(tree)
    assert len(caught.value.errors) == 1
    first = caught.value.errors[0]
    assert first.file == "test_fe_diagnostics.py"
    assert first.line > 0


DECLARATIONS = [
    (lambda: b.function("int k", "", b.ret(), kernel=False), "'k' returns 'int', here nothing"),
    (lambda: b.function("int (*k)[2]", "void z", b.block()), "parameter 'z' of type void"),
    (lambda: b.function("void k", "int a, int a", b.block()), "redefinition of parameter 'a'"),
    (lambda: b.kernel("k", "", b.block(), variadic=True), "takes a variable number of arguments"),
    (lambda: b.d.Function("k", result=t.Array(t.INT, 2), body=b.block(),
                          place=b.name("k").node.place), r"'k' returns 'int\[2\]'"),
    (lambda: b.variable((t.VOID, "g")), "variable 'g' of type 'void'"),
]


@pytest.mark.parametrize(("make", "message"), DECLARATIONS, ids=[m for _, m in DECLARATIONS])
def test_mistakes_of_declarations(make, message):
    with pytest.raises(TreeError, match=message) as caught:
        check(b.unit(make()))
    assert caught.value.errors[0].file == "test_fe_diagnostics.py"


TEXTS = [
    ("int ?", "'int \\?' is no declaration"), ("int a b", "'b' is not understood"),
    ("nonsense x", "no type is named 'nonsense'"), ("int (*f)(int", "'\\)' is missing"),
    ("int (*f", "'\\)' is missing"),
]


@pytest.mark.parametrize(("text", "message"), TEXTS, ids=[text for text, _ in TEXTS])
def test_mistakes_in_the_text_of_a_declaration(text, message):
    with pytest.raises(NvirError, match=message):
        b.parse_declaration(text)


def document():
    types: dict[str, t.CType] = {}
    b.record("pair", "int a, int c", types)
    b.enum("shade", types, red=1)
    return to_json(b.unit(b.kernel("k", "pair *v, vf4 *w", b.let("int n[2]", b.init(1, 2)),
                                   b.stmt(b.E(b.expr("text"))), types={**types, **TYPES}),
                          types=types))


def at(data, *path):
    for step in path:
        data = data[step]
    return data


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(data):
        at(data, *path)[last] = value
    return change


def record_of(data):
    return next(e for e in data["types"] if "record" in e)


def enum_of(data):
    return next(e for e in data["types"] if "enum" in e)


FORMS = [
    (put("types", {}), '"types" is a list'), (put("declarations", 3), '"declarations" is a list'),
    (put("named_types", [{"node": "Name"}]), "a type has one of"),
    (put("named_types", ["int"]), "a named type is a record, an enum or a typedef"),
    (put("declarations", [{"node": "Name", "name": "n"}]), r"declarations\[0\] is no declaration"),
    (put("declarations", [7]), "an object is wanted, not 7"),
    (put("declarations", 0, "node", "Nothing"), "Nothing"),
    (put("declarations", 0, "extra", 1), "extra"),
    (put("declarations", 0, "result", "integer"), "no type is named 'integer'"),
    (put("declarations", 0, "result", 9), "a type is a name or an object, not 9"),
    (put("declarations", 0, "result", {"ref": 99}), "no type has id 99"),
    (put("declarations", 0, "result", {"ref": True}), '"ref" is a number'),
    (put("declarations", 0, "result", {"ref": "x"}), '"ref" is wanted as int'),
    (put("declarations", 0, "result", {"pointer": "int", "space": "far"}), "no memory is named"),
    (put("declarations", 0, "result", {"array": "int", "count": -1}), "a count of -1"),
    (put("declarations", 0, "result", {"vector": "int", "count": None}), "a vector has a count"),
    (put("declarations", 0, "params", 5), "a list is wanted"),
    (put("declarations", 0, "name", 5), "str is wanted, not 5"),
    (put("declarations", 0, "attributes", {"nothing": 1}), "no field nothing"),
    (put("declarations", 0, "attributes", 1), "an object is wanted"),
    (put("declarations", 0, "attributes", {"required_block": [1, 2]}), "3 items are wanted, not 2"),
    (put("declarations", 0, "body", {"node": "IntLiteral", "value": 1}), "Compound is wanted, not"),
    (lambda d: d["types"].append(copy.deepcopy(d["types"][0])), "is there twice"),
    (lambda d: record_of(d).update(kind="table"), "a record is struct, union or class"),
    (lambda d: enum_of(d).update(constants=[1]), "constants are pairs of a name and a number"),
]


@pytest.mark.parametrize(("change", "message"), FORMS, ids=[m for _, m in FORMS])
def test_mistakes_in_the_form_of_a_tree(change, message):
    data = document()
    change(data)
    with pytest.raises(NvirError, match=message):
        check(from_json(json.loads(json.dumps(data))))


def test_bytes_and_numbers_of_json():
    kernel = b.kernel("k", "", b.stmt(b.E(b.expr("text"))), b.stmt(b.f64(1.5)))
    text = json.dumps(to_json(b.unit(kernel)))
    with pytest.raises(NvirError, match=r"below U\+0100"):
        from_json(json.loads(text.replace('"text"', '"\\u0400"')))
    with pytest.raises(NvirError, match="a number is wanted, not 'much'"):
        from_json(json.loads(text.replace("1.5", '"much"')))
    with pytest.raises(NvirError, match="a number beyond double precision"):
        from_json(json.loads(text.replace("1.5", "1" * 400)))


def test_generation_tells_what_the_checker_did_not_see():
    tree = check(b.unit(b.kernel("k", "int i, float f", b.stmt(b.assign(i, 1, "+=")))))
    tree.functions[0].body.body[0].expr.compute = None
    with pytest.raises(IRGenError, match="a compound assignment without its type: check the tree"):
        generate(tree)
    tree = check(b.unit(b.kernel("k", "int i, float f", b.stmt(i + 1))))
    tree.functions[0].body.body[0].expr.left.type = None
    with pytest.raises(NvirError):
        generate(tree)


# ------------------------------------------------------------- mutated trees

BASES = [json.dumps(to_json(p.unit)) for p in (Wild(3, 3), Wild(5, 3), Wild(8, 3), Program(4))]
WORDS = ["+", "<<", "!", "x", "int", "float", "void", "", "shared", "&&", "=", "bool", "double"]
VALUES = st.one_of(st.none(), st.booleans(), st.sampled_from(WORDS), st.just([]), st.just({}),
                   st.sampled_from([0, 1, -1, 64, 1 << 40, -(1 << 70), 0.5]))


def nodes(data):
    """Every (holder, key) below some JSON, in a fixed order."""
    found, work = [], [data]
    while work:
        here = work.pop()
        for key, value in list(here.items() if isinstance(here, dict) else enumerate(here)):
            found.append((here, key))
            if isinstance(value, dict | list):
                work.append(value)
    return found


@st.composite
def mutated(draw):
    data = json.loads(draw(st.sampled_from(BASES)))
    data["trusted"] = draw(st.booleans())
    for _ in range(draw(st.integers(1, 4))):
        places = nodes(data)
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        how = draw(st.sampled_from(["drop", "value", "exchange", "reverse", "repeat"]))
        if how == "drop":
            holder.pop(key)
        elif how == "value":
            holder[key] = draw(VALUES)
        elif how == "exchange":
            other, where = places[draw(st.integers(0, len(places) - 1))]
            holder[key] = copy.deepcopy(other[where])
        elif isinstance(holder[key], list) and holder[key]:
            holder[key] = holder[key][::-1] if how == "reverse" else holder[key] * 2
    return data


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated())
def test_a_mutated_tree_gives_errors_of_nvir_alone(data):
    """Through the checker, generation, the passes and the printer; a pass that fails of itself,
    as by an assertion, is no answer either."""
    try:
        module = generate(check(from_json(data)))
        nvir.run_passes(module, "default<O1>")
        nvir.print_ptx(module)
    except PassError as e:
        if not isinstance(e.__cause__, NvirError):
            raise
    except NvirError:
        pass
