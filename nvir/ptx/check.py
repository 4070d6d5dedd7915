"""What an assembler would refuse of PTX that reads well: forms, counts, vectors, versions, targets.

    check(path or text) -> [Diagnostic, …]      in the order of the lines

Legal combinations of modifiers are those of `nvir.ir.opcodes.legal`.

Not seen: what depends on values (sizes of copies, ranges of literals) and most limits of targets
on modifiers, where the row itself is older.

Source   PTX ISA 9.0, and what ptxas 13.0 accepts of each combination (tests/ptx/test_check.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from nvir.ir import (
    UNKNOWN,
    Constant,
    Function,
    Instruction,
    Module,
    SymbolOffset,
    Value,
    Variable,
    capability,
)
from nvir.ir.errors import Diagnostic, NvirError, ParseError
from nvir.ir.module import first_version
from nvir.ir.opcodes.ori.modifiers import unknown_modifiers
from nvir.ir.verify.ori import call_problem, class_problem
from nvir.ptx.reader import KNOWN_VERSION, read_apart
from nvir.ptx.rules import declared
from nvir.ptx.rules.operands import (
    address_problem,
    beside_numbers,
    discard_problem,
    fragment_problem,
    literal_problem,
    looks_at_values,
    memory_problem,
    mixed_problem,
    place_problem,
    register_kind_problem,
    special_problem,
    symbol_problem,
    texture_problem,
    vector_problem,
)
from nvir.ptx.rules.spelled import spelled_problems
from nvir.ptx.rules.targets import arch_problem, is_known
from nvir.ptx.source import PtxText, load

# Rows whose addresses of 32 bits the assembler widens.
WIDENED = ("cp.async.bulk", "cp.async.bulk.tensor", "cp.async.bulk.prefetch", "tensormap.replace",
           "cp.async.bulk.prefetch.tensor", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor",
           "wmma.load", "wmma.store", "ldmatrix", "stmatrix", "cp.async.mbarrier.arrive",
           "createpolicy.range")
NO_32_BIT = 90  # architectures from which on a 32-bit address is an error
# A register, or a modifier that is one too many, in a message.
_NAMED = re.compile(r"%[\w$]+|(?<=takes no )\.\w+|\.\w+(?= stands)")
_DIRECTIVE = re.compile(r"\s*\.")
SHARED_LIMIT = 0xC000  # bytes of static shared memory of a block, on every machine


def _problems(
    i: Instruction, function: Function, calls: declared.CallRules
) -> Iterator[tuple[str, str]]:
    """Code and message of what is wrong with one instruction."""
    f, module = i.form, calls.module
    if f.op is UNKNOWN:
        yield "unknown-instruction", f"no instruction '{f.spelling}' is known"
        return
    unknown = unknown_modifiers(f) if module.version <= KNOWN_VERSION else []
    if unknown:
        yield "modifiers", f"no modifier .{unknown[0]} of {f.name} is known"
        return
    if f.is_call:
        problem = call_problem(i, i.aux) or calls.problem(i, i.aux, function)
        if problem is not None:
            yield "call", problem
        return
    if f.op.pseudo:
        return
    found = spelled_problems(f, module.version, module.target)
    found["operands"] = (
        found["operands"] or place_problem(i) or symbol_problem(i) or discard_problem(i)
        or texture_problem(i) or vector_problem(i) or fragment_problem(i)
    )
    found["types"] = class_problem(i, True, beside_numbers(i)) or mixed_problem(i) \
        or register_kind_problem(i)
    found["literal"] = literal_problem(i)
    special = special_problem(i, module)
    if special is not None:
        found[special[0]] = special[1]
    found["memory"] = memory_problem(i, function)
    if module.address_size == 64:
        found["address"] = address_problem(i)
    yield from ((code, message) for code, message in found.items() if message is not None)


def _alike(i: Instruction, function: Function) -> tuple[object, ...]:
    """All that `_problems` asks of an instruction: of two alike in it both or neither break a
    rule."""
    f = i.form
    valued = looks_at_values(f)
    held: list[object] = [f]
    if f.is_call:
        callee = i.aux.callee or (id(function), i.aux.prototype)
        held += [callee, *(_named(p) for p in i.aux.return_params), None]
    for v in i.operands:
        if isinstance(v, Constant):
            held.append((id(v.type), v.value if valued else None))
        elif v.is_tracked and v.definer is not None:
            held.append(id(v.type))
        elif isinstance(v, SymbolOffset):
            held.append((*_named(v.symbol), SymbolOffset))
        else:
            held.append(_named(v))
    held += [(id(r.type), r.name == "_") for r in i.results]
    return tuple(held)


def _named(v: Value) -> tuple[object, ...]:
    """What rules ask of a variable but its name; of all else (undef, special registers, parameters
    and functions), of which there is one object each, the object."""
    if v.__class__ is not Variable:
        return (id(v),)
    return v.space, id(v.type), id(v.value_type), v.vector, v.align, *v.attributes


def check(
    source: object, targets: tuple[str, ...] = (), arch: str | None = None,
    module: Module | None = None,
) -> list[tuple[str, Diagnostic]]:
    """Code and diagnostic of everything found.

    Of a text that cannot be read these are the reader's errors, and what breaks a rule in the
    statements beside them where the text can be read without the wrong ones.

    `source` is as for `nvir.read_ptx`; `targets` are known beside those of PTX ISA 9.0.
    `arch` is what the module is to be assembled for, by default its own target; `module` is what
    the text was read as, where that is known.
    """
    text = load(source)
    try:
        module = module or read_apart(source)
    except ParseError as e:
        unread = [("syntax", d) for d in e.errors]
        return sorted([*unread, *_beside(text, e.errors, targets, arch)], key=_place)
    lines = text.text.splitlines()
    found: list[tuple[str, Diagnostic]] = []

    def tell(code: str, message: str, line: int, word: str, severity: str = "error") -> None:
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        col = _column(shown, word, message)
        found.append((code, Diagnostic(message, text.file, line, col, shown, severity)))

    said = (n for n, s in enumerate(lines[:100], 1) if s.strip().startswith(".target"))
    at = max(said, default=0)
    if module.target not in targets and not is_known(module.target):
        tell("target", f"no target {module.target} is known", at, module.target)
    elif arch is not None and (problem := arch_problem(module.target, arch)) is not None:
        tell("target", f"the module's target {module.target} {problem}", at, module.target)
    elif module.version < first_version(module.target):
        first = ".".join(map(str, first_version(module.target)))
        tell("version", f"{module.target} needs PTX {first}, the module says "
             f"{module.version[0]}.{module.version[1]}", at, module.target)
    found.extend(("declaration", d) for d in module.refused)
    kept = [v for v in module.globals if v.space == "const" and v.linkage != "extern"]
    if (constants := sum(v.size for v in kept)) > declared.CONST_LIMIT:
        tell("constants", f"the module has {constants} bytes of .const variables, it may have "
             f"{declared.CONST_LIMIT}", *_largest(kept))
    for d in module.diagnostics:
        if not d.message.startswith(("unknown instruction", "unknown modifier")):
            newer = d.message.startswith("PTX ISA")
            found.append(("reader", attrs.evolve(d, severity="error") if newer else d))
    clean: set[tuple[object, ...]] = set()
    calls = declared.CallRules(module)
    shared = {v: k for k, v in enumerate(_in_shared(module.globals))}
    size_outside = sum(v.size for v in shared)
    for f in module.functions:
        held = _shared(f, shared, size_outside) if f.kind == "entry" else []
        if (size := sum(v.size for v in held)) > SHARED_LIMIT:
            tell("shared", f"{f.name} has {size} bytes of shared memory, a block may have "
                 f"{SHARED_LIMIT}", *_largest(held))
        for i in f.instructions():
            if i.form.is_phi or (key := _alike(i, f)) in clean:  # no text has phis
                continue
            before = len(found)
            for code, message in _problems(i, f, calls):
                older = capability(arch or module.target) < NO_32_BIT
                lenient = code == "address" and (older or i.form.op.name in WIDENED)
                tell(code, message, i.line, i.form.spelling, "warning" if lenient else "error")
            if len(found) == before:
                clean.add(key)
    return sorted(found, key=_place)


def _place(found: tuple[str, Diagnostic]) -> tuple[int, int]:
    return found[1].line, found[1].col


def _beside(
    text: PtxText, errors: Sequence[Diagnostic], targets: tuple[str, ...], arch: str | None
) -> list[tuple[str, Diagnostic]]:
    """What breaks a rule beside statements that cannot be read: those are blanked out."""
    code = text.code
    for d in errors:
        at = text.line_starts[d.line - 1] + d.col - 1
        start = max(code.rfind(";", 0, at), text.line_starts[d.line - 1] - 1) + 1
        end = code.find(";", at) + 1
        if not end or _DIRECTIVE.match(code, start):
            return []  # without a declaration, uses of what it declares would be told
        code = code[:start] + re.sub(r"[^\n]", " ", code[start:end]) + code[end:]
    try:
        module = read_apart(code.encode())
    except NvirError:
        return []
    lines, wrong = text.text.splitlines(), {d.line for d in errors}
    return [
        (tag, attrs.evolve(d, file=text.file, source=lines[d.line - 1] if d.line else ""))
        for tag, d in check(code.encode(), targets, arch, module)
        if tag not in ("call", "reader", "declaration") and d.line not in wrong
    ]


def _column(line: str, word: str, message: str) -> int:
    """Where `word` stands in the line, or what of its statement the message names behind it."""
    at = max(line.find(word), 0)
    statement = line[at:].partition(";")[0]
    for named in _NAMED.findall(message.removeprefix(word)):
        found = re.search(re.escape(named) + r"(?!\w)", statement[1:])
        if found is not None:
            return at + found.start() + 2
    return at + 1


def _largest(variables: Sequence[Variable]) -> tuple[int, str]:
    """The line and the name of the first of the largest variables."""
    most = max(variables, key=lambda v: v.size)
    return most.loc if isinstance(most.loc, int) else 0, str(most.name)


def _shared(f: Function, outside: dict[Variable, int], size: int) -> list[Variable]:
    """The shared variables of a kernel, and those `outside`, the module's by number and of that
    size in all, that it names."""
    own = _in_shared(f.locals)
    if size + sum(v.size for v in own) <= SHARED_LIMIT:
        return []
    named = {v.symbol if isinstance(v, SymbolOffset) else v
             for i in f.instructions() for v in i.operands} if outside else set()
    held = {v for v in named if isinstance(v, Variable) and v in outside}
    return [*own, *sorted(held, key=outside.__getitem__)]


def _in_shared(variables: Sequence[object]) -> list[Variable]:
    return [v for v in variables
            if isinstance(v, Variable) and v.space == "shared" and v.linkage != "extern"]
