"""Reading and checking profile files.

A profile file is a JSON object; docs of its sections are the classes of `nvir.sm.profile`.

    {"title": "my SM", "extends": "sm_80",
     "pipes":     {"SFU": {"units": 2, "src": "a guess"}},
     "occupancy": {"max_blocks_per_sm": {"value": 24, "src": "data sheet"}}}

With `extends` (a built-in name, or the path of a file, seen from this one) a user's file only
states what differs, field by field; null removes an entry or a field. A built-in file replaces
entries of a section as a whole. A figure is
`{"value": …, "src": …}`, or a bare number in a user's file. All errors of a file are reported at
once, each by its key.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from nvir.ir.document import json_document, json_place, read_file
from nvir.ir.errors import Diagnostic, NvirError, ParseError
from nvir.sm.profile import (
    FEATURES,
    FOLDER,
    MEMORY_LEVELS,
    PROFILES,
    LatencyRow,
    Limits,
    Pipe,
    Profile,
    RegisterBanks,
    Unit,
)

_NEEDED = ("families", "pipes", "units", "latency", "machine", "memory", "occupancy", "sources")
_REQUIRED = ("title", "capability", "banks", *_NEEDED)
_SECTIONS = (*_NEEDED, "kinds", "features", "classes")
SCHEMA = "nvir.machine/1"
_PRINTED = ("schema", "name", "opcodes")  # what `nvir machine --json` says beside
_KEYS = ("title", "extends", "capability", "banks", *_SECTIONS, *_PRINTED)
_TRAITS = ("long", "late", "ordered", "widens")
_MACHINE = (
    "issue_width",
    "scoreboards",
    "max_stall",
    "memory_queue",
    "instruction_cache_kib",
    "bulk_copies",
)
_MEMORY = (
    "l1_kib", "l2_kib", "l1_bytes_per_cycle", "l2_bytes_per_cycle", "dram_bytes_per_cycle",
    "sector_bytes", "line_bytes",
)
_LIMITS = tuple(a.name for a in Limits.__attrs_attrs__)
_DEFAULTS: dict[str, dict[str, Any]] = {  # of an entry of a section that may leave a field out
    "pipes": {"units": 1, "shared": False},
    "kinds": {"class": 14, "is": []},
    "latency": {"variable": False},
}
_OF_UNITS = {  # the sections that have an entry for each unit, and its fields
    "units": ("pipes", "interval", "rate", "writes", "reads", "src"),
    "kinds": ("class", "is", "src"),
}
_BANKS = {"tensor_mode": 0, "tensor_blocked": False}
_MAY_BE_ZERO = {"issue_width", "bulk_copies", "shared_reserved_per_block", "barriers_bind"}
# At most: schedulers hold a bit for each cycle of an interval, an entry for each unit of a pipe.
MOST, CYCLES, UNITS = 1 << 30, 100_000, 1024


def read_builtin(name: str) -> Profile:
    """The profile of that name in the package."""
    data = _builtin(name)
    return _Checker(name).build(name, data)


def document(name: str) -> dict[str, Any]:
    """A profile's figures as a file states them, whole, by its sections: a profile file itself."""
    data = _user(Path(name)) if is_path(name) else _builtin(name)
    whole = {k: v for k, v in data.items() if k not in ("extends", *_PRINTED)}
    for section, defaults in _DEFAULTS.items():
        whole[section] = {k: {**defaults, **v} for k, v in whole.get(section, {}).items()}
    whole["units"] = {k: {"writes": k, "reads": k, **v} for k, v in whole["units"].items()}
    return {**whole, "banks": {**_BANKS, **whole["banks"]}}


def noted_opcodes() -> list[dict[str, Any]]:
    """The notes' families of opcodes, as `nvir machine --json` tells them beside a profile: rules,
    which no profile changes."""
    from nvir.sm.latency import FAMILIES

    return [{"first": f.first, "last": f.last, "operations": f.category, "assumed": f.assumed}
            for f in FAMILIES]


def is_path(name: object) -> TypeGuard[str]:
    """Whether a profile is asked for by its file."""
    return isinstance(name, str) and ("/" in name or name.endswith(".json"))


def read_user(path: Path) -> Profile:
    """A user's file. Raises `ParseError` for what is wrong in it, `NvirError` if unreadable."""
    data = _user(path)
    given = data.get("name")
    name = given if isinstance(given, str) else path.stem
    return _Checker(str(path), _text(path)).build(name, data)


def _user(path: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The merged data of a user's file; `above` are the files that extend it."""
    text = _text(path)
    data = _parse(text, str(path))
    base = data.get("extends")
    if base is None:
        return data
    if is_path(base):
        following = path.parent / base
        files = [x.resolve() for x in (*above, path)]
        if following.resolve() in files:
            raise ParseError(
                json_place(text, "extends", f"extends: {base} extends this file", str(path)))
        return _derived(_user(following, (*above, path)), data, _REQUIRED)
    if base not in (*PROFILES, "common"):
        from difflib import get_close_matches

        near = get_close_matches(str(base), PROFILES, n=3, cutoff=0.3)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise ParseError(
            json_place(text, "extends", f"extends: no profile {base!r}{hint}", str(path)))
    return _derived(_builtin(base), data, _REQUIRED)


def _text(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8")
    except OSError as e:
        raise NvirError(f"cannot read profile {path}: {e.strerror or e}") from None
    except UnicodeDecodeError:
        raise ParseError(Diagnostic("not UTF-8 text", file=str(path))) from None


def _derived(
    base: dict[str, Any], own: dict[str, Any], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A user's entries field by field over those of the base, whose sources they no longer have; an
    interval takes the place of the rate that would give one. null takes out all but `required`."""
    lost = {"src", *(("rate",) if "interval" in own else ())}
    merged = {k: v for k, v in base.items() if k not in lost}
    for k, v in own.items():
        known = base.get(k)
        merged[k] = _derived(known, v) if isinstance(v, dict) and isinstance(known, dict) else v
    return {k: v for k, v in merged.items() if v is not None or k in required}


def _builtin(name: str) -> dict[str, Any]:
    """The merged data of a built-in profile, bases first."""
    path = Path(FOLDER) / f"{name}.json"
    data = _parse(path.read_text(encoding="utf-8"), str(path))
    return _merge(_builtin(data["extends"]), data) if "extends" in data else data


@cache
def _noted_kinds() -> dict[str, Any]:
    """The section `kinds` as the notes have it, which profiles extend."""
    kinds: dict[str, Any] = _builtin("common")["kinds"]
    return kinds


def _parse(text: str, file: str) -> dict[str, Any]:
    data = json_document(text, file)
    if not isinstance(data, dict):
        raise ParseError(Diagnostic("not a profile: the file holds no JSON object", file))
    return data


def _merge(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = {**base, **own}
    for section in _SECTIONS:
        if isinstance(base.get(section), dict) and isinstance(own.get(section), dict):
            both = {**base[section], **own[section]}
            merged[section] = {k: v for k, v in both.items() if v is not None}
    return merged


class _Checker:
    """Reads values by key and collects what is wrong with them."""

    def __init__(self, file: str, text: str = "") -> None:
        self.file, self.source_text = file, text
        self.errors: list[Diagnostic] = []
        self.figures: dict[str, str] = {}

    def build(self, name: str, data: dict[str, Any]) -> Profile:
        """The profile, or `ParseError` with all that is wrong."""
        self.known("", data, _KEYS)
        missing = [k for k in _REQUIRED if k not in data]
        hint = '; what differs from another profile stands behind "extends": "sm_80"'
        for key in missing:
            whole = "extends" in data or key != missing[0]
            self.error(key, f"missing key{'' if whole else hint}")
        for key in _REQUIRED:
            if key in data and data[key] is None:
                self.error(key, "every profile needs it, and it is taken out")
        self.stop()
        if data.get("schema", SCHEMA) != SCHEMA:
            self.error("schema", f"not {SCHEMA!r}: {data['schema']!r}")
        if data.get("opcodes", noted_opcodes()) != noted_opcodes():
            self.error("opcodes", "the families of the notes are rules, no figures of a profile; "
                       "leave it out, or as nvir machine --json has it")
        for key in ("title", "name"):
            if key in data:
                self.text(key, data[key])
        for key in _SECTIONS:
            if not isinstance(data.get(key, {}), dict):
                self.error(key, f"not an object: {data[key]!r}")
        self.stop()
        pipes = {k: self.pipe(k, v) for k, v in data["pipes"].items()}
        kinds = {k: self.kind(k, v) for k, v in data.get("kinds", {}).items()}
        units = {k: self.unit(k, v, kinds.get(k, {})) for k, v in data["units"].items()}
        rows = {k: self.row(k, v) for k, v in data["latency"].items()}
        families = self.families(data["families"])
        machine = self.numbers("machine", data["machine"], _MACHINE)
        memory = self.numbers("memory", data["memory"], _MEMORY, whole=False)
        limits = self.limits(data["occupancy"])
        capability = self.whole("capability", data["capability"])
        banks = self.banks(data["banks"])
        features = self.features(data.get("features", {}))
        classes = self.classes(data.get("classes", {}), pipes)
        self.stop()
        self.cross_check(pipes, units, rows, classes)
        self.stop()
        assert limits is not None
        assert banks is not None
        return Profile(
            name, data["title"], capability, features,
            int(machine["issue_width"]) or None, pipes, units, families, rows, machine, memory,
            limits, banks, data["sources"], self.figures, classes,
        )

    # -- sections

    def pipe(self, name: str, value: Any) -> Pipe:
        at = f"pipes.{name}"
        value = self.table(at, value, ("units", "shared", "src"))
        units = self.whole(f"{at}.units", value["units"], high=UNITS)
        shared = self.flag(f"{at}.shared", value["shared"])
        return Pipe(name, units, shared, self.source(at, value))

    def kind(self, unit: str, value: Any) -> dict[str, Any]:
        """What the section `kinds` says of a unit, as fields of `Unit`."""
        at = f"kinds.{unit}"
        value = self.table(at, value, _OF_UNITS["kinds"])
        traits = self.texts(f"{at}.is", value["is"])
        for trait in traits:
            if trait not in _TRAITS:
                self.error(f"{at}.is", f"unknown: {trait!r} (known: {', '.join(_TRAITS)})")
        return {"latency_class": self.whole(f"{at}.class", value["class"]),
                "noted_class": _noted_kinds().get(unit, _DEFAULTS["kinds"])["class"],
                **{t: t in traits for t in _TRAITS}}

    def unit(self, name: str, value: Any, kind: dict[str, Any]) -> Unit:
        at = f"units.{name}"
        value = self.table(at, value, _OF_UNITS["units"])
        pipes = self.texts(f"{at}.pipes", value.get("pipes"))
        interval = self.whole(f"{at}.interval", value.get("interval"), high=CYCLES)
        rate = value.get("rate")
        if rate is not None:
            rate = self.whole(f"{at}.rate", rate, high=CYCLES)
        writes = self.text(f"{at}.writes", value.get("writes", name))
        reads = self.text(f"{at}.reads", value.get("reads", name))
        return Unit(name, pipes, interval, rate, writes, reads, self.source(at, value), **kind)

    def row(self, name: str, value: Any) -> LatencyRow:
        at = f"latency.{name}"
        value = self.table(at, value, ("to", "levels", "variable", "src"))
        to = self.cycles(f"{at}.to", value.get("to"))
        if "any" not in to:
            self.error(f"{at}.to.any", "missing key")
        levels: dict[str, int] = {}
        if "levels" in value:
            levels = self.cycles(f"{at}.levels", value["levels"])
            for level in MEMORY_LEVELS:
                if level not in levels:
                    self.error(f"{at}.levels.{level}", "missing key")
        variable = self.flag(f"{at}.variable", value["variable"])
        return LatencyRow(to, levels, variable, self.source(at, value))

    def families(self, value: dict[str, Any]) -> dict[str, str]:
        unit_of: dict[str, str] = {}
        for unit, names in value.items():
            for family in self.texts(f"families.{unit}", names):
                if family in unit_of:
                    self.error(f"families.{unit}", f"{family} is also in {unit_of[family]}")
                unit_of[family] = unit
        return unit_of

    def numbers(
        self, section: str, value: dict[str, Any], keys: tuple[str, ...], whole: bool = True
    ) -> dict[str, float]:
        self.known(section, value, keys)
        return {k: self.figure(f"{section}.{k}", value.get(k), whole) for k in keys}

    def features(self, value: dict[str, Any]) -> frozenset[str]:
        """The features that the machine has, each with its source; null takes one out."""
        self.known("features", value, tuple(FEATURES))
        held = {name: src for name, src in value.items() if src is not None}
        for name, src in held.items():
            self.text(f"features.{name}", src)
        return frozenset(held)

    def classes(self, value: dict[str, Any], pipes: dict[str, Pipe]) -> dict[int, str]:
        """The pipe of each latency class."""
        from nvir.sm.latency import CLASSES, PIPE_ALONE

        known = sorted({*CLASSES, PIPE_ALONE})
        for code, pipe in value.items():
            if not code.isdecimal():
                self.error(f"classes.{code}", "no number of a latency class")
            elif int(code) not in known:
                self.error(f"classes.{code}",
                           f"no latency class (known: {', '.join(map(str, known))})")
            elif not isinstance(pipe, str) or pipe not in pipes:
                self.error(f"classes.{code}", f"no pipe {pipe!r}{_hint(str(pipe), pipes)}")
        return {} if self.errors else {int(code): pipe for code, pipe in value.items()}

    def limits(self, value: dict[str, Any]) -> Limits | None:
        self.known("occupancy", value, _LIMITS)
        got: dict[str, Any] = {}
        for key in _LIMITS:
            at = f"occupancy.{key}"
            if key != "shared_carveouts":
                got[key] = self.figure(at, value.get(key))
                continue
            entry = value.get(key)
            inner = entry.get("value") if isinstance(entry, dict) else entry
            if not isinstance(inner, list) or not all(type(v) is int and v >= 0 for v in inner):
                self.error(
                    at, "missing key" if inner is None else f"not a list of sizes: {inner!r}"
                )
                continue
            self.figures[at] = self.source(at, entry) if isinstance(entry, dict) else self.file
            got[key] = tuple(inner)
        if self.errors:
            return None
        for key, unit in (
            ("max_threads_per_sm", "warp_size"),
            ("registers_per_sm", "subpartitions"),
        ):
            if got[key] % got[unit]:
                self.error(f"occupancy.{key}", f"{got[key]} is no multiple of {unit}, {got[unit]}")
        got["barriers_bind"] = bool(got["barriers_bind"])
        return Limits(**got)

    def banks(self, value: Any) -> RegisterBanks | None:
        value = self.table("banks", value, ("bounds", "tensor_mode", "tensor_blocked", "src"))
        bounds = value.get("bounds")
        if not isinstance(bounds, list) or not all(type(b) is int for b in bounds):
            self.error("banks.bounds", f"not a list of integers: {bounds!r}")
            return None
        try:
            return RegisterBanks(
                tuple(bounds), self.source("banks", value),
                self.whole("banks.tensor_mode", value["tensor_mode"], 0),
                self.flag("banks.tensor_blocked", value["tensor_blocked"]),
            )
        except NvirError as e:
            self.error("banks.bounds", str(e))
            return None

    def cross_check(
        self, pipes: dict[str, Pipe], units: dict[str, Unit], rows: dict[str, LatencyRow],
        classes: dict[int, str],
    ) -> None:
        from nvir.sm.latency import CLASSES

        for row in CLASSES.values():
            if row.unit is not None and row.unit not in units:
                self.error(f"units.{row.unit}", f"missing key, needed by latency class {row.code}")
        for unit in units.values():
            for pipe in unit.pipes:
                if pipe not in pipes:
                    self.error(f"units.{unit.name}.pipes", f"no pipe {pipe!r}{_hint(pipe, pipes)}")
            if unit.latency_class not in CLASSES:
                known = ", ".join(map(str, CLASSES))
                self.error(f"kinds.{unit.name}.class",
                           f"no latency class {unit.latency_class} (known: {known})")
            if unit.writes not in rows:
                self.error(f"latency.{unit.writes}", f"missing key, needed by units.{unit.name}")

    # -- values

    def figure(self, at: str, value: Any, whole: bool = True) -> Any:
        """A number, with the source beside it."""
        source = self.file
        if isinstance(value, dict):
            self.known(at, value, ("value", "src"))
            source, value = self.source(at, value), value.get("value")
        self.figures[at] = source
        low = 0 if at.rpartition(".")[2] in _MAY_BE_ZERO else 1
        if whole:
            return self.whole(at, value, low)
        if value is None:
            self.error(at, "missing key")
        elif type(value) not in (int, float) or not 0 < value < 1e12:
            self.error(at, f"not a positive number: {value!r}")
        else:
            return value
        return 1

    def whole(self, at: str, value: Any, low: int = 1, high: int = MOST) -> int:
        if value is None:
            self.error(at, "missing key")
        elif type(value) is not int:
            self.error(at, f"not an integer: {value!r}")
        elif value < low:
            self.error(at, f"less than {low}: {value}")
        elif value > high:
            self.error(at, f"more than {high:,}: {value}")
        else:
            return value
        return max(low, 1)

    def flag(self, at: str, value: Any) -> bool:
        if not isinstance(value, bool):
            self.error(at, f"neither true nor false: {value!r}")
        return bool(value)

    def text(self, at: str, value: Any) -> str:
        if not isinstance(value, str) or not value:
            self.error(at, "missing key" if value is None else f"not a name: {value!r}")
            return ""
        return value

    def texts(self, at: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            self.error(at, "missing key" if value is None else f"not a list of names: {value!r}")
            return ()
        return tuple(self.text(f"{at}[{i}]", v) for i, v in enumerate(value))

    def cycles(self, at: str, value: Any) -> dict[str, int]:
        if not isinstance(value, dict):
            self.error(at, "missing key" if value is None else f"not an object: {value!r}")
            return {}
        return {k: self.whole(f"{at}.{k}", v, high=CYCLES) for k, v in value.items()}

    def table(self, at: str, value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
        """An entry with the fields that it leaves out."""
        defaults = _BANKS if at == "banks" else _DEFAULTS.get(at.partition(".")[0], {})
        if not isinstance(value, dict):
            self.error(at, f"not an object: {value!r}")
            return defaults
        self.known(at, value, keys)
        return {**defaults, **value}

    def source(self, at: str, value: dict[str, Any]) -> str:
        source = value.get("src", self.file)
        self.figures[at] = source = self.text(f"{at}.src", source)
        return source

    def known(self, at: str, value: dict[str, Any], keys: tuple[str, ...]) -> None:
        for key in value:
            if key not in keys:
                section, _, entry = at.partition(".")
                other = next((s for s, fields in _OF_UNITS.items()
                              if section in _OF_UNITS and key in fields), None)
                hint = f", it is {other}.{entry}.{key}" if other else _hint(key, keys)
                self.error(f"{at}.{key}".lstrip("."), f"unknown key{hint}")

    def error(self, at: str, what: str) -> None:
        message = f"profile key {at}: {what}"
        self.errors.append(json_place(self.source_text, at, message, self.file))

    def stop(self) -> None:
        if self.errors:
            raise ParseError(self.errors)


def _hint(name: str, known: Any) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""
