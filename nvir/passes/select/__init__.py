"""Selection: from the nvvm level to ori, PTX's own operations."""

from nvir.passes.select.module import select_module
from nvir.passes.select.options import Options

__all__ = ["Options", "select_module"]
