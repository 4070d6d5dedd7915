"""The server answers this machine's own page and nobody else, within limits."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs pip install 'nvir[explore]'")
pytest.importorskip("httpx", reason="asks the server")

import httpx
import uvicorn

from nvir.explore import server, worker
from nvir.explore.options import Options
from tests.explore.pages import LOOP, SGEMM

OWN = {"x-nvir-token": "secret"}


@pytest.fixture(scope="module")
def client():
    """What asks a server that runs in a thread."""
    text = SGEMM.read_text()
    options = Options(model=True, folders=(SGEMM.parent,))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = server.application(text, "sgemm.ptx", options, "secret", port)
        running = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=running.run, args=([listener],), daemon=True)
        thread.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as c:
            yield c
        running.should_exit = True
        thread.join(20)


def ask(client, body, **headers):
    return client.post("/data", json=body, headers=OWN | headers)


def job(kernel=None, real=False, *, model=True):
    """A request to a process: the summary, or a kernel's lines."""
    what, args = ("kernel", (kernel, real)) if kernel else ("summary", ())
    return {"what": what, "args": args, "text": SGEMM.read_text(), "name": "k.ptx",
            "options": Options(model=model)}


def is_running(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_the_page_and_its_data_are_served(client):
    page = client.get("/")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert f'content="{nonce}"' in page.text
    assert client.get("/static/main.js").status_code == 200
    made = ask(client, {"what": "summary"}).json()
    assert made["kernels"][0]["name"] == "sgemm"
    assert ask(client, {"what": "loop", "kernel": "sgemm", "loop": LOOP}).json()["explain"]


@pytest.mark.parametrize("headers", [
    {"x-nvir-token": "Secret"}, {"x-nvir-token": ""}, {"x-nvir-token": "sécret".encode()},
    {"host": "evil.example"}, {"host": "127.0.0.1:8001"}, {"origin": "http://evil.example"},
    {"origin": "null"}, {"origin": "https://127.0.0.1:8000.evil.example"},
    {"host": "127.0.0.1"}, {"host": "[::1]:8000"}, {"origin": ""},
])
def test_who_lacks_the_token_or_comes_from_elsewhere_gets_nothing(client, headers):
    made = client.post("/data", json={"what": "summary"}, headers=OWN | headers)
    assert made.status_code == 403
    assert "sgemm" not in made.text
    assert "access-control-allow-origin" not in made.headers


def test_a_page_elsewhere_may_not_even_ask(client):
    made = client.options("/data", headers={
        "origin": "http://evil.example", "access-control-request-method": "POST",
        "access-control-request-headers": "x-nvir-token",
    })
    assert made.status_code == 403
    assert client.get("/", headers={"host": "evil.example"}).status_code == 403
    upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
               "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "origin": "http://evil.example"}
    assert client.get("/data", headers=upgrade | OWN).status_code in (403, 405)


def test_its_own_origin_is_welcome(client):
    own = str(client.base_url).rstrip("/")
    assert ask(client, {"what": "summary"}, origin=own).status_code == 200


@pytest.mark.parametrize("body", [
    {}, {"what": "__init__"}, {"what": "summary", "version": 999}, [], {"what": ["x"]},
])
def test_a_request_that_is_none_is_told_so(client, body):
    assert ask(client, body).status_code == 400


def test_a_request_of_many_brackets_is_none(client):
    made = client.post("/data", content="[" * 100_000, headers=OWN)
    assert made.status_code == 400


def test_too_large_a_text_is_refused(client, monkeypatch):
    monkeypatch.setattr(server, "LARGEST", 1000)
    made = ask(client, {"what": "summary", "text": "x" * 2000})
    assert made.status_code == 413
    host, port = client.base_url.host, client.base_url.port
    with socket.create_connection((host, port), 20) as s:  # at once, before it is sent
        s.sendall(f"POST /data HTTP/1.1\r\nHost: {host}:{port}\r\nx-nvir-token: secret\r\n"
                  "Content-Length: 99999999\r\n\r\n".encode())
        assert b" 413 " in s.recv(100)


def test_an_edit_is_a_version_of_its_own(client):
    text = SGEMM.read_text().replace("sgemm", "edited")
    made = ask(client, {"what": "summary", "text": text}).json()
    assert made["kernels"][0]["name"] == "edited"
    n = made["version"]
    assert n > 0
    assert ask(client, {"what": "kernel", "kernel": "edited", "version": n}).json()["rows"]["line"]
    assert "no function" in ask(client, {"what": "kernel", "kernel": "edited"}).json()["error"]
    diff = ask(client, {"what": "against", "version": n}).json()
    assert {f["status"] for f in diff["functions"]} == {"added", "removed"}


def test_the_text_that_the_figures_are_of_stays_while_a_newer_one_is_broken(client):
    good = ask(client, {"what": "summary", "text": SGEMM.read_text()}).json()["version"]
    ask(client, {"what": "summary", "text": "broken", "version": good})
    assert ask(client, {"what": "kernel", "kernel": "sgemm", "version": good}).json()["rows"]
    ask(client, {"what": "summary", "text": SGEMM.read_text()})  # of which the figures then are
    assert ask(client, {"what": "kernel", "version": good}).status_code == 400


def test_each_page_edits_a_text_of_its_own(client):
    text = SGEMM.read_text()
    one = ask(client, {"what": "summary", "page": "a", "text": text}).json()
    two = ask(client, {"what": "summary", "page": "b", "text": text}).json()
    for page, made in (("a", one), ("b", two)):
        about = {"kernel": "sgemm", "page": page, "version": made["version"]}
        assert ask(client, {"what": "kernel"} | about).json()["rows"]
    older = {"what": "summary", "page": "a", "version": two["version"]}
    assert ask(client, older).status_code == 400


@pytest.mark.parametrize("text", ["\ud800", "\0", ".version 8.0 // \udcff", "(" * 100_000])
def test_every_edit_has_an_answer(client, text):
    made = client.post("/data", content=json.dumps({"what": "summary", "text": text}),
                       headers=OWN).json()
    assert made.get("diagnostics") or made.get("error"), made


def test_an_interrupt_ends_it_without_a_word():
    command = [sys.executable, "-u", "-m", "nvir", "explore", str(SGEMM), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 0


async def never():
    return False


def test_what_is_no_longer_wanted_is_not_worked_out():
    w = worker.Worker(600)
    assert "edited" in asyncio.run(w.ask({}, never))
    assert w._process is None


def sleeping_ptxas(tmp_path, monkeypatch):
    """Put a ptxas that never answers before others; gives the file that it writes its number to."""
    stamp = tmp_path / "pid"
    tool = tmp_path / "nvidia" / "cu99" / "bin" / "ptxas"
    tool.parent.mkdir(parents=True)
    (tmp_path / "nvidia" / "__init__.py").touch()
    tool.write_text(f"#!/bin/sh\necho $$ > {stamp}.new; mv {stamp}.new {stamp}; exec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.syspath_prepend(tmp_path)  # the process takes this path over
    return stamp


def test_what_is_no_longer_wanted_is_ended_while_it_is_worked_out(tmp_path, monkeypatch):
    sleeping_ptxas(tmp_path, monkeypatch)  # else a quick machine has the answer first
    monkeypatch.setattr(worker, "PATIENCE", 0.0)
    turns = iter([True, False])

    async def once():
        return next(turns)

    w = worker.Worker(600)
    try:
        assert "edited" in asyncio.run(w.ask(job("sgemm", True, model=False), once))
        assert w._process is None
    finally:
        w.stop()


def test_the_tools_of_a_process_end_with_it(tmp_path, monkeypatch):
    stamp = sleeping_ptxas(tmp_path, monkeypatch)

    async def until():
        return not stamp.is_file()

    monkeypatch.setattr(worker, "PATIENCE", 0.0)
    w = worker.Worker(600)
    made = json.loads(asyncio.run(w.ask(job("sgemm", True, model=False), until)))
    assert made == {"error": "the text was edited"}
    pid = int(stamp.read_text())
    for _ in range(600):
        if not is_running(pid):
            break
        time.sleep(0.1)
    assert not is_running(pid)


def test_what_takes_too_long_is_ended_and_the_next_request_answered():
    w = worker.Worker(0.01)
    try:
        assert "not done within" in asyncio.run(w.ask(job()))
        assert w._process is None
        w.limit = 600
        assert json.loads(asyncio.run(w.ask(job())))["kernels"]
    finally:
        w.stop()
