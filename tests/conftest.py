"""Options and skips that hold for the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from nvir import toolchain

_ORACLES = ("ptxas", "nvdisasm", "cuobjdump", "libnvvm", "libdevice")

settings.register_profile("nvir", deadline=None)  # the machine of a test run may be busy
settings.load_profile("nvir")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow campaigns as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    missing = [tool for tool in _ORACLES if not toolchain.available(tool)]
    no_oracle = pytest.mark.skip(
        reason=f"{', '.join(missing)} not found: pip install 'nvir[oracle]'"
    )
    not_slow = pytest.mark.skip(reason="a slow campaign: run with --slow")
    no_gpu = pytest.mark.skip(reason="no GPU here")
    for item in items:
        if missing and item.get_closest_marker("oracle"):
            item.add_marker(no_oracle)
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(not_slow)
        if item.get_closest_marker("gpu") and not os.path.exists("/dev/nvidiactl"):
            item.add_marker(no_gpu)
