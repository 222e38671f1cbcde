"""The addresses of the studio: JSON in, JSON out; long work reports progress by server-sent events.

The page is the report's own modules with those of the studio behind them, as one script and one style.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from polyrule.errors import LimitError, OptionError, OutputError, PolyruleError
from polyrule.report.page import SCRIPTS, STYLES
from polyrule.studio.saving import FILES, make_file
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin, file_ending
from polyrule.utils.budget import limits

logger = logging.getLogger(__name__)
#: bytes of a question; a table comes by another way
MOST_JSON = 1_000_000
#: what a dropped table may cost
MOST_BYTES = 1 << 30
MOST_CELLS = 200_000_000
MOST_SECONDS = 600.0
#: seconds between two looks at a job
PACE = 0.1
Turn = AbstractContextManager[Any]
"""Context in which a question is answered: the lock of the session, or none."""


def questions_of(session: Session) -> dict[Callable[..., Any], bool]:
    """Return the methods that a page may call under the lock, True if with a value; the address is the name."""
    questions, workers = session.questions, session.workers
    with_value = (
        *(session.choose_sheet, session.prepare, session.change, session.go_to),
        *(workers.learn, workers.carried, workers.stop),
        *(
            questions.trial,
            questions.shape,
            questions.conditions,
            questions.complete,
            questions.feature,
            questions.label_text,
        ),
        *(questions.rows, questions.find, questions.shared, questions.suggest, questions.compare, questions.new_rows),
    )
    without = (session.undo, session.redo, questions.labels, workers.compare_with_others)
    return dict.fromkeys(with_value, True) | dict.fromkeys(without, False)


def make_app(session: Session, folder: Path, max_bytes: int = MOST_BYTES) -> Starlette:
    """Return the application; dropped tables are kept in `folder`."""

    async def columns(request: Request) -> Response:
        start, find = request.query_params.get("start", "0"), request.query_params.get("find", "")
        return await _answered(lambda: session.columns(_whole(start), find[:500]), session.lock)

    async def upload(request: Request) -> Response:
        name = Path(request.query_params.get("name", "table").replace("\\", "/")).name[:200] or "table"
        part = request.query_params.get("part", "train")
        origin = await _keep(request, folder, name, max_bytes)

        def take() -> dict[str, Any]:
            try:
                with limits(max_bytes=max_bytes, max_cells=MOST_CELLS, seconds=MOST_SECONDS):
                    if part == "fresh":
                        return session.judge(origin)
                    if part == "predict":
                        return session.predict(origin)
                    return session.take(origin, "test" if part == "test" else "train")
            finally:
                session.intake.forget_files(folder)

        return await _answered(take, session.lock)

    async def events(request: Request) -> Response:
        job = session.workers.find_job(_whole(request.path_params["job"]))

        async def tell() -> AsyncIterator[str]:
            at = 0
            while True:
                ended = job.finished
                fresh, at = job.events[at:], len(job.events)
                for event in fresh:
                    yield f"data: {json.dumps(event)}\n\n"
                if ended or session.workers.closed:
                    return
                await asyncio.sleep(PACE)

        return StreamingResponse(tell(), media_type="text/event-stream")

    async def save(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            return JSONResponse({"error": f"there is no file {name!r}; there are {', '.join(FILES)}"}, 404)
        content = await run_in_threadpool(make_file, session, name)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=FILES[name][0], headers=headers)

    routes = [
        Route("/", lambda _: Response(html(), media_type="text/html")),
        Route("/studio.js", lambda _: Response(script(), media_type="text/javascript")),
        Route("/studio.css", lambda _: Response(style(), media_type="text/css")),
        Route("/api/columns", columns),
        Route("/api/upload", upload, methods=["POST"]),
        Route("/api/events/{job}", events),
        Route("/save/{name}", save),
        *(
            Route(f"/api/{method.__name__}", _answer(method, takes_value, session.lock), methods=["POST"])
            for method, takes_value in questions_of(session).items()
        ),
        Route("/api/intervals", _answer(session.questions.intervals, False, nullcontext()), methods=["POST"]),
        Route("/api/state", _answer(session.state, False, session.lock)),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={PolyruleError: _known, ClientDisconnect: _gone, Exception: _unknown},
    )


def _answer(method: Callable[..., Any], takes_value: bool, turn: Turn) -> Callable[[Request], Any]:
    """Return a handler that answers with the result of a method."""

    async def answer(request: Request) -> Response:
        arguments = (await _json(request),) if takes_value else ()
        return await _answered(lambda: method(*arguments), turn)

    return answer


async def _answered(work: Callable[[], Any], turn: Turn) -> Response:
    """Answer what some work gives, which waits for its turn."""

    def alone() -> Any:
        with turn:
            return work()

    answer = await run_in_threadpool(alone)
    return Response(json.dumps(answer, separators=(",", ":"), allow_nan=False), media_type="application/json")


async def _json(request: Request) -> Any:
    """Return the body as JSON, of bounded size."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise OptionError("the question must be of type application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_JSON:
            raise LimitError(f"the question has more than the {MOST_JSON} bytes that are allowed")
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise OptionError("the question is not valid JSON") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


async def _keep(request: Request, folder: Path, name: str, max_bytes: int) -> Origin:
    """Write a dropped table to a file that is named after its content."""
    if request.headers.get("content-type", "") != "application/octet-stream":
        raise OptionError("a table must be sent as application/octet-stream")
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".upload-")
    try:
        total = 0
        with open(handle, "wb") as stream:
            async for chunk in request.stream():
                total += len(chunk)
                if total > max_bytes:
                    raise LimitError(f"the table has more than the {max_bytes} bytes that are allowed")
                stream.write(chunk)
        if not total:
            raise OptionError("the table is empty")
        origin = Origin.of_file(Path(temporary), name)
        place = folder / f"{origin.digest[:24]}{file_ending(name)}"
        os.replace(temporary, place)
        return replace(origin, path=str(place))
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(f"{name}: there is no place for it ({error.strerror or error})") from error
        raise


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise OptionError("a whole number was expected")
    return int(text)


async def _known(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=413 if isinstance(error, LimitError) else 400)


async def _gone(request: Request, error: Exception) -> Response:
    return PlainTextResponse("", status_code=400)


async def _unknown(request: Request, error: Exception) -> Response:
    logger.error("a request to the studio failed", exc_info=error)
    return JSONResponse({"error": "Something went wrong inside; the terminal shows where."}, status_code=500)


# What the studio says in its own way; all other modules of the report are here, and hold what the server last said.
_OWN_WAY = ("overview.js", "matters.js", "compare.js", "main.js")
_REPORT = tuple(name for name in SCRIPTS if name not in _OWN_WAY)
_STUDIO = (
    "api.js",
    "parts.js",
    "choice.js",
    "data.js",
    "learn.js",
    "editor.js",
    "write.js",
    "work.js",
    "ask.js",
    "compare.js",
    "predict.js",
    "save.js",
    "main.js",
)


@cache
def script() -> str:
    """Return all scripts of the page, in one scope."""
    parts = [*(_read("report", name) for name in _REPORT), *(_read("studio", name) for name in _STUDIO)]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"


@cache
def style() -> str:
    """Return the style of the report and what the studio adds."""
    return "\n".join([*(_read("report", name) for name in STYLES), _read("studio", "studio.css")])


@cache
def html() -> str:
    """Return the document; everything in it comes by script."""
    return _read("studio", "studio.html")


def _read(stage: str, name: str) -> str:
    return (files(f"polyrule.{stage}") / "assets" / name).read_text(encoding="utf-8")
