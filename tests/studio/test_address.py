"""The address of a studio stays the same after a restart, if its port is free."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from tests.studio.conftest import Client

from polyrule.studio.address import Address, last_address, remember_address
from polyrule.studio.launch import Studio
from polyrule.studio.session import Session


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("POLYRULE_CACHE", raising=False)
    return tmp_path / "cache"


def test_an_old_tab_finds_its_way_after_a_restart(tmp_path):
    project = tmp_path / "work.studio.json"
    with Studio(Session(project), remember=True) as first:
        client = Client(first.start())
        assert client.ask("redo", status=400)
    with Studio(Session(project), remember=True) as second:
        second.start()
        assert second.url == first.url
        client.get("api/state")


def test_another_port_is_taken_if_the_last_one_is_not_free(tmp_path):
    project = tmp_path / "work.studio.json"
    with Studio(Session(project), remember=True) as first:
        pass
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first.port))
        taken.listen()
        with Studio(Session(project), remember=True) as second:
            assert second.port != first.port
            assert second.url.split("/")[3] != first.url.split("/")[3]


def test_only_the_user_can_read_it_and_another_project_has_another(tmp_path):
    remember_address(tmp_path / "a.json", Address.fresh(5000))
    assert last_address(tmp_path / "a.json").port == 5000
    assert last_address(tmp_path / "b.json") is None
    (file,) = (tmp_path / "cache").rglob("*.json")
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o644)
        assert last_address(tmp_path / "a.json") is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"port": 5000}', '{"port": 80, "token": "x"}', '{"port": 5000, "token": 3}']
)
def test_a_file_that_makes_no_sense_is_left_alone(tmp_path, text):
    remember_address(tmp_path / "a.json", Address.fresh(5000))
    (file,) = (tmp_path / "cache").rglob("*.json")
    file.write_text(text, encoding="utf-8")
    assert last_address(tmp_path / "a.json") is None
