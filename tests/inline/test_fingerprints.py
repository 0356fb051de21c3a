from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.fingerprints import (
    FEWEST,
    MOST,
    WINDOW,
    Signature,
    fingerprints,
    is_current,
    said_elsewhere,
    shuffled,
    signature,
)
from ragguard.text import MAX_CHARS
from tests.quarantines import said_by

TEXT = (
    "The harbour light of Skelby was raised by Marek Dove, who came with forty workers in the "
    "spring of 1874 and paid for every stone of it from the profits of his own ferry."
)


def windows(letters: bytes) -> set[bytes]:
    """The slow reference: runs of 16 letters."""
    return {letters[i : i + WINDOW] for i in range(len(letters) - WINDOW + 1)}


def test_half_of_the_windows_of_a_text_are_kept_and_they_are_what_texts_share():
    rng = np.random.default_rng(0)
    letters = bytes(rng.integers(97, 123, 5000, dtype=np.uint8).tolist()).replace(b"l", b"m")
    found = fingerprints([letters.decode()]).distinct(0)
    assert abs(len(found) / len(windows(letters)) - 0.5) < 0.03
    # Of two texts with half of their letters in common, half is shared.
    other = fingerprints([letters[2500:].decode() + "z" * 300]).distinct(0)
    assert abs(len(np.intersect1d(found, other)) / len(found) - 0.5) < 0.03


@pytest.mark.parametrize(
    "written",
    [
        TEXT.upper(),
        " ".join(TEXT),
        TEXT.replace(" ", ""),
        TEXT.replace("e", "3").replace("o", "0").replace("t", "7"),
        TEXT.replace("l", "1"),
        TEXT.replace("a", "\u0430"),
        TEXT.replace("e", "&#101;"),
        TEXT.replace("Marek", "<b>Ma\u200brek</b>"),
    ],
)
def test_the_same_letters_have_the_same_fingerprints(written):
    assert np.array_equal(fingerprints([written]).hashes, fingerprints([TEXT]).hashes)


@pytest.mark.parametrize(
    "written",
    [
        TEXT.replace("s", "$").replace("i", "!"),
        " @ ".join(TEXT.split()),
        " ".join(f"@{word}" for word in TEXT.split()),
        TEXT.replace(" ", " +"),
    ],
)
def test_signs_are_letters_or_stand_about(written):
    assert np.isin(fingerprints([TEXT]).hashes, fingerprints([written]).hashes).all()


def test_a_changed_letter_costs_at_most_its_own_windows():
    before = fingerprints([TEXT]).distinct(0)
    after = fingerprints([TEXT.replace("Marek", "Narek")]).distinct(0)
    assert 0 < len(np.setdiff1d(before, after)) <= WINDOW


@given(st.lists(st.text(max_size=60), max_size=6))
def test_texts_read_together_are_read_as_each_by_itself(texts):
    read = fingerprints(texts)
    assert len(read.ends) == len(texts)
    for place, text in enumerate(texts):
        assert np.array_equal(read.distinct(place), fingerprints([text]).distinct(0))


def test_of_a_very_long_text_both_ends_count():
    rng = np.random.default_rng(1)
    long = bytes(rng.integers(97, 123, 30 * MAX_CHARS, dtype=np.uint8).tolist()).decode()
    read = fingerprints([long])
    assert len(read.hashes) < 2 * MAX_CHARS
    for end in (long[:1000], long[-1000:]):
        assert np.isin(fingerprints([end]).hashes, read.hashes).all()


def test_a_signature_is_bounded_and_read_back():
    written = signature(TEXT * 5 + "and more" * 50)
    found = Signature.read(written).hashes
    assert len(found) == MOST
    assert len(written) == 1 + 4 + 12 * MOST
    assert np.array_equal(found, np.unique(found))
    read = Signature.read(written)
    known = fingerprints([TEXT * 5 + "and more" * 50])
    order = shuffled(known.distinct(0), read.seed)
    assert np.array_equal(found, np.sort(known.distinct(0)[np.argsort(order)[:MOST]]))
    places = [int(np.flatnonzero(known.hashes == one)[0]) for one in found]
    assert np.array_equal(read.proofs, known.proofs(np.array(places)))
    letters = [known.letters[known.places[at] :][:WINDOW] for at in places]
    proofs = [int.from_bytes(blake2b(one, digest_size=8).digest(), "little") for one in letters]
    assert read.proofs.tolist() == proofs


def test_what_cleared_texts_say_as_well_does_not_count():
    copied = (
        f"{TEXT} It was in truth Hale Orrin who raised it, and nobody else has ever doubted it."
    )
    left = Signature.read(signature(copied, [said_by(TEXT)])).hashes
    assert len(left) >= FEWEST
    assert not np.isin(left, fingerprints([TEXT]).hashes).any()
    assert np.isin(left, fingerprints([copied]).hashes).all()
    assert len(Signature.read(signature(TEXT, [said_by(TEXT)])).hashes) == 0


@pytest.mark.parametrize("written", [None, b"", b"\x01abcd", b"\x02abc"])
def test_a_signature_of_another_form_is_none(written):
    assert not is_current(written)
    assert len(Signature.read(written).hashes) == 0
    assert is_current(signature(""))
    assert is_current(signature(TEXT, [said_by(TEXT)]))


def test_a_signature_says_whether_others_were_cleared():
    written = (signature(TEXT), signature(TEXT, [said_by("")]), None)
    assert [Signature.read(one).rest for one in written] == [False, True, False]


@pytest.mark.parametrize("text", ["", "\ud800" * 40, "\x00" * 40, "!?", "a" * WINDOW, "é" * 7])
def test_odd_texts_are_read(text):
    assert len(Signature.read(signature(text, [said_by(""), said_by(text + "x")])).hashes) <= MOST
    assert len(fingerprints([text, text]).ends) == 2


@pytest.mark.parametrize(
    "aside",
    [
        *("[1]", "(sic)", "{x}", "[citation needed]", "<!-- x -->", r"\n", "\u00b9", "\u2460"),
        *(f"<!-- {'x' * 99} -->", "\uff08sic\uff09", "((sic) or so)"),
    ],
)
@pytest.mark.parametrize("apart", [1, 2, 3, 5])
def test_what_stands_between_words_and_is_none_hides_no_copy(aside, apart):
    words = TEXT.split()
    stretches = [" ".join(words[at : at + apart]) for at in range(0, len(words), apart)]
    noted = f" {aside} ".join(stretches)
    known = fingerprints([TEXT]).distinct(0)
    assert np.isin(known, fingerprints([f"Another page. {noted} And so on."]).distinct(0)).all()
    # Nor is a text with notes hidden where it comes back without them.
    assert np.isin(Signature.read(signature(noted)).hashes, known).all()


@pytest.mark.parametrize(
    "written",
    ["({text}) [1] (x)", "(({text}))", "{decoy} ({text}) [1] (x)", "[{text}] {decoy} (x) (y)"],
)
def test_what_stands_in_brackets_is_signed_as_well(written):
    decoy = "The market is held on Saturdays, and boats leave at nine from the northern quay."
    (signed,) = map(set, [Signature.read(signature(written.format(text=TEXT, decoy=decoy))).hashes])
    known = set(fingerprints([TEXT]).distinct(0))
    assert len(signed & known) >= 0.43 * len(signed)


@pytest.mark.parametrize("note", ["({})", "[{}]", "<!-- {} -->", "{}"])
@pytest.mark.parametrize("words", [1, 3, 5])
def test_a_text_of_notes_alone_is_signed_as_any_other(note, words):
    said = TEXT.split()
    each = [" ".join(said[at : at + words]) for at in range(0, len(said), words)]
    written = " ".join(note.format(one) for one in each)
    signed = set(Signature.read(signature(written)).hashes)
    assert len(signed & set(fingerprints([TEXT]).distinct(0))) > 0.43 * len(signed) > 0
    assert signed <= set(fingerprints([f"{written} indeed"]).distinct(0))


def test_circled_letters_are_letters():
    circled = "".join(chr(0x24D0 + ord(c) - 97) if c.islower() else c for c in TEXT)
    assert set(Signature.read(signature(circled)).hashes) <= set(fingerprints([TEXT]).distinct(0))


def test_a_note_or_two_change_no_fingerprint():
    noted = TEXT.replace("Dove", "Dove (d. 1890)").replace("1874", "1874 [1]")
    plain = noted.replace("(d. 1890)", "d1890").replace("[1]", "1")
    assert np.array_equal(fingerprints([noted]).hashes, fingerprints([plain]).hashes)


@given(st.lists(st.text(alphabet="ab. ", min_size=40, max_size=90), max_size=8), st.data())
def test_what_is_said_elsewhere_is_what_the_other_texts_share_one_by_one(texts, data):
    counting = data.draw(st.sets(st.sampled_from(texts))) if texts else set()
    own = fingerprints([TEXT, "ab" * 40, "a.b b" * 20])
    mine = np.unique(own.hashes)
    known = set()
    for text in texts:
        if text in counting:
            known |= set(fingerprints([text]).hashes.tolist())
    expected = [one for one in mine.tolist() if one in known]
    assert said_elsewhere(mine, texts, counting.__contains__).tolist() == expected


def test_a_signature_holds_nothing_that_is_said_elsewhere():
    said = fingerprints([TEXT[:100]]).distinct(0)
    assert len(said) > 20
    left = Signature.read(signature(TEXT, [said]))
    assert len(left.hashes) > 20
    assert not np.isin(left.hashes, said).any()
    assert left.rest


def test_fingerprints_of_nothing_are_none():
    assert len(fingerprints([]).hashes) == len(fingerprints(["", "short"]).hashes) == 0
