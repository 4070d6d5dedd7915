"""Declarations as nvcc spells them: variables, parameters, heads, registers, debug data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nvir.ir import Argument, Constant, Function, Module, ScalarType, SymbolOffset, Value, Variable
from nvir.ptx.registers import NUMBERED, PREFIXES, RegisterNames


def header(module: Module) -> str:
    """`.version`, `.target`, `.address_size` and module-level pragmas."""
    major, minor = module.version
    lines = [
        f".version {major}.{minor}",
        f".target {', '.join((module.target, *module.target_options))}",
        f".address_size {module.address_size}",
    ]
    lines.extend(f'.pragma "{p}";' for p in module.pragmas)
    return "\n".join(lines) + "\n"


def variable(v: Variable, name: str | None = None, *, parameter: bool = False) -> str:
    """A declaration without what ends it: `.visible .global .align 4 .f32 x[8] = {…}`."""
    a = v.attributes
    words = [f".{v.linkage}"] if v.linkage else []
    words.append(".tex" if "tex" in a else f".{v.space}")
    for word in ("attribute", "unified", "managed"):
        if word in a:
            words.append(f".{word}({a[word]})" if a[word] else f".{word}")
    if v.align and not (parameter and "ptr" in a):
        words.append(f".align {v.align}")
    if v.vector > 1:
        words.append(f".v{v.vector}")
    words.append(f".{v.element_type.name}")
    if "surf" in a:
        words.append(".surf")
    if "ptr" in a:
        words.append(f".ptr {a['ptr']}".rstrip())
    words.append(name or str(v.name))
    text = " ".join(words) + "".join(f"[{d or ''}]" for d in v.dimensions)
    if "settings" in a:
        return f"{text} = {{ {a['settings']} }}"
    return text if v.init is None else f"{text} = {initialiser(v.init)}"


def initialiser(init: Any) -> str:
    """`{1, 2, {3, x+4}}`; nesting is as deep as the array has dimensions."""
    text: list[str] = []
    todo = [init]
    while todo:
        x = todo.pop()
        if isinstance(x, str):
            text.append(x)
        elif isinstance(x, Value):
            text.append(str(x.name))
        elif all(isinstance(v, Value) for v in x):
            text.append("{" + ", ".join([v.name for v in x]) + "}")
        else:
            text.append("{")
            todo.append("}")
            for v in reversed(x):
                todo += v, ", "
            todo.pop()
    return "".join(text)


def functions_in(init: Any) -> Iterator[Function]:
    """The functions whose addresses an initialiser holds."""
    todo = [init]
    while todo:
        x = todo.pop()
        if isinstance(x, tuple):
            todo += [v for v in reversed(x) if v.__class__ is not Constant]
            continue
        symbol = x.symbol if isinstance(x, SymbolOffset) else x
        if isinstance(symbol, Function):
            yield symbol


def head(f: Function, names: RegisterNames | None = None) -> str:
    """A function up to its body or the `;` of its declaration."""
    words = [f".{f.linkage}"] if f.linkage else []
    words.append(f".{f.kind}")
    if f.returns:
        words.append(f" ({', '.join(_parameter(p, names) for p in f.returns)})")
    text = " ".join(words) + f" {f.name}("
    if f.params:
        text += "\n\t" + ",\n\t".join(_parameter(p, names) for p in f.params) + "\n"
    text += ")"
    for name, numbers in f.directives.items():
        text += f"\n.{name} {', '.join(map(str, numbers))}".rstrip()
    return text


def _parameter(p: Any, names: RegisterNames | None) -> str:
    if isinstance(p, Argument):
        return f".reg .{p.type.name} {names[p] if names is not None else p.name}"
    return variable(p, parameter=True)


def registers(declared: dict[str, ScalarType]) -> list[str]:
    """`.reg` lines in nvcc's order; names without a number, or of a mixed group, stand alone."""
    groups: dict[str, dict[ScalarType, list[str]]] = {}
    lines: list[tuple[int, str]] = []
    split = NUMBERED.findall("\n".join(declared))
    for (prefix, index, alone), type in zip(split, declared.values(), strict=True):
        if alone:
            rank = -1 if alone in ("%SP", "%SPL") else len(_RANK)
            lines.append((rank, f"\t.reg .{type.name} \t{alone};"))
        else:
            groups.setdefault(prefix, {}).setdefault(type, []).append(index)
    for prefix, by_type in groups.items():
        for type, indices in by_type.items():
            top = max(map(int, indices))
            # A sparse group (`x1000000` alone) is cheaper name by name.
            if len(by_type) == 1 and top < 64 + 64 * len(indices):
                rank = _RANK.get(prefix, len(_RANK))
                lines.append((rank, f"\t.reg .{type.name} \t{prefix}<{top + 1}>;"))
                continue
            lines.extend(
                (len(_RANK), f"\t.reg .{type.name} \t{prefix}{index};") for index in indices
            )
    lines.sort(key=lambda line: (line[0], line[1] if line[0] == len(_RANK) else ""))
    return [text for _, text in lines]


_RANK = {p: k for k, p in enumerate(("%p", "%rs", "%f", "%r", "%fd", "%rd", PREFIXES["b128"]))}


def debug_data(module: Module) -> Iterable[str]:
    """`.file` directives and `.section`s, as nvcc has them at the end."""
    for number, name, rest in module.debug.files:
        yield f'\t.file\t{number} "{name}"{" " + rest if rest else ""}\n'
    for name, lines in module.debug.sections:
        yield f"\t.section\t{name}\n\t{{\n" + "\n".join(lines) + "\n\t}\n"
