"""A studio that runs, and people who talk to it: a program over HTTP, a person in a browser."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyrule.studio.launch import Studio
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin

LABELS = ["calm", "happy", "loud"]


def songs(rows: int = 240, seed: int = 0) -> str:
    """A table with numbers, categories, missing values, a name and three labels that depend on them."""
    random = np.random.default_rng(seed)
    tempo, level = random.normal(110, 25, rows).round(1), random.normal(-12, 4, rows).round(2)
    genre = random.choice(["rock", "jazz", "folk"], rows)
    calm = (tempo < 100) & (level < -10)
    happy = (tempo > 115) | (genre == "folk")
    loud = (level > -11) ^ (random.random(rows) < 0.05)
    lines = ["title,tempo,level,genre,calm,happy,loud"]
    for row in range(rows):
        shown = "" if row % 17 == 3 else f"{level[row]}"
        truth = ",".join(str(int(label[row])) for label in (calm, happy, loud))
        lines.append(f"song {row},{tempo[row]},{shown},{genre[row]},{truth}")
    return "\n".join(lines) + "\n"


class Client:
    """Asks a running studio, as its page does."""

    def __init__(self, studio: Studio) -> None:
        self.port = studio.port
        self.path = "/" + studio.url.split("/", 3)[3]
        self.origin = f"http://127.0.0.1:{studio.port}"

    def request(
        self, method: str, address: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            line.request(method, address, body=body, headers=headers or {})
            answer = line.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            line.close()

    def ask(self, name: str, value: Any = None, status: int = 200) -> Any:
        headers = {"Origin": self.origin, "Content-Type": "application/json"}
        body = json.dumps({} if value is None else value).encode()
        found, _, content = self.request("POST", f"{self.path}api/{name}", body, headers)
        assert found == status, (found, content[:500])
        return json.loads(content)

    def get(self, address: str, status: int = 200) -> bytes:
        found, _, content = self.request("GET", self.path + address)
        assert found == status, (found, content[:500])
        return content

    def upload(self, text: str | bytes, name: str = "songs.csv", status: int = 200, part: str = "train") -> Any:
        headers = {"Origin": self.origin, "Content-Type": "application/octet-stream"}
        body = text.encode() if isinstance(text, str) else text
        address = f"{self.path}api/upload?name={name}&part={part}"
        found, _, content = self.request("POST", address, body, headers)
        assert found == status, (found, content[:500])
        return json.loads(content)

    def events(self, job: int) -> list[dict[str, Any]]:
        text = self.get(f"api/events/{job}").decode()
        return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line]

    def learn(self, **wish: Any) -> dict[str, Any]:
        job = self.ask("learn", {"kind": "list", **wish})["job"]
        end = self.events(job)[-1]
        assert "result" in end, end
        result: dict[str, Any] = end["result"]
        return result


def learned_session(folder: Path, **wish: Any) -> Session:
    """A session with data and a small list, without a server."""
    (folder / "songs.csv").write_text(songs(), encoding="utf-8")
    session = Session(folder / "songs.studio.json", by="tester")
    session.take(Origin.of_file(folder / "songs.csv"))
    session.prepare({"labels": LABELS, "identifier": "title"})
    learn(session, **wish)
    return session


def learn(session: Session, **wish: Any) -> None:
    session.workers.learn({"kind": "list", **wish})
    assert session.workers.job is not None
    session.workers.job.thread.join()
    assert "result" in session.workers.job.events[-1], session.workers.job.events[-1]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return learned_session(tmp_path, max_rules=4)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Studio]:
    """A studio without data."""
    with Studio(Session(tmp_path / "work.studio.json", by="tester")) as running:
        yield running.start()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with data and a small list, shared by tests that leave it as it was."""
    with Studio(learned_session(tmp_path_factory.mktemp("studio"), max_rules=4)) as running:
        yield running.start()


@pytest.fixture(scope="module")
def client(studio: Studio) -> Client:
    return Client(studio)
