"""The page on this machine alone: static files for whoever asks, data for who has the token.

The server listens on 127.0.0.1 and answers only requests that name it so, which keeps out a foreign
name that was led to this address. Data is given to requests that carry the random token of this
run in a header: a page of another origin does not know it and could not send the header without
being asked first, which is refused. Texts are limited in size, answers in time (`worker`).
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nvir.explore.export import STATIC
from nvir.explore.options import Options
from nvir.explore.worker import Worker
from nvir.ir.errors import NvirError

LARGEST = 8 << 20  # bytes of a request
KEPT = 16  # pages of which the server remembers the newest text
QUICK, LONG = 20.0, 120.0  # seconds for an edit, and for what ptxas and the search take
# what is asked for → its arguments from the request
QUESTIONS: dict[str, tuple[str, ...]] = {
    "summary": ("real",), "kernel": ("kernel", "real"), "loop": ("kernel", "loop", "real"),
    "what_if": ("kernel", "loop", "real"), "against": (),
}


def application(
    text: str, name: str, options: Options, token: str, port: int,
    other: tuple[str, str] | None = None,
) -> Starlette:
    """The server of one file. `other` is the text and the name of a version to compare with."""
    # Edits, predictions for loops, and ptxas have a process each, so that no one waits for another.
    quick, loops, long = workers = Worker(QUICK), Worker(LONG), Worker(LONG)
    # of each page, by number, the newest text and the one that its figures are of
    newest: OrderedDict[str, dict[int, str]] = OrderedDict()
    numbers = iter(range(1, 1 << 62))

    async def page(request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        html = (STATIC / "index.html").read_text("utf-8").replace("NONCE", nonce)
        return Response(html, media_type="text/html", headers={"Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
            f"style-src 'self' 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )})

    async def data(request: Request) -> Response:
        given = request.headers.get("x-nvir-token", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
            return JSONResponse({"error": "wrong token"}, 403)
        try:
            ask = await _body(request)
            keys, mine = QUESTIONS[ask["what"]], str(ask.get("page", ""))
            at = ask.get("version", 0)
            if "text" in ask:
                shown = {at: old[at]} if at in (old := newest.pop(mine, {})) else {}
                at = next(numbers)
                given = str(ask["text"]).encode("utf-8", "replace").decode()
                newest[mine] = shown | {at: given}
                if len(newest) > KEPT:
                    newest.popitem(last=False)
            job = {"what": ask["what"], "args": [_typed(key, ask.get(key)) for key in keys],
                   "text": newest[mine][at] if at else text, "name": name, "options": options,
                   "about": {"version": at, "other": other is not None}}
        except NvirError as e:
            return JSONResponse({"error": str(e)}, 413)
        except (KeyError, TypeError, ValueError, RecursionError):
            return JSONResponse({"error": "the request cannot be read"}, 400)

        async def wanted() -> bool:
            is_old = at and at not in newest.get(mine, (at,))
            return not (is_old or await request.is_disconnected())

        if ask["what"] == "against":
            job["other"] = other or (text, name)
        worker = long if ask.get("real") or not keys else loops if "loop" in keys else quick
        made = await worker.ask(job, wanted)
        return Response(made, media_type="application/json")

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        quick.start()
        yield
        for w in workers:
            w.stop()

    routes = [
        Route("/", page), Route("/data", data, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(routes=routes, lifespan=life)
    hosts = frozenset((f"127.0.0.1:{port}", f"localhost:{port}"))
    app.add_middleware(OwnRequests, hosts=hosts)
    return app


async def _body(request: Request) -> dict[str, Any]:
    out = bytearray()
    said = int(request.headers.get("content-length", 0))
    try:
        if said > LARGEST:
            raise NvirError(f"the text is larger than {LARGEST >> 20} MiB")
        async for part in request.stream():
            out += part
            if len(out) > LARGEST:
                raise NvirError(f"the text is larger than {LARGEST >> 20} MiB")
    except ClientDisconnect:
        raise ValueError from None
    found = json.loads(out)
    if not isinstance(found, dict):
        raise TypeError
    return found


def _typed(key: str, value: Any) -> Any:
    return bool(value) if key == "real" else str(value or "")


class OwnRequests:
    """Refuses requests under another name of this machine and those of another origin."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        origin = headers.get("origin")
        if headers.get("host") not in self.hosts or (
            origin is not None and origin.removeprefix("http://") not in self.hosts
        ):
            await JSONResponse({"error": "not this server"}, 403)(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self.app(scope, receive, sent)


_HEADERS = [
    (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"), (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]


def serve(
    text: str, name: str, options: Options, *, port: int = 0,
    other: tuple[str, str] | None = None, ready: Any = print,
) -> None:
    """Serve a file until an interrupt; `ready` is called with the page's address.

    Raises NvirError where the port is taken.
    """
    import uvicorn

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as e:
        raise NvirError(f"port {port}: {e.strerror or e}") from None
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    app = application(text, name, options, token, port, other)
    listener.listen(64)

    class Told(uvicorn.Server):  # from then on it takes signals by itself
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready(f"http://127.0.0.1:{port}/#token={token}")

    config = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False,
                            timeout_graceful_shutdown=1)
    with contextlib.suppress(KeyboardInterrupt):  # which it raises at its end
        Told(config).run(sockets=[listener])
