"""Manner again, from its description alone and as slowly as may be."""

import re
from itertools import takewhile
from math import fsum, inf, log

from ragguard.inline.features.manner import buckets_of
from ragguard.inline.features.prose import as_prose, prose_tokens
from ragguard.text import STOP_WORDS
from ragguard.text.notes import without_notes

WITHIN = (",", "'", "\u2019", "-", ":", "(", ")", "%", "$", "/", "&", "\u2013")
BEFORE_A_SENTENCE = ("\x02", "\n", ".", "!", "?")


def short_lines(lines):
    """The first of some lines, as far as each has at most twenty words and a word follows."""
    found = []
    for at, line in enumerate(lines[:-1]):
        if len(line.split()) > 20 or not re.search(r"\w", "".join(lines[at + 1 :])):
            break
        found.append(line)
    return found


def buckets(text):
    return buckets_of(as_prose(prose_tokens(text)))


def manner(model, text):
    """How a text is written: the highest of its readings, each other one for 2 nats less.

    These are its sentences, neighbours among them, and all of that without notes. Without the lines
    around it that are no sentences it is read as well, for nothing less.
    """
    bare = without_notes(text)
    return max(
        read(model, text),
        read(model, within_lines(text)),
        read(model, bare) - 2.0 if bare != text else -inf,
    )


def within_lines(text):
    """A text without its first and last short lines, up to one that ends as a sentence does."""

    def ends(line):
        return re.search(r"[.!?]\W*$", line) is not None

    begin, stop = 0, len(text)
    for line in takewhile(lambda line: not ends(line), short_lines(text[:300].split("\n"))):
        begin += len(line) + 1
    for line in takewhile(lambda line: not ends(line), short_lines(text[-300:].split("\n")[::-1])):
        stop -= len(line) + 1
    return text[begin:stop] if begin < stop else text


def read(model, text):
    found = prose_tokens(text)
    whole = nats(model, as_prose(found))
    return max(whole, nats(model, sentences(found)) - 2.0, part(model, as_prose(found)) - 2.0)


def part(model, found):
    """The best of neighbouring sentences, as if they were all there is, less ln of their count."""
    each = [[]]
    for token in found[1:-1]:
        each[-1].append(token)
        if token in (".", "!", "?", "\n"):
            each.append([])
    each = [one for one in each if len(one) >= 4][:12]
    best = -inf
    for begin in range(len(each) if len(each) > 1 else 0):
        for end in range(begin + 1, len(each) + 1):
            first = place(found, each, begin)
            stop = place(found, each, end - 1) + len(each[end - 1])
            tokens = ["\x02", *found[first:stop], "\x03"]
            if 24 <= len(tokens) <= 150:
                total = fsum(model.weights[bucket] for row in buckets_of(tokens) for bucket in row)
                best = max(best, model.bias + total / max(48, len(tokens)) - log(len(each)))
    return best


def place(found, each, number):
    """Where a sentence begins; short ones before it count."""
    at = 1
    for one in each[: number + 1]:
        while found[at : at + len(one)] != one or (at > 1 and found[at - 1] not in ".!?\n"):
            at += 1
        if one is each[number]:
            return at
        at += len(one)
    raise AssertionError(number)


def nats(model, found):
    """What tokens say window by window, and as a whole."""
    hashed = buckets_of(found).T
    last = max(0, len(hashed) - 48)
    windows = []
    for start in [*range(0, last, 12), last]:
        window = hashed[start : start + 48]
        total = fsum(model.weights[bucket] for row in window for bucket in row)
        windows.append(total / max(len(window), 48))
    total = fsum(model.weights[bucket] for row in hashed for bucket in row)
    whole = model.bias + total / max(len(hashed), 48)
    count = min(4.0, max(1.0, len(hashed) / 48))
    return max(model.bias + max(windows) - log(count), -6 + (whole + 6) * count**0.5)


def sentences(found):
    """The whole sentences of a text one behind the other, or all words where those are few."""
    places = range(len(found))
    begin = [at == 0 or found[at - 1] in BEFORE_A_SENTENCE for at in places]
    content = [
        found[at][0].islower()
        for at in places
        if found[at].isalpha() and not begin[at] and found[at].lower() not in STOP_WORDS
    ]
    written = list(found)
    if len(content) >= 12 and content.count(False) / len(content) > 0.8:
        for at in places:
            written[at] = found[at].lower()
            if at and begin[at]:
                written[at] = found[at].capitalize()
    parts = [[]]
    for token in written:
        if token.isalnum() or token in WITHIN:
            parts[-1].append(token)
        else:
            parts.append([])
    kept = list(filter(is_sentence, parts))
    held = sum(map(words_of, kept))
    if held < sum(map(words_of, parts)) / 2:
        every = [token for token in as_prose(found) if token.isalnum()]
        kept = [every] if is_sentence(every) else []
    elif len(kept) > 1 and kept[-1] is parts[-2]:  # cut off by the end, behind which nothing is
        kept.pop()
    for part in kept:
        while not part[0].isalpha():
            part.pop(0)
        while not part[-1].isalnum():
            part.pop()
    ended = [[part[0][0].upper() + part[0][1:], *part[1:], "."] for part in kept]
    return ["\x02", *[token for part in ended for token in part], "\x03"]


def words_of(part):
    """How many words there are."""
    return sum(token.isalpha() for token in part)


def is_sentence(part):
    """Whether there are five words, a fifth of them function words."""
    small = sum(token.isalpha() and token.lower() in STOP_WORDS for token in part)
    return words_of(part) >= 5 and small / words_of(part) >= 0.2
