"""A JSON Schema of the tree's JSON form, made from the classes: `schema() -> dict`."""

from __future__ import annotations

import types
import typing
from typing import Any

import attrs

from nvir.frontend.tree.declarations import Declaration
from nvir.frontend.tree.expressions import Expr
from nvir.frontend.tree.json_form import NODES, PLAIN, SCHEMA, SCOPE, TYPE_FORMS, fields_of
from nvir.frontend.tree.statements import Stmt
from nvir.frontend.tree.types import ARITHMETIC, CType
from nvir.frontend.tree.vectors import VECTORS


def schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) of the form, made from the classes."""
    definitions: dict[str, Any] = {name: _node_schema(name, cls) for name, cls in NODES.items()}
    for group, root in (("Expr", Expr), ("Stmt", Stmt), ("Declaration", Declaration)):
        members = sorted(n for n, c in NODES.items() if issubclass(c, root))
        definitions[group] = {"oneOf": [{"$ref": f"#/$defs/{n}"} for n in members]}
    for name, cls in PLAIN.items():
        hints = typing.get_type_hints(cls, globalns=SCOPE)
        definitions[name] = {
            "type": "object", "additionalProperties": False,
            "properties": {k: _hint_schema(h) for k, h in hints.items()},
        }
    definitions["Type"] = {
        "oneOf": [
            {"enum": ["void", *ARITHMETIC, *VECTORS]},
            *({"type": "object", "required": [key]} for key in TYPE_FORMS),
        ]
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA, "type": "object", "required": ["schema", "declarations"],
        "properties": {
            "schema": {"const": SCHEMA}, "file": {"type": "string"},
            "source": {"type": "string"}, "cplusplus": {"type": "boolean"},
            "trusted": {"type": "boolean"},
            "types": {"type": "array", "items": {"type": "object", "required": ["id"]}},
            "named_types": {"type": "array", "items": {"$ref": "#/$defs/Type"}},
            "declarations": {"type": "array", "items": {"$ref": "#/$defs/Declaration"}},
        },
        "$defs": definitions,
    }


def _node_schema(name: str, cls: type[Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {"node": {"const": name}, "place": {"type": "string"}}
    if issubclass(cls, Declaration):
        properties["id"] = {"type": "integer"}
    required = ["node"]
    hints = fields_of(cls)
    for a in attrs.fields(cls):
        if a.name in hints:
            properties[a.name] = (
                {"type": "integer"} if a.name == "decl" else _hint_schema(hints[a.name])
            )
            if a.default is attrs.NOTHING:
                required.append(a.name)
    return {"type": "object", "properties": properties, "required": required,
            "additionalProperties": False}


_JSON_TYPES = {int: "integer", str: "string", bool: "boolean", bytes: "string", type(None): "null"}


def _hint_schema(hint: Any) -> dict[str, Any]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_hint_schema(a) for a in args]}
    if origin is tuple:
        return {"type": "array", "items": _hint_schema(args[0])}
    if hint is float:
        return {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]}
    if hint in _JSON_TYPES:
        return {"type": _JSON_TYPES[hint]}
    if issubclass(hint, CType):
        return {"$ref": "#/$defs/Type"}
    return {"$ref": f"#/$defs/{hint.__name__}"}
