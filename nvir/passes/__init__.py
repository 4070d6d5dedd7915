"""Passes, and the driver that runs them.

    remarks = run_passes(module, "copy-prop,gvn,dce")

`registry.py` lists the passes, `driver.py` runs them, `pipeline.py` reads the
text of pipelines; `knobs.py`, `remarks.py` and `context.py` are what a pass
reads and writes. Each pass is one file of `scalar/` and its siblings.

Names are imported when first used: whoever asks one pass needs no driver.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nvir.passes.context import Context
    from nvir.passes.driver import Driver, Settings, run_passes
    from nvir.passes.knobs import Knob, KnobKind, Knobs, all_knobs, knob
    from nvir.passes.pipeline import Pipeline, Step, check_order, parse_pipeline
    from nvir.passes.registry import Pass, all_passes
    from nvir.passes.remarks import Code, Remark, Remarks, analysis, failure, missed, passed
    from nvir.passes.statistics import Timing

_EXPORTS = {
    "context": ("Context",),
    "driver": ("Driver", "Settings", "run_passes"),
    "knobs": ("Knob", "KnobKind", "Knobs", "all_knobs", "knob"),
    "pipeline": ("Pipeline", "Step", "check_order", "parse_pipeline"),
    "registry": ("Pass", "all_passes"),
    "remarks": ("Code", "Remark", "Remarks", "analysis", "failure", "missed", "passed"),
    "statistics": ("Timing",),
}
_HOME = {name: home for home, names in _EXPORTS.items() for name in names}

__all__ = [
    "Code", "Context", "Driver", "Knob", "KnobKind", "Knobs", "Pass", "Pipeline", "Remark",
    "Remarks", "Settings", "Step", "Timing", "all_knobs", "all_passes", "analysis", "check_order",
    "failure", "knob", "missed", "parse_pipeline", "passed", "run_passes",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
