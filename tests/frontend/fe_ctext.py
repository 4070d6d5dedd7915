"""A tree as C text, fully parenthesised: what the host's compiler is asked for comparison."""

from __future__ import annotations

from nvir.frontend.tree import declarations as d
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import statements as s
from nvir.frontend.tree import types as t

_SUFFIX = {"int": "", "unsigned int": "u", "long": "L", "unsigned long": "UL", "long long": "LL",
           "unsigned long long": "ULL"}


def expr(e: x.Expr) -> str:
    match e:
        case x.IntLiteral():
            name = t.strip(e.type).name if e.type is not None else "int"
            if name not in _SUFFIX:
                return f"(({name}){e.value})"
            if e.value < 0:
                return f"(-{-e.value - 1}{_SUFFIX[name]} - 1)"
            return f"{e.value}{_SUFFIX[name]}"
        case x.FloatLiteral():
            return f"({e.value.hex()}{'f' if t.strip(e.type) is t.FLOAT else ''})"
        case x.Name():
            return e.name
        case x.Unary():
            return f"({e.op}{expr(e.operand)})"
        case x.Step():
            inner = expr(e.operand)
            return f"({e.op}{inner})" if e.prefix else f"({inner}{e.op})"
        case x.Binary():
            return f"({expr(e.left)} {e.op} {expr(e.right)})"
        case x.Assign():
            return f"({expr(e.target)} {e.op} {expr(e.value)})"
        case x.Conditional():
            return f"({expr(e.cond)} ? {expr(e.then)} : {expr(e.other)})"
        case x.Cast():
            return f"(({t.spell(e.type)}){expr(e.operand)})"
        case x.Member():
            return f"{expr(e.base)}{'->' if e.arrow else '.'}{e.field}"
        case x.Index():
            return f"{expr(e.base)}[{expr(e.index)}]"
        case x.Call():
            return f"{expr(e.callee)}({', '.join(map(expr, e.args))})"
        case x.StringLiteral():
            return '"' + "".join(f"\\{c:03o}" for c in e.value) + '"'
        case x.NullPointer():
            return "((void *)0)"
        case x.SizeOf():
            of = t.spell(e.of_type) if e.of_type is not None else expr(e.of_expr)
            return f"{'_Alignof' if e.align else 'sizeof'}({of})"
        case x.Designated():
            at = f".{e.target}" if isinstance(e.target, str) else f"[{e.target}]"
            return f"{at} = {expr(e.value)}"
        case x.CompoundLiteral():
            return f"({t.spell(e.type)}){expr(e.init)}"
        case x.StatementExpr():
            return f"({stmt(e.body)})"
        case x.InitList():
            return "{" + ", ".join(expr(i) for i in e.items if i is not None) + "}"
    raise AssertionError(type(e))


def stmt(n: s.Stmt) -> str:
    match n:
        case s.Empty():
            return ";"
        case s.ExprStmt():
            return f"{expr(n.expr)};"
        case s.DeclStmt():
            return " ".join(variable(v) for v in n.variables)
        case s.Compound():
            return "{ " + "\n".join(map(stmt, n.body)) + " }"
        case s.If():
            other = "" if n.other is None else f" else {{ {stmt(n.other)} }}"
            return f"if ({expr(n.cond)}) {{ {stmt(n.then)} }}{other}"
        case s.While():
            return f"while ({expr(n.cond)}) {{ {stmt(n.body)} }}"
        case s.Do():
            return f"do {{ {stmt(n.body)} }} while ({expr(n.cond)});"
        case s.For():
            init = ";" if n.init is None else stmt(n.init)
            cond = "" if n.cond is None else expr(n.cond)
            step = "" if n.step is None else expr(n.step)
            return f"for ({init} {cond}; {step}) {{ {stmt(n.body)} }}"
        case s.Switch():
            return f"switch ({expr(n.cond)}) {stmt(n.body)}"
        case s.Case():
            last = "" if n.last is None else f" ... {expr(n.last)}"
            return f"case {expr(n.value)}{last}: {stmt(n.body or s.Empty())}"
        case s.Default():
            return f"default: {stmt(n.body or s.Empty())}"
        case s.Break():
            return "break;"
        case s.Continue():
            return "continue;"
        case s.Return():
            return "return;" if n.value is None else f"return {expr(n.value)};"
        case s.Goto():
            return f"goto {n.label};"
        case s.Label():
            return f"{n.name}: {stmt(n.body or s.Empty())}"
    raise AssertionError(type(n))


def variable(v: d.Variable) -> str:
    init = "" if v.init is None else f" = {expr(v.init)}"
    storage = "static " if v.storage == "static" and not v.memory else ""
    return f"{storage}{t.spell(v.type, v.name)}{init};"


def function(f: d.Function, name: str) -> str:
    params = ", ".join(t.spell(p.type, p.name) for p in f.params)
    return f"{t.spell(f.result, f'{name}({params})')}\n{stmt(f.body)}\n"


def prototype(f: d.Function) -> str:
    params = ", ".join(t.spell(p.type, p.name) for p in f.params)
    return f"static {t.spell(f.result, f'{f.name}({params})')};"


def record(r: t.Record) -> str:
    return f"{t.spell(r)} {{ {fields(r)} }};\n"


def fields(r: t.Record) -> str:
    made = []
    for f in r.fields or ():
        inner = t.strip(f.type)
        if not f.name and isinstance(inner, t.Record):
            made.append(f"{inner.kind} {{ {fields(inner)} }};")
        else:
            bits = "" if f.bits is None else f" : {f.bits}"
            made.append(f"{t.spell(f.type, f.name)}{bits};")
    return " ".join(made)


def declared(kind: t.CType) -> str:
    """The declaration of a named type; those of the prelude are left out."""
    if isinstance(kind, t.Record):
        return record(kind)
    if isinstance(kind, t.Enum):
        names = ", ".join(f"{n} = {v}" for n, v in kind.constants)
        return f"enum {kind.name} {{ {names} }};"
    return ""
