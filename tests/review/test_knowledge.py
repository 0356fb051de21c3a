"""Out of the knowledge base and back by the page's forms: what it does, refuses and tells."""

from __future__ import annotations

import re
import threading
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="needs the extra review")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")
pytest.importorskip("jinja2", reason="needs the extra review")

from starlette.testclient import TestClient

from ragguard import Passage
from ragguard.audit import QuarantineEntry
from ragguard.audit.allow_list import allowance
from ragguard.audit.trail import Keys
from ragguard.audit.trail_check import check
from ragguard.content import content_key
from ragguard.errors import InvalidInputError, StoreError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.review.access import Access
from ragguard.review.app import review_app
from ragguard.review.knowledge import Knowledge
from ragguard.review.request import Settings

from .browser import TOKEN, browser, press, read
from .conftest import LIE, QUERY, SCRIPT, SOURCE, knowledge, poison
from .test_app import TAGS

HOSTILE_ID = poison()[0].id


@pytest.fixture
def base():
    return KnowledgeBase(knowledge())


@pytest.fixture
def client(store, base):
    return browser(store, base)


@pytest.fixture
def keys(store):
    """The keys of the entries, all confirmed and none allowed, by passage id."""
    store.disallow(content_key(SOURCE), SOURCE, actor="cy")
    for one in store.quarantine():
        store.set_quarantine_status(one.key, "confirmed", actor="cy")
    return {one.passage_id: one.key for one in store.quarantine()}


def form_of(client, address, do):
    form = next(form for form in read(client.get(address)).forms if do in form["do"])
    return {**dict(form["fields"]), "do": do, "why": "seen"}


def offers(client, address):
    return {do for form in read(client.get(address)).forms for do in form["do"]}


def told(store, action="knowledge-base."):
    rows = [row for row in store.trail() if row.action.startswith(action)]
    return [(row.action, row.actor, row.subject, row.told.get("said")) for row in rows]


def words(response):
    return re.sub(r"\s+", " ", read(response).words)


@pytest.mark.parametrize("name", [HOSTILE_ID, "long", "kb-17"])
def test_a_confirmed_passage_is_shown_removed_and_restored(client, store, base, keys, name):
    address, whole = f"/entry?key={keys[name]}", len(knowledge())
    page = client.get(address)
    assert "This would be removed." in words(page)
    assert read(page).tags <= TAGS
    assert len(page.text) < 2_000_000
    assert "restore" not in offers(client, address)

    done = press(client, address, "remove", why=f"others read it {SCRIPT}")
    assert done.status_code == 303
    assert base.find([name]) == []
    assert len(base) == whole - 1
    page = client.get(done.headers["location"])
    assert "1 removed from the knowledge base" in words(page)
    assert "ann removed it" in words(page)
    assert f"others read it {SCRIPT}" in read(page).words
    assert read(page).tags <= TAGS
    assert "remove" not in offers(client, address)
    (entry,) = store.quarantine(keys=[keys[name]])
    assert (entry.status, entry.actor) == ("confirmed", "cy")  # it goes on catching copies

    done = press(client, address, "restore", why="a mistake")
    assert "1 restored" in words(client.get(done.headers["location"]))
    (back,) = base.find([name])
    assert (back.text, back.metadata) == next(
        (one.text, one.metadata) for one in poison() if one.id == name
    )
    (entry,) = store.quarantine(keys=[keys[name]])
    assert (entry.status, entry.actor) == ("released", "ann")
    assert told(store) == [
        ("knowledge-base.removed", "ann", keys[name], f"others read it {SCRIPT}"),
        ("knowledge-base.restored", "ann", keys[name], "a mistake"),
    ]
    assert ("quarantine.released", "ann", keys[name], "a mistake") in told(store, "quarantine.")
    assert check(store, Keys()).findings == ()
    assert not offers(client, address) & {"remove", "restore"}


def test_of_an_event_all_are_removed_and_restored_at_once(client, store, base, keys):
    event = next(one for one in store.quarantine()).event_id
    address = f"/event?id={quote(event, safe='')}"
    done = press(client, address, "remove", key=list(keys.values()))
    assert done.headers["location"].endswith("&done=remove&count=3")
    assert base.find(list(keys)) == []
    assert press(client, address, "restore").status_code == 303
    assert len(base.find(list(keys))) == 3


def test_without_a_knowledge_base_one_sentence_says_how(store, keys):
    client = browser(store, None)
    address = f"/entry?key={keys['kb-17']}"
    assert "Start `ragguard review` with --knowledge-base" in words(client.get(address))
    assert not offers(client, address) & {"remove", "restore"}
    form = form_of(client, address, "release")
    for do in ("remove", "restore"):
        answer = client.post("/decide", data={**form, "do": do})
        assert answer.status_code == 400
        assert "--knowledge-base" in words(answer)
    assert told(store) == []


@pytest.mark.parametrize("do", ["remove", "restore"])
def test_whoever_may_not_decide_removes_and_restores_nothing(client, store, base, keys, do):
    address = f"/entry?key={keys['kb-17']}"
    form = form_of(client, address, "remove") | {"do": do}
    if do == "restore":
        base.remove(["kb-17"])
    for bad in ("", "0" * 64):
        assert client.post("/decide", data={**form, "form": bad}).status_code == 403
    other = {"sec-fetch-site": "cross-site"}
    assert client.post("/decide", data=form, headers=other).status_code == 400
    assert client.post("/decide", data={**form, "why": " "}).status_code == 400
    assert client.get("/decide", params=form).status_code == 405
    client.cookies.clear()
    assert client.post("/decide", data=form).status_code == 401
    assert bool(base.find(["kb-17"])) == (do == "remove")
    assert told(store) == []


@pytest.mark.parametrize("status", ["proposed", "quarantined", "released", "rejected"])
def test_only_what_is_confirmed_is_removed(client, store, base, keys, status):
    address = f"/entry?key={keys['kb-17']}"
    form = form_of(client, address, "remove")
    store.set_quarantine_status(keys["kb-17"], status)
    assert "only what is confirmed can be removed" in words(client.get(address))
    answer = client.post("/decide", data=form)
    assert answer.status_code == 400
    assert f"is {status}" in words(answer)
    assert base.find(["kb-17"])


def test_what_is_sent_twice_is_done_once(client, store, base, keys):
    address = f"/entry?key={keys['kb-17']}"
    form = form_of(client, address, "remove")
    assert client.post("/decide", data=form).status_code == 303
    again = client.post("/decide", data=form)
    assert again.status_code == 400
    assert "nothing was removed" in words(again)
    form = form_of(client, address, "restore")
    assert client.post("/decide", data=form).status_code == 303
    again = client.post("/decide", data=form)
    assert again.status_code == 400
    assert "ann has decided about 1 of these" in words(again)
    assert [action for action, *_ in told(store)] == [
        "knowledge-base.removed",
        "knowledge-base.restored",
    ]
    assert len(base.find(["kb-17"])) == 1


def test_of_two_who_press_at_once_one_removes(store, keys):
    class Slow(KnowledgeBase):
        def find(self, ids):
            found = super().find(ids)
            met.wait(0.3)
            return found

    met, base = threading.Event(), Slow(knowledge())
    client = browser(store, base)
    form = form_of(client, f"/entry?key={keys['kb-17']}", "remove")
    answers = []
    sent = [
        threading.Thread(target=lambda: answers.append(client.post("/decide", data=form)))
        for _ in range(2)
    ]
    for one in sent:
        one.start()
    for one in sent:
        one.join()
    assert sorted(answer.status_code for answer in answers) == [303, 400]
    assert len(told(store)) == 1


@pytest.mark.parametrize("do", ["remove", "restore"])
def test_of_two_who_press_at_once_in_two_processes_the_end_is_the_same(store, keys, do):
    class Slow(KnowledgeBase):
        def find(self, ids):
            found = super().find(ids)
            if sent:
                met.wait(0.3)
            return found

    sent: list[threading.Thread] = []
    met, base = threading.Event(), Slow(knowledge())
    address, count = f"/entry?key={keys['kb-17']}", len(knowledge())
    clients = [browser(store, base, name=name) for name in ("ann", "bo")]
    if do == "restore":
        assert press(clients[0], address, "remove").status_code == 303
    forms = [form_of(client, address, do) for client in clients]
    answers = []
    sent += [
        threading.Thread(
            target=lambda of=of: answers.append(of[0].post("/decide", data=of[1]).status_code)
        )
        for of in zip(clients, forms, strict=True)
    ]
    for one in sent:
        one.start()
    for one in sent:
        one.join()
    assert 303 in answers
    assert set(answers) <= {303, 400}
    assert len(base) == count - (do == "remove")
    assert len(base.find(["kb-17"])) == (do == "restore")
    (entry,) = store.quarantine(keys=[keys["kb-17"]])
    assert entry.status == ("confirmed" if do == "remove" else "released")
    who = {actor for action, actor, *_ in told(store) if action.endswith(f".{do}d")}
    assert who
    assert who <= {"ann", "bo"}
    assert check(store, Keys()).findings == ()


def test_whoever_waits_too_long_is_told_so(client, store, base, keys, monkeypatch):
    # By the function: another test imports the page anew.
    monkeypatch.setitem(Knowledge.alone.__globals__, "_PATIENCE_S", 0.01)
    settings = Settings(knowledge=Knowledge(base))
    waiting = TestClient(review_app(store, Access(TOKEN), settings=settings))
    waiting.post("/login", data={"name": "bo", "token": TOKEN})
    with settings.knowledge.alone():
        answer = press(waiting, f"/entry?key={keys['kb-17']}", "remove")
    assert "somebody else is removing" in words(answer)
    assert base.find(["kb-17"])


@pytest.mark.parametrize("do", ["remove", "restore"])
def test_what_somebody_has_decided_meanwhile_is_not_overridden(client, store, base, keys, do):
    address = f"/entry?key={keys['kb-17']}"
    if do == "restore":
        base.remove(["kb-17"])
    form = form_of(client, address, do)
    store.set_quarantine_status(keys["kb-17"], "released", actor="bo")
    answer = client.post("/decide", data=form)
    assert answer.status_code == 400
    assert "bo has decided" in words(answer)
    assert bool(base.find(["kb-17"])) == (do == "remove")


def test_a_text_that_has_changed_since_is_shown_and_left_alone(client, store, base, keys):
    address = f"/entry?key={keys['kb-17']}"
    form = form_of(client, address, "remove")
    base.add([Passage(f"The page was rewritten. {SCRIPT}", id="kb-17")])
    answer = client.post("/decide", data=form)
    assert answer.status_code == 400
    assert "was changed there" in words(answer)
    page = client.get(address)
    assert "Another text has its id now" in words(page)
    assert f"The page was rewritten. {SCRIPT}" in read(page).words
    assert not offers(client, address) & {"remove", "restore"}
    answer = client.post("/decide", data={**form, "do": "restore"})
    assert answer.status_code == 400
    assert "a text stands under the id" in words(answer)
    assert base.find(["kb-17"])[0].text.startswith("The page was rewritten.")
    (entry,) = store.quarantine(keys=[keys["kb-17"]])
    assert entry.status == "confirmed"
    assert told(store) == []


def test_the_passages_of_another_tenant_are_out_of_reach(store, base, keys):
    text = f"{QUERY} {LIE} Of acme."
    acme, key = store.of_tenant("acme"), content_key(text)
    acme.add_quarantine([QuarantineEntry(key, "shared", text, "found", status="confirmed")])
    base.add([Passage(text, id="shared")])
    client = browser(store, base)
    address = f"/entry?key={key}&tenant=acme"
    assert "another tenant's" in words(client.get(address))
    assert "remove" not in offers(client, address)
    form = form_of(client, f"/entry?key={keys['kb-17']}", "remove")
    for bad in ({"key": key}, {"key": key, "tenant": "acme"}):
        for do in ("remove", "restore"):
            answer = client.post("/decide", data={**form, **bad, "do": do})
            assert answer.status_code in (400, 404)
    assert base.find(["shared"])
    assert told(store) == []

    own = browser(store, base, tenant="acme", only="acme")
    assert press(own, f"/entry?key={key}", "remove").status_code == 303
    assert base.find(["shared"]) == []
    assert [row.tenant for row in acme.trail() if row.action.startswith("know")] == ["acme"]


class Failing(KnowledgeBase):
    """A knowledge base of which some methods fail."""

    fails: tuple[str, ...] = ()

    def _or_fail(self, name):
        if name in self.fails:
            raise ConnectionError(f"refused {SCRIPT}")

    def find(self, ids):
        self._or_fail("find")
        return super().find(ids)

    def remove(self, ids):
        self._or_fail("remove")
        return super().remove(ids)

    def add(self, passages):
        self._or_fail("add")
        super().add(passages)


@pytest.mark.parametrize(
    ("do", "fails"),
    [("remove", "find"), ("remove", "remove"), ("restore", "find"), ("restore", "add")],
)
def test_a_knowledge_base_that_fails_is_a_sentence_and_changes_nothing(store, keys, do, fails):
    base = Failing(knowledge())
    client = browser(store, base)
    address = f"/entry?key={keys['kb-17']}"
    if do == "restore":
        base.remove(["kb-17"])
    form = form_of(client, address, do)
    base.fails = (fails,)
    answer = client.post("/decide", data=form)
    assert answer.status_code == 503
    assert f"the knowledge base failed: ConnectionError: refused {SCRIPT}" in words(answer)
    assert "see that it can be reached" in words(answer)
    assert read(answer).tags <= TAGS
    if fails == "find":
        page = client.get(address)
        assert page.status_code == 200
        assert "the knowledge base failed" in words(page)
        assert "release" in offers(client, address)  # the rest of the page works
    base.fails = ()
    assert bool(base.find(["kb-17"])) == (do == "remove")
    assert {one.status for one in store.quarantine()} == {"confirmed"}
    assert told(store) == []


def test_what_the_trail_cannot_tell_is_not_removed(client, store, base, keys, monkeypatch):
    def fails(self, change):
        raise StoreError("the key is not here")

    form = form_of(client, f"/entry?key={keys['kb-17']}", "remove")
    monkeypatch.setattr(type(store), "note", fails)
    assert client.post("/decide", data=form).status_code == 503
    (there,) = base.find(["kb-17"])
    assert there.text == poison()[2].text


@pytest.mark.parametrize("late", ["fails", "decided"])
def test_what_cannot_be_released_is_not_put_back(client, store, base, keys, monkeypatch, late):
    base.remove(["kb-17"])
    form = form_of(client, f"/entry?key={keys['kb-17']}", "restore")
    change = type(store).set_quarantine_status

    def changed(self, key, status, **how):
        if late == "fails":
            raise StoreError("the disk is full")
        change(self, key, "rejected", actor="bo")
        return change(self, key, status, **how)

    monkeypatch.setattr(type(store), "set_quarantine_status", changed)
    answer = client.post("/decide", data=form)
    assert answer.status_code == (503 if late == "fails" else 400)
    assert base.find(["kb-17"]) == []
    assert told(store) == []


def test_what_nobody_is_known_to_have_removed_says_so(client, base, keys):
    base.remove(["kb-17"])
    page = client.get(f"/entry?key={keys['kb-17']}")
    assert "the trail tells of nobody who removed it" in words(page)
    assert "restore" in offers(client, f"/entry?key={keys['kb-17']}")


def test_what_is_allowed_is_not_offered_for_removal_and_stays(client, store, base, keys):
    address = f"/entry?key={keys['kb-17']}"
    form = form_of(client, address, "remove")
    text = base.find(["kb-17"])[0].text
    store.allow(allowance(Passage(text), why="our own", actor="bo"))
    assert "It is allowed, or its source is, so it stays" in words(client.get(address))
    assert "remove" not in offers(client, address)
    answer = client.post("/decide", data=form)
    assert answer.status_code == 400
    assert "bo has decided since you loaded the page" in words(answer)
    answer = client.post("/decide", data=form_of(client, address, "release") | {"do": "remove"})
    assert answer.status_code == 400
    assert "nothing was removed: it is allowed" in words(answer)
    assert base.find(["kb-17"])
    assert told(store) == []
    store.disallow(content_key(text), "", actor="bo")
    assert "remove" in offers(client, address)


def test_what_shares_its_id_is_not_offered_for_removal_and_stays(client, store, base, keys):
    address = f"/entry?key={keys['kb-17']}"
    form = form_of(client, address, "remove")
    base.add([*base.find(["kb-17"]), Passage("An honest page.", id="kb-17")])
    assert "It stays: other texts share its id" in words(client.get(address))
    assert "remove" not in offers(client, address)
    answer = client.post("/decide", data=form)
    assert answer.status_code == 400
    assert "give each an id of its own" in words(answer)
    assert len(base.find(["kb-17"])) == 2
    assert told(store) == []


@pytest.mark.parametrize("status", ["lapsed", "rejected", "proposed"])
def test_what_was_removed_can_be_restored_whatever_was_decided_since(
    client, store, base, keys, status
):
    address = f"/entry?key={keys['kb-17']}"
    assert press(client, address, "remove").status_code == 303
    store.set_quarantine_status(keys["kb-17"], status, actor="bo")
    assert "ann removed it" in words(client.get(address))
    assert press(client, address, "restore").status_code == 303
    assert base.find(["kb-17"])
    assert store.quarantine(keys=[keys["kb-17"]])[0].status == "released"


def test_what_would_go_back_without_metadata_says_so(client, store, base):
    text = "A page that somebody has put there by hand."
    key = content_key(text)
    store.add_quarantine([QuarantineEntry(key, "alone", text, "found", status="confirmed")])
    assert "would go back without" in words(client.get(f"/entry?key={key}"))
    assert "restore" in offers(client, f"/entry?key={key}")


def test_a_knowledge_base_that_cannot_be_looked_up_is_refused():
    class Blind:
        def remove(self, ids): ...
        def add(self, passages): ...

    with pytest.raises(InvalidInputError, match=r"a method find\(ids\), not Blind"):
        Knowledge(Blind())
