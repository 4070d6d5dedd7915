"""`nvir lsp` as an editor meets it: a real client speaks to the real process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls (extra lsp)")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="the client is pytest-lsp (extra test)")

from lsprotocol import types as lsp  # noqa: E402  (behind the skips)

from nvir.lsp.document import Document  # noqa: E402
from tests.effort import effort  # noqa: E402

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = Path(__file__).resolve().parents[2]
SGEMM = (ROOT / "examples/ptx/sgemm.sm_80.ptx").read_text("utf-8")
URI = "file:///folder/sgemm.ptx"


@pytest_lsp.fixture(
    scope="module",
    config=pytest_lsp.ClientServerConfig(server_command=[sys.executable, "-m", "nvir", "lsp"]),
)
async def client(lsp_client: pytest_lsp.LanguageClient):
    options = {"hints": "loops", "arch": "sm_80"}
    await lsp_client.initialize_session(lsp.InitializeParams(
        capabilities=pytest_lsp.client_capabilities("visual-studio-code"),
        initialization_options=options,
    ))
    yield
    await lsp_client.shutdown_session()


async def opened(client, text, uri=URI, language="ptx"):
    client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, language, 1, text)))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return client.diagnostics[uri]


async def changed(client, text, version, uri=URI):
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(
        lsp.VersionedTextDocumentIdentifier(version, uri),
        [lsp.TextDocumentContentChangeWholeDocument(text)],
    ))


def message(method, **params):
    body = json.dumps({"jsonrpc": "2.0", "method": method, **params}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


START = message("initialize", id=1, params={"capabilities": {}, "processId": None})
END = message("shutdown", id=2, params=None) + message("exit", params=None)


def process(given):
    command = [sys.executable, "-m", "nvir", "lsp"]
    return subprocess.run(command, input=given, capture_output=True, timeout=600, check=True)


def answers(given):
    """What the process says to these bytes."""
    return process(given).stdout


async def test_what_cannot_be_read_is_told_in_a_line_each():
    wrong = message("textDocument/hover", id=3, params=5)
    done = process(START + b"Content-Length: 5\r\n\r\n[1,2]" + wrong + END)
    assert b'"id": 2' in done.stdout
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 3
    assert all(line.startswith("nvir: Unable to ") for line in lines)


async def test_what_belongs_to_no_message_and_no_text_is_passed_over():
    change = message("textDocument/didChange", params={
        "textDocument": {"uri": "file:///no.ptx", "version": 2}, "contentChanges": [{"text": ""}]})
    said = answers(b"Content-Length: -5\r\n\r\n{}" + START + change + END)
    assert b'"id": 1' in said
    assert b'"id": 2' in said
    assert b"window/showMessage" not in said


@pytest.mark.parametrize("length", [b"9" * 5000, b"99999999999999", b"1" + b"0" * 9])
async def test_a_message_of_gigabytes_is_passed_over(length: bytes) -> None:
    said = answers(b"Content-Length: " + length + b"\r\n\r\n{}" + START + END)
    assert b'"id": 1' in said
    assert b'"id": 2' in said


async def test_a_request_that_cannot_be_read_is_answered_with_an_error():
    wrong = [{"textDocument": 5}, None, {"textDocument": {"uri": URI}}]
    good = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 1}}
    asked = [message("textDocument/hover", id=k, params=p) for k, p in enumerate([*wrong, good], 7)]
    said = answers(START + b"".join(asked) + END)
    assert said.count(b'"code": -32602') == len(wrong)
    for k in range(len(wrong)):
        assert b'"id": %d' % (7 + k) in said
    assert b'"id": 10, "jsonrpc": "2.0", "result": null' in said  # the server goes on


async def test_places_are_told_in_utf_16_whatever_a_client_would_like():
    capable = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
    said = answers(message("initialize", id=1, params={"capabilities": capable}) + END)
    assert b'"positionEncoding": "utf-16"' in said


async def test_thousands_of_changes_in_one_message(client):
    """Each is of the text that the one before left. A form feed ends no line."""
    text = SGEMM.replace("fma.rn.f32", "/* 😀\x0c */ fma.rn.f32")
    rows = text.replace("fma.rn.f32", "fma.rn.\nf32").split("\n")
    uri = "file:///folder/faces.ptx"
    await opened(client, text, uri)
    changes = []
    for line, row in enumerate(rows):
        if row.endswith("fma.rn."):  # from here on the text has a line more
            at = len(row) - len(".rn.") + 1, len(row) + 1 + len("f32")  # the face counts as two
            places = [lsp.Position(line, x) for x in at]
            changes.append(lsp.TextDocumentContentChangePartial(lsp.Range(*places), "\n.f32"))
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(
        lsp.VersionedTextDocumentIdentifier(2, uri), changes))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    found = [d for d in client.diagnostics[uri] if d.code != "declaration"]
    assert len(found) == len(changes) > 10
    assert {d.message for d in found} == {"fma.f32 needs one of .rn, .rz, .rm, .rp"}


def at(text, word, nth=1, inside=0):
    k = -1
    for _ in range(nth):
        k = text.index(word, k + 1)
    k += inside
    return lsp.Position(text.count("\n", 0, k), k - text.rfind("\n", 0, k) - 1)


ITSELF = lsp.TextDocumentIdentifier(URI)


async def test_a_session(client):
    assert not await opened(client, SGEMM)
    found = await client.text_document_hover_async(
        lsp.HoverParams(ITSELF, at(SGEMM, "fma.rn.f32")))
    assert "rounded once" in found.contents.value
    assert "26 registers live before, 24 behind" in found.contents.value

    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(400, 0))
    hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(ITSELF, whole))
    assert [h.label for h in hints][:2] == [
        "32 registers predicted · live 26", "loop · trip ceil(param_5/16) · live 26"]
    none = lsp.Range(lsp.Position(0, 0), lsp.Position(3, 0))
    assert not await client.text_document_inlay_hint_async(lsp.InlayHintParams(ITSELF, none))

    (kernel,) = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(ITSELF))
    assert [c.name for c in kernel.children] == ["$L__BB0_2", "$L__BB0_7", "$L__BB0_9"]
    assert [c.name for c in kernel.children[0].children] == ["$L__BB0_4", "$L__BB0_6"]
    folds = await client.text_document_folding_range_async(lsp.FoldingRangeParams(ITSELF))
    assert (89, 177) in [(f.start_line, f.end_line) for f in folds]

    label = at(SGEMM, "bra", inside=6)
    (there,) = await client.text_document_definition_async(lsp.DefinitionParams(ITSELF, label))
    assert SGEMM.splitlines()[there.range.start.line].startswith("$L__BB0_")
    places = await client.text_document_references_async(lsp.ReferenceParams(
        lsp.ReferenceContext(True), ITSELF, label))
    assert len(places) == 2
    made = await client.text_document_rename_async(lsp.RenameParams(ITSELF, label, "$done"))
    assert {e.new_text for e in made.document_changes[0].edits} == {"$done"}
    colours = await client.text_document_semantic_tokens_full_async(
        lsp.SemanticTokensParams(ITSELF))
    assert list(colours.data[:5]) == [0, 0, 2, 6, 0]  # "//" is a comment
    edits = await client.text_document_formatting_async(
        lsp.DocumentFormattingParams(ITSELF, lsp.FormattingOptions(4, False)))
    assert edits is not None


async def test_errors_follow_the_typing_and_carry_the_version(client):
    await opened(client, SGEMM)
    broken = SGEMM.replace("fma.rn.f32", "fma.f32", 1)
    for version, text in enumerate((SGEMM + "x", SGEMM + "xy", broken), 2):
        await changed(client, text, version)
    told = await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert told.version == 4
    (told,) = client.diagnostics[URI]  # of the last change alone: those before were typing
    assert (told.code, told.source, told.range.start) == (
        "modifiers", "nvir", at(broken, "fma.f32"))
    assert told.range.end.character == told.range.start.character + len("fma.f32")
    await changed(client, SGEMM, 5)
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert not client.diagnostics[URI]


async def test_a_refused_name_is_an_error_and_the_server_lives(client):
    await opened(client, SGEMM)
    label = at(SGEMM, "bra", inside=6)
    for name in ("add", "$L__BB0_2", "1x"):
        with pytest.raises(Exception, match=r"stands for something else|is no name"):
            await client.text_document_rename_async(lsp.RenameParams(ITSELF, label, name))
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(
        lsp.TextDocumentItem("file:///notes.txt", "plaintext", 1, "no PTX")))
    nobody = lsp.TextDocumentIdentifier("file:///nobody.ptx")
    assert await client.text_document_hover_async(lsp.HoverParams(nobody, label)) is None
    assert await client.text_document_hover_async(
        lsp.HoverParams(ITSELF, lsp.Position(99999, 7))) is None
    assert "file:///notes.txt" not in client.diagnostics
    assert await client.text_document_hover_async(lsp.HoverParams(ITSELF, label)) is not None


async def test_assembly_in_cuda_behind_characters_of_two_units(client):
    text = '__global__ void k(int *p) { /* 😀 */ asm("mul.s32 %0, %0, 3;" : "+r"(*p)); }\n'
    (told,) = await opened(client, text, "file:///k.cu", "cuda")
    assert told.range.start.character == at(text, "mul").character + 1  # the face counts as two
    assert "one of .hi" in told.message


def five_thousand(kind):
    """A text of 5,000 lines, and what becomes an error in it by another text."""
    if kind == "ptx":
        again = SGEMM[SGEMM.index(".visible .entry"):].replace("\t.file", "//")
        text = SGEMM + "".join(again.replace("sgemm", f"k{k}") for k in range(26))
        return text, ("fma.rn.f32", "fma.f32")
    if kind == "ll":
        first = (ROOT / "tests/llvm/fixtures/triton_softmax.ll").read_text("utf-8")
        again = first[first.index("define "):first.index("\n}\n") + 3]
        text = first + "\n".join(again.replace("@softmax", f"@k{k}") for k in range(26))
        return text, ("ret void", "ret voids")
    return "".join(
        f"__device__ int f{k}(int a, int b) {{\n    int c;\n"
        '    asm("mad.lo.s32 %0, %1, %2, %0;" : "=r"(c) : "r"(a), "r"(b));\n'
        "    return c;\n}\n" for k in range(1000)), ("mad.lo", "mad.low")


@pytest.mark.parametrize("kind", ["ptx", "ll", "cu"])
async def test_an_edit_of_five_thousand_lines_is_checked_at_once(client, kind):
    text, (word, wrong) = five_thousand(kind)
    assert text.count("\n") >= 5000
    uri = f"file:///folder/large.{kind}"
    assert not await opened(client, text, uri, {"cu": "cuda", "ll": "llvm"}.get(kind, kind))
    for version in range(2, 5):
        count = 1 if kind == "ll" else version
        await changed(client, text.replace(word, wrong, count), version, uri)
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        assert len(client.diagnostics[uri]) == count
    effort(Document(text, f"k.{kind}").findings, most=1_000 * 5_000)  # 0.3 s of a core
