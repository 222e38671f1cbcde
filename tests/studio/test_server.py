"""The studio over HTTP: the way of a page from a dropped table to a saved script."""

from __future__ import annotations

import errno
import json
import threading
import time
from types import SimpleNamespace
from typing import Any

from tests.studio.conftest import LABELS, Client, songs

from polyrule.model.files import loads
from polyrule.studio.launch import Studio
from polyrule.studio.session import Session


def test_the_whole_way(empty):
    client = Client(empty)
    assert json.loads(client.get("api/state"))["looked"] is False
    seen = client.upload(songs(), "my%20songs.csv")
    assert [column["looks"] for column in seen["columns"]][-3:] == ["label"] * 3
    state = client.ask("prepare", {"labels": LABELS, "identifier": "title"})
    assert state["ready"] is True
    assert sum(state["examples"]) == 240
    result = client.learn(max_rules=4)
    rules = result["view"]["models"][0]["rules"]
    assert 0 < len(rules) <= 4
    after = client.ask("change", {"step": {"do": "remove", "rule": 0}, "why": "a test"})
    assert len(after["view"]["models"][0]["rules"]) == len(rules) - 1
    assert len(client.ask("undo")["view"]["models"][0]["rules"]) == len(rules)
    client.ask("redo")
    assert client.ask("intervals")["interval"]["micro_f1"][0] >= 0
    begun = client.ask("compare_with_others")
    names = [one["name"] for one in client.events(begun["job"])[-1]["result"]["references"]]
    assert names == ["majority", "label set", "one rule per label", "forest"]
    assert "references" in client.ask("compare_with_others")
    model = loads(client.get("save/model.json").decode())
    assert len(model) == len(rules) - 1
    assert model.info["history"][-1]["why"] == "a test"
    assert b"read('my songs.csv'" in client.get("save/script.py")
    assert client.get("save/report.html").startswith(b"<!doctype html>")


def test_progress_is_told_while_learning(empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": LABELS})
    events = client.events(client.ask("learn", {"kind": "list"})["job"])
    told = [event for event in events if "rules" in event]
    assert told
    assert all(0 <= event["done"] <= 1 for event in told)
    assert any("<-" in event.get("rule", "") for event in told)
    assert events[-1]["finished"] is True


def test_a_cancelled_job_changes_nothing(empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": LABELS})
    job = client.ask("learn", {"kind": "scorecard", "max_rules": 30, "max_conditions": 6})["job"]
    client.ask("stop", {"keep": False})
    assert client.events(job)[-1].get("cancelled") is True
    assert json.loads(client.get("api/state"))["history"]["versions"] == []


def test_a_second_learning_waits_for_the_first(empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": LABELS})
    job = client.ask("learn", {"kind": "scorecard", "max_rules": 30})["job"]
    assert "wait for it" in client.ask("learn", {"kind": "list"}, status=400)["error"]
    client.ask("stop", {"keep": False})
    client.events(job)


def test_rows_come_a_few_at_a_time(client):
    first = client.ask("rows", {"part": 0, "filter": "all"})
    later = client.ask("rows", {"part": 0, "filter": "all", "start": 25})
    assert len(first["examples"]["row"]) == 25
    assert later["examples"]["row"][0] == 25
    assert first["total"] == later["total"] > 100


def test_errors_are_one_sentence(client):
    for name, value in (
        ("change", {"step": {"do": "remove", "rule": 99}}),
        ("rows", {"part": 7}),
        ("go_to", {"version": 12345}),
        ("learn", {"kind": "oracle"}),
        ("compare", {"first": 0, "second": 9}),
    ):
        error = client.ask(name, value, status=400)["error"]
        assert error
        assert "Traceback" not in error
        assert "\n" not in error


def test_a_draft_that_makes_no_sense_is_an_answer(client):
    assert "no label" in client.ask("trial", {"step": {"do": "insert", "at": 0, "text": "nothing <- true"}})["problem"]


def test_what_a_killed_studio_left_is_swept(tmp_path):
    path = tmp_path / "work [1].studio.json"
    folder = tmp_path / "work [1].studio-data"
    folder.mkdir()
    left = [tmp_path / ".work [1].studio.json.x1y2.part", folder / ".upload-abc"]
    kept = [tmp_path / ".other.json.x1y2.part", folder / "0123.csv"]
    for file in (*left, *kept):
        file.write_text("x")
    with Studio(Session(path)):
        assert not any(file.exists() for file in left)
        assert all(file.exists() for file in kept)


def test_a_studio_that_ends_leaves_no_listener_behind(empty, caplog, monkeypatch):
    """Ending while a forest grows is no error; the page's stream of events just ends."""
    go_on = threading.Event()
    monkeypatch.setattr("polyrule.studio.background.references", lambda *_: go_on.wait(60) and [])
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": LABELS, "identifier": "title"})
    job = client.ask("compare_with_others")["job"]
    heard: list[list[dict[str, Any]]] = []
    listener = threading.Thread(target=lambda: heard.append(client.events(job)))
    listener.start()
    until = time.monotonic() + 30
    while not empty._server.server_state.tasks and time.monotonic() < until:
        time.sleep(0.01)
    empty.close()
    listener.join(30)
    go_on.set()
    assert heard == [[]]
    assert not caplog.records


def test_tables_that_cannot_be_read_are_refused(empty):
    client = Client(empty)
    for content, name in (
        (b"", "x.csv"),
        (b"\x00\x01\x02" * 50, "x.csv"),
        (b"PK\x03\x04zip", "x.xlsx"),
        (b"PAR1junk", "x.parquet"),
    ):
        error = client.upload(content, name, status=400)["error"]
        assert "studio-data" not in error
    assert json.loads(client.get("api/state"))["looked"] is False


def test_a_table_for_which_there_is_no_room_is_refused_in_a_sentence(empty, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("polyrule.studio.server.os", SimpleNamespace(replace=full))
    told = Client(empty).upload(songs(), status=400)
    assert told == {"error": "songs.csv: there is no place for it (No space left on device)"}
    assert not list(empty.session.path.parent.glob("*-data/*"))
