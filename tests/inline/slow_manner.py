"""Manner again, from its description alone and as slowly as may be."""

from math import fsum, log

from ragguard.inline.features.manner import buckets_of
from ragguard.inline.features.prose import as_prose, prose_tokens
from ragguard.text import STOP_WORDS

WITHIN = (",", "'", "\u2019", "-", ":", "(", ")", "%", "$", "/", "&", "\u2013")
BEFORE_A_SENTENCE = ("\x02", "\n", ".", "!", "?")


def buckets(text):
    return buckets_of(as_prose(prose_tokens(text)))


def manner(model, text):
    """How a text is written: the higher of the text and, 2 nats lower, its sentences."""
    found = prose_tokens(text)
    return max(nats(model, as_prose(found)), nats(model, sentences(found)) - 2.0)


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
