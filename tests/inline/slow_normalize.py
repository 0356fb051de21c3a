"""What a passage means, again: from the description alone and as slowly as may be."""

import re
from functools import cache

from ragguard.inline.class_bigram import class_bigram
from ragguard.inline.query_form import INTERROGATIVES, OPENING
from ragguard.text import STOP_WORDS, parted_words, tokens
from ragguard.text.html import strip_markup
from ragguard.text.ngrams import has_unspaced, ngrams
from ragguard.text.notes import rejoined, without_notes

SIGNS = {"@": "a", "$": "s", "!": "i", "|": "l", "+": "t"}


def words_of(text):
    """The words of a text without its markup, and those that some retrievers part."""
    shown = strip_markup(text)
    parted = [word for word in parted_words(shown) if not has_unspaced(word)]
    return [*ngrams(tokens(shown)), *parted]


def short_parts(text):
    """Where the first lines of a text end, and labels and steps of a path in them.

    As far as each has at most twenty words, and no sentence unless it is a line; a word follows.
    """
    found, start, at = [], 0, 0
    while at < len(text):
        end = re.match(r"\n|:\s|\s[^\w\s]+\s", text[at:])
        at += len(end[0]) if end else 1
        if end:
            part = text[start:at]
            if len(part.split()) > 20 or not re.search(r"\w", text[at:]):
                break
            if part[-1] == "\n" or not re.search(r"[.!?]\W*\s", part):
                found, start = [*found, at], at
    return found


def turned(asked, text):
    """The text from one of its lines on, and what stood before it."""
    at, _ = turn(asked, text)
    shown = strip_markup(text)
    return f"{shown[at:]}\n{shown[:at]}" if at else text


def turned_words(asked, text):
    """Its words, each line of a script without spaces by itself."""
    _, words = turn(asked, text)
    said = words_of(text)
    return [*said[words:], *said[:words]]


def turn(asked, text):
    """At which sign and word a text is to begin for the question to begin or end it.

    0 where it does already or no line does; three quarters of its words do, one first or last.
    """
    shown, said, distinct = strip_markup(text), words_of(text), set(asked)
    before, behind = [], []
    if "\n" in shown:
        before = short_parts(shown[:300])
        behind = [len(shown) - end for end in short_parts(shown[-300:][::-1])]

    def begins(words):
        from slow_signals import lead_in

        lead = lead_in(asked, words[: len(asked) + 3])
        there = words[lead : lead + len(asked)]
        return len(distinct & set(there)) if there[0] in distinct else 0

    def ends(words):
        there = words[-len(asked) :]
        return len(distinct & set(there)) if there[-1] in distinct else 0

    if not asked or not said or max(begins(said), ends(said)) >= 3 / 4 * len(distinct):
        return 0, 0
    held = {}  # of a turn from both sides, what ends there counts
    for at in before:
        first = list(ngrams(tokens(shown[:at])))
        if 0 < len(first) < len(said) and said[: len(first)] == first:
            held[at, len(first)] = begins(said[len(first) :])
    for at in behind:
        last = list(ngrams(tokens(shown[at:])))
        if 0 < len(last) < len(said) and said[-len(last) :] == last:
            held[at, len(said) - len(last)] = ends(said[: -len(last)])
    most = max(held.values(), default=0)
    if most < 3 / 4 * len(distinct):
        return 0, 0
    best = [turned for turned, one in held.items() if one == most]
    fronts = [(at, words) for at, words in best if at not in behind]
    return fronts[-1] if fronts else best[0]


def spelt(word):
    """A word with digits read as letters."""
    for digit, letter in zip("013457", "oieast", strict=True):
        word = word.replace(digit, letter)
    return word


def without_one(word):
    """A word with digits read as letters, and that without one letter."""
    letters = spelt(word)
    return [letters, *(letters[:at] + letters[at + 1 :] for at in range(len(letters)))]


def forms(word):
    """What a word has in common with those it may be: these, and its letters, inner ones sorted."""
    letters = spelt(word)
    return [*without_one(word), ("in any order", letters[:1], *sorted(letters[1:-1]), letters[-1:])]


def share_a_form(one, other):
    return bool(set(forms(one)) & set(forms(other)))


def one_letter_off(one, other):
    if one.isdigit() or other.isdigit():
        return False
    both = (len(one), len(other))
    return (
        min(both) > 2
        and max(both) <= 32
        and max(both) - min(both) <= 1
        and share_a_form(one, other)
    )


def alike(one, other):
    """Two thirds of the different letters of two words, on average, are in both."""
    if one.isdigit() or other.isdigit():
        return one == other
    first, second = set(spelt(one)), set(spelt(other))
    return len(first & second) / ((len(first) + len(second)) / 2) >= 2 / 3


def with_letters_for_signs(asked, text):
    """A text with letters for signs, if it then holds more of the question's words; or None."""
    letter, together = r"[^\W\d_]", "".join(asked)
    if len(asked) > 2 and len(together) > 11 and together in "".join(words_of(text)):
        return None
    if not re.search(rf"{letter}[@$]|[@$]{letter}", text):
        return None
    read = ""
    for at, sign in enumerate(text):
        after = text[at + 1 : at + 2]
        if (
            sign in "@$"
            or (sign in "!|+" and (re.match(r"[^\W_]", after) or after in [*SIGNS]))
            or (sign == "+" and at and re.match(r"[^\W_]", text[at - 1]))
        ):
            sign = SIGNS[sign]
        read += sign
    counts = [sum(spelt(word) in asked for word in words_of(one)) for one in (text, read)]
    return read if counts[1] > counts[0] else None


def word_by_word(asked, said, odd):
    """The words, where several of the question's are written as one or in pieces; None otherwise.

    Several are two that are no function words and have four letters at least.
    """
    if len(asked) < 3 or len("".join(asked)) < 12:
        return None
    if any(said[at : at + len(asked)] == asked for at in range(len(said))):
        return None
    if "".join(asked) in "".join(said):
        return None  # it is read as a whole
    known = [word for word in asked if not has_unspaced(word)]
    long = [word for word in known if 4 <= len(word) <= 32 and word.isalpha()]
    inner = {
        word[at:end]
        for word in long
        for at in range(1, len(word))
        for end in range(at + 1, len(word) + 1)
    }
    if not any(
        (one in inner and may_be_piece(one, odd))
        or (one not in asked and as_one(asked, known, one, odd))
        for one in said
    ):
        return None
    read, found, at = [], set(), 0
    while at < len(said):
        size, words = in_pieces(asked, long, said[at:]) or (1, as_one(asked, known, said[at], odd))
        found |= set(words)
        read += words or [said[at]]
        at += size
    several = [word for word in found if len(word) >= 4 and word not in STOP_WORDS]
    return read if len(several) >= 2 else None


def may_be_piece(word, odd):
    """Whether a word is none that a text has anyway: not listed, or too short or long for that."""
    return word in odd or len(word) > 32 or (len(word) < 4 and word not in STOP_WORDS)


def as_one(asked, known, written, odd):
    """The words of the question that a word is made of, the longest that fits each time."""
    words, rest = [], written
    while fits := [word for word in known if rest.startswith(word)]:
        words.append(max(fits, key=len))
        rest = rest[len(words[-1]) :]
    strange = written in odd or len(written) > 32
    may_be = strange and len(written) <= 2 * len("".join(asked)) and not rest
    return words if may_be and len(words) > 1 else []


def in_pieces(asked, long, said):
    """With how many words one of the question begins that is in pieces, and that word.

    Between two pieces a letter may be missing, in all one of three.
    """
    for word in sorted(set(long)):
        if not word.startswith(said[0]) or word == said[0]:
            continue
        rest, lost, size = word[len(said[0]) :], 0, 1
        while rest and size < len(said):
            piece = said[size]
            skip = 0 if rest.startswith(piece) else 1
            if not rest[skip:].startswith(piece):
                break
            rest, lost, size = rest[skip + len(piece) :], lost + skip, size + 1
        if not rest and 3 * lost <= len(word) and set(said[:size]) - set(asked):
            return size, [word]
    return None


def regapped(asked, said):
    """The words with the question's where its letters stand in a row; None if they do nowhere."""
    letters = "".join(asked)
    if len(asked) < 3 or len(letters) < 12:
        return None
    if any(said[at : at + len(asked)] == asked for at in range(len(said))):
        return None
    # Every letter with the place of its word.
    stream = [(letter, at) for at, word in enumerate(said) for letter in word]
    for start in range(len(stream)):
        if "".join(letter for letter, _ in stream[start : start + len(letters)]) != letters:
            continue
        stop = start + len(letters)
        first, last = stream[start][1], stream[stop - 1][1]
        before = "".join(letter for letter, at in stream[:start] if at == first)
        after = "".join(letter for letter, at in stream[stop:] if at == last)
        rest = [[before] if before else [], [after] if after else []]
        return [*said[:first], *rest[0], *asked, *rest[1], *said[last + 1 :]]
    return None


def without_its_notes(asked, text):
    """The words of a text without notes within and between words, if they say the question."""
    bare = without_notes(rejoined(text))
    said, n = [*ngrams(tokens(strip_markup(bare)))], len(asked)
    if bare == text or not said:
        return None
    whole = any(said[at : at + n] == asked for at in range(len(said)))
    return said if whole else regapped(asked, said)


def row_is_alike(asked, said):
    differing = [pair for pair in zip(asked, said, strict=True) if pair[0] != pair[1]]
    unlike = [one for one, other in differing if not alike(one, other)]
    content = [pair for pair in differing if pair[0] not in STOP_WORDS]
    asking = INTERROGATIVES.intersection(asked) or OPENING.intersection(asked[:1])
    if len(unlike) > len(asked) // 5 or asking.intersection(unlike):
        return False
    if len(content) == 1:
        return one_letter_off(*content[0])
    return sum(one not in STOP_WORDS for one in unlike) <= len(content) / 3


def at_an_edge(asked, said, odd, lead):
    """The words with the question where the passage begins or ends like it; None if it does not."""
    n = len(asked)
    if n < 3 or len(said) < n:
        return None
    for first in (lead, len(said) - n):
        row = said[first : first + n]
        if row == asked:
            return None
        begins = any(one == other for one, other in zip(asked[:3], row, strict=False))
        if len(row) < n or not (begins or odd & set(row)):
            continue
        known = sum(one == other for one, other in zip(asked, row, strict=True))
        known += len(odd & set(row))
        if known >= n / 2 and row_is_alike(asked, row):
            return [*said[:first], *asked, *said[first + n :]]
    if any(said[at : at + n] == asked for at in range(len(said))):
        return None
    return in_two_pieces(asked, said, lead)


def strewn(asked, said, lead, much):
    """The words with the question where others stand between its own; or None."""
    if much is None or not could_be_read(asked, said):
        return None
    n, last = len(asked), len(said) - 1
    places = places_of(asked, said, 10, range(len(said))) if much else None
    asking = INTERROGATIVES.intersection(asked) or OPENING.intersection(asked[:1])
    gaps, own = 0, set()
    for at in range(n - 1) if places else ():
        gaps += asked[at] not in asking and places[at + 1] > places[at] + 1
        own.update(said[places[at] + 1 : places[at + 1]])
    own &= {word for word in asked if word not in STOP_WORDS} or set(asked)
    if gaps == 0 or (gaps == 1 and own):
        found = places_of(asked, said[lead:], 2, (0, 1))
        places = [lead + at for at in found] if found else None
    if not places:
        found = places_of(asked[::-1], said[::-1], 2, (0, 1))
        places = sorted(last - at for at in found) if found else None
    if not places:
        return None
    begin, end = places[0], places[-1] + 1
    between = [said[at] for at in range(begin, end) if at not in places]
    if begin <= lead + 1:
        return [*said[:lead], *asked, *said[lead:begin], *between, *said[end:]]
    if end >= last:
        return [*said[:begin], *between, *said[end:], *asked]
    return [*said[:begin], *asked, *between, *said[end:]]


def places_of(asked, said, most, begins):
    """Where words stand in order, the last as early and the others as late as may be; or None."""

    @cache
    def leads_to(number, at):
        if said[at] != asked[number]:
            return False
        if not number:
            return at in begins
        return any(leads_to(number - 1, one) for one in range(max(0, at - most - 1), at))

    n = len(asked)
    places = [at for at in range(len(said)) if leads_to(n - 1, at)][:1]
    for number in range(n - 2, -1, -1) if places else ():
        places.insert(0, max(one for one in range(places[0]) if leads_to(number, one)))
    return places or None


def in_two_pieces(asked, said, lead):
    n = len(asked)
    for cut in range(2, n - 1):
        one, other = asked[:cut], asked[cut:]
        rest = said[lead:]
        if len(rest) >= n and rest[:cut] == one and rest[len(rest) - len(other) :] == other:
            return [*said[:lead], *asked, *rest[cut : len(rest) - len(other)]]
        for first in (lead, len(said) - n):
            if said[first : first + n] == other + one:
                return [*said[:first], *asked, *said[first + n :]]
    return None


def could_be_read(asked, said):
    rows = [said[at : at + len(asked)] for at in range(len(said))]
    return 3 <= len(asked) <= len(said) and set(asked) <= set(said) and asked not in rows


def respelled(asked, said, odd):
    """The words with the question's for misspelt ones; None if there is none."""
    meant = {}
    for word in odd - set(asked):
        # A form that several words have in common is that of the last.
        candidates = set()
        for form in forms(word):
            having = [
                other
                for other in dict.fromkeys(asked)
                if other.isalpha() and 4 <= len(other) <= 32 and form in forms(other)
            ]
            candidates.update(having[-1:])
        if candidates:
            as_long = [other for other in candidates if len(other) == len(word)]
            meant[word] = min(as_long or candidates)
    if not meant:
        return None
    if len(set(meant.values())) < 2:
        return None
    for word in set(said) - set(asked):
        if not word.isalpha() and spelt(word) in asked:
            meant[word] = spelt(word)
    said = [meant.get(word, word) for word in said]
    follow = [(asked[at], asked[at + 1]) for at in range(len(asked) - 1)]
    for at, word in enumerate(said):
        if word in asked:
            continue
        expected = [other for one, other in follow if at and one == said[at - 1]]
        expected += [one for one, other in follow if at + 1 < len(said) and other == said[at + 1]]
        like = [one for one in expected if one_letter_off(word, one)]
        if like:
            said[at] = min(like)
    return said


def common(one, other):
    """How many words two rows have in common, in order."""
    longest = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, word in enumerate(one):
        for j, said in enumerate(other):
            if word == said:
                longest[i + 1][j + 1] = longest[i][j] + 1
            else:
                longest[i + 1][j + 1] = max(longest[i][j + 1], longest[i + 1][j])
    return longest[-1][-1]


def edited(asked, said, lead, asking):
    """The words where the question, but for a few, begins or ends them; `asking` are its own."""
    n = len(asked)
    if asking is None or not 5 <= n <= len(said):
        return None
    few = max(1, n // 5)
    content = {word for word in asked if word not in STOP_WORDS} or set(asked)
    kept = content | set(asking) if asking else {*asked[:2], *asked[-2:]}
    for begins in (True, False):
        window = said[lead : lead + n + 1] if begins else said[-n - 1 :]
        order = window if begins else window[::-1]
        lost = set(asked) - set(window)
        pairs = [window[at : at + 2] for at in range(len(window) - 1)]
        if order[0] not in asked or len(lost) > few or lost & kept:
            continue
        if asking and asked[1] in window and asked[:2] not in pairs:
            continue
        own = asked if begins else asked[::-1]
        most = common(own, order)
        size = min(at for at in range(len(order) + 1) if common(own, order[:at]) == most)
        strange = [word for word in order[:size] if word not in asked]
        if 0 < n - most <= few and len(strange) <= 1:
            return (
                [*said[:lead], *asked, *said[lead + size :]] if begins else [*said[:-size], *asked]
            )
    return None


def without_aside(asked, said, lead, asking):
    """The words without what stands behind the interrogative with which they begin."""
    n = len(asked)
    if not asking or asked[0] not in asking or not 5 <= n <= len(said) or asked[1] == "if":
        return None
    if said[lead] != asked[0] or said[lead : lead + n] == asked:
        return None
    for long in range(1, 11):
        if said[lead + 1 + long : lead + n + long] == asked[1:]:
            aside = said[lead + 1 : lead + 1 + long]
            return [*said[:lead], *asked, *aside, *said[lead + n + long :]]
    return None


def normalized(asked, text, much=False, asking=None):
    """The words of a passage, with the question's in place of what means them.

    `much` says whether the question asks, in six words or more; None: it names something, or asks
    nothing in fewer. `asking` are the words by which it asks, none if by its mark alone; None: it
    does not ask, or tells something as well.
    """
    from slow_signals import lead_in

    asked = list(asked)
    if not asked:  # then nothing means it
        return words_of(text)
    lettered = with_letters_for_signs(asked, turned(asked, text))
    said = words_of(lettered) if lettered else turned_words(asked, text)
    shown = lettered or turned(asked, text)
    odd = {
        word
        for word in said
        if 4 <= len(word) <= 32 and word not in class_bigram().classes and not word.isdigit()
    }
    said = word_by_word(asked, said, odd) or said
    lead = lead_in(asked, said)
    found = (
        regapped(asked, said)
        or at_an_edge(asked, said, odd, lead)
        or without_its_notes(asked, shown)
        or strewn(asked, said, lead, much)
    )
    if not found and not any(said[at : at + len(asked)] == asked for at in range(len(said))):
        found = edited(asked, said, lead, asking) or without_aside(asked, said, lead, asking)
    said = found or said
    return respelled(asked, said, odd) or said
