"""What is said of functions beyond their code: kinds, launch bounds, attributes, annotations.

Function.kind, Function.directives and attributes hold what both dialects of LLVM text have
words for (`nvvm.annotations` below compute_100, function attributes from there on; the printer
writes the one that its dialect asks for). What only annotations say is kept in
Module.aux["metadata"]: preserve_n_*, full_custom_abi, alignments of parameters.

    function_annotations(f)   every key of a function with its value, as the notes list them
    Bundles                   the notes' second stage: attributes emitted once a function
    reencoded(pairs)          their third: nested tuples, as `kernel_attrs` holds them where
                              `Options.kernel_attrs` asks for it
    grid_constants, preserved what consumers ask of a module's metadata
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.frontend.tree import types as t
from nvir.frontend.tree.declarations import Attributes, Function
from nvir.frontend.tree.layout import align_of, size_of
from nvir.frontend.tree.types import Pointer, Record, qualifiers, strip
from nvir.ir.function import Function as IRFunction

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import ModuleState

CUSTOM_ABI = 0xFFFFFFFF


def debug_type(x: t.CType) -> tuple[str, int, str]:
    """A type to a debugger: its name, bits, and what its bits are, "" for an aggregate."""
    kind = ("" if t.is_aggregate(x) else "address" if not t.is_arithmetic(x) else
            "float" if t.is_float(x) else "signed" if t.is_signed(x) else "unsigned")
    return t.spell(x), 8 * size_of(strip(x)), kind


def setup_function_metadata(shared: ModuleState, decl: Function, f: IRFunction) -> None:
    """Attributes, directives and annotations of a function that is being defined."""
    a = decl.attributes
    words: list[Any] = ["convergent", "nounwind"]
    words += {"always": ["alwaysinline"], "never": ["noinline"], "inline": ["inlinehint"]}.get(
        a.inline, []
    )
    if a.no_return:
        words.append("noreturn")
    f.aux = {**(f.aux or {}), "attributes": tuple(words)}
    f.directives.update(launch_directives(a) if a.kernel else {})
    if shared.options.kernel_attrs:
        node = reencoded(shared.bundles.emit(decl), len(decl.params))
        if node:
            shared.metadata.setdefault("kernel_attrs", []).append((f, *node))
    for node in _extra(decl, f):
        shared.metadata.setdefault("nvvm.annotations", []).append(node)
    _parameters(decl, f)


def launch_directives(a: Attributes) -> dict[str, tuple[int, ...]]:
    """Launch bounds as PTX's directives name them."""
    out: dict[str, tuple[int, ...]] = {}
    if a.required_block is not None:
        out["reqntid"] = a.required_block
    bounds = a.launch_bounds
    if bounds is not None and bounds.max_threads:
        out["maxntid"] = (bounds.max_threads, 1, 1)
    if bounds is not None and bounds.min_blocks:
        out["minnctapersm"] = (bounds.min_blocks,)
    if bounds is not None and bounds.max_cluster:
        out["maxclusterrank"] = (bounds.max_cluster,)
    if a.max_registers:
        out["maxnreg"] = (a.max_registers,)
    if a.cluster_dims is not None:
        out["explicitcluster"] = ()
        out["reqnctapercluster"] = a.cluster_dims
    return out


def _extra(decl: Function, f: IRFunction) -> list[tuple[Any, ...]]:
    """The annotations that have no other place."""
    a = decl.attributes
    out: list[tuple[Any, ...]] = []
    keys = ("preserve_n_data", "preserve_n_control", "preserve_n_after")
    out += [(f, key, n) for key, n in zip(keys, a.preserve, strict=True) if n >= 0]
    if a.custom_abi:
        out.append((f, "full_custom_abi", CUSTOM_ABI - (1 << 32)))
    for k, p in enumerate(decl.params):
        if isinstance(strip(p.type), Record):
            out.append((f, "align", (k + 1) << 16 | align_of(p.type)))
    return out


def _parameters(decl: Function, f: IRFunction) -> None:
    """`noalias` of restrict pointers; what the ABI says was set with the declaration."""
    first = len(f.arguments) - len(decl.params)
    for k, p in enumerate(decl.params):
        argument = f.arguments[first + k]
        if isinstance(strip(p.type), Pointer) and qualifiers(p.type)[2]:
            argument.attributes = (*argument.attributes, "noalias")


def function_annotations(decl: Function) -> list[tuple[str, Any]]:
    """Keys and values of `nvvm.annotations` as the notes spell them: the kernel mark, launch
    bounds as text, clusters, 1-based indices of `__grid_constant__` parameters, hidden ones."""
    a = decl.attributes
    out: list[tuple[str, Any]] = [("kernel", 1)] if a.kernel else []
    texts = {"maxntid": "nvvm.maxntid", "reqntid": "nvvm.reqntid", "minnctapersm": "nvvm.minctasm",
             "maxnreg": "nvvm.maxnreg", "maxclusterrank": "nvvm.maxclusterrank",
             "reqnctapercluster": "nvvm.cluster_dim"}
    for directive, sizes in launch_directives(a).items():
        if directive in texts:
            out.append((texts[directive], ",".join(map(str, sizes))))
    if a.cluster_dims is not None:
        out.append(("nvvm.blocksareclusters", ""))
    constants = tuple(k + 1 for k, p in enumerate(decl.params) if p.grid_constant)
    hidden = tuple(k + 1 for k, p in enumerate(decl.params) if p.hidden)
    out += [("grid_constant", constants)] * bool(constants) + [("hidden", hidden)] * bool(hidden)
    keys = ("preserve_n_data", "preserve_n_control", "preserve_n_after")
    out += [(key, n) for key, n in zip(keys, a.preserve, strict=True) if n >= 0]
    if a.custom_abi:
        out.append(("full_custom_abi", CUSTOM_ABI))
    return out


# ------------------------------------------------- the notes' second and third stage

PRESERVE = ("preserve_n_data", "preserve_n_control", "preserve_n_after")


class Bundles:
    """Attributes as they are emitted. What is preserved is emitted once: the real front end
    writes -1 over it in the declaration, here the emitter remembers."""

    def __init__(self) -> None:
        self.emitted: set[Function] = set()

    def emit(self, decl: Function) -> list[tuple[str, int]]:
        """(key, value) pairs; one for each `__grid_constant__`, with its 1-based index."""
        a = decl.attributes
        out: list[tuple[str, int]] = [("kernel", 1)] if a.kernel else []
        out += [("grid_constant", k + 1) for k, p in enumerate(decl.params)
                if a.kernel and p.grid_constant]
        if a.custom_abi:
            out.append(("full_custom_abi", CUSTOM_ABI))
        if decl not in self.emitted:
            self.emitted.add(decl)
            out += [(key, n) for key, n in zip(PRESERVE, a.preserve, strict=True) if n >= 0]
        return out


def reencoded(pairs: list[tuple[str, int]], params: int) -> tuple[Any, ...]:
    """The pairs of one function, grouped: `kernel`, the indices under `grid_constant`, what is
    preserved under `preserve_reg_abi`, then `full_custom_abi`, or `numParams` where there is
    something preserved without it."""
    known = dict(pairs)
    out: list[Any] = ["kernel", 1] if "kernel" in known else []
    constants = tuple(n for key, n in pairs if key == "grid_constant")
    if constants:
        out += ["grid_constant", constants]
    kept = tuple(x for key in PRESERVE if key in known for x in (key, known[key]))
    if kept:
        out += ["preserve_reg_abi", kept]
    if "full_custom_abi" in known:
        out += ["full_custom_abi", known["full_custom_abi"] - (1 << 32)]
    elif kept:
        out += ["numParams", (params,)]
    return tuple(out)


def _of(module: Any, f: IRFunction, key: str) -> Any:
    """What `kernel_attrs` says of a function under a key; None where it says nothing."""
    nodes = (module.aux or {}).get("metadata", {}).get("kernel_attrs", ())
    for node in nodes:
        if node and node[0] is f:
            pairs = dict(zip(node[1::2], node[2::2], strict=True))
            return pairs.get(key)
    return None


def grid_constants(module: Any, f: IRFunction) -> tuple[int, ...]:
    """Numbers, from 0, of the parameters that no thread changes: constant memory, not aliased."""
    return tuple(_int(k) - 1 for k in _of(module, f, "grid_constant") or ())


def preserved(module: Any, f: IRFunction) -> dict[str, int]:
    """How many registers a function preserves: R0 … R(n-1) of data, predicates, across calls."""
    found = _of(module, f, "preserve_reg_abi") or ()
    return {key: _int(n) for key, n in zip(found[::2], found[1::2], strict=True)}


def _int(x: Any) -> int:
    """A number of metadata, which is a constant where it was read from text."""
    return int(getattr(x, "value", x))
