"""Whether the nodes of `!tbaa`, `!alias.scope` and `!noalias` are what LLVM's verifier asks for.

    tag_problem(tag, node)       an access tag, `!{!base, !access, i64 0}`
    scopes_problem(list, node)   a list of scopes, each `!{!0, !domain}`

`node` gives what a node's number stands for. Source: LLVM 19's Verifier.cpp, TBAAVerifier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.ir import Constant
from nvir.ir.types import IntType

Node = Callable[[Any], Any]  # the tuple that an element is or names; None of others
MAX_PATH = 1000


def tag_problem(tag: tuple[Any, ...], node: Node) -> str | None:
    """What is wrong with an access tag, or None. A tag of old is the scalar type itself."""
    base, access = node(tag[0]), node(tag[1]) if len(tag) > 1 else None
    if base is None or len(tag) < 3:
        return None if _is_scalar(tag[:2], node) else "an access tag of old is a scalar type"
    if access is None:
        return "an access tag names two types"
    sized = len(access) > 2 and node(access[0]) is not None  # types that tell their sizes
    if len(tag) > 4 + sized or len(tag) < 3 + sized:
        return f"an access tag of {len(tag)} parts"
    if len(tag) == 4 + sized and _number(tag[-1]) not in (0, 1):
        return "an access tag ends in 0 or 1, whether what is read is constant"
    if not sized and not _is_scalar(access, node):
        return "an access tag names a scalar type behind the first"
    if _number(tag[2]) is None:
        return "an access tag has a number of bytes behind its types"
    return _path_problem(base, access, tag[2], sized, node)


def _path_problem(base: tuple[Any, ...], access: Any, at: Constant, sized: bool,
                  node: Node) -> str | None:
    """Follow the field at the offset from type to type until the accessed one is met."""
    met, offset = False, _number(at) or 0
    for _ in range(MAX_PATH):
        if len(base) < 2:  # the root
            break
        if len(base) == 2 and not _is_scalar(base, node):
            return None  # of which LLVM says nothing
        wrong = _base_problem(base, sized, node)
        if wrong:
            return wrong
        if any(base[k].type is not at.type for k in range(4 if sized else 2, len(base),
                                                          3 if sized else 2)):
            return "an access tag's offset has the width of its types' offsets"
        met |= base is access
        if (base is access or _is_scalar(base, node)) and offset and not sized:
            return "an access tag leads into a scalar, not to its beginning"
        if sized and met:
            break
        inner = _field(base, offset, sized, node)
        if inner is None:
            return "an access tag leads to no field"
        base, offset = inner
    return None if met else "an access tag leads past the type that it accesses"


def _base_problem(t: tuple[Any, ...], sized: bool, node: Node) -> str | None:
    if len(t) == 2:
        return None
    first = 3 if sized else 1
    if len(t) % 3 if sized else len(t) % 2 != 1:
        return f"a type of {len(t)} parts, of which each field has {3 if sized else 2}"
    if not sized and type(t[0]) is not str:
        return "a type begins with its name"
    step, before = (3 if sized else 2), -1
    for k in range(first, len(t), step):
        at = _number(t[k + 1])
        if node(t[k]) is None or at is None:
            return "a type's fields are types with their offsets"
        if at < before:
            return "a type's fields stand in the order of their offsets"
        before = at
    return None


def _field(t: tuple[Any, ...], offset: int, sized: bool, node: Node) -> Any:
    """The last field at or before an offset, and the offset in it."""
    if len(t) == 2:
        return node(t[1]), offset
    first, step = (3, 3) if sized else (1, 2)
    found = None
    for k in range(first, len(t), step):
        if (_number(t[k + 1]) or 0) > offset:
            break
        found = node(t[k]), offset - (_number(t[k + 1]) or 0)
    return found


def _is_scalar(t: Any, node: Node) -> bool:
    """A name, a type above, and if any the offset 0, up to a root."""
    for _ in range(MAX_PATH):
        if len(t) not in (2, 3) or type(t[0]) is not str or (len(t) == 3 and _number(t[2]) != 0):
            return False
        t = node(t[1])
        if t is None or len(t) < 2:
            return t is not None
    return False


def scopes_problem(scopes: tuple[Any, ...], node: Node) -> str | None:
    """What is wrong with a list of scopes, or None."""
    for x in scopes:
        scope = node(x)
        if scope is None:
            return "scopes are a list of nodes"
        if len(scope) not in (2, 3) or not _names(scope[0], x, node):
            return "a scope begins with itself or a name, and a domain follows"
        domain = node(scope[1])
        if domain is None or len(domain) not in (1, 2) or not _names(domain[0], scope[1], node):
            return "a scope's domain begins with itself or a name"
        if any(type(n) is not str for n in (*scope[2:], *domain[1:])):
            return "the last part of a scope and of its domain is a name"
    return None


def _names(x: Any, own: Any, node: Node) -> bool:
    return x == own or type(x) is str


def _number(x: Any) -> int | None:
    return int(x.value or 0) if isinstance(x, Constant) and isinstance(x.type, IntType) else None
