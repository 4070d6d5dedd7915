"""What an assembler would refuse of PTX that reads well: forms, counts, vectors, versions, targets.

    check(path or text) -> [Diagnostic, …]      in the order of the lines

Legal combinations of modifiers are those of `nvir.ir.opcodes.legal`.

Not seen: what depends on values (sizes of copies, ranges of literals) and most limits of targets
on modifiers, where the row itself is older.

Source   PTX ISA 9.0, and what ptxas 13.0 accepts of each combination (tests/ptx/test_check.py).
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable, Iterator, Sequence

import attrs

from nvir.ir import (
    UNKNOWN,
    Constant,
    Form,
    Function,
    Instruction,
    Module,
    SymbolOffset,
    Value,
    Variable,
    capability,
)
from nvir.ir.errors import Diagnostic
from nvir.ir.module import first_version
from nvir.ir.opcodes.ori.modifiers import unknown_modifiers
from nvir.ir.verify.ori import call_problem, class_problem
from nvir.ptx.body import RawFunction
from nvir.ptx.reader import KNOWN_VERSION, ApartReader, read_apart, read_kernel
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
from nvir.ptx.ssa import Apart
from nvir.ptx.statements import RawItem

# Rows whose addresses of 32 bits the assembler widens.
WIDENED = ("cp.async.bulk", "cp.async.bulk.tensor", "cp.async.bulk.prefetch", "tensormap.replace",
           "cp.async.bulk.prefetch.tensor", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor",
           "wmma.load", "wmma.store", "ldmatrix", "stmatrix", "cp.async.mbarrier.arrive",
           "createpolicy.range")
NO_32_BIT = 90  # architectures from which on a 32-bit address is an error
# A register, or a modifier that is one too many, in a message.
_NAMED = re.compile(r"%[\w$]+|(?<=takes no )\.\w+|\.\w+(?= stands)")
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_TARGET = re.compile(r"^[^\S\n]*\.target\s+(\w*)", re.M)
SHARED_LIMIT = 0xC000  # bytes of static shared memory of a block, on every machine


_Ask = Callable[[Instruction, Function, declared.CallRules], str | None]
_Rules = tuple[tuple[str, _Ask], ...]  # each with the code of what it tells


def _spelled(code: str) -> _Ask:
    return lambda i, f, c: spelled_problems(i.form, c.module.version, c.module.target)[code]


def _special(code: str) -> _Ask:
    def ask(i: Instruction, f: Function, c: declared.CallRules) -> str | None:
        told = special_problem(i, c.module)
        return told[1] if told is not None and told[0] == code else None

    return ask


def _alone(ask: Callable[[Instruction], str | None]) -> _Ask:
    return lambda i, f, c: ask(i)


_SPELLED: _Rules = tuple((code, _spelled(code)) for code in ("modifiers", "operands", "version"))
_RULES: _Rules = (  # the first of a code tells what is wrong
    ("version", _special("version")), ("types", _special("types")),
    *_SPELLED,
    *(("operands", _alone(ask)) for ask in (
        place_problem, symbol_problem, discard_problem, texture_problem, vector_problem,
        fragment_problem)),
    ("types", lambda i, f, c: class_problem(i, True, beside_numbers(i))),
    ("types", _alone(mixed_problem)), ("types", _alone(register_kind_problem)),
    ("literal", _alone(literal_problem)), ("memory", lambda i, f, c: memory_problem(i, f)),
    ("address", lambda i, f, c: address_problem(i) if c.module.address_size == 64 else None),
)
_OF_CALLS: _Rules = (
    ("call", lambda i, f, c: call_problem(i, i.aux)),
    ("call", lambda i, f, c: c.problem(i, i.aux, f)),
)
_UNKNOWN: _Rules = (
    ("unknown-instruction", lambda i, f, c: f"no instruction '{i.form.spelling}' is known"),
)
_UNKNOWN_MODIFIER: _Rules = (("modifiers", lambda i, f, c: (
    f"no modifier .{unknown_modifiers(i.form)[0]} of {i.form.name} is known")),)
_OF_FORMS = frozenset((*_SPELLED, *_UNKNOWN, *_UNKNOWN_MODIFIER))  # they look at no operand


def _rules_of(f: Form, module: Module) -> _Rules:
    """What is asked of statements of a form."""
    if f.op is UNKNOWN:
        return _UNKNOWN
    if module.version <= KNOWN_VERSION and unknown_modifiers(f):
        return _UNKNOWN_MODIFIER
    return _OF_CALLS if f.is_call else () if f.op.pseudo else _RULES


_NO_OPERANDS: tuple[tuple[()], tuple[()]] = ((), ())
_Broken = dict[tuple[object, ...], _Rules]  # by all that rules ask of a statement
MOST_KNOWN = 1 << 16  # statements of which it is kept what they break


@functools.lru_cache(maxsize=8)
def _known(version: tuple[int, int], target: str, address_size: int) -> _Broken:
    """What statements break in modules alike in these; calls are not among them."""
    return {}


class _Statements:
    """The statements of bodies that rules are asked of. Of those that are alike in all that rules
    ask, all or none break one: `broken` has what those like it break, where that is known, and
    `calls_broken` the same of calls, whose callees are the module's own."""

    def __init__(self, module: Module) -> None:
        self.calls = declared.CallRules(module)
        self.broken = _known(module.version, module.target, module.address_size)
        if len(self.broken) > MOST_KNOWN:
            self.broken.clear()
        self.calls_broken: _Broken = {}
        self._told: tuple[dict[int, object], ...] = ({}, {})  # with values of literals, without

    def problems(self, f: Function, raw: RawFunction) -> Iterator[tuple[Instruction, str, str]]:
        """Each broken rule: the instruction, the code and the message."""
        calls, apart = self.calls, Apart(raw)
        for broken, key, item in self._asked(f, raw):
            known = broken.get(key)
            bare = known is not None and _OF_FORMS.issuperset(known)
            i = apart.instruction(item[:1] + _NO_OPERANDS + item[3:] if bare else item)
            if known is not None:
                told = ((code, ask(i, f, calls)) for code, ask in known)
                yield from ((i, code, message) for code, message in told if message is not None)
                continue
            found: dict[str, tuple[_Ask, str]] = {}
            for code, ask in _rules_of(i.form, calls.module):
                if code not in found and (message := ask(i, f, calls)) is not None:
                    found[code] = ask, message
                    yield i, code, message
            broken[key] = tuple((code, ask) for code, (ask, _) in found.items())

    def _asked(
        self, function: Function, raw: RawFunction
    ) -> Iterator[tuple[_Broken, tuple[object, ...], RawItem]]:
        """Where it is kept what a statement breaks, what those like it have in common, and itself;
        none that are known to break no rule."""
        types = [*raw.reg_types, None]  # the last is of what is thrown away
        for item in _items(raw):
            f, results, operands = item[:3]
            told = self._told[valued := looks_at_values(f)]
            held: list[object] = [f, function.kind]
            broken = self.broken
            if f.is_call:
                broken = self.calls_broken
                callee = item[3].callee or (function, item[3].prototype)
                held += [callee, *(_named(p) for p in item[3].return_params), None]
            first = len(held)
            for v in operands:
                if v.__class__ is int:
                    held.append(types[v])
                else:
                    held.append(told.get(id(v)) or self._tell(v, told))
            for _, at in f.addresses if valued else ():  # no rule asks for the value of an offset
                if at >= 0 and operands[at].__class__ is Constant:
                    held[first + at] = operands[at].type
            held += [None, *[types[r] for r in results]]
            if broken.get(key := tuple(held)) != () and not f.is_phi:  # no text has phis
                yield broken, key, item

    def _tell(self, v: Value, told: dict[int, object]) -> object:
        """What rules ask of an operand that is no register."""
        if isinstance(v, Constant):
            found: object = (v.type, v.value if told is self._told[True] else None)
        elif isinstance(v, SymbolOffset):
            found = (*_named(v.symbol), SymbolOffset)
        else:
            found = _named(v)
        told[id(v)] = found
        return found


def _items(raw: RawFunction) -> Iterator[RawItem]:
    for block in raw.blocks:
        yield from block.items
        if block.term is not None:
            f, operands, loc, offset = block.term
            yield f, (), operands, None, loc, offset


def _named(v: Value) -> tuple[object, ...]:
    """What rules ask of a variable or a function but its name; of all else (undef and special
    registers), of which there is one object each, the object."""
    if isinstance(v, Function):
        return Function, v.type
    if not isinstance(v, Variable):
        return (v,)
    return v.__class__, v.space, v.type, v.value_type, v.vector, v.align, *v.attributes


def check(
    source: object, targets: tuple[str, ...] = (), arch: str | None = None
) -> list[tuple[str, Diagnostic]]:
    """Code and diagnostic of everything found.

    Of a text that cannot be read these are the reader's errors, and what breaks a rule in the
    statements beside them; the errors alone where the header is among them, or where they are too
    many to go on.

    `source` is as for `nvir.read_ptx`; `targets` are known beside those of PTX ISA 9.0.
    `arch` is what the module is to be assembled for, by default its own target.
    """
    text = load(source)
    return _told(text, read_apart(text), targets, arch)


def check_kernel(
    text: PtxText, target: str, registers: Sequence[tuple[str, str]]
) -> list[tuple[str, Diagnostic]]:
    """As `check`, of the body of a kernel for a target; names and types of registers that are
    declared around it."""
    return _told(text, read_kernel(text, target, registers), (), None)


def _told(
    text: PtxText, read: ApartReader, targets: tuple[str, ...], arch: str | None
) -> list[tuple[str, Diagnostic]]:
    found = [("syntax", d) for d in text.errors] + [("declaration", d) for d in text.refused]
    if read.complete:
        found += _Check(text, read, targets, arch).found
    return sorted(found, key=_place)


class _Check:
    """What breaks a rule: `found`."""

    def __init__(
        self, text: PtxText, read: ApartReader, targets: tuple[str, ...], arch: str | None
    ) -> None:
        self.text, self.module, self.bodies = text, read.module, read.bodies
        self.found: list[tuple[str, Diagnostic]] = []
        self._header(targets, arch)
        for d in text.warnings:
            if not d.message.startswith(("unknown instruction", "unknown modifier")):
                newer = d.message.startswith("PTX ISA")
                self.found.append(("reader", attrs.evolve(d, severity="error") if newer else d))
        self._memory()
        self._statements(capability(arch or self.module.target) < NO_32_BIT)

    def tell(self, code: str, message: str, offset: int, severity: str = "error") -> None:
        self.found.append((code, self.text.diagnostic(message, offset, severity)))

    def _at(self, line: int, word: str) -> int:
        """Where a word stands in a line."""
        start = self.text.line_starts[max(line, 1) - 1]
        return max(self.text.text.find(word, start, _line_end(self.text.text, start)), start)

    def _header(self, targets: tuple[str, ...], arch: str | None) -> None:
        told = _header_problem(self.module.version, self.module.target, tuple(targets), arch)
        if told is not None:
            said = [*_TARGET.finditer(self.text.text, 0, 1 << 14)][-1:]
            self.tell(*told, said[0].start(1) if said else 0)

    def _memory(self) -> None:
        """Constant memory of the module, shared memory of each kernel."""
        module = self.module
        kept = [v for v in module.globals if v.space == "const" and v.linkage != "extern"]
        if (constants := sum(v.size for v in kept)) > declared.CONST_LIMIT:
            self.tell("constants", f"the module has {constants} bytes of .const variables, it may "
                      f"have {declared.CONST_LIMIT}", self._at(*_largest(kept)))
        shared = {v: k for k, v in enumerate(_in_shared(module.globals))}
        outside = sum(v.size for v in shared)
        for f, raw in self.bodies:
            held = _shared(f, raw, shared, outside) if f.kind == "entry" else []
            if (size := sum(v.size for v in held)) > SHARED_LIMIT:
                self.tell("shared", f"{f.name} has {size} bytes of shared memory, a block may have "
                          f"{SHARED_LIMIT}", self._at(*_largest(held)))

    def _statements(self, older: bool) -> None:
        statements = _Statements(self.module)
        for f, raw in self.bodies:
            for i, code, message in statements.problems(f, raw):
                lenient = code == "address" and (older or i.form.op.name in WIDENED)
                self.tell(code, message, self._meant(i, message),
                          "warning" if lenient else "error")

    def _meant(self, i: Instruction, message: str) -> int:
        """Where in a statement what its message names stands, behind its opcode."""
        code, at, spelled = self.text.code, i.line, i.form.spelling
        end = min(code.find(";", at), _line_end(code, at))
        for named in _NAMED.findall(message.removeprefix(spelled)):
            found = code.find(named, at + 1, end)
            while found >= 0 and code[found + len(named)] in _WORD:  # of a longer name
                found = code.find(named, found + 1, end)
            if found >= 0:
                return found
        return at


@functools.lru_cache(maxsize=64)
def _header_problem(
    version: tuple[int, int], target: str, targets: tuple[str, ...], arch: str | None
) -> tuple[str, str] | None:
    """Code and message of what is wrong with a module's target."""
    if target not in targets and not is_known(target):
        return "target", f"no target {target} is known"
    if arch is not None and (problem := arch_problem(target, arch)) is not None:
        return "target", f"the module's target {target} {problem}"
    if version < (first := first_version(target)):
        return "version", (f"{target} needs PTX {first[0]}.{first[1]}, the module says "
                           f"{version[0]}.{version[1]}")
    return None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _place(found: tuple[str, Diagnostic]) -> tuple[int, int]:
    return found[1].line, found[1].col


def _largest(variables: Sequence[Variable]) -> tuple[int, str]:
    """The line and the name of the first of the largest variables."""
    most = max(variables, key=lambda v: v.size)
    return most.loc if isinstance(most.loc, int) else 0, str(most.name)


def _shared(
    f: Function, raw: RawFunction, outside: dict[Variable, int], size: int
) -> list[Variable]:
    """The shared variables of a kernel, and those `outside`, the module's by number and of that
    size in all, that it names."""
    own = _in_shared(f.locals)
    if size + sum(v.size for v in own) <= SHARED_LIMIT:
        return []
    named = {v.symbol if isinstance(v, SymbolOffset) else v
             for item in _items(raw) for v in item[2]} if outside else set()
    held = {v for v in named if isinstance(v, Variable) and v in outside}
    return [*own, *sorted(held, key=outside.__getitem__)]


def _in_shared(variables: Sequence[object]) -> list[Variable]:
    return [v for v in variables
            if isinstance(v, Variable) and v.space == "shared" and v.linkage != "extern"]
