"""Loop fusion."""
