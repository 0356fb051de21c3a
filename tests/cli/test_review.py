"""`ragguard review`: what it prints, what it serves, and what it refuses."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import urllib.error
import urllib.request

import pytest

pytest.importorskip("starlette", reason="needs the extra review")
pytest.importorskip("jinja2", reason="needs the extra review")
pytest.importorskip("uvicorn", reason="needs the extra review")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")

from starlette.testclient import TestClient


@pytest.mark.slow
def test_it_prints_a_link_that_works_once_and_a_token(spawn, store_url):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    served = spawn("review", "--store", store_url, "--port", "0", env=environment)
    link, rest = served.stdout.readline().strip(), served.stdout.readline()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/login\?once=[\w-]{32}", link)
    assert re.search(r"with the token [\w-]{32}$", rest.strip())
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link, timeout=10) as response:
        assert "Proposals" in response.read().decode()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(link, timeout=10)
    served.send_signal(signal.SIGINT)
    assert served.wait(20) == 130
    assert "Traceback" not in served.stderr.read()


@pytest.mark.parametrize(("tenant", "status"), [("acme", 400), (None, 200)])
def test_it_shows_one_tenant_or_each(run, store_url, monkeypatch, tenant, status):
    answers = []

    def visit(self, sockets):
        client = TestClient(self.config.app, base_url="http://localhost")
        client.post("/login", data={"name": "ann", "token": "a token of some length"})
        answers.append(client.get("/?tenant=other").status_code)

    monkeypatch.setattr("uvicorn.Server.run", visit)
    monkeypatch.setenv("RAGGUARD_REVIEW_TOKEN", "a token of some length")
    named = [] if tenant is None else ["--tenant", tenant]
    assert run("review", "--store", store_url, "--port", "0", *named).exit_code == 0
    assert answers == [status]


def _module(tmp_path, monkeypatch):
    (tmp_path / "shop_search.py").write_text(
        "from ragguard.knowledge.memory import KnowledgeBase\n"
        "base = KnowledgeBase(['a text'])\n"
        "made = lambda: base\n"
        "fails = lambda: 1 / 0\n"
        "client = object()\n"
        "def exits(): raise SystemExit('no config')\n"
        "async def later(): return base\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize("named", ["kb.jsonl", "shop_search:base", "shop_search:made"])
def test_with_a_knowledge_base_its_passages_can_be_removed(
    run, store_url, jsonl, tmp_path, monkeypatch, named
):
    words = []

    def visit(self, sockets):
        client = TestClient(self.config.app, base_url="http://localhost")
        client.post("/login", data={"name": "ann", "token": "a token of some length"})
        words.append(client.get("/event?id=e-done").text)

    _module(tmp_path, monkeypatch)
    jsonl("kb.jsonl", {"id": "x", "text": "It was lit in 1921."})
    monkeypatch.setattr("uvicorn.Server.run", visit)
    monkeypatch.setenv("RAGGUARD_REVIEW_TOKEN", "a token of some length")
    assert run("review", "--store", store_url, "--port", "0", "-b", named).exit_code == 0
    assert run("review", "--store", store_url, "--port", "0").exit_code == 0
    stands = "It stands in the knowledge base" if named == "kb.jsonl" else "not in the knowledge"
    assert stands in words[0]
    assert "with --knowledge-base to remove" in words[1]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("none.jsonl", "cannot read none.jsonl"),
        ("shop_search:none", "AttributeError"),
        ("shop_nowhere:base", "pass a file, or MODULE:NAME"),
        ("shop_search:fails", "ZeroDivisionError"),
        ("shop_search:client", "cannot remove passages from a object"),
        ("shop_search:exits", "exits failed: SystemExit: no config; pass a file"),
        ("shop_search:later", "it is a coroutine function; pass a file"),
        ("bad.jsonl", "bad.jsonl:1"),
    ],
)
def test_what_is_no_knowledge_base_is_refused(
    run, store_url, jsonl, tmp_path, monkeypatch, named, message
):
    _module(tmp_path, monkeypatch)
    jsonl("bad.jsonl", 5)
    result = run("review", "--store", store_url, "--port", "0", "--knowledge-base", named)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--user-header", "X-User"], "name the addresses of the proxy"),
        (["--user-header", "X-User", "--trusted-proxy", "proxy"], "pass the proxy's address"),
        (["--trusted-proxy", "::1"], "--trusted-proxy needs --user-header"),
        (["--alpha", "2"], "--alpha must be between 0 and 1"),
        (["--host", "256.0.0.1"], "cannot listen on 256.0.0.1"),
    ],
)
def test_what_cannot_be_served_is_refused(run, store_url, arguments, message):
    result = run("review", "--store", store_url, "--port", "0", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_port_that_is_taken_is_said(run, store_url):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("review", "--store", store_url, "--port", port)
    assert result.exit_code == 2
    assert "pass another --port, or 0" in result.stderr


def test_a_token_that_can_be_guessed_is_refused(run, store_url, monkeypatch):
    monkeypatch.setenv("RAGGUARD_REVIEW_TOKEN", "1234")
    result = run("review", "--store", store_url, "--port", "0")
    assert result.exit_code == 2
    assert "pass 16 at least" in result.stderr


def test_a_store_that_is_not_there_is_not_made(run, tmp_path):
    result = run("review", "--store", str(tmp_path / "none.db"), "--port", "0")
    assert result.exit_code == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["uvicorn", "starlette", "jinja2"])
def test_without_the_extra_it_says_what_to_install(run, store_url, monkeypatch, missing):
    for name in [name for name in sys.modules if name.startswith("ragguard.review")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "starlette":
        monkeypatch.setitem(sys.modules, "starlette.applications", None)
    result = run("review", "--store", store_url, "--port", "0")
    assert result.exit_code == 3
    assert "pip install '.[review]'" in result.stderr
