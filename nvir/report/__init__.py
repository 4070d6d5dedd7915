"""What people look at: tables, JSON, pictures. The data comes from the rooms below."""

from nvir.report.model import Launch, ModuleReport, report

__all__ = ["Launch", "ModuleReport", "report"]
