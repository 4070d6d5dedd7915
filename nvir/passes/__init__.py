"""Passes, and the driver that runs them.

    remarks = run_passes(module, "copy-prop,gvn,dce")

`registry.py` lists the passes, `driver.py` runs them, `pipeline.py` reads the
text of pipelines; `knobs.py`, `remarks.py` and `context.py` are what a pass
reads and writes. Each pass is one file of `scalar/` and its siblings.
"""

from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings, run_passes
from nvir.passes.knobs import Knob, KnobKind, Knobs, all_knobs, knob
from nvir.passes.pipeline import Pipeline, Step, check_order, parse_pipeline
from nvir.passes.registry import Pass, all_passes
from nvir.passes.remarks import Code, Remark, Remarks, analysis, failure, missed, passed
from nvir.passes.statistics import Timing

__all__ = [
    "Code", "Context", "Driver", "Knob", "KnobKind", "Knobs", "Pass", "Pipeline", "Remark",
    "Remarks", "Settings", "Step", "Timing", "all_knobs", "all_passes", "analysis", "check_order",
    "failure", "knob", "missed", "parse_pipeline", "passed", "run_passes",
]
