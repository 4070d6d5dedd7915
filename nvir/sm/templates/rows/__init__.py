"""The rules, a module for each family of rows. Importing this package registers them."""

from nvir.sm.templates.rows import (  # noqa: F401
    compare,
    control,
    convert,
    copies,
    floating,
    integer,
    logic,
    matrix,
    memory,
    texture,
    video,
    warp,
)
