from random import Random

import numpy as np
import pytest

from ragguard.inline.fingerprints import (
    FEWEST,
    MOST,
    Fingerprints,
    Signature,
    fingerprints,
    signature,
)
from ragguard.inline.near_copies import CONTAINED, CONTAINED_REST, TAKEN, NearCopies, NearCopy
from tests.quarantines import said_by

_SYLLABLES = [a + b for a in "bdfghkmnprstvwz" for b in ("a", "e", "or", "un", "in")]


def prose(seed: int, words: int) -> str:
    draw = Random(seed)
    return " ".join("".join(draw.choices(_SYLLABLES, k=draw.randint(1, 4))) for _ in range(words))


def index(*texts: str) -> NearCopies:
    return NearCopies().changed({f"k{place}": signature(text) for place, text in enumerate(texts)})


def shared(held: str, passage: str) -> tuple[float, float]:
    """The slow reference: the shares of a text and of a passage, both short."""
    text = set(Signature.read(signature(held)).hashes.tolist())
    own = set(fingerprints([passage]).hashes.tolist())
    return len(text & own) / len(text), len(text & own) / len(own)


HELD = prose(0, 30)


def test_a_passage_is_a_copy_from_a_share_on():
    words = HELD.split()
    opened = index(prose(1, 30), HELD)
    found = 0
    for kept in range(len(words) + 1):
        passage = " ".join(words[:kept]) + " " + prose(2, 30 - kept)
        share, _ = shared(HELD, passage)
        (copy,) = opened.find([passage])
        assert (copy is not None) == (share >= CONTAINED)
        if copy is not None:
            assert copy == NearCopy("k1", share)
            found += 1
    assert 12 < found < 25


def test_of_what_no_cleared_text_says_a_smaller_share_will_do():
    copied = prose(20, 30)
    rest = signature(f"{HELD} {copied}", [said_by(copied)])
    opened = NearCopies().changed({"k0": rest})
    left = set(Signature.read(rest).hashes.tolist())
    words, between = HELD.split(), 0
    for kept in range(len(words) + 1):
        passage = " ".join(words[:kept]) + " " + prose(2, 30 - kept)
        share = len(left & set(fingerprints([passage]).hashes.tolist())) / len(left)
        assert (opened.find([passage])[0] is not None) == (share >= CONTAINED_REST)
        between += CONTAINED_REST <= share < CONTAINED
    assert between
    # So it stays when others come and go.
    merged = opened.changed({"k1": signature(prose(21, 30))}).changed({}, ["k1"])
    assert merged.find([HELD]) == opened.find([HELD]) != [None]


def test_a_text_is_found_whole_in_a_long_page():
    page = f"{prose(3, 900)} {HELD} {prose(4, 900)}"
    assert index(HELD).find([page, prose(3, 900)]) == [NearCopy("k0", 1.0), None]


def test_a_piece_of_a_long_text_is_a_copy_where_most_of_it_comes_from_there():
    long = prose(5, 2000)
    words = long.split()
    opened = index(long, HELD)
    piece = " ".join(words[600:1400])
    (copy,) = opened.find([piece])
    assert copy is not None
    assert copy.piece
    assert copy.key == "k0"
    assert copy.share >= TAKEN
    # Half of the piece is another text's.
    assert opened.find([" ".join(words[600:1000]) + " " + prose(6, 400)]) == [None]
    # Nor is a small part a sign: the text may hold parts of honest pages.
    assert opened.find([" ".join(words[700:1000])]) == [None]


def test_other_letters_with_the_same_fingerprints_make_no_copy(monkeypatch):
    # Who plants a text may compute one that shares the fingerprints of an honest page.
    page = prose(30, 30)
    real = Fingerprints.distinct, fingerprints([page]).hashes
    opened = index(HELD)
    opened._hashes = np.sort(np.resize(real[1], len(opened._hashes)))
    opened._filter = type(opened._filter).of(opened._hashes)
    assert opened.find([page]) == [None]


def test_filler_does_not_take_the_places_of_the_rest():
    # All fingerprints of the filler are among the lowest that there are.
    draw, filler = Random(1), []
    while len(filler) < 2 * MOST:
        words = prose(draw.randrange(10**9), 6)
        hashes = fingerprints([words]).hashes
        if len(hashes) and (hashes < 2**30).any():
            filler.append(words)
    long = prose(31, 700)
    held = f"{long} {' '.join(filler)}"
    chosen = Signature.read(signature(held)).hashes
    of_filler = np.isin(chosen, fingerprints([" ".join(filler)]).hashes).mean()
    assert of_filler < 0.75
    (copy,) = index(held).find([long])
    share = len(" ".join(filler)) / len(held)
    assert abs(of_filler - share) < 0.2
    # Where too little of it is left, it is recognised as a piece of the whole.
    assert copy.piece == (1 - of_filler < CONTAINED)


@pytest.mark.parametrize("pad", [" ", "\n", "\u200b", ".", " \t"])
def test_padding_hides_no_copy(pad):
    padded = f"{pad * 20_001}{HELD}{pad * 20_001}"
    assert index(HELD).find([padded]) == [NearCopy("k0", 1.0)]
    (copy,) = index(padded).find([HELD])
    assert copy is not None
    assert copy.share > 0.9


def test_a_title_that_the_text_quotes_is_no_copy():
    title = " ".join(HELD.split()[:4])
    assert np.isin(fingerprints([title]).hashes, fingerprints([HELD]).hashes).all()
    assert index(HELD).find([title]) == [None]


def test_texts_that_are_too_short_are_not_recognised():
    short = "It was Hale Orrin."
    assert len(Signature.read(signature(short)).hashes) < FEWEST
    opened = index(short)
    assert len(opened) == 0
    assert opened.find([short]) == [None]


def test_of_several_texts_it_is_the_most_similar():
    words = HELD.split()
    nearly = " ".join([*words[:20], *prose(7, 10).split()])
    (copy,) = index(nearly, HELD, prose(8, 30)).find([HELD])
    assert copy == NearCopy("k1", 1.0)


def test_what_is_taken_out_is_no_longer_found_and_comes_back():
    texts = [prose(seed, 30) for seed in range(40)]
    opened = index(*texts)
    fewer = opened.changed({}, ["k3", "k39", "unknown"])
    assert [one is None for one in fewer.find(texts)] == [place in (3, 39) for place in range(40)]
    assert len(fewer) == 38
    assert fewer.keys == opened.keys - {"k3", "k39"}
    again = fewer.changed({"k3": signature(texts[3])})
    assert again.find([texts[3]]) == [NearCopy("k3", 1.0)]
    assert opened.find([texts[39]]) == [NearCopy("k39", 1.0)]  # one of before is not changed
    assert len(again.changed({}, [f"k{place}" for place in range(40)]).keys) == 0


@pytest.mark.parametrize("seed", range(3))
def test_one_by_one_they_are_found_as_at_once(seed):
    draw = Random(seed)
    texts = {f"k{place}": prose(100 + place, draw.randint(8, 200)) for place in range(120)}
    signatures = {key: signature(text) for key, text in texts.items()}
    at_once, stepwise = NearCopies().changed(signatures), NearCopies()
    gone = draw.sample(sorted(texts), 40)
    for key in draw.sample(sorted(texts), len(texts)):
        stepwise = stepwise.changed({key: signatures[key]})
        if draw.random() < 0.3:
            stepwise = stepwise.changed(dict(draw.sample(sorted(signatures.items()), 3)))
    assert stepwise.keys == at_once.keys
    at_once, stepwise = at_once.changed({}, gone), stepwise.changed({}, gone)
    asked = [*texts.values(), *(f"{prose(1, 50)} {text}" for text in texts.values())]
    assert stepwise.find(asked) == at_once.find(asked)
    assert sum(copy is None for copy in at_once.find([*texts.values()])) == 40


@pytest.mark.slow
def test_many_texts_take_at_most_1300_bytes_each():
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.integers(0, 2**31, (5000, 64)).astype("<u4"))
    rest = bytes(4), bytes(8 * MOST)  # the seed, and the proofs
    opened = NearCopies().changed(
        {f"{n:032x}": b"\x04" + rest[0] + row.tobytes() + rest[1] for n, row in enumerate(drawn)}
    )
    assert len(opened) == 5000
    assert opened.nbytes <= 1300 * 5000


@pytest.mark.slow
def test_what_a_thousand_texts_say_alike_is_still_found():
    # Each has the same beginning: of a fingerprint that very many have only some are counted.
    texts = [f"{HELD} {prose(1000 + place, 6)}" for place in range(1000)]
    copies = index(*texts).find([texts[900], HELD, prose(3, 40)])
    assert [copy is None for copy in copies] == [False, False, True]


def test_nothing_is_found_in_an_empty_quarantine_or_in_no_passages():
    assert NearCopies().find([HELD]) == [None]
    assert index(HELD).find([]) == []
    assert index(HELD).find(["", "!"]) == [None, None]
