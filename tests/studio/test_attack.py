"""What strangers can try, from another page, another name, or with hostile content."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
import socket
from collections import Counter
from pathlib import Path

import pytest
from tests.studio.conftest import Client, songs

from polyrule.report.page import _script as report_script
from polyrule.studio import server as page
from polyrule.studio.launch import POLICY, Studio
from polyrule.studio.server import MOST_JSON, questions_of
from polyrule.studio.session import Session


def test_it_listens_on_this_machine_alone(studio):
    assert studio.url.startswith("http://127.0.0.1:")
    for sock in studio._server.servers[0].sockets:
        assert sock.getsockname()[0] == "127.0.0.1"


def test_without_the_token_there_is_nothing(client):
    wrong = "A" * (len(client.path) - 2)
    for address in (
        "/",
        "/api/state",
        "/studio.js",
        f"/{wrong}/",
        f"/{wrong}/api/state",
        "//api/state",
        "/..",
        client.path[:-1],
    ):
        status, _, content = client.request("GET", address)
        assert status == 404, address
        assert b"calm" not in content
    assert client.request("GET", client.path)[0] == 200


def test_tokens_are_long_and_differ(studio, empty):
    one, other = (running.url.split("/")[3] for running in (studio, empty))
    assert len(one) == len(other) == 32
    assert one != other


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", "[::1]:{port}", ""]
)
def test_another_name_for_this_machine_is_refused(client, host):
    """DNS rebinding: a page elsewhere whose own name has been made to lead here."""
    status, _, content = client.request(
        "GET", f"{client.path}api/state", headers={"Host": host.format(port=client.port)}
    )
    assert status == 421 or (host == "" and status == 400)
    assert b"history" not in content


def test_two_hosts_are_no_host(client):
    lines = [
        f"GET {client.path}api/state HTTP/1.1",
        f"Host: 127.0.0.1:{client.port}",
        "Host: evil.example",
        "Connection: close",
        "\r\n",
    ]
    request = "\r\n".join(lines)
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as line:
        line.sendall(request.encode())
        answer = b""
        while piece := line.recv(4096):
            answer += piece
    assert answer.split()[1] in (b"400", b"421")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {},
        {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_changes_nothing(client, headers):
    before = client.get("api/state")
    sent = {name: value.format(port=client.port) for name, value in headers.items()}
    body = json.dumps({"step": {"do": "remove", "rule": 0}}).encode()
    status, _, _ = client.request(
        "POST", f"{client.path}api/change", body, {"Content-Type": "application/json", **sent}
    )
    assert status == 403
    assert client.get("api/state") == before


def test_another_page_reads_nothing(client):
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.request("GET", f"{client.path}api/state", headers=headers)[0] == 403
    _, headers, _ = client.request("GET", f"{client.path}api/state")
    assert not [name for name in headers if name.startswith("access-control")]
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    assert client.request("OPTIONS", f"{client.path}api/change", headers=preflight)[0] == 403


@pytest.mark.parametrize("address", ["", "studio.js", "studio.css", "api/state", "save/model.json", "nothing", "../"])
def test_every_answer_says_what_may_run(client, address):
    _, headers, _ = client.request("GET", client.path + address)
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_the_policy_and_the_page_need_no_eval_and_no_inline_code():
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    assert "frame-ancestors 'none'" in POLICY
    for word in (
        "eval(",
        "new Function",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "localStorage",
    ):
        assert word not in page.script(), word
    html = page.html()
    assert " on" not in html.replace(' on"', "").split("<body>")[0]
    assert html.count("<script") == 2  # the script by address, and a block of data
    assert 'type="application/json"' in html
    assert "http" not in html.replace("https", "http").replace("http-equiv", "")


@pytest.mark.parametrize("script", [page.script, report_script])
def test_the_script_is_one_scope_without_double_names(script):
    names = re.findall(r"^(?:async )?(?:function\*?|const|let|class) +(\w+)", script(), re.MULTILINE)
    assert len(names) > 100
    assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize(
    "name",
    [
        "../studio.json",
        "..%2f..%2fetc%2fpasswd",
        "model.json/..",
        "%2e%2e/%2e%2e/x",
        "songs.csv",
        "songs.studio.json",
        "model.json%00.txt",
    ],
)
def test_no_path_is_taken_from_the_page(client, name):
    status, _, content = client.request("GET", f"{client.path}save/{name}")
    assert status == 404
    assert b"root:" not in content
    assert b"song 1" not in content


@pytest.mark.parametrize(
    "name",
    [
        "../../evil.csv",
        "..%5C..%5Cevil.csv",
        "/etc/cron.d/evil.csv",
        "a%00b.csv",
        "x" * 5000 + ".csv",
        "%F0%9F%8E%B5.csv",
        "",
    ],
)
def test_a_dropped_file_lands_where_the_studio_says(empty, name):
    client = Client(empty)
    folder = empty.session.path.parent
    before = {path for path in folder.parent.rglob("*") if "work.studio-data" not in str(path)}
    client.upload(songs(40), name)
    after = {path for path in folder.parent.rglob("*") if "work.studio-data" not in str(path)}
    assert after == before
    kept = list((folder / "work.studio-data").iterdir())
    assert len(kept) == 1
    assert kept[0].name.split(".")[0].isalnum()
    assert Path(empty.session.intake.origin.path) == kept[0]


def test_a_table_that_is_too_large_is_refused_while_it_comes(tmp_path):
    with Studio(Session(tmp_path / "p.json"), max_bytes=10_000) as running:
        client = Client(running.start())
        assert "10000 bytes" in client.upload(b"a,b\n" + b"1,2\n" * 5000, status=413)["error"]
        assert list((tmp_path / "p-data").iterdir()) == []
        bomb = gzip.compress(b"a,b\n" + b"0,0\n" * 3_000_000)
        assert len(bomb) < 20_000
        assert (
            "more than"
            in client.upload(bomb[:10_000] if len(bomb) > 10_000 else bomb, "bomb.csv.gz", status=413)["error"]
        )
        assert json.loads(client.get("api/state"))["looked"] is False


def test_questions_are_small_json(client):
    address, origin = f"{client.path}api/trial", {"Origin": client.origin}
    large = b'{"step": "' + b"x" * MOST_JSON + b'"}'
    assert client.request("POST", address, large, {**origin, "Content-Type": "application/json"})[0] == 413
    for body, kind in (
        (b"{}", "text/plain"),
        (b"{}", ""),
        (b"step=1", "application/x-www-form-urlencoded"),
        (b"[" * 200_000, "application/json"),
        (b"NaN", "application/json"),
        (b'{"step": Infinity}', "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"", "application/json"),
    ):
        assert client.request("POST", address, body, {**origin, "Content-Type": kind})[0] == 400, body[:30]


def test_other_methods_and_sockets_are_refused(client):
    for method in ("PUT", "DELETE", "PATCH", "TRACE"):
        status, _, _ = client.request(method, f"{client.path}api/state", headers={"Origin": client.origin})
        assert status in (403, 404, 405), method
    assert client.request("GET", f"{client.path}api/change")[0] == 405
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
    assert client.request("GET", f"{client.path}api/change", headers=upgrade)[0] != 101


def test_whatever_is_asked_the_answer_is_a_result_or_a_sentence(studio, client):
    """Random questions to every address; a failure inside would be a 500."""
    chance = random.Random(1)
    values = [
        None,
        True,
        0,
        1,
        -1,
        2.5,
        10**30,
        "",
        "x",
        "calm <- tempo > 3",
        [],
        {},
        [0],
        [[0, 1]],
        {"do": "note"},
        "\u0000",
    ]
    names = [
        "step",
        "rule",
        "to",
        "at",
        "text",
        "label",
        "weight",
        "part",
        "filter",
        "rows",
        "start",
        "first",
        "second",
        "version",
        "why",
        "kind",
        "keep",
        "head",
        "body",
        "do",
        "name",
        "labels",
        "tags",
        "max_rules",
    ]
    state = client.get("api/state")
    for name in (method.__name__ for method, takes_value in questions_of(studio.session).items() if takes_value):
        if name in ("prepare", "learn", "stop"):
            continue  # they work for long; their readers are asked without a server
        for _ in range(60):
            value = {chance.choice(names): chance.choice(values) for _ in range(chance.randrange(4))}
            if chance.random() < 0.5:
                value["step"] = {
                    "do": chance.choice(["remove", "move", "insert", "replace", "split", "reweigh"]),
                    **{chance.choice(names): chance.choice(values) for _ in range(3)},
                }
            if chance.random() < 0.5:
                value = {"part": 0, "rule": 0, **value} if name in ("rows", "shared", "suggest") else value
            body = json.dumps(value).encode()
            status, _, content = client.request(
                "POST", f"{client.path}api/{name}", body, {"Origin": client.origin, "Content-Type": "application/json"}
            )
            assert status in (200, 400), (name, value, content)
            json.loads(content)
    for _ in range(len(json.loads(client.get("api/state"))["history"]["versions"])):
        client.ask("go_to", {"version": 0})
    assert json.loads(state)["view"] == json.loads(client.get("api/state"))["view"]


def test_hostile_readers_of_setup_and_recipe():
    from polyrule.errors import PolyruleError
    from polyrule.studio.learn import Recipe
    from polyrule.studio.setup import Setup

    chance = random.Random(2)
    values = [
        None,
        True,
        0,
        -1,
        2.5,
        10**30,
        float("inf"),
        "",
        "x",
        [],
        {},
        [0],
        ["a"],
        {"a": 1},
        {"a": ["b"]},
        {"a": "up"},
    ]
    names = [
        "labels",
        "drop",
        "ordinal",
        "monotone",
        "share",
        "seed",
        "tags",
        "kind",
        "max_rules",
        "balance",
        "points",
        "keep",
        "simplicity",
        "path",
    ]
    for _ in range(2000):
        value = {chance.choice(names): chance.choice(values) for _ in range(chance.randrange(5))}
        for read in (Setup.from_json, lambda v: Recipe.from_json({"kind": "list", **v}, (), Setup(), None)):
            with contextlib.suppress(PolyruleError):
                read(value)


def test_the_token_is_not_written_down(studio, client, capfd):
    client.get("api/state")
    told = capfd.readouterr()
    token = studio.url.split("/")[3]
    assert token not in told.out + told.err
    for path in studio.session.path.parent.rglob("*"):
        if path.is_file():
            assert token not in path.read_text(encoding="utf-8", errors="replace")
