"""Starting and ending a studio: the project file, the server on this machine, the browser.

Who may talk to it: only the page it served itself, on this machine. Every address lies below a random token. The Host
header must name this server, which a page elsewhere cannot arrange even if its own name is made to lead here (DNS
rebinding), and a request that changes something must come from this origin. What a page may load and run is written
into every answer.
"""

from __future__ import annotations

import contextlib
import getpass
import hmac
import logging
import shutil
import socket
import tempfile
import threading
import time
import webbrowser
from glob import escape
from pathlib import Path
from typing import Any

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyrule.data import Dataset
from polyrule.errors import OptionError
from polyrule.studio.address import Address, last_address, remember_address
from polyrule.studio.project_file import sole_writer
from polyrule.studio.server import MOST_BYTES, make_app
from polyrule.studio.session import Session

logger = logging.getLogger(__name__)
_START_SECONDS = 30.0


class Studio:
    """A running studio.

    Parameters
    ----------
    session : Session
    port : int
        0 takes a free one.
    max_bytes : int
        Maximum size of a table that is dropped on the page.
    remember : bool
        Take the port and the token that the project had before, if the port is free, so that an old tab goes on.

    Attributes
    ----------
    url : str
        Address of the page, with its secret token: it gives full access.
    """

    def __init__(self, session: Session, port: int = 0, max_bytes: int = MOST_BYTES, *, remember: bool = False) -> None:
        self.session = session
        self._rest = contextlib.ExitStack()
        try:
            folder = self._folder()
            listening = self._rest.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            address = _bind(listening, port, session.path if remember else None)
        except BaseException:
            self._rest.close()
            raise
        self.port, token = address.port, address.token
        self.url = f"http://127.0.0.1:{self.port}/{token}/"
        guarded = Guard(make_app(session, folder, max_bytes), token, self.port)
        config = uvicorn.Config(
            guarded,
            log_level="critical",  # the application logs its own errors; a question cut off at the end is none
            access_log=False,  # addresses hold the token
            server_header=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)

    def _folder(self) -> Path:
        path = self.session.path
        if path is not None:
            self._rest.enter_context(sole_writer(path))
            folder = path.with_name(f"{path.stem}-data")
            killed = [*path.parent.glob(f".{escape(path.name)}.*.part"), *folder.glob(".upload-*")]
            for left in killed:  # by a studio that was killed while it wrote
                left.unlink(missing_ok=True)
            return folder
        folder = Path(tempfile.mkdtemp(prefix="polyrule-studio-"))
        self._rest.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def start(self) -> Studio:
        """Begin to answer; returns when the page can be opened."""
        self._thread.start()
        until = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if time.monotonic() > until or not self._thread.is_alive():
                raise OptionError("the studio's server did not start")
            time.sleep(0.01)
        return self

    def open(self) -> Studio:
        """Show the page in the browser."""
        webbrowser.open(self.url)
        return self

    def wait(self) -> None:
        """Block until the server ends or is interrupted."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """End the server; every change is saved already."""
        self.session.workers.close()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(10)
        self._rest.close()

    @property
    def model(self) -> Any:
        """The model as it stands, counted, with its history."""
        return self.session.finished()

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Studio at {self.url}>"


def _bind(listening: socket.socket, port: int, project: Path | None) -> Address:
    """Bind a socket to the port that the project had before, or to another one, and return its address."""
    last = None if project is None else last_address(project)
    if last is not None and port in (0, last.port):
        with contextlib.suppress(OSError):
            listening.bind(("127.0.0.1", last.port))
            return last
    listening.bind(("127.0.0.1", port))
    address = Address.fresh(int(listening.getsockname()[1]))
    if project is not None:
        remember_address(project, address)
    return address


class _Server(uvicorn.Server):
    """Server in a thread, which leaves the signals of the program alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


def open_studio(
    model: Any = None,
    train: Dataset | None = None,
    test: Dataset | None = None,
    *,
    project: str | Path | None = None,
    browser: bool = True,
    port: int = 0,
) -> Studio:
    """Open a studio for a model and its data, and return while it runs.

    Parameters
    ----------
    model : fitted estimator or model, optional
        Without one, learn it on the page.
    train, test : Dataset, optional
        Training data, and examples that are never learned from; both or none.
    project : path, optional
        Where the history is kept; without one it lives as long as the studio.
    browser : bool
        Whether to open the page.
    port : int
        0 takes a free one.

    Returns
    -------
    Studio
        ``.model`` is the model as it stands, ``.close()`` ends it.

    Examples
    --------
    >>> from polyrule import datasets
    >>> train, test = datasets.load("emotions", part="train"), datasets.load("emotions", part="test")
    >>> with open_studio(train=train, test=test, browser=False) as studio:
    ...     studio.url.startswith("http://127.0.0.1:")
    True
    """
    if (train is None) != (test is None):
        raise OptionError("a studio needs both train and test: examples to learn from, and others that are held out")
    session = Session(None if project is None else Path(project), by=user_name())
    opened = getattr(model, "model_", model)
    if train is not None and test is not None:
        session.bring(train, test, opened)
    elif opened is not None:
        session.wait_for_data(opened)
    studio = Studio(session, port, remember=project is not None).start()
    return studio.open() if browser else studio


def user_name() -> str:
    """Return the name of the user, empty if the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


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


class Guard:
    """An application that refuses whatever did not come from its own page; `app` sees paths without the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self._token = app, token.encode()
        names = ("127.0.0.1", "localhost")
        self._hosts = {f"{name}:{port}" for name in names}
        self._origins = {f"http://{host}" for host in self._hosts}

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
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, with_headers)
            return
        _, _, rest = scope["path"].split("/", 2)
        inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
        await self.app(inner, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _no(421, "this address is served under another name")
        parts = scope["path"].split("/", 2)
        if len(parts) < 3 or not hmac.compare_digest(parts[1].encode("utf-8", "replace"), self._token):
            return _no(404, "there is nothing here; open the address that the terminal shows, with its token")
        sites = headers.getlist("sec-fetch-site")
        if not self._origins.issuperset(origins) or not {"same-origin", "none"}.issuperset(sites):
            return _no(403, "only the studio's own page may ask for this")
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return _no(403, "a request that changes something must say where it comes from")
        return None


def _no(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status_code=status)
