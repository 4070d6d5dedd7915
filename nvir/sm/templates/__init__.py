"""Micro-operation templates: PTX rows with their modifiers as operations of the SASS.

table   the rules' table, what a rule sees, the text that templates are written in
rows    the rules, a file a family of rows
"""

from nvir.sm.templates.table import Shape, Step, Template, rows_with_rules, template

__all__ = ["Shape", "Step", "Template", "rows_with_rules", "template"]
