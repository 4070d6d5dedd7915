"""The server answers this machine's own page and nobody else, within limits."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("starlette", reason="needs pip install 'nvir[explore]'")
pytest.importorskip("httpx", reason="asks the server")

from starlette.testclient import TestClient

from nvir.explore import server, worker
from nvir.explore.data import Options
from tests.explore.pages import LOOP, SGEMM

OWN = {"x-nvir-token": "secret"}


@pytest.fixture(scope="module")
def client():
    text = SGEMM.read_text()
    options = Options(model=True, folders=(SGEMM.parent,))
    app = server.application(text, "sgemm.ptx", options, "secret", 8000)
    with TestClient(app, base_url="http://127.0.0.1:8000") as c:
        yield c


def ask(client, body, **headers):
    return client.post("/data", json=body, headers=OWN | headers)


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


def test_its_own_origin_is_welcome(client):
    assert ask(client, {"what": "summary"}, origin="http://127.0.0.1:8000").status_code == 200


@pytest.mark.parametrize("body", [
    {}, {"what": "__init__"}, {"what": "summary", "version": 999}, [], {"what": ["x"]},
])
def test_a_request_that_is_none_is_told_so(client, body):
    assert ask(client, body).status_code == 400


def test_too_large_a_text_is_refused(client, monkeypatch):
    monkeypatch.setattr(server, "LARGEST", 1000)
    made = ask(client, {"what": "summary", "text": "x" * 2000})
    assert made.status_code == 413


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


def test_an_interrupt_ends_it_without_a_word():
    command = [sys.executable, "-u", "-m", "nvir", "explore", str(SGEMM), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"http://127.0.0.1:")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_what_is_no_longer_wanted_is_not_worked_out():
    w = worker.Worker(60)
    assert asyncio.run(w.ask({}, lambda: False)) == {"error": "the text was edited"}
    assert w._process is None


def test_what_takes_too_long_is_ended_and_the_next_request_answered():
    job = {"what": "summary", "args": (), "text": SGEMM.read_text(), "name": "k.ptx",
           "options": Options(model=True)}
    w = worker.Worker(0.01)
    try:
        start = time.monotonic()
        assert "not done within" in asyncio.run(w.ask(job))["error"]
        assert time.monotonic() - start < 5
        assert w._process is None
        w.limit = 60
        assert asyncio.run(w.ask(job))["kernels"]
    finally:
        w.stop()
