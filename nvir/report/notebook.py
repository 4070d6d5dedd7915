"""What a notebook shows of modules, functions and loop schedules: the report and the pictures.

Notebooks ask an object for `_repr_html_` and `_repr_svg_` and take None for "nothing to show",
so nothing here raises NvirError: where a picture cannot be drawn the text stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from nvir.ir import Function, Module, NvirError
from nvir.report.pictures import cfg_dot, svg

if TYPE_CHECKING:
    from nvir.report.model import ModuleReport
    from nvir.sm.schedule.loops import LoopSchedule

PICTURES = 8  # functions of a module that are drawn; the rest is named
GAP = 24  # between the pictures of a module
_TAG = re.compile(r"<svg\b.*", re.S)
_SIZE = re.compile(r'<svg[^>]*?\bwidth="([\d.]+)(pt|px)?"[^>]*?\bheight="([\d.]+)', re.S)
_POINT = 4 / 3  # CSS pixels


def paint(thing: object, kind: str) -> str | None:
    """The picture ("svg") or the page ("html") of a module, a function or a loop schedule."""
    return _PAINTERS[type(thing).__name__, kind](thing)


def function_svg(function: Function) -> str | None:
    """The control-flow graph as SVG, or None where nothing can render it."""
    if not function.blocks:
        return None
    try:
        return svg(cfg_dot(function))
    except NvirError:
        return None


def function_html(function: Function) -> str:
    """The function's part of `nvir report`, above its control-flow graph."""
    picture = function_svg(function)
    return _pre(_function_text(function)) + (_tag(picture) if picture else "")


def module_svg(module: Module) -> str | None:
    """The control-flow graphs of the first functions, one below another."""
    drawn = []
    for f in _bodies(module)[:PICTURES]:
        picture = function_svg(f)
        if picture is None:
            return None
        drawn.append(_tag(picture))
    return _stacked(drawn) if drawn else None


def module_html(module: Module) -> str:
    """`nvir report` of the module, above the graphs of its first functions."""
    picture = module_svg(module)
    left = [str(f.name) for f in _bodies(module)[PICTURES:]] if picture else []
    more = f"<p>not drawn: {escape(', '.join(left))}</p>" if left else ""
    return _pre(_module_text(module)) + (picture or "") + more


def report_html(made: ModuleReport) -> str:
    """The text of `nvir report`."""
    from nvir.report.table import report_text

    return _pre(report_text(made))


def schedule_svg(made: LoopSchedule) -> str:
    """The reservation table and the lifetimes of registers."""
    from nvir.report.schedule.svg import schedule_svg as draw

    return draw(made, _function_of(made))


def schedule_html(made: LoopSchedule) -> str:
    """The table of `nvir schedule`, above its picture."""
    from nvir.report.schedule.figures import schedule_text

    return _pre(schedule_text(made, _function_of(made))) + _tag(schedule_svg(made))


# ---------------------------------------------------------------------- text


def _module_text(module: Module) -> str:
    from nvir.report.model import report
    from nvir.report.table import report_text

    if module.level != "ori":
        return repr(module)[1:-1]
    try:
        return report_text(report(module))
    except NvirError as e:
        return f"{repr(module)[1:-1]}\n{e}"


def _function_text(function: Function) -> str:
    """The report of a module that shows this function alone."""
    from nvir.report.model import report
    from nvir.report.table import report_text

    module = function.module
    if module is None or module.level != "ori" or not function.blocks:
        return repr(function)[1:-1]
    try:
        return report_text(report(module, kernel=str(function.name)))
    except NvirError as e:
        return f"{repr(function)[1:-1]}\n{e}"


def _function_of(made: LoopSchedule) -> str:
    return str(made.graph.loop.header.function.name)


def _bodies(module: Module) -> list[Function]:
    return [f for f in module.functions if f.blocks]


# ------------------------------------------------------------------ pictures


def _pre(text: str) -> str:
    return f'<pre style="line-height:1.3">{escape(text.rstrip())}</pre>'


def _tag(picture: str) -> str:
    """The element itself, without what stands before it in a file."""
    found = _TAG.search(picture)
    return found[0] if found else picture


def _stacked(pictures: list[str]) -> str:
    """One SVG with several below another; each keeps its own size."""
    out, top, widest = [], 0.0, 0.0
    for picture in pictures:
        found = _SIZE.match(picture)
        unit = _POINT if found is not None and found[2] == "pt" else 1.0
        wide, high = (float(found[1]) * unit, float(found[3]) * unit) if found else (800.0, 600.0)
        out.append(picture.replace("<svg ", f'<svg y="{top:.0f}" ', 1))
        top += high + GAP
        widest = max(widest, wide)
    size = f'width="{widest:.0f}" height="{top - GAP:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}'
    return "\n".join([f'{head} xmlns:xlink="http://www.w3.org/1999/xlink">', *out, "</svg>"])


_PAINTERS: dict[tuple[str, str], Callable[[Any], str | None]] = {
    ("Module", "svg"): module_svg, ("Module", "html"): module_html,
    ("Function", "svg"): function_svg, ("Function", "html"): function_html,
    ("ModuleReport", "html"): report_html,
    ("LoopSchedule", "svg"): schedule_svg, ("LoopSchedule", "html"): schedule_html,
}
