"""Who may talk to the studio: only the page it served itself, on this machine.

Every address lies below a random token. The Host header must name this server, which a page elsewhere cannot arrange
even if its own name is made to lead here (DNS rebinding), and a request that changes something must come from this
origin. What a page may load and run is written into every answer.
"""

from __future__ import annotations

import hmac
import secrets

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


def new_token() -> str:
    """Return 192 random bits that are safe in an address."""
    return secrets.token_urlsafe(24)


class Guard:
    """An application that refuses whatever did not come from its own page.

    Parameters
    ----------
    app : ASGI application
        Sees paths without the token.
    token : str
    port : int
        Of this server.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self._token = app, token.encode()
        names = ("127.0.0.1", "localhost")
        self._hosts = {f"{name}:{port}".encode() for name in names}
        self._origins = {f"http://{name}:{port}".encode() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over web sockets
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, with_headers)
            return
        _, _, rest = scope["path"].split("/", 2)
        inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
        await self.app(inner, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        if len(headers.get(b"host", [])) != 1 or headers[b"host"][0].lower() not in self._hosts:
            return _no(421, "this address is served under another name")
        parts = scope["path"].split("/", 2)
        if len(parts) < 3 or not hmac.compare_digest(parts[1].encode("utf-8", "replace"), self._token):
            return _no(404, "there is nothing here; open the address that the terminal shows, with its token")
        origins = headers.get(b"origin", [])
        if any(origin not in self._origins for origin in origins):
            return _no(403, "only the studio's own page may ask for this")
        site = headers.get(b"sec-fetch-site", [b"none"])
        if any(one not in (b"same-origin", b"none") for one in site):
            return _no(403, "only the studio's own page may ask for this")
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return _no(403, "a request that changes something must say where it comes from")
        return None


def _no(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status_code=status)
