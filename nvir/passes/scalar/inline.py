"""Calls replaced by the bodies that they call.

    define internal i32 @f(i32 %x) {          define ptx_kernel void @k(…) {
      %y = add i32 %x, 1                        …
      ret i32 %y                        ==>     %y = add i32 %a, 1
    }                                           …
      %r = call i32 @f(i32 %a)

Method   Callees before callers, in the order of the call graph's strongly connected components.
         Whether a call is inlined its callee decides:
           always      `alwaysinline`; an internal function with this one call
           never       `noinline` or `optnone` of the callee or of the call, declarations, recursive
                       and variadic functions, kernels, a body that a linker may replace
           by size     instructions, less what literals and an alloca's address as argument
                       save, up to the threshold: a GPU's call spills everything around it, so it
                       is large
         The body is copied behind the call's block, arguments for parameters, its allocas go to
         the caller's entry, and returned values meet in a phi. A `byval` argument is copied to
         memory of its own first. Internal functions without calls left go.
Needs    SSA.
Keeps    convergent operations: a body runs where the call ran. Locations of the body.
Leaves   arguments that decide branches to inst-combine and simplify-cfg, allocas to sroa.
Skips    callers that would grow beyond MAX_CALLER, by what says alwaysinline beyond MAX_ALWAYS.
Cost     Linear in what is made, at most so much for each function.
Source   LLVM's Inliner, InlineCost; NVPTX sets its threshold multiplier to 11.
"""

from __future__ import annotations

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.call_graph import callees, components
from nvir.analysis.callees import attributes
from nvir.ir import CallInfo, Constant, Function, Instruction, Module, Value, successors
from nvir.ir.nvvm_values import symbols_in, symbols_of
from nvir.passes.context import Context
from nvir.passes.remarks import missed, passed
from nvir.passes.scalar.inline_body import inline_call

INLINED = passed("Inlined", "{callee} is inlined: {reason}")
KEPT = missed("NotInlined", "{callee} is not inlined: {reason}")
REMOVED = passed("FunctionRemoved", "{callee} is called no more")
CODES = (INLINED, KEPT, REMOVED)

MAX_CALLER = 50_000  # instructions of a function after inlining
MAX_ALWAYS = 100_000  # … of what says alwaysinline
LITERAL_SAVES = 5  # instructions that a literal argument is guessed to save
ALLOCA_SAVES = 20  # and the address of an alloca, which is then promoted


@attrs.frozen
class Options:
    """threshold: the size of a body that is inlined; 0 inlines only what says so.
    always: only functions that ask for it."""

    threshold: int = 400
    always: bool = False


def run(module: Module, ctx: Context) -> bool:
    return _Inliner(module, ctx).run()


class _Inliner:
    """One run. `sizes` holds how many instructions each body has, `sites` the calls in it at first,
    `calls` how often each function is called."""

    def __init__(self, module: Module, ctx: Context) -> None:
        self.module, self.ctx = module, ctx
        self.options: Options = ctx.options
        self.sites = {f: [i for i in f.instructions() if i.form.is_call and called(i) is not None]
                      if "call" in Analyses.of(f).rows else [] for f in module.functions}
        self.calls: dict[Function, int] = {}
        for sites in self.sites.values():
            for i in sites:
                callee = called(i)
                assert callee is not None
                self.calls[callee] = self.calls.get(callee, 0) + 1
        self.sizes: dict[Function, int] = {}
        self.taken: set[Function] = set()
        self.aliased: set[Function] = set()
        self.recursive: set[Function] = set()
        self.moved: set[Function] = set()  # to the only one who called

    def run(self) -> bool:
        changed = any(callee.blocks for callee in self.calls) and self._inline()
        return self._remove_uncalled() or changed

    def _inline(self) -> bool:
        self.sizes = {f: sum(map(len, f.blocks)) for f in self.module.functions}
        self.taken = _addresses_taken(self.module)
        self.aliased = _aliased(self.module)
        order = components(self.module)
        for group in order:
            if len(group) > 1 or group[0] in callees(group[0]) or group[0] in self.taken:
                self.recursive.update(f for f in group if len(group) > 1 or _names_itself(f))
        changed = False
        for group in order:
            for f in group:
                changed |= self._into(f)
        return changed

    def _into(self, caller: Function) -> bool:
        """Inline the calls in a function."""
        self.ctx.function = caller
        changed = False
        for site in reversed(self.sites[caller]):  # so that what follows a call is moved once
            callee = called(site)
            assert callee is not None
            yes, reason = self._decide(caller, callee, site)
            if not yes:
                if reason:
                    self.ctx.remark(KEPT, site, callee=str(callee.name), reason=reason)
                continue
            self.ctx.remark(INLINED, site, callee=str(callee.name), reason=reason)
            self.ctx.count("inlined")
            sole = self._is_local(callee) and self.calls[callee] == 1
            if sole and callee not in self.aliased:
                self.moved.add(callee)
            inline_call(site, callee, sole=callee in self.moved)
            self.sizes[caller] += self.sizes[callee]
            self.calls[callee] -= 1
            for i in callee.instructions():  # of a body that stays
                if (inner := called(i)) is not None:
                    self.calls[inner] += 1
            changed = True
        self.ctx.function = None
        return changed

    def _decide(self, caller: Function, callee: Function, site: Instruction) -> tuple[bool, str]:
        """Whether to inline a call, and why (nothing for what needs no word)."""
        said = attributes(site)
        if not callee.blocks:
            return False, ""
        if "noinline" in said or "optnone" in said:
            return False, "it says noinline"
        if callee in self.recursive:
            return False, "it is recursive"
        why = _obstacle(callee, site)
        if why is not None:
            return False, why
        size = self.sizes[callee]
        if "alwaysinline" in said:
            if self.sizes[caller] + size > MAX_ALWAYS:  # each of a chain may call the next twice
                return False, f"its caller would have more than {MAX_ALWAYS} instructions"
            return True, "it says alwaysinline"
        if self.options.always:
            return False, ""
        if self.sizes[caller] + size > MAX_CALLER:
            return False, f"its caller would have more than {MAX_CALLER} instructions"
        if self._is_local(callee) and self.calls[callee] == 1:
            return True, "it is called here only"
        limit = self.options.threshold + _bonus(site)
        if size <= limit:
            return True, f"its size {size} is at most {limit}"
        return False, f"its size {size} is above {limit}"

    def _is_local(self, callee: Function) -> bool:
        """Whether its calls are all that is made of a function."""
        return callee.linkage in ("internal", "private") and callee not in self.taken

    def _remove_uncalled(self) -> bool:
        """Drop internal functions that nothing names any more."""
        changed = False
        while True:
            gone = [
                f for f in self.module.functions
                if f.linkage in ("internal", "private", "linkonce_odr", "linkonce")
                and (f.blocks or f in self.moved) and not f.is_kernel and not self.calls.get(f)
            ]
            if gone:
                named = _addresses_taken(self.module) | _aliased(self.module)
                gone = [f for f in gone if f not in named]
            if not gone:
                return changed
            for f in gone:
                for i in f.instructions():
                    if (callee := called(i)) is not None:
                        self.calls[callee] -= 1
                self.module.functions.remove(f)
                self.module.order.remove(f)
                self.ctx.remark(REMOVED, None, callee=str(f.name))
            _forget(self.module, set(gone))
            changed = True


def _aliased(module: Module) -> set[Function]:
    """The functions that others may call under another name."""
    named = (f.aux.get("alias") for f in module.functions if isinstance(f.aux, dict))
    return {f for f in named if f is not None}


def _forget(module: Module, gone: set[Function]) -> None:
    """Drop the module's annotations of functions that are no more."""
    nodes = module.aux.get("metadata") if isinstance(module.aux, dict) else None
    for name, listed in list((nodes or {}).items()):
        if isinstance(listed, tuple):
            kept = tuple(n for n in listed if not (isinstance(n, tuple) and n and n[0] in gone))
            nodes[name] = kept  # type: ignore[index]  # it is there, for it was iterated


def called(i: Instruction) -> Function | None:
    """The function with a body or without that a call names; None for intrinsics and others."""
    info = i.aux
    if not i.form.is_call or not isinstance(info, CallInfo):
        return None
    callee = info.callee
    if callee.__class__ is not Function or callee.name.startswith("llvm."):
        return None
    return callee


def _names_itself(f: Function) -> bool:
    """Whether a body calls its function, or names its address: a copy of it would name itself."""
    return f in callees(f) or any(f in symbols_of(i) for i in f.instructions())


def _obstacle(callee: Function, site: Instruction) -> str | None:
    """Why a call cannot be inlined whatever its size."""
    if callee.is_kernel:
        return "it is a kernel"
    if callee.linkage in ("weak", "linkonce", "extern_weak", "common"):
        return "a linker may replace it"
    if isinstance(callee.aux, dict) and callee.aux.get("variadic"):
        return "it takes any number of arguments"
    params = callee.params
    if len(site.operands) != len(params) or site.type is not callee.return_type:
        return "the call does not fit its declaration"
    if any(p.type is not v.type for p, v in zip(params, site.operands, strict=True)):
        return "the call does not fit its declaration"
    if any(i.form.name == "alloca" and not (i.block is callee.entry and i.operands[0].is_constant)
           for i in callee.instructions()):
        return "it makes room on the stack while it runs"
    if any(callee.entry in successors(b) for b in callee.blocks):
        return "its entry is a loop"
    return None


def _bonus(site: Instruction) -> int:
    saved = 0
    for v in site.operands:
        if isinstance(v, Constant):
            saved += LITERAL_SAVES
        elif isinstance(v, Instruction) and v.form.name == "alloca":
            saved += ALLOCA_SAVES
    return saved


def _addresses_taken(module: Module) -> set[Function]:
    """Functions that are named other than by direct calls."""
    found: set[Function] = set()
    for f in module.functions:
        for i in f.instructions():
            found.update(s for s in symbols_of(i) if isinstance(s, Function))
    for g in module.globals:
        if g.init is not None and isinstance(g.init, Value):
            found.update(s for s in symbols_in(g.init) if isinstance(s, Function))
    return found
