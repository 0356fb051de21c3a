"""The page in a browser: a false positive and a true one from the first click to the last.

Skipped where there is no Chromium with its driver (Debian: chromium, chromium-driver), or no
selenium.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="needs the extra review")
pytest.importorskip("uvicorn", reason="needs the extra review")
pytest.importorskip("selenium", reason="needs selenium to drive a browser")

from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from ragguard import Passage
from ragguard.audit import open_store

from .conftest import FACTS, LIE, QUERY, SCRIPT, fill, poison

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver"),
]
PAGES = (
    *("/", "/events", "/verdicts", "/quarantine", "/allowed"),
    *("/reporters", "/history", "/charts"),
)
LIES = [
    Passage(f"{QUERY} {LIE}", id="x"),
    Passage(f"{QUERY} In 1921, records say. {LIE}", id="y"),
    Passage(
        f"{QUERY} {LIE} It was lit in 1921, the year of the great storm. {SCRIPT}\u202e", id="z"
    ),
]
PARISHES = [Passage(f"Parish {n} keeps a register of boats and nets.") for n in range(12)]


@pytest.fixture(scope="module")
def driver():
    options = Options()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    browser.implicitly_wait(5)
    yield browser
    browser.quit()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "audit.db")


@pytest.fixture
def base(tmp_path):
    """A knowledge base as a file, with lies in it."""
    facts = [Passage(text, id=f"fact-{n}") for n, text in enumerate(FACTS)]
    file = tmp_path / "passages.jsonl"
    passages = [*facts, *PARISHES, *LIES, *poison()]
    lines = (json.dumps({"id": one.id, "text": one.text}) for one in passages)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def page(path, base, driver):
    """The page, served by the command on the store at `path`; somebody is logged in."""
    open_store(path).close()
    named = ("--store", path, "--knowledge-base", str(base), "--port", "0")
    served = subprocess.Popen(
        [sys.executable, "-m", "ragguard", "review", *named],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "LOGNAME": "ann"},
    )
    try:
        link = served.stdout.readline().strip()
        driver.get(link)
        yield link.partition("/login")[0]
    finally:
        served.terminate()
        served.communicate()
    driver.delete_all_cookies()


def elsewhere(*command, stdin=None):
    """Run a command in another process, and return what it wrote."""
    done = subprocess.run(
        [sys.executable, "-m", "ragguard", *command],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def dropped(path, query, passages):
    """Return the ids that a guard in another process drops."""
    line = {"query": query, "passages": [{"id": one.id, "text": one.text} for one in passages]}
    told = elsewhere("filter", "-", "--store", path, stdin=json.dumps(line) + "\n")
    return json.loads(told)["dropped"]


def listed(path):
    return json.loads(elsewhere("quarantine", "list", "--store", path, "--json"))


@contextmanager
def another_page(driver):
    """Wait for the page that what is done here leads to."""
    driver.execute_script("window.seen = true")
    yield
    # While one page replaces another, the driver may fail at anything.
    wait = WebDriverWait(driver, 20, ignored_exceptions=[exceptions.WebDriverException])
    wait.until(
        lambda one: one.execute_script("return !window.seen && document.readyState === 'complete'")
    )


def clicked(driver, by, what):
    """Click; a page that is just being replaced may take the element away, then once more."""
    for _ in range(4):
        try:
            return driver.find_element(by, what).click()
        except exceptions.WebDriverException:
            time.sleep(0.5)
    return driver.find_element(by, what).click()


def click(driver, words):
    """Click on the link or button that says so."""
    found = f"//*[self::a or self::button][contains(normalize-space(), '{words}')]"
    with another_page(driver):
        clicked(driver, By.XPATH, found)


def say_why(driver, why, button=""):
    """Say why in the first form that has such a button."""
    form = f"//form[.//button[contains(normalize-space(), '{button}')]]"
    driver.find_element(By.XPATH, f"{form}//input[@name='why']").send_keys(why)


def tick(driver, passage_id):
    clicked(driver, By.XPATH, f"//label[contains(., '{passage_id}')]/input")


def words(driver):
    return driver.find_element(By.TAG_NAME, "body").text


def held(base):
    """Return the ids that are in the knowledge base."""
    return {json.loads(line)["id"] for line in base.read_text(encoding="utf-8").splitlines()}


def test_a_false_positive_is_seen_and_allowed_and_kept_by_another_process(page, driver, path):
    faq = Passage(f"{QUERY} Our archive keeps a letter about it.", id="our-faq")
    pages = [faq, *(Passage(text, id=f"fact-{n}") for n, text in enumerate(FACTS))]
    assert dropped(path, QUERY, pages) == ["our-faq"]

    click(driver, "Verdicts")
    click(driver, "202")  # the moment of the only one
    assert "our-faq" in words(driver)
    assert "it begins or ends with the question" in words(driver)
    tick(driver, "our-faq")
    say_why(driver, "our own page of frequent questions")
    click(driver, "Allow the ticked")
    assert "1 allowed" in words(driver)
    assert "allowed now" in words(driver)

    assert dropped(path, QUERY, pages) == []
    click(driver, "Allow-list")
    assert "our own page of frequent questions" in words(driver)
    clicked(driver, By.TAG_NAME, "summary")
    driver.find_element(By.CSS_SELECTOR, "details [name=why]").send_keys("it has changed")
    click(driver, "Take it off the list")
    assert dropped(path, QUERY, pages) == ["our-faq"]


def test_a_true_positive_is_reported_confirmed_held_after_an_edit_removed_and_restored(
    page, driver, path, base
):
    facts = [Passage(text, id=f"fact-{n}") for n, text in enumerate(FACTS)]
    elsewhere("report", "--query", QUERY, "--response", LIE, "--store", path, "--reporter", "bob")
    elsewhere("worker", "--once", "--store", path, "-b", str(base))
    edited = Passage(LIES[2].text.replace("It was lit", "It was lt") + " Indeed.", id="new")
    another = "Which storms were great?"
    assert dropped(path, another, [edited, *facts]) == []

    driver.get(f"{page}/")
    found = {entry["passage_id"] for entry in listed(path)}
    assert found >= {"x", "y", "z"}
    assert f"Proposals {len(found)}" in words(driver)
    assert "by bob" in words(driver)
    click(driver, "Event ")
    assert driver.find_elements(By.CSS_SELECTOR, "svg rect.held")
    marked = {one.text for one in driver.find_elements(By.CSS_SELECTOR, "mark.answer")}
    assert any("1921" in one for one in marked)
    assert "only what is confirmed can be removed" in words(driver)
    click(driver, "Proposals")
    say_why(driver, "the archive says 1874")
    click(driver, "Confirm: an attack")
    assert f"{len(found)} confirmed as an attack" in words(driver)
    assert "Nothing waits for you" in words(driver)
    assert dropped(path, another, [edited, *facts]) == ["new"]

    driver.get_log("browser")
    click(driver, "Quarantine")
    clicked(driver, By.XPATH, "//a[normalize-space()='z']")
    assert "This would be removed." in words(driver)
    say_why(driver, "others read it too", "Remove from")
    click(driver, "Remove from the knowledge base")
    assert "1 removed from the knowledge base" in words(driver)
    assert "ann removed it" in words(driver)
    assert "z" not in held(base)
    assert held(base) >= {"x", "y", "fact-0"}
    assert dropped(path, another, [edited, *facts]) == ["new"]

    say_why(driver, "a mistake after all", "Restore")
    click(driver, "Restore")
    assert "1 restored" in words(driver)
    assert "It stands in the knowledge base" in words(driver)
    assert "z" in held(base)
    assert dropped(path, another, [LIES[2], *facts]) == []
    assert driver.get_log("browser") == []
    assert not driver.find_elements(By.CSS_SELECTOR, "script, main img")
    trail = json.loads(elsewhere("audit", "list", "--store", path, "--json"))
    told = {(one["action"], one["actor"], one["details"].get("said")) for one in trail}
    assert told >= {
        ("knowledge-base.removed", "ann", "others read it too"),
        ("quarantine.released", "ann", "a mistake after all"),
        ("knowledge-base.restored", "ann", "a mistake after all"),
    }
    elsewhere("audit", "verify", "--store", path)


def test_what_a_report_leaves_open_is_seen_first_and_held_by_a_click(page, driver, path, tmp_path):
    careful = Passage("The deck of the Orrin ferry holds 38 cars, fully loaded.", id="deck")
    others = [Passage("The Orrin ferry carries 52 cars, without lorries.", id="timetable")]
    others += [Passage(text, id=f"fact-{n}") for n, text in enumerate(FACTS)]
    asked = "how many cars can the Orrin ferry carry"
    kept = tmp_path / "base.jsonl"
    lines = [json.dumps({"id": one.id, "text": one.text}) for one in (*others, careful)]
    kept.write_text("\n".join(lines), encoding="utf-8")
    elsewhere("report", "--query", asked, "--response", "38 cars", "--store", path)
    elsewhere("worker", "--once", "--store", path, "-b", str(kept))
    assert listed(path) == []

    driver.get(f"{page}/")
    click(driver, "Events")
    assert "unclear" in words(driver)
    clicked(driver, By.CSS_SELECTOR, "tbody a")
    assert "Nobody is blamed" in words(driver)
    assert "deck" in driver.find_element(By.CSS_SELECTOR, "section.row").text
    tick(driver, "deck")
    say_why(driver, "the builder says 52", "Confirm the ticked")
    click(driver, "Confirm the ticked")
    assert "1 confirmed as an attack" in words(driver)
    assert dropped(path, asked, [careful, *others]) == ["deck"]


def test_hostile_texts_do_nothing_on_any_page(page, driver, path):
    store = open_store(path)
    fill(store)
    event, verdict = store.events()[-1], store.verdicts()[0]
    more = [f"/entry?key={entry.key}" for entry in store.quarantine()]
    store.close()
    more += [f"/event?id={quote(event.id, safe='')}", f"/verdict?id={verdict.id}"]
    driver.get_log("browser")
    for address in (*PAGES, *more):
        for width in (1280, 400):
            driver.set_window_size(width, 900)
            driver.get(page + address)
            assert driver.title.endswith("ragguard review"), address
            count = "return document.querySelectorAll('script,img,iframe,b > b,i').length"
            assert driver.execute_script(count) == 0, address
            root = "document.documentElement"
            wide = driver.execute_script(f"return {root}.scrollWidth - {root}.clientWidth")
            assert wide <= 0, (address, width, wide)
    assert driver.get_log("browser") == []  # nothing was even blocked
    links = driver.find_elements(By.CSS_SELECTOR, "a")
    assert not [one for one in links if "javascript:" in (one.get_attribute("href") or "")]
    driver.set_window_size(1280, 900)
    assert poison()[0].text not in driver.page_source


def test_a_decision_needs_no_mouse(page, driver, path):
    store = open_store(path)
    fill(store)
    driver.get(f"{page}/")
    driver.switch_to.active_element.send_keys(Keys.TAB, Keys.ENTER)  # past the menu
    seen = []
    for _ in range(60):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        element = driver.switch_to.active_element
        seen.append(element.tag_name)
        outline = element.value_of_css_property("outline-style")
        assert outline != "none", element.get_attribute("outerHTML")
        if element.get_attribute("name") == "why":
            with another_page(driver):
                element.send_keys("by the keyboard", Keys.TAB, Keys.TAB, Keys.ENTER)
            break
    assert "3 rejected" in words(driver), seen
    assert {entry.status for entry in store.quarantine()} == {"rejected"}
    store.close()


def test_whoever_has_no_session_sees_the_form_and_logs_in_with_the_token(page, driver):
    assert re.match(r"http://127\.0\.0\.1:\d+$", page)
    driver.delete_all_cookies()
    driver.get(f"{page}/charts")
    assert "Log in" in words(driver)
    assert "Charts" not in words(driver)
    name = driver.find_element(By.NAME, "name")
    name.clear()
    name.send_keys("eve")
    with another_page(driver):
        driver.find_element(By.NAME, "token").send_keys("guessed", Keys.ENTER)
    assert "This is not the token" in words(driver)


def test_light_and_dark_follow_the_system(page, driver):
    grounds = []
    for theme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.get(page)
        body = driver.find_element(By.TAG_NAME, "body")
        grounds.append(body.value_of_css_property("background-color"))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    light, dark = (sum(map(int, re.findall(r"\d+", one)[:3])) for one in grounds)
    assert light > 600
    assert dark < 150
