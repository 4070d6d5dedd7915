"""Packages whose public names are imported where they are first used.

    __getattr__ = exports(__name__, {"ptxas": "PtxasResult ptxas", "": "libnvvm"})
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package in which what is called like its module stands in that module's place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and self.__dict__["_homes"].get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


def exports(package: str, by_module: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package. `by_module`: the public names of each module in there; of ""
    those that are modules."""
    homes = {name: home for home, names in by_module.items() for name in names.split()}
    module = sys.modules[package]
    module.__dict__["_homes"] = homes
    module.__class__ = _Package

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = importlib.import_module(f"{package}.{homes[name] or name}")
        return getattr(home, name) if homes[name] else home

    return find
