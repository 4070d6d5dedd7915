"""How good the campaigns are: defects planted one at a time, and how long each takes to be found.

    python -m benchmarks.planted                   # each defect, at most --seconds for one
    python -m benchmarks.planted --only 3 --seconds 60

Each defect is an edit of one place, made in a temporary copy of the tree; the product itself is
not touched. `python -m benchmarks.fuzz --input passes` then runs there until it tells a defect.
Defects of the interpreter itself are judged by its own tests instead: the campaign runs both forms
of a kernel by the same interpreter, which hides them.
So are those of passes that PTX never meets. The exit status is 1 where one was not found.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parent.parent
TREES = ("nvir", "tests", "benchmarks", "examples")


@attrs.frozen
class Defect:
    """`old` stands once in `file` and becomes `new`; `tests` judge it where the campaign cannot."""

    file: str
    old: str
    new: str
    what: str
    tests: tuple[str, ...] = ()


INTEGER = ("tests/interp/test_meaning_integer.py", "tests/interp/test_machine_arith.py")
CONTROL = ("tests/passes/test_simplify_cfg.py",)  # a pass of level nvvm; the campaign has PTX's
_HOIST = "nvir/analysis/hoisting/region.py"
_GUARD = "nvir/passes/loop/unroll/guard.py"
DEFECTS = (
    Defect("nvir/passes/scalar/gvn.py", "if op.commutes and plain",
           "if (op.commutes or form.name == 'sub') and plain", "gvn: sub commutes"),
    Defect("nvir/passes/scalar/gvn.py", "if op.commutes and plain",
           "if (op.commutes or form.name == 'shl') and plain", "gvn: shl commutes"),
    Defect("nvir/passes/scalar/gvn.py", "return (operands, aux, cls, self.memory)",
           "return (operands, aux, cls)", "gvn: loads are one across stores"),
    Defect("nvir/passes/scalar/dce.py", "if i.form.has_effect or i in alive or",
           "if i.form.has_effect and i in alive or", "dce: stores that nobody names go"),
    Defect("nvir/passes/scalar/copy_prop.py", "        if one is not None:\n            return phi",
           "        if one is phi:\n            return phi",
           "copy-prop: a phi is its last operand"),
    Defect(_GUARD, "(self.bound, x) if self.direction > 0", "(self.bound, x) if self.direction < 0",
           "unroll: guard of descending loops"),
    Defect(_GUARD, "limit = n - self.direction * self.distance",
           "limit = n - self.direction * self.distance + 1", "unroll: guard off by one"),
    Defect(_HOIST, "not region.always_runs(i) and not in_bounds(i, region.nest.alias)",
           "False", "licm: conditional loads leave"),
    Defect(_HOIST, "    return Stay(i, Blocked.STORE, met) if met is not None else None\n\n\n"
           "def _store_met", "    return None\n\n\ndef _store_met", "licm: stores change no load"),
    Defect("nvir/passes/loop/pipeline/expand.py", "if 0 <= iteration < self.behind:",
           "if 0 <= iteration <= self.behind:", "loop-pipeline: an iteration too many behind"),
    Defect("nvir/passes/loop/strength_reduce.py", "else inner << by.value",
           "else inner << (by.value & 15)", "strength-reduce: shifts are by less than 16"),
    Defect("nvir/ptx/interference.py", "return value_of(u) is not value_of(v)",
           "return False", "printer: values that live together share a register"),
    Defect("nvir/passes/scalar/const_fold.py",
           "            elif found != c:\n                return _VARYING",
           "            elif found < c:\n                return _VARYING",
           "const-fold: a phi is its largest"),
    Defect("nvir/passes/scalar/if_convert.py",
           'set_form(form(f.spelling, f.shape, "" if when else "!"',

                    'set_form(form(f.spelling, f.shape, "!" if when else ""',
           "if-convert: the wrong side runs"),
    Defect("nvir/passes/scalar/if_convert.py",
           "(at[h.head if s is None else s] for s in h.sides)",
           "(at[h.head if s is None else s] for s in reversed(h.sides))",
           "if-convert: select turned"),
    Defect("nvir/passes/scalar/copy_prop.py",
           "if not isinstance(fallback, Undef) and leader(leaders, fallback) is not source:",
           "if isinstance(fallback, Undef):", "copy-prop: guarded moves are copies"),
    Defect("nvir/passes/scalar/branch_folding.py",
           "all(_through(phi.arriving(b), p, own) is phi.arriving(p) for phi in target.phis)",
           "True",
           "simplify-cfg: edges that bring different values are one", CONTROL),
    Defect("nvir/passes/loop/fuse/plan.py",
           "return not any(o.form.writes and self.alias.depend(i, o) for o in others)",
           "return not any(o.form.writes and i is o for o in others)",
           "loop-fuse: loads pass stores"),
    Defect("nvir/passes/loop/simplify/rotation.py",
           "                carried[phi] = self._in_body(v)",
           "                carried[phi] = copies[v]",
           "loop-rotate: what is carried is the first iteration's"),
    Defect("nvir/passes/loop/unroll/fold.py",
           "            if c is not None:\n                values[phi] = c",
           "            if c is not None:\n                values[phi] = c + (c == 3)",
           "unroll: a folded 3 is 4"),
    Defect("nvir/passes/loop/unroll/counted.py",
           "for m in chain[:-1] if self.keeps_last else chain:",
           "for m in chain:", "unroll: the last test is left out too"),
    Defect("nvir/ptx/outofssa.py",
           "                if other.source == target:\n                    pending[t] = "
           "EdgeCopy(other.type, t, spare)\n", "                pass\n",
           "printer: a cycle of copies loses a value"),
    Defect("nvir/analysis/alias.py",
           "return (distance + size_b - 1) % modulus < size_a + size_b - 1",
           "return distance % modulus < size_a", "alias: an overlap from below is none"),
    Defect("nvir/passes/loop/strength_reduce.py", "_nearest_zero(root.growth * iv.step, bits)",
           "_nearest_zero(root.growth * abs(iv.step), bits)", "strength-reduce: steps go up only"),
    Defect("nvir/interp/meaning/integer.py",
           "    high = xh * yh + (cross >> _U32) + (middle >> _U32)",
           "    high = xh * yh + (cross >> _U32)", "interp: mul.hi loses a carry", INTEGER),
    Defect("nvir/ptx/outofssa.py", "if not self.phis and not self.tied and not self.same_name:",
           "if not self.phis and not self.same_name:", "printer: ties are not kept"),
    Defect("nvir/interp/meaning/integer.py", "return low(a, width) + low(b, width)",
           "return low(a, width) | low(b, width)", "interp: add is or", INTEGER),
    Defect("nvir/interp/meaning/integer.py", "return low(a, width) - low(b, width)",
           "return low(b, width) - low(a, width)", "interp: sub is turned", INTEGER),
    Defect("nvir/interp/meaning/bits.py", "return low(a, width) << _amount(b, width, width)",
           "return low(a, width) << _amount(b, width, width - 1)", "interp: shl is clamped",
           INTEGER),
    Defect("nvir/interp/meaning/bits.py", "return raw(typed(a, mods.type) >> typed(",
           "return raw(low(a, width) >> typed(", "interp: shr fills with zeros", INTEGER),
)


NONE = Defect("nvir/__init__.py", "from __future__ import annotations\n",
              "from __future__ import annotations\n", "nothing")


def plant(defect: Defect, folder: Path) -> None:
    """Copy the tree and edit it. ValueError where the place is not there once."""
    for name in TREES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / defect.file
    text = path.read_text("utf-8")
    if text.count(defect.old) != 1:
        raise ValueError(f"{defect.what}: its place stands {text.count(defect.old)} times")
    path.write_text(text.replace(defect.old, defect.new), "utf-8")


def hunt(defect: Defect, seconds: float, seed: int) -> tuple[bool, float]:
    """Whether the campaign found it, and the seconds of the processor that took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plant(defect, folder)
        words = [sys.executable, "-m", "benchmarks.fuzz", "--input", "passes", "--first",
                 "--assemble", "0", "--shrink", "0", "--seconds", str(seconds), "--seed", str(seed)]
        if defect.tests:
            words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                     *defect.tests]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            words, cwd=folder, capture_output=True, env={**os.environ, "PYTHONPATH": name}
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return done.returncode == 1, spent


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0, help="for each defect")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of one defect")
    args = parser.parse_args(argv)
    if hunt(NONE, min(args.seconds, 30.0), args.seed)[0]:
        print("the campaign tells a defect where none was planted: mend that first")
        return 1
    chosen = [d for k, d in enumerate(DEFECTS) if args.only in (None, k)]
    found, whole = 0, 0.0
    for defect in chosen:
        well, seconds = hunt(defect, args.seconds, args.seed)
        found, whole = found + well, whole + seconds
        print(f"{'found' if well else 'MISSED':7} {seconds:6.1f} s  {defect.what}", flush=True)
    print(f"{found} of {len(chosen)} found in {whole:.0f} s of a core")
    return 0 if found == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
