"""Micro-operation templates: PTX rows with their modifiers as operations of the SASS.

table   the rules' table, what a rule sees, the text that templates are written in
lookup  the template of a row, once the files of `rows` have registered their rules
rows    the rules, a file a family of rows
"""

from nvir.sm.templates.lookup import rows_with_rules, template
from nvir.sm.templates.table import Shape, Step, Template

__all__ = ["Shape", "Step", "Template", "rows_with_rules", "template"]
