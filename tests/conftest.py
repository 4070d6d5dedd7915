"""Options and skips that hold for the whole suite."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from nvir import toolchain

_ORACLES = ("ptxas", "nvdisasm", "cuobjdump", "libnvvm", "libdevice")

# A run tries the same examples as the one before, so that a change shows what it broke, and no
# deadline, for the machine may be busy. NVIR_RANDOM=1 (each night) draws fresh ones, ten times
# as many where a test names no number, and prints what makes a failure again.
settings.register_profile("nvir", deadline=None, derandomize=True, database=None)
settings.register_profile("random", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("random" if os.environ.get("NVIR_RANDOM") == "1" else "nvir")


def pytest_configure() -> None:
    # A shell's background jobs ignore interrupts, and so would the commands that tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow campaigns as well")
    parser.addoption("--browser", action="store_true", help="run the page's tests in a browser")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    missing = [tool for tool in _ORACLES if not toolchain.available(tool)]
    no_oracle = pytest.mark.skip(
        reason=f"{', '.join(missing)} not found: pip install 'nvir[oracle]'"
    )
    not_slow = pytest.mark.skip(reason="a slow campaign: run with --slow")
    no_gpu = pytest.mark.skip(reason="no GPU here")
    no_browser = pytest.mark.skip(reason="a test in a browser: run with --browser")
    for item in items:
        if item.get_closest_marker("browser") and not config.getoption("--browser"):
            item.add_marker(no_browser)
        if missing and item.get_closest_marker("oracle"):
            item.add_marker(no_oracle)
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(not_slow)
        if item.get_closest_marker("gpu") and not os.path.exists("/dev/nvidiactl"):
            item.add_marker(no_gpu)
