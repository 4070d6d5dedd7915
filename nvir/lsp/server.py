"""The Language Server Protocol over standard input and output: `nvir lsp`.

Each change of a text makes a new `Document`; a short while after the last one its findings are
published with the version that they are of. Questions are answered on the newest text, one after
the other in a thread, behind the findings of that text, so that an error is told first. An
exception in an answer is logged to the editor and answered with nothing.

Two things keep findings from waiting for what is not asked any more: the thread that looks for
them does not take turns with the one that answers, and the garbage that hangs together in circles
(modules of older versions) is collected behind what was told, not in between.

Source   Language Server Protocol 3.17; pygls 2.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any, BinaryIO, TypeVar
from urllib.parse import unquote, urlsplit

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

import nvir
from nvir.ir import NvirError
from nvir.loading import SUFFIXES
from nvir.lsp import answers
from nvir.lsp.document import Document
from nvir.lsp.hover import hover
from nvir.lsp.text import EditedText
from nvir.ptx.layout import laid_out

_SUFFIXES = (*SUFFIXES, ".cuh")
_BY_ID = {"ptx": ".ptx", "llvm": ".ll", "cuda": ".cu", "cuda-cpp": ".cu"}
PAUSE = 0.05  # seconds without a change before a text is checked
ALONE = 0.5  # seconds for which findings are looked for before another thread has its turn
GARBAGE = 100_000  # objects made since it was collected, of which it is looked for again
_WORD = re.compile(r"[%@.\w$:]+")
_T = TypeVar("_T")

_SYMBOLS = {
    "kernel": lsp.SymbolKind.Function, "function": lsp.SymbolKind.Method,
    "variable": lsp.SymbolKind.Variable, "label": lsp.SymbolKind.Key,
    "loop": lsp.SymbolKind.Namespace, "asm": lsp.SymbolKind.Event,
}
_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
_MARKS = {
    "read": lsp.DocumentHighlightKind.Read, "write": lsp.DocumentHighlightKind.Write,
    "both": lsp.DocumentHighlightKind.Write, "declare": lsp.DocumentHighlightKind.Text,
}


_TOO_LONG = re.compile(rb"Content-Length: *0*[1-9]\d{9}")  # gigabytes: no message has them


class Framed:
    """Standard input, in which the next header is found behind bytes that belong to no message."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.read = stream, stream.read

    def readline(self) -> bytes:
        line = self._stream.readline()
        line = line[max(0, line.rfind(b"Content-Length:")) :]
        return b"\r\n" if _TOO_LONG.match(line) else line


class Protocol(LanguageServerProtocol):
    """Answers also requests whose parameters cannot be read; pygls alone leaves them open. Places
    are told in units of UTF-16, which each client knows. Texts are the server's own, for pygls
    takes each change of thousands through the whole text, and its lines end at form feeds."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        if data.get("method") == lsp.INITIALIZE:
            with suppress(AttributeError, KeyError, TypeError):
                del data["params"]["capabilities"]["general"]["positionEncodings"]
        try:
            return super().structure_message(data)
        except JsonRpcException as e:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=e.to_response_error())
            raise

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: lsp.DidChangeTextDocumentParams
    ) -> Iterator[tuple[Any, Any, None]]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None


class Server(LanguageServer):
    """The open documents. `arch` and `hints` are overridden by what the editor sends as
    initialisation options of these names."""

    def __init__(self, arch: str | None = None, hints: answers.HintStyle = "loops") -> None:
        super().__init__(
            "nvir", nvir.__version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=Protocol,
        )
        self.arch, self.hints = arch, hints
        self.texts: dict[str, EditedText] = {}
        self.documents: dict[str, Document] = {}
        self.checks: dict[str, asyncio.Task[None]] = {}
        self.checking, self.answering = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def configure(self, options: Any) -> None:
        if isinstance(options, dict):
            if isinstance(options.get("arch"), str):
                self.arch = options["arch"]
            if options.get("hints") in ("loops", "lines", "none"):
                self.hints = options["hints"]

    def changed(self, uri: str, pause: float = PAUSE) -> None:
        """Take the newest text of a document, and check it when no other change follows."""
        old, text = self.documents.get(uri), self.texts[uri]
        name = PurePosixPath(unquote(urlsplit(uri).path)).name
        if not name.endswith(_SUFFIXES):
            told = _BY_ID.get(text.language)
            if told is None:  # of an editor that sends every text, say as "plaintext"
                return
            name += told
        self.documents[uri] = Document(
            text.text, name, text.version, self.arch, old.facts_by_text if old else None
        )
        self.stop(uri)
        self.checks[uri] = asyncio.ensure_future(self.check(uri, self.documents[uri], pause))

    def stop(self, uri: str) -> None:
        if (check := self.checks.pop(uri, None)) is not None:
            check.cancel()

    async def check(self, uri: str, doc: Document, pause: float) -> None:
        """Publish the findings of a version, unless a newer one came meanwhile."""
        await asyncio.sleep(pause)
        try:
            rows = await asyncio.get_running_loop().run_in_executor(self.checking, _rows, doc)
        except Exception as e:
            self.told(e)
            rows = []
        if self.documents.get(uri) is doc:
            self.publish(uri, doc.version, rows)
        _tidy(GARBAGE)

    def publish(self, uri: str, version: int | None, rows: list[lsp.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, rows, version))

    def told(self, e: Exception) -> None:
        kind = lsp.MessageType.Info if isinstance(e, NvirError) else lsp.MessageType.Error
        self.window_log_message(lsp.LogMessageParams(kind, f"nvir: {type(e).__name__}: {e}"))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """What a client gets wrong, say a change of a text that is not open, is no window's."""
        self.told(error)

    async def answer(self, uri: str, ask: Callable[[Document], _T]) -> _T | None:
        """What `ask` says of the newest text, behind its findings; None where it fails."""
        doc = self.documents.get(uri)
        if doc is None:
            return None
        if (check := self.checks.get(uri)) is not None:
            await asyncio.wait([check])

        def asked() -> _T | None:
            return ask(doc) if self.documents.get(uri) is doc else None

        try:
            return await asyncio.get_running_loop().run_in_executor(self.answering, asked)
        except Exception as e:
            self.told(e)
            return None
        finally:
            _tidy(10 * GARBAGE)


def _tidy(most: int) -> None:
    """Collect garbage where more objects than that were made since."""
    if gc.get_count()[0] > most:
        gc.collect()


@contextmanager
def _alone() -> Iterator[None]:
    """Keep the interpreter: other threads have their turn a while later."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(ALONE)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _rows(doc: Document) -> list[lsp.Diagnostic]:
    with _alone():
        return [_diagnostic(doc, code, d) for code, d in doc.findings()]


def _diagnostic(doc: Document, code: str, d: Any) -> lsp.Diagnostic:
    """A finding; its range is the word at its place, of one without a line the first line."""
    start = doc.offset(d)
    word = _WORD.match(doc.text, start)
    end = word.end() if word is not None else start + 1
    return lsp.Diagnostic(
        _range(doc, start, end), d.message, _SEVERITIES.get(d.severity), code, source="nvir"
    )


def _range(doc: Document, start: int, end: int) -> lsp.Range:
    return lsp.Range(*(lsp.Position(*doc.lines.position(x)) for x in (start, end)))


def _offset(doc: Document, at: lsp.Position) -> int:
    return doc.lines.offset(at.line, at.character)


# ------------------------------------------------------------------ answers


def _hover(doc: Document, p: lsp.HoverParams) -> lsp.Hover | None:
    found = hover(doc, _offset(doc, p.position))
    if found is None:
        return None
    text = lsp.MarkupContent(lsp.MarkupKind.Markdown, found[0])
    return lsp.Hover(text, _range(doc, *found[1]))


def _hints(style: answers.HintStyle, doc: Document, p: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    span = _offset(doc, p.range.start), _offset(doc, p.range.end)
    out = []
    for h in answers.hints(doc, span, style):
        line = doc.lines.position(h.offset)[0]
        if p.range.start.line <= line <= p.range.end.line:
            end = doc.lines.position(doc.lines.offset(line, 1 << 30))
            out.append(lsp.InlayHint(
                lsp.Position(*end), h.text, padding_left=True, tooltip=h.tip or None
            ))
    return out


def _symbol(doc: Document, s: answers.SymbolNode) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        s.name, _SYMBOLS[s.kind], _range(doc, *s.whole), _range(doc, *s.name_at),
        s.detail or None, children=[_symbol(doc, c) for c in s.children],
    )


def _symbols(doc: Document, p: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    return [_symbol(doc, s) for s in answers.symbols(doc)]


def _folds(doc: Document, p: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    out = []
    for (start, end), kind in answers.folds(doc):
        first, last = doc.lines.position(start)[0], doc.lines.position(end)[0]
        if last > first:
            out.append(lsp.FoldingRange(first, last, kind=lsp.FoldingRangeKind(kind)))
    return out


def _tokens(doc: Document, p: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    """Each token by its distance from the one before, its length, its type, no modifier."""
    data: list[int] = []
    at = (0, 0)
    for (start, end), kind in answers.tokens(doc):
        line, column = doc.lines.position(start)
        length = doc.lines.position(end)[1] - column
        data += (line - at[0], column - (at[1] if line == at[0] else 0), length,
                 answers.TOKENS.index(kind), 0)
        at = (line, column)
    return lsp.SemanticTokens(data)


def _locations(
    find: Callable[[Document, int], list[answers.Span]], doc: Document, p: Any
) -> list[lsp.Location]:
    spans = find(doc, _offset(doc, p.position))
    return [lsp.Location(p.text_document.uri, _range(doc, *s)) for s in spans]


def _references(doc: Document, p: lsp.ReferenceParams) -> list[lsp.Location]:
    found = answers.references(doc, _offset(doc, p.position), p.context.include_declaration)
    return [lsp.Location(p.text_document.uri, _range(doc, *s)) for s, _ in found]


def _highlights(doc: Document, p: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    found = answers.references(doc, _offset(doc, p.position))
    return [lsp.DocumentHighlight(_range(doc, *s), _MARKS[role]) for s, role in found]


def _prepare_rename(doc: Document, p: lsp.PrepareRenameParams) -> lsp.Range | None:
    span = answers.renamable(doc, _offset(doc, p.position))
    return _range(doc, *span) if span is not None else None


def _format(doc: Document, p: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    if doc.language != "ptx":
        return None
    made = laid_out(doc.text)
    return [] if made == doc.text else [lsp.TextEdit(_range(doc, 0, len(doc.text)), made)]


def _rename(doc: Document, p: lsp.RenameParams) -> lsp.WorkspaceEdit | str:
    try:
        made = answers.rename(doc, _offset(doc, p.position), p.new_name)
    except NvirError as e:
        return str(e)
    edits = [lsp.TextEdit(_range(doc, *s), text) for s, text in made]
    name = lsp.OptionalVersionedTextDocumentIdentifier(p.text_document.uri, doc.version)
    return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(name, edits)])


_ANSWERS: dict[str, Callable[[Document, Any], Any]] = {
    lsp.TEXT_DOCUMENT_HOVER: _hover,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: _folds,
    lsp.TEXT_DOCUMENT_DEFINITION: functools.partial(_locations, answers.definitions),
    lsp.TEXT_DOCUMENT_DECLARATION: functools.partial(_locations, answers.declarations),
    lsp.TEXT_DOCUMENT_REFERENCES: _references,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: _highlights,
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    lsp.TEXT_DOCUMENT_FORMATTING: _format,
}


def _answering(
    server: Server, ask: Callable[[Document, Any], Any]
) -> Callable[[Any], Awaitable[Any]]:
    async def handler(params: Any) -> Any:
        return await server.answer(params.text_document.uri, lambda doc: ask(doc, params))

    return handler


def make_server(arch: str | None = None, hints: answers.HintStyle = "loops") -> Server:
    """A server that knows what it answers; `start_io()` runs it."""
    server = Server(arch, hints)
    for method, ask in _ANSWERS.items():
        server.feature(method)(_answering(server, ask))

    legend = lsp.SemanticTokensLegend(answers.TOKENS, [])
    server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, legend)(_answering(server, _tokens))

    @server.feature(lsp.INITIALIZE)
    def _initialise(params: lsp.InitializeParams) -> None:
        server.configure(params.initialization_options)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
        given = params.text_document
        server.texts[given.uri] = EditedText(given.text, given.language_id, given.version)
        server.changed(given.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = server.texts.get(uri)
        if text is None:
            server.told(NvirError(f"a change of {uri}, which is not open"))
            return
        for change in params.content_changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                at = change.range
                start, end = ((p.line, p.character) for p in (at.start, at.end))
                text.replace(start, end, change.text)
            else:
                text = EditedText(change.text, text.language, None)
        text.version = params.text_document.version
        server.texts[uri] = text
        server.changed(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def _closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.stop(uri)
        server.texts.pop(uri, None)
        server.documents.pop(uri, None)
        server.publish(uri, None, [])

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def _inlay_hints(params: lsp.InlayHintParams) -> Any:
        return await server.answer(
            params.text_document.uri, lambda doc: _hints(server.hints, doc, params)
        )

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    async def _renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        made = await server.answer(params.text_document.uri, lambda doc: _rename(doc, params))
        if isinstance(made, str):  # an error that the editor shows to whoever asked
            raise JsonRpcException(made, lsp.LSPErrorCodes.RequestFailed)
        return made

    return server


class _LogLine(logging.Formatter):
    """What pygls logs, in a line without the stack of calls."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info and record.exc_info[1]
        first = record.getMessage().partition("\n")[0]
        return f"nvir: {first}: {error!r}" if error else f"nvir: {first}"


def serve(stream: Any, arch: str | None = None, hints: answers.HintStyle = "loops") -> None:
    """Run a server on a stream of messages. What is imported is never looked at for garbage, and
    all else only where the server says so."""
    server = make_server(arch, hints)
    told = logging.StreamHandler()
    told.setFormatter(_LogLine())
    logging.getLogger("pygls").addHandler(told)
    gc.freeze()
    gc.disable()
    server.start_io(stream)
