"""What a pass may ask and tell: its options, knobs, the machine; counters and remarks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from nvir.analysis.analyses import Analyses
from nvir.ir.module import Module
from nvir.passes.knobs import Knobs, Policy
from nvir.passes.remarks import Code, Remark, Remarks, Scalar, locate

if TYPE_CHECKING:
    from nvir.ir import Block, Function, Loop
    from nvir.passes.registry import Pass


class Context:
    """Handed to every pass by the driver, which sets `pass_` and `options` before each run.

    options    the pass's own options object
    knobs      the values of this run; `knob()` reads one
    remarks    all remarks so far
    counters   statistics so far, by `pass.counter`
    told       how often something was counted or remarked
    loop       the header of the one loop that is asked about; "": all are. Passes then leave out
               loops that have no say in what becomes of it
    """

    def __init__(self, module: Module, knobs: Knobs, profile: Any = None) -> None:
        self.module = module
        self.knobs = knobs
        self.remarks = Remarks()
        self.counters: Counter[str] = Counter()
        self.told = 0
        self.options: Any = None
        self.pass_: Pass | None = None
        self.function: Function | None = None
        self.loop = ""
        self._profile = profile
        self._declared: tuple[Pass | None, tuple[Code, ...]] = None, ()  # a pass's codes

    @property
    def level(self) -> str:
        return self.module.level

    @property
    def policy(self) -> Policy:
        return self.knobs.policy

    @property
    def profile(self) -> Any:
        """The machine profile: the one given, else that of the policy and the module's target."""
        if self._profile is None or isinstance(self._profile, str):
            from nvir.sm.profile import profile, profile_for

            named = self._profile
            if named is None and self.policy == "documented":
                named = "sm_80_notes"
            if named is not None:
                self._profile = profile(named)
            else:
                self._profile = profile_for(self.module.target)
        return self._profile

    def knob(self, name: str, block: Block | None = None, *, pass_id: int = 0) -> Any:
        """A knob's value in its type, None where unset; a value for `block` beats the module's."""
        if block is None:
            return self.knobs.get(name, pass_id=pass_id)
        function = str(block.function.name)
        return self.knobs.get(name, block=block.name, function=function, pass_id=pass_id)

    def analyses(self, function: Function) -> Analyses:
        """What is known of a function, kept from pass to pass until it is edited."""
        return Analyses.of(function)

    def asked(self, loops: list[Loop]) -> list[Loop]:
        """Of some loops those that are asked about, and what lies inside of them."""
        return [x for x in loops if self._is_asked(x)] if self.loop else loops

    def _is_asked(self, loop: Loop | None) -> bool:
        while loop is not None and loop.header.name != self.loop:
            loop = loop.parent
        return loop is not None

    def count(self, counter: str, n: int = 1) -> None:
        """Add to the statistic `pass.counter`."""
        assert self.pass_ is not None
        self.counters[f"{self.pass_.name}.{counter}"] += n
        self.told += n

    def remark(self, code: Code, where: Any = None, /, **args: Scalar) -> None:
        """Remark on an instruction, a block, a loop, or (None) the function.

        `code` must be one that the pass declares, `args` exactly its fields; else ValueError.
        """
        pass_ = self.pass_
        assert pass_ is not None
        if self._declared[0] is not pass_:
            self._declared = pass_, pass_.codes
        if code not in self._declared[1]:
            raise ValueError(f"pass '{pass_.name}' does not declare remark {code.name}")
        fields = code.fields
        if args.keys() != set(fields):
            raise ValueError(f"remark {code.name} takes {fields}, not {tuple(args)}")
        function = self.function
        block = getattr(where, "block", None) or where
        if function is None:
            function = getattr(block, "function", None)
        if function is None:
            place, name = ("", "", 0, 0), self.module.name
        else:
            place, name = locate(function, where), str(function.name)
        loop, file, line, column = place
        self.told += 1
        ordered = {f: args[f] for f in fields}
        self.remarks.add(Remark(code, pass_.name, name, ordered, loop, file, line, column))
