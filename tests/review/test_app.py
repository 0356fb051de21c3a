"""The pages and buttons, without a browser: who may, what shows, and what a click does."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="needs the extra review")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")
pytest.importorskip("jinja2", reason="needs the extra review")

from starlette.testclient import TestClient

from ragguard import Guard, Passage
from ragguard.audit import Event, QuarantineEntry
from ragguard.audit.decisions import Decisions
from ragguard.audit.memory import MemoryStore
from ragguard.audit.trail import Keys, TrailRow
from ragguard.audit.trail_check import check
from ragguard.content import content_key
from ragguard.errors import InvalidInputError, StoreError
from ragguard.review.access import Access, TrustedProxy
from ragguard.review.app import COOKIE, review_app

from .browser import TOKEN, press, read
from .conftest import FACTS, LIE, QUERY, REPORTER, SCRIPT, SOURCE, poison

PAGES = (
    "/",
    "/events",
    "/verdicts",
    "/quarantine",
    "/allowed",
    "/reporters",
    "/history",
    "/charts",
)
TAGS = frozenset(
    """a abbr b blockquote body button code dd details div dl dt fieldset figcaption figure footer
    form g h1 h2 head header html input label legend link main mark meta nav option p q section
    select span strong summary svg table tbody td th thead title tr circle line rect text""".split()
)


@pytest.fixture
def access():
    return Access(TOKEN)


@pytest.fixture
def visitor(store, access):
    """A browser that has not logged in."""
    app = review_app(store, access, hosts=("testserver",), owner="root")
    with TestClient(app, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(visitor):
    """A browser of ann, who has."""
    response = visitor.post("/login", data={"name": "ann", "token": TOKEN})
    assert response.status_code == 303
    return visitor


def addresses(store) -> list[str]:
    [verdict] = store.verdicts()
    return [
        *PAGES,
        *(f"/event?id={quote(event.id, safe='')}" for event in store.events()),
        f"/verdict?id={verdict.id}",
        *(f"/entry?key={entry.key}" for entry in store.quarantine()),
        "/quarantine?status=proposed&page=7",
        "/events?status=<script>&page=x",
        f"/verdicts?passage={quote(poison()[0].id, safe='')}",
        "/?done=confirm&count=2",
        "/?done=<script>&count=<script>",
    ]


def statuses(store):
    return {entry.passage_id: entry.status for entry in store.quarantine()}


def test_nothing_opens_without_the_token(visitor, store):
    for address in [*addresses(store), f"/text?key={store.quarantine()[0].key}"]:
        response = visitor.get(address)
        assert response.status_code == 401
        assert QUERY not in response.text
    for address in ("/decide", "/logout"):
        assert visitor.post(address, data={"do": "confirm"}).status_code == 401
    assert visitor.get("/login").status_code == 200
    assert visitor.get("/decide").status_code == 405


def test_every_page_shows_hostile_texts_and_holds_no_tag_or_handler_of_theirs(client, store):
    for address in addresses(store):
        response = client.get(address)
        assert response.status_code == 200, address
        page = read(response)
        assert page.tags <= TAGS, (address, page.tags - TAGS)
        names = {name for name, _ in page.attributes}
        assert not [name for name in names if name.startswith("on") or name == "style"]
        links = [value for name, value in page.attributes if name in ("href", "src", "action")]
        assert all(re.match(r"/(?!/)|#content$", link) for link in links), address
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00\x1b]", response.text)
    shown = read(client.get("/")).words
    assert "document.title='owned'" in shown
    assert r"\u202e" in shown
    assert "{{ 7*7 }}" in shown


def test_every_response_says_that_nothing_may_run(client):
    for address in ("/", "/login", "/static/review.css", "/nowhere", "/event?id=none"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'")
        assert "script" not in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_what_is_not_there_is_said_and_not_raised(client):
    for address in ("/event?id=%ED%A0%80", "/verdict?id=x", "/entry?key=", "/nowhere", "/text"):
        response = client.get(address)
        assert response.status_code == 404, address
    moments = ("never", "0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00")
    addresses = ("/events?id=%FF", "/?" + "a=1&" * 3000)
    for address in (*addresses, *(f"/verdicts?before={one}" for one in moments)):
        assert client.get(address).status_code == 400


def test_a_field_of_any_name_is_no_defect(client):
    for name in ("path", "fields", "self", "tenant_", "here"):
        assert client.get(f"/events?{name}=x").status_code == 200


def test_the_cookie_is_for_this_site_and_not_for_scripts(visitor):
    response = visitor.post("/login", data={"name": "ann", "token": TOKEN})
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_the_link_opens_the_page_once(visitor, access):
    link = f"/login?once={access.once}"
    assert visitor.get(link).status_code == 303
    assert "root" in read(visitor.get("/")).words
    visitor.cookies.clear()
    assert visitor.get(link).status_code == 401
    assert visitor.get("/").status_code == 401


def test_links_from_other_sites_open_nothing_and_use_up_no_attempts(visitor, access):
    for _ in range(9):
        for link in ("/login?once=wrong", f"/login?once={access.once}"):
            other = visitor.get(link, headers={"sec-fetch-site": "cross-site"})
            assert other.status_code == 403
    assert visitor.get("/login", headers={"sec-fetch-site": "cross-site"}).status_code == 200
    assert visitor.get(f"/login?once={access.once}").status_code == 303


def test_the_link_lets_an_owner_in_whom_nobody_named(store, access):
    client = TestClient(review_app(store, access), follow_redirects=False)
    assert client.get(f"/login?once={access.once}").status_code == 303
    assert client.get("/").status_code == 200


def test_wrong_tokens_are_refused_and_then_have_to_wait(visitor):
    for _ in range(5):
        assert visitor.post("/login", data={"name": "eve", "token": "wrong"}).status_code == 401
    late = visitor.post("/login", data={"name": "ann", "token": TOKEN})
    assert late.status_code == 429
    assert 0 < int(late.headers["retry-after"]) <= 60


async def test_attempts_at_once_have_to_wait_as_well(store, access):
    app, all_there, count = review_app(store, access), asyncio.Event(), 12
    statuses = []

    async def attempt() -> None:
        async def receive():
            nonlocal count
            count -= 1
            if not count:
                all_there.set()
            await all_there.wait()
            return {"type": "http.request", "body": b"name=eve&token=wrong"}

        async def send(message):
            statuses.append(message.get("status"))

        asked = {"type": "http", "method": "POST", "path": "/login", "query_string": b""}
        await app({**asked, "headers": [], "client": ("10.0.0.1", 1)}, receive, send)

    await asyncio.gather(*(attempt() for _ in range(count)))
    assert (statuses.count(401), statuses.count(429)) == (5, 7)


def test_nobody_logs_in_without_a_name(visitor):
    assert visitor.post("/login", data={"name": " ", "token": TOKEN}).status_code == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("localhost:8787", 401), ("LOCALHOST", 401), ("[::1]:8787", 401), ("[::1]", 401)),
        *(("evil.example", 400), ("localhost.evil.example", 400), ("[::1", 400), ("", 400)),
    ],
)
def test_another_name_of_the_host_is_refused(store, access, host, status):
    client = TestClient(review_app(store, access, hosts=("localhost", "::1")))
    response = client.get("/", headers={"host": host})
    assert response.status_code == status
    assert "content-security-policy" in response.headers


def test_a_defect_is_said_and_raised_for_the_log(store, access, monkeypatch):
    client = TestClient(review_app(store, access), raise_server_exceptions=False)
    client.post("/login", data={"name": "ann", "token": TOKEN})
    monkeypatch.setattr(type(store), "verdicts", lambda self, **_: 1 / 0)
    response = client.get("/verdicts")
    assert response.status_code == 500
    assert "a defect of ragguard" in read(response).words
    assert "content-security-policy" in response.headers


def test_the_trail_is_whole_after_decisions(client, store):
    keys = [entry.key for entry in store.quarantine()]
    press(client, "/", "confirm", key=keys[0])
    press(client, "/", "allow", key=keys[1])
    press(client, f"/entry?key={keys[0]}", "release")
    press(client, "/reporters", "undo")
    assert check(store, Keys.from_environment()).findings == ()


def test_forms_of_other_sites_and_sessions_change_nothing(client, store):
    key = store.quarantine()[0].key
    form = {"do": "confirm", "key": key, "why": "because", "back": "/"}
    assert client.post("/decide", data=form).status_code == 403
    assert client.post("/decide", data={**form, "form": "0" * 64}).status_code == 403
    right = dict(read(client.get("/")).forms[0]["fields"])["form"]
    elsewhere = {"sec-fetch-site": "cross-site"}
    sent = client.post("/decide", data={**form, "form": right}, headers=elsewhere)
    assert sent.status_code == 400
    assert client.post("/decide", content=b"a" * 300_000).status_code == 400
    assert client.post("/logout", data={"form": "x"}).status_code == 403
    assert set(statuses(store).values()) == {"proposed"}


def test_whoever_logs_out_is_out(client):
    token = dict(read(client.get("/")).forms[0]["fields"])["form"]
    assert client.post("/logout", data={"form": token}).status_code == 303
    assert client.get("/").status_code == 401


def test_a_proxy_that_is_trusted_names_who_asks(store):
    access = Access(TOKEN, proxy=TrustedProxy.of("X-User", ["10.1.1.1"]))
    app = review_app(store, access)
    for address, status in (("10.1.1.1", 200), ("10.1.1.2", 401)):
        client = TestClient(app, headers={"x-user": "ann"}, client=(address, 1))
        assert client.get("/").status_code == status
    trusted = TestClient(app, headers={"x-user": "ann"}, client=("10.1.1.1", 1))
    assert press(trusted, "/", "confirm").status_code == 200
    assert {entry.actor for entry in store.quarantine()} == {"ann"}


@pytest.mark.parametrize(
    ("do", "status"), [("confirm", "confirmed"), ("reject", "rejected"), ("release", "released")]
)
def test_a_button_does_what_the_command_does(client, store, do, status, monkeypatch):
    called = []
    decide = Decisions.decide

    def noted(self, *targets, **how):
        called.append(how)
        return decide(self, *targets, **how)

    monkeypatch.setattr(Decisions, "decide", noted)
    key = store.quarantine()[0].key
    if do == "release":
        press(client, "/", "confirm", key=key)
        assert press(client, f"/entry?key={key}", do).status_code == 303
    else:
        response = press(client, "/", do, key=key)
        assert response.headers["location"] == f"/?done={do}&count=1"
        assert "1 " in read(client.get(response.headers["location"])).words
    assert called[-1]["status"] == status
    [entry] = [one for one in store.quarantine() if one.key == key]
    assert (entry.status, entry.actor) == (status, "ann")
    assert sum(one == "proposed" for one in statuses(store).values()) == 2


def test_allow_and_protect_keep_who_why_and_until_when(client, store):
    first, second, _ = (entry.key for entry in store.quarantine())
    press(client, "/", "allow", key=first, why="a page of ours")
    press(client, f"/entry?key={second}", "protect", why="only by hand", until="2999-12-31")
    found = {one.key: one for one in Decisions(store).allowed() if not one.source}
    assert (found[first].effect, found[first].why, found[first].actor) == (
        "allowed", "a page of ours", "ann",
    )  # fmt: skip
    assert found[second].effect == "protected"
    assert f"{found[second].until:%Y-%m-%d}" == "2999-12-31"
    # What a person vouches for waits no longer.
    assert sorted(statuses(store).values()) == ["proposed", "rejected", "rejected"]


def test_a_source_is_allowed_and_taken_off_character_by_character(client, store):
    strange = "  s\u202eource '\"&\n"
    Decisions(store).allow(strange, why="odd")
    page = read(client.get("/allowed"))
    forms = [form for form in page.forms if form["do"] == ["disallow"]]
    assert len(forms) == 2
    for _ in forms:
        assert press(client, "/allowed", "disallow").status_code == 303
    assert Decisions(store).allowed() == []
    assert press(client, "/allowed", "allow-name", name=SOURCE).status_code == 303
    assert [one.source for one in Decisions(store).allowed()] == [SOURCE]


def test_what_was_released_is_taken_off_by_its_key(client, store):
    key = store.quarantine()[0].key
    press(client, "/", "confirm", key=key)
    press(client, f"/entry?key={key}", "release")
    Decisions(store).disallow(SOURCE)
    assert press(client, "/allowed", "disallow").status_code == 303
    assert Decisions(store).allowed() == []


def test_a_page_that_was_loaded_before_another_decision_overrides_it_not(client, store):
    (first, *_) = store.quarantine(status="proposed")
    page = read(client.get("/"))
    Decisions(store).decide(first, status="rejected", actor="bo")
    form = next(form for form in page.forms if ("key", first.key) in form["fields"])
    given = [pair for pair in form["fields"] if pair[0] != "why"]
    body = urlencode([*given, ("why", "so"), ("do", "confirm")])
    kind = {"content-type": "application/x-www-form-urlencoded"}
    late = client.post(form["action"], content=body, headers=kind)
    assert late.status_code == 400
    assert "bo has decided about 1 of these since you loaded the page" in read(late).words
    assert statuses(store)[first.passage_id] == "rejected"
    odd = body.replace("read=", "other=")
    assert "reload the page" in read(client.post(form["action"], content=odd, headers=kind)).words
    # Whoever has seen that it was rejected may think otherwise.
    address = f"/entry?key={first.key}"
    assert press(client, address, "confirm").status_code == 303
    assert statuses(store)[first.passage_id] == "confirmed"


def test_an_event_says_what_of_its_response_was_traced(client, store):
    [done] = [event for event in store.events() if event.status == "done"]
    page = client.get(f"/event?id={quote(done.id, safe='')}").text
    assert "<dt>Traced in it</dt><dd>1921.</dd>" in page


def test_reports_are_undone_by_reporter_and_by_event(client, store):
    event = next(event for event in store.events() if event.reporter == REPORTER)
    page = f"/event?id={quote(event.id, safe='')}"
    assert press(client, page, "undo").headers["location"].endswith("&done=undo&count=3&stays=3")
    # Who reports without a name accuses them as well.
    assert {(one.status, one.reporters) for one in store.quarantine()} == {("proposed", (None,))}
    again = read(client.get(press(client, page, "undo").headers["location"])).words
    assert "Nothing was undone" in again
    store.add_quarantine(
        [QuarantineEntry("f" * 32, "f", "text", "so", event.id, reporters=(REPORTER,))]
    )
    done = read(client.get(press(client, "/reporters", "undo").headers["location"])).words
    assert "1 undone." in done
    assert statuses(store)["f"] == "lapsed"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"why": "  "}, "say why"),
        ({"key": []}, "tick the passages"),
        ({"key": "no key"}, "tick the passages"),
        ({"key": "0" * 32}, "no quarantined passage"),
        ({"do": "drop tables"}, "nothing that the page can do"),
        ({"until": "soon", "do": "allow"}, "is no day"),
        ({"until": "1999-01-01", "do": "allow"}, "until is over"),
    ],
)
def test_a_form_that_cannot_be_followed_changes_nothing_and_says_why(
    client, store, fields, message
):
    do = fields.pop("do", "confirm")
    page = read(client.get("/"))
    sent = {"why": "because", "do": do, "key": store.quarantine()[0].key, "back": "/", **fields}
    given = dict(next(form for form in page.forms if "confirm" in form["do"])["fields"])
    sent |= {name: given[name] for name in ("form", "read")}
    response = client.post("/decide", data=sent)
    assert response.status_code in (400, 404)
    assert message in read(response).words
    assert set(statuses(store).values()) == {"proposed"}
    assert [one.source for one in Decisions(store).allowed()] == [SOURCE]


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/login?once=x", "javascript:1", ""]
)
def test_a_decision_leads_back_to_a_page_of_ours_alone(client, back):
    response = press(client, "/", "confirm", back=back)
    assert response.headers["location"].startswith("/?done=confirm&count=3")


def test_the_whole_text_is_plain_text(client, store):
    entry = next(entry for entry in store.quarantine() if entry.passage_id == "long")
    response = client.get(f"/text?key={entry.key}")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text == entry.text
    shown = client.get(f"/entry?key={entry.key}").text
    assert f"{len(entry.text) - 20_000:,} more characters" in shown
    assert len(shown) < 150_000


def test_lists_show_of_each_text_an_excerpt(client, store):
    lie = "It was first lit in 1921, as <b>all</b> agree."
    texts = ["x" * 19_000 + f" {lie} " + "y" * 10_000 + str(n) for n in range(17)]
    found = [QuarantineEntry(content_key(one), "p", one, "so", "e-1<i>/?&\u202e") for one in texts]
    store.add_quarantine([replace(one, status="proposed") for one in found])
    shown = client.get("/").text
    assert len(shown) < 17 * 3_000 + 20_000
    assert shown.count('<mark class="answer">1921,</mark> as &lt;b&gt;all&lt;/b&gt; agree.') == 17
    whole = client.get(f"/entry?key={found[0].key}").text
    assert "x" * 19_000 in whole
    assert all(f'<a href="/entry?key={one.key}">the whole text' in shown for one in found)


def test_an_empty_store_has_all_pages(access):
    store = MemoryStore()
    client = TestClient(review_app(store, access))
    client.post("/login", data={"name": "ann", "token": TOKEN})
    for address in PAGES:
        assert client.get(address).status_code == 200


def test_long_lists_have_pages(client, store):
    with Guard(store=store) as guard:
        for n in range(120):
            guard.allow(f"source-{n:03}", why="ours")
    first, last = (read(client.get(f"/allowed?page={n}")).words for n in (1, 99))
    assert "1 of 3" in first
    assert "source-119" in first
    assert "3 of 3" in last
    assert "source-119" not in last


class Asked(MemoryStore):
    """Notes how much of the quarantine is asked for at once."""

    most = 0

    def quarantine(self, **asked):
        found = super().quarantine(**asked)
        Asked.most = max(Asked.most, len(found))
        return found


def test_no_list_reads_all_of_a_long_quarantine(access):
    store = Asked()
    kinds = ("proposed", "quarantined", "released", "rejected")
    store.add_quarantine(
        [
            QuarantineEntry(f"{n:032x}", f"p-{n:03}", f"text {n}", "r", f"e{n // 3}", kinds[n % 4])
            for n in range(600)
        ]
    )
    Decisions(store).allow("wiki", why="ours")
    client = TestClient(review_app(store, access))
    client.post("/login", data={"name": "ann", "token": TOKEN})
    for address in PAGES:
        assert client.get(address).status_code == 200
    for address, kind in (("/?", 0), ("/quarantine?status=released&", 2), ("/allowed?", 2)):
        pages = [client.get(f"{address}page={n}").text for n in range(1, 10)]
        wanted = [
            f"text {n}<" if address == "/allowed?" else f"p-{n:03}" for n in range(kind, 600, 4)
        ]
        shown = [{one for one in wanted if one in page} for page in pages]
        assert set().union(*shown) == set(wanted)
        assert max(map(len, shown)) <= 50
    assert 0 < Asked.most <= 50


@settings(max_examples=20)
@given(st.text(st.characters(), min_size=1, max_size=20), st.text(st.characters(), max_size=30))
def test_any_id_and_any_text_can_be_followed_and_read(name, words):
    store, access = MemoryStore(), Access(TOKEN)
    store.add_event(Event(name, words or "?", words, (Passage(words, id=name),), name))
    store.add_quarantine(
        [QuarantineEntry(content_key(words), name, words, words, name, "proposed", actor=name)]
    )
    client = TestClient(review_app(store, access))
    client.post("/login", data={"name": "ann", "token": TOKEN})
    seen = set()
    for start in ("/", "/events", "/quarantine", "/reporters"):
        page = read(client.get(start))
        links = {value for tag, value in page.attributes if tag == "href" and "=" in value}
        for link in links - seen:
            assert client.get(link).status_code == 200, link
        seen |= links
    assert {link.partition("?")[0] for link in seen} >= {"/event", "/entry"}


def test_what_was_done_is_said_once(client, store):
    first, second, third = (entry.key for entry in store.quarantine())
    page = press(client, "/", "confirm", key=first).headers["location"]
    page = press(client, page, "reject", key=second).headers["location"]
    assert page == "/?done=reject&count=1"
    address = f"/entry?key={third}"
    page = press(client, f"{address}&done=reject&count=1", "confirm").headers["location"]
    assert page == f"{address}&done=confirm&count=1"


@pytest.fixture
def of_acme(store):
    """The store of a tenant that has the same proposals, and a name that HTML could mistake."""
    acme = store.of_tenant(ACME)
    acme.add_quarantine(store.quarantine())
    Decisions(acme).allow("wiki", why="ours")
    return acme


ACME = "acme & <sons>\ufe0f"


def test_each_tenant_has_pages_and_decisions_of_its_own(client, store, of_acme):
    there = quote(ACME, safe="")
    assert "acme & <sons>" in read(client.get("/")).words
    key = store.quarantine()[0].key
    answer = press(client, f"/?tenant={there}", "confirm", key=key)
    assert answer.headers["location"] == f"/?tenant={there}&done=confirm&count=1"
    shown = read(client.get(answer.headers["location"]))
    links = [value for name, value in shown.attributes if name == "href"]
    pages = [one for one in links if one.partition("?")[0] in (*PAGES, "/entry")]
    assert len(pages) > len(PAGES)
    assert all(f"tenant={there}" in one for one in pages)
    changed = [one.key for one in of_acme.quarantine() if one.status == "confirmed"]
    assert changed == [key]
    assert set(statuses(store).values()) == {"proposed"}
    assert "wiki" in read(client.get(f"/allowed?tenant={there}")).words
    assert "wiki" not in read(client.get("/allowed")).words
    assert client.get("/?tenant=%0a").status_code == 400


def test_a_page_of_one_tenant_shows_no_other(access, store, of_acme):
    client = TestClient(review_app(store, access, tenant=ACME))
    client.post("/login", data={"name": "ann", "token": TOKEN})
    assert "wiki" in read(client.get("/allowed")).words
    assert "tenants" not in client.get("/").text
    assert client.get("/?tenant=other").status_code == 400
    press(client, "/", "confirm")
    assert {one.status for one in of_acme.quarantine()} == {"confirmed"}
    assert set(statuses(store).values()) == {"proposed"}
    with pytest.raises(InvalidInputError):
        review_app(store, access, tenant="")


def test_who_did_what_and_why_is_told(client, store):
    first, second, third = (entry.key for entry in store.quarantine())
    press(client, "/", "confirm", key=[first, second], why=f"seen {SCRIPT}")
    press(client, f"/entry?key={third}", "allow", why="our own")
    told = read(client.get(f"/entry?key={first}")).words
    assert f"seen {SCRIPT}" in told
    assert "quarantine.confirmed" in told
    assert "our own" not in told
    told = read(client.get("/history")).words
    assert "our own" in told
    assert f"{second[:12]}" in told
    rows = [row for row in store.newest_trail(50) if "said" in json.loads(row.details)]
    assert [(row.action, row.actor, row.subject) for row in rows] == [
        ("quarantine.confirmed", "ann", first),
        ("quarantine.confirmed", "ann", second),
        ("allow-list.allowed", "ann", third),
        ("quarantine.rejected", "ann", third),
    ]
    assert json.loads(rows[0].details)["said"] == f"seen {SCRIPT}"
    assert check(store, Keys()).findings == ()


def test_a_row_that_somebody_wrote_into_the_database_is_shown_as_it_is(client, store, monkeypatch):
    made = {"seq": 1, "at": "?", "actor": None, "subject": "x", "key": "", "mac": "", "tenant": ""}
    odd = ("null", "not JSON", '{"said": ["<b>"], "event": {"a": 1}}', "[1]", '{"event": [1]}')
    rows = [TrailRow(**made, action="review.confirm", details=details) for details in odd]
    monkeypatch.setattr(type(store), "newest_trail", lambda self, limit: rows)
    response = client.get("/history")
    assert response.status_code == 200
    assert "<b>" not in response.text
    assert "not JSON" in response.text


def test_a_trail_that_cannot_be_written_keeps_nobody_from_deciding(client, store, monkeypatch):
    def fails(self, change):
        raise StoreError("the key is not here")

    monkeypatch.setattr(type(store), "note", fails)
    assert press(client, "/", "confirm").status_code == 303
    assert set(statuses(store).values()) == {"confirmed"}


def test_several_are_decided_about_at_once_in_the_list(client, store):
    keys = [entry.key for entry in store.quarantine()]
    answer = press(client, "/quarantine?status=proposed", "confirm", key=keys[:2])
    wanted = "/quarantine?status=proposed&done=confirm&count=2"
    assert answer.headers["location"].startswith(wanted)
    answer = press(client, "/quarantine", "release", key=keys[:2])
    assert sorted(statuses(store).values()) == ["proposed", "released", "released"]
    # One of them cannot be rejected, so none is.
    assert press(client, "/quarantine", "reject", key=keys).status_code == 400
    assert sorted(statuses(store).values()) == ["proposed", "released", "released"]


def test_proposals_are_shown_and_decided_twenty_at_a_time(client, store):
    texts = [f"text {n}" for n in range(60)]
    store.add_quarantine(
        [QuarantineEntry(content_key(one), one, one, "why", "e-2", "proposed") for one in texts]
    )
    page = read(client.get("/"))
    assert "1 of 4" in page.words
    assert "20 passages accused on this page" in page.words
    press(client, "/", "reject")
    assert sum(one == "rejected" for one in statuses(store).values()) == 20


def test_a_store_that_fails_is_said(client, store, monkeypatch):
    def fails(**_):
        raise StoreError("the disk is full <script>")

    monkeypatch.setattr(type(store), "verdicts", lambda self, **_: fails())
    response = client.get("/verdicts")
    assert response.status_code == 503
    assert "the disk is full <script>" in read(response).words


def test_the_facts_of_an_attribution_are_all_there(client, store):
    event = next(event for event in store.events() if event.reporter == REPORTER)
    page = read(client.get(f"/event?id={quote(event.id, safe='')}"))
    assert {"circle", "rect", "mark", "svg"} <= page.tags
    for words in ("poisoning", "cut ", "responsible", LIE, *FACTS):
        assert words in re.sub(r"\s+", " ", page.words)
