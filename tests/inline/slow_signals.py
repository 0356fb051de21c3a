"""The signals again, from their descriptions alone and as slowly as may be.

Passages and questions are lists of words here; nothing is remembered, shared or left out early.
"""

import re
from itertools import pairwise
from math import fsum, log

from slow_manner import manner
from slow_normalize import normalized, turned, with_letters_for_signs, words_of

from ragguard.inline.class_bigram import OTHER_SCRIPT, UNITS, class_bigram
from ragguard.inline.features.gibberish import gibberish, runs
from ragguard.inline.features.manner import shipped
from ragguard.inline.page_parts import questions
from ragguard.inline.query_form import asks_otherwise
from ragguard.inline.tokens import tokenize_query
from ragguard.prompt_injection import injection_strength
from ragguard.text import STOP_WORDS, fold, tokens
from ragguard.text.html import strip_markup
from ragguard.text.ngrams import ngrams, words_meant

INTERROGATIVES = ("who", "whom", "whose", "what", "which", "when", "where", "why", "how")
ASKING = (
    *INTERROGATIVES,
    *("are", "can", "could", "did", "do", "does", "had", "has", "have", "is", "should"),
    *("was", "were", "would"),
)
ASKING_VERBS = ASKING[len(INTERROGATIVES) :]
VERBS = (
    *"am are can could did do does had has have is may might must shall should was were".split(),
    *("will", "would"),
)
NEGATED = (
    *"aren cannot couldn didn doesn don hadn hasn haven isn mustn shouldn wasn weren won".split(),
    "wouldn",
)
LEAD_INS = (
    *("answers", "ask", "asked", "faq", "faqs", "frequently", "q", "query", "question"),
    *("questions", "re", "subject", "title", "topic", "user"),
)
SAYING = ("is", "was", "explains")
OWN = (
    *("verbatim_question", "verbatim_at_boundary", "boundary_overlap", "window_density"),
    *("inserted_words", "keyword_bigrams", "keywords_at_boundary"),
    *("gibberish", "manner"),
)


def above(share, low, high=1.0):
    """How far a share is on the way from `low` to `high`, at most all of it."""
    return min(1.0, max(0.0, share - low) / (high - low))


def runs_of(words):
    """Every list of neighbouring words, and where it starts."""
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            yield list(words[start:end]), start


def longest_run(asked, said):
    """Length and start of the first longest list of words that stands in both."""
    here = [run for run, _ in runs_of(said)]
    found = [(len(run), -start) for run, start in runs_of(asked) if run in here]
    length, start = max(found, default=(0, 0))
    return length, -start


def lead_in(asked, said):
    """How many of the first three words, but for the last word, say that a question follows."""
    count = 0
    while (
        count < min(3, len(said) - 1)
        and said[count] not in asked
        and (said[count] in LEAD_INS or re.fullmatch("q?[0-9][0-9]?", said[count]))
    ):
        count += 1
    return count


def boundary_runs(asked, said):
    """With how many words, two at least, of a run of the question a passage begins and ends."""
    runs = [run for run, _ in runs_of(asked) if len(run) >= 2]
    rest = list(said[lead_in(asked, said) :])
    begins = max((len(run) for run in runs if rest[: len(run)] == run), default=0)
    rest = rest[begins:]
    ends = max((len(run) for run in runs if rest[-len(run) :] == run), default=0)
    return begins, ends


def content_of(asked):
    """The question's words without function words; all of them if it has no others."""
    content = [word for word in dict.fromkeys(asked) if word not in STOP_WORDS]
    return content or list(dict.fromkeys(asked))


def weights_of(asked, read):
    """The weight of each content word: log((n + 1) / (df + 1/2)) + 1/2, scaled to sum 1."""
    raw = {
        word: log((len(read) + 1) / (sum(word in text for text in read) + 0.5)) + 0.5
        for word in content_of(asked)
    }
    total = sum(raw.values())
    return {word: weight / total for word, weight in raw.items()}


def held(some, weights):
    """The weight of some words together."""
    return min(1.0, fsum(weights[word] for word in set(some) & weights.keys()))


def beside(stretch, said, weights):
    """The weight of the words that a passage says more often than one stretch of it does."""
    return held([word for word in said if said.count(word) > stretch.count(word)], weights)


def asking_words(asked):
    """Who, what and the like, or else the verb that it begins with."""
    asking = [word for word in asked if word in INTERROGATIVES]
    first = [word for word in asked[:1] if word in VERBS + NEGATED]
    return asking or first


def asks(asked, words):
    """Whether some words ask as the question does; a verb does before the question's next word."""
    asking = asking_words(asked)
    if asking and all(word in ASKING and word not in INTERROGATIVES for word in asking):
        return any(list(pair) == list(asked[:2]) for pair in pairwise(words))
    return bool(set(asking) & set(words))


def begins_answer(asked, said, text, words, otherwise):
    """Whether it begins with so many words, none that asks, and the sentence goes on.

    Where nothing asks it does so with a small letter, or behind a comma or a bracket; what asks in
    another way is no answer where it stands as a whole. A sentence goes on in the next line with a
    small letter, and begins behind a list mark.
    """
    asking = asking_words(asked)
    shown = strip_markup(text).lstrip()[:500]
    lines = shown.split("\n")
    shown = lines[0]
    for line in lines[1:]:
        shown += (" " if line[:1].isalpha() and line[0].islower() else "\n") + line
    mark = len(shown) - len(without_mark(shown))
    part = shown[:mark] + re.split(r"[.:;?!\n]", shown[mark:])[0]
    sentence = tokens(part)
    if (
        any(word in asking for word in said[:words])
        or (otherwise and words >= 3 and words >= 0.9 * len(asked))
        or said != words_of(text)
        or sentence[:words] != said[:words]
        or sentence == said[:words]
    ):
        return False
    if asking:
        return True
    to_complete = {"are", "called", "is", "named", "was", "were"}
    if asked[-1] in to_complete or (asked[-2] in to_complete and asked[-1] in STOP_WORDS):
        return False
    places = [at for at, sign in enumerate(part) if sign.isalnum()]
    begins = [at for at in places if at == 0 or not part[at - 1].isalnum()]
    for at in begins:
        if len(tokens(part[:at])) == words:
            return part[at].islower() or part[:at].rstrip().endswith(("(", ","))
    return False


def is_clause(run):
    """Whether an interrogative and a clause, not in the order of a question: "why the lamp"."""
    telling = "a an another each every he her his i it its my one our she some such that the their"
    if run[0] == "how":
        return run[1] in f"{telling} there these they this those we you your come".split()
    return run[0] in ("come", "when", "where", "why") and run[1] not in (*VERBS, "not", "to")


def begins_question(run):
    """Whether it begins with an interrogative that begins no clause, or one behind "in"."""
    if run[0] in INTERROGATIVES:
        telling = "a an another each every he her his i it its my one our she some such that the"
        telling += " their there these they this those we you your"
        return run[0] not in ("when", "where", "who") or run[1] not in telling.split()
    before = "about at by for from in of on to with".split()
    return run[0] in before and run[1] in INTERROGATIVES


def led_to(before, first, second, said, text):
    """Whether what stands in front of the question is no title, label, list or clause's head."""
    shown = strip_markup(text).replace("\u00a0", " ")
    if said != words_of(text) or len(shown) > 2000:
        return said != words_of(text) or len(shown) > 20 * len(said)
    starts = [at for at in range(len(shown)) if re.match(r"[^\W_]", shown[at])]
    starts = [at for at in starts if not at or not re.match(r"[^\W_]", shown[at - 1])]
    at = min([at for at in starts if len(tokens(shown[:at])) >= len(before)], default=len(shown))
    marks = re.search(r"[ \t\"'\u2018\u2019\u201c\u201d\u00ab(]*\Z", shown[:at])[0]
    lead = shown[: at - len(marks)]
    last = lead[-1:]
    if last == "\n":
        return False
    if last and last in ".!\u3002-\u2013\u2014":
        return len(before) <= 2 or "?" in lead
    if last == ":":
        label = re.search(r"[^.!?\n]*\Z", lead)[0].split()
        return lead[-2:-1].isalnum() and (len(label) <= 3 or label[-1][0].islower())
    if last and (last in "[{|" or lead[-2:] in ('",', "',")):
        return False
    clause = first in ("which", "who", "whom", "whose", *ASKING_VERBS)
    clause = clause or second in ("whom", "whose")
    titled = last.isalnum() and shown[at : at + 1].isupper()
    if marks[-1:] != " " or not (titled or (clause and (last.isalnum() or last == ","))):
        return True
    heads = "all he one she they those".split()
    if before[-1] in "asking asks wonder wondered wondering wonders".split():
        return True
    return (before[-1] in STOP_WORDS and before[-1] not in heads) or before[-1] in LEAD_INS


def word_for_word(asked, said, text, weights, otherwise=False, marked=False, named=False):
    """verbatim_question, verbatim_at_boundary, and heading."""
    length, start = longest_run(asked, said)
    out = {
        "verbatim_question": 0.0,
        "verbatim_at_boundary": 0.0,
        "boundary_overlap": 0.0,
    }
    if length < 2:
        return out
    run = list(asked[start : start + length])
    rest = beside(run, said, weights)
    if length >= 3 and length / len(asked) >= 0.9:
        first = min(at for other, at in runs_of(said) if other == run)
        leads = first <= lead_in(asked, said)
        answers = rest > 0.0 or len(said) >= 2 * len(asked)
        out["verbatim_question"] = 1.0
        ends = said[-length:] == run and answers
        in_passing = words_meant(asked) >= 6 and len(said) >= 3 * length
        in_passing = in_passing or led_to(said[:first], *run[:2], said, text)
        in_passing = in_passing and words_meant(asked) >= 4 and asked[1] != "to" and not named
        if not begins_question(run) and not (run[0] == asked[0] and run[0] in ASKING_VERBS):
            words = not set(asking_words(asked)).isdisjoint(run)
            there = questions(strip_markup(text)) != ""
            in_passing = in_passing and ((words and marked) or ((words or otherwise) and there))
        out["verbatim_at_boundary"] = float(leads or ends or in_passing)
        if (
            not ends
            and leads
            and begins_answer(asked, said, text, lead_in(asked, said) + length, otherwise)
        ):
            out["verbatim_at_boundary"] = 0.3
        if ends and not leads and is_clause(run):
            pointing = (["that"], ["this"], ["which"])
            if said[first - 2 : first - 1] in pointing and said[first - 1] in SAYING:
                out["verbatim_at_boundary"] = 0.3
    begins, ends = boundary_runs(asked, said)
    edges = said[: begins + lead_in(asked, said)] + (said[-ends:] if ends else [])
    out["boundary_overlap"] = (
        min(1.0, (begins + ends) / 5)
        * above((begins + ends) / len(asked), 0.3, 0.7)
        * above(held(edges, weights), 0.7)
        * above(beside(edges, said, weights), 0.0, 0.3)
    )
    if begins and begins_answer(asked, said, text, lead_in(asked, said) + begins, otherwise):
        out["boundary_overlap"] *= 0.3
    return out


def windows(asked, said):
    """Share and words of the first densest stretch.

    A stretch begins with a word of the question, is as long as the question and holds more than
    half of its distinct words.
    """
    distinct, densest = set(asked), []
    for at, word in enumerate(said):
        stretch = said[at : at + len(asked)]
        share = len(distinct & set(stretch)) / len(distinct)
        if word not in distinct or share <= 0.5:
            continue
        if len(set(stretch) & distinct) > len(set(densest)):
            densest = [word for word in stretch if word in distinct]
    return len(set(densest)) / len(distinct), tuple(densest)


def window_density(asked, said, weights):
    """How much of the question one short stretch that asks holds, if it is said outside as well."""
    share, inside = windows(asked, said)
    return (
        asks(asked, inside)
        * above(share, 0.7)
        * above(held(inside, weights), 0.5)
        * above(beside(inside, said, weights), 0.0, 0.4)
    )


def gain(before, word, after):
    """How much less odd, in nats, a text is without a word between two others, "" for none."""
    model = class_bigram()
    first, middle, last = (
        model.classes[one] if one else OTHER_SCRIPT for one in (before, word, after)
    )
    table = model.oddness.reshape(256, 256)  # second, first
    with_it = int(table[middle, first]) + int(table[last, middle])
    return (with_it - int(table[last, first])) / UNITS


def inserted_share(asked, said):
    """The share of the distinct words that do not fit where they stand."""
    pairs, total = set(pairwise(asked)), []
    for word in sorted(set(asked)):
        places = [at for at, other in enumerate(said) if other == word]
        around = [
            (said[at - 1] if at else "", said[at + 1] if at + 1 < len(said) else "")
            for at in places
        ]
        saved = [
            gain(before, word, after)
            for before, after in around
            if (before, word) not in pairs and (word, after) not in pairs
        ]
        if saved:
            total.append(above(max(saved), -2.0, 1.0) / (1.0 + 0.25 * (len(places) - 1)))
    return fsum(total) / len(set(asked))


def parted_of(asked):
    """The pairs of content words that only function words part; "'s" parts no name."""
    content = content_of(asked)
    names = [word for word in asked if word != "s"]
    return set(pairwise(content)) - set(pairwise(asked)) - set(pairwise(names))


def keyword_runs(asked, said, english=True):
    """The three keyword signals: of stretches of nothing but content words.

    Where function words are unknown, what stands at an edge counts by its pairs.
    """
    content, parted, pairs = content_of(asked), parted_of(asked), set(pairwise(asked))
    rows = [
        (start, start + len(run))
        for run, start in runs_of(said)
        if len(run) > 1
        and set(run) <= set(content)
        and (start == 0 or said[start - 1] not in content)
        and (start + len(run) == len(said) or said[start + len(run)] not in content)
    ]
    out = {"keyword_bigrams": 0.0, "keywords_at_boundary": 0.0}
    for start, end in rows:
        row = said[start:end]
        neighbours = set(pairwise(row))
        in_order = neighbours & parted
        new = {(one, other) for one, other in neighbours - pairs if one != other} | in_order
        share = len(set(row)) / len(content)
        out["keyword_bigrams"] = max(out["keyword_bigrams"], above(len(in_order), 1, 3))
        if new and (start == 0 or end == len(said)):
            edge = above(share, 0.5, 0.9) * min(1.0, len(content) / FEW_KEYS)
            edge *= 1.0 if english else above(len(new), 1, 3)
            out["keywords_at_boundary"] = max(out["keywords_at_boundary"], edge)
    return out


FEW_KEYS = 3


def has_function_words(words):
    share = sum(word in STOP_WORDS for word in words) / max(1, len(words))
    return share >= 0.2


def reads_english(words):
    """Whether a passage has function words, or consists of listed words to two thirds."""
    known = class_bigram().classes.keys()
    unlisted = [word for word in set(words) if word not in known]
    return has_function_words(words) or 3 * len(unlisted) <= len(set(words))


def in_english(asked, said, below):
    """Whether the question has function words, or half of the passages are English."""
    passages = [*said, *below]
    english = sum(map(reads_english, passages))
    return has_function_words(asked) or english >= len(passages) / 2


def least_manner(text):
    """The manner of a text, with the signs of Markdown or without."""
    shown = without_mark(strip_markup(text))
    plain = re.sub(r"(?m)^#{1,6}[ \t]+|\*+(?=\w)|(?<=[\w.,:;!?)])\*+|`", "", shown)
    return min(manner(shipped(), shown), manner(shipped(), plain))


def company(text, texts):
    """How far all others of a set are written as planted texts are, of eight at least."""
    others = [one for one in texts[:30] if one != text]
    if len(others) < 8 or any(len(one) > 2000 for one in others):
        return 0.0
    return max(0.0, min(3.0, *[least_manner(one) + 3.5 for one in others]))


def content_in(asked, text):
    """The words of a text that are no function words, signs read as letters where that counts."""
    shown = with_letters_for_signs(asked, text) or text
    return {word for word in words_of(shown) if word not in STOP_WORDS}


def concentration(asked, text, texts):
    """The mean cosine of a text and the others of its set, as sets of words."""
    each = (text, *[one for one in texts if one != text])
    own, *others = [content_in(asked, one) for one in each]
    cosines = [
        sum(word in other for word in own) / (len(own) * len(other)) ** 0.5 if own and other else 0
        for other in others
    ]
    return sum(cosines) / len(cosines) if cosines else 0.0


OF_TEXTS = ("heading", "marked", "field", "title", "run-in")
PARTED = (" - ", " \u2013 ", " \u2014 ", " | ")


def parts_of(text):
    """The parts of a text by form, by the plain definition."""
    return parts_of_shown(shown_of(text))


def shown_of(text):
    """A text without markup, a bullet, an ellipsis and its number in a list."""
    return without_mark(strip_markup(text).replace("\u00a0", " "))


def without_mark(shown):
    kinds = "chunk context doc document item page passage result section snippet source text"
    number = rf"\[\d{{1,3}}\]|\(\d{{1,3}}\)|(({kinds.replace(' ', '|')}) ?)?#?\d{{1,3}}[.):]"
    left = re.sub(r"^\s*[.,;:!?\u2026\u2022\u00b7>*-]{1,6}\s+(?=\S)", "", shown)
    bare = re.sub(rf"^\s*({number})\s+(?=\S)", "", left, flags=re.IGNORECASE | re.ASCII)
    return shown if bare == shown else bare.lstrip()


def parts_of_shown(shown):
    """The same of a text without markup."""
    marks = "?\uff1f\u061f\u037e"
    lines = []
    for at, one in enumerate(shown[:300].split("\n")[:-1]):
        follows = re.search(r"\w", "".join(shown[:300].split("\n")[at + 1 :]))
        if len(one.split()) > 20 or not follows:
            break
        lines.append(one + "\n")
    breaks = [0]
    for at in range(len(shown)):
        if shown[at] == "\n":
            breaks.append(at + 1)
        elif shown[at] in ".!:" + marks:
            closing = len(re.match(r"""["')\]]{0,2}""", shown[at + 1 :])[0])
            for size in range(closing, -1, -1):
                after = shown[at + 1 + size : at + 2 + size]
                if after == "" or after.isspace() or after in ",}]|(":
                    breaks.append(at + 1 + size + after.isspace())
                    break
        elif shown[at] == "/" and re.match(r"([^\W_]+[-_]){2}[^\W_]", shown[at + 1 :]):
            breaks.append(at + 1)
        elif shown[at] == "," and shown[at + 1 : at + 2] in ('"', "'"):
            breaks.append(at + 2)
        elif shown[at] == "\t" or shown[max(0, at - 1) : at + 2] in PARTED:
            breaks.append(at + 1)
    asking = []
    for at, end in zip(breaks, [*breaks, len(shown)][1:], strict=True):
        words = tokens(shown[at:end])
        if not 0 < len(words) <= 30:
            continue
        asks = any(mark in shown[at:end] for mark in marks)
        if re.search(r"\b(q|questions?|faqs?)[^a-z_]*$", shown[:at][-20:].lower()):
            asks = True
        if words[0] in ASKING and words[1:2] != ["to"]:
            asks = asks or shown[at:end].rstrip()[-1:] not in (".", "!")
        if asks:
            asking.append(shown[at:end])
    begin, titled = beginning_of(shown)
    first = ""
    for one in lines:
        first += one
        if one.strip():
            break
    announced = [one for one in announced_in(shown) if not any(one in it for it in asking)]
    found = {
        "question": " ".join([*asking, *announced]),
        "embedded": embedded_in(shown),
        "heading": first or (begin if len(begin.split()) <= 8 else ""),
        "marked": marked_of(shown[:300]),
        "lines": "".join(lines),
        "fields": fields_of(shown),
        "field": field_of(shown[:300]),
        "title": begin if titled else "",
        "run-in": run_in_of(shown[:300]),
    }
    if lines:
        within = shown[len("".join(lines)) :]
        inner = parts_of_shown(within)
        found |= {f"{form} within": inner.get(form) for form in OF_TEXTS}
    return {form: part for form, part in found.items() if part}


def run_in_of(shown):
    """What stands before a capital that begins a text: a function word, or one that stood before.

    The title has nine words at most, no stop behind any, and does not end with a function word.
    """
    words = list(re.finditer(r"\w+(?:[-'\u2019.&]\w+)*", shown))
    for at, word in enumerate(words[:10]):
        before = [one[0].lower() for one in words[:at]]
        known = word[0].lower() in {*before, *STOP_WORDS}
        if at and word[0][0].isupper() and known and before[-1] not in STOP_WORDS:
            return shown[: word.start()]
        behind = re.match(r"[^\w\s]*", shown[word.end() :])[0]
        stops = [n for n, sign in enumerate(behind) if sign in ".!?:;"]
        after = [(behind + shown[word.end() + len(behind) :][:1])[n + 1 : n + 2] for n in stops]
        if any(one.isspace() or one == "[" for one in after):
            return ""
    return ""


def beginning_of(shown):
    """What stands before a mark that ends a heading, and whether it may be a title."""
    begin = ""
    for at in range(len(shown[:300])):
        after = shown[at:300].lstrip("-\u2013\u2014|\u00b7\u2022\u2192\u00bb\u203a>=#/~")
        size = len(shown[at:300]) - len(after)
        if shown[at] in ".:!;" and shown[at + 1 : 300][:1] == " ":
            begin = shown[: at + 2]
        elif shown[at] == "\t":
            begin = shown[: at + 1]
        elif size and shown[at - 1 : at] == " " and after[:1] == " ":
            begin = shown[: at + size + 1]
        if begin:
            break
    if not shown[len(begin) :].strip() or not re.search(r"\w", begin):
        begin = ""
    verbs = "are be been being can could did do does had has have is may might must shall should"
    verbs = f"{verbs} was were will would".split()
    titled = len(begin.split()) <= 20 and not any(one in verbs for one in begin.lower().split())
    return begin, titled


def marked_of(shown):
    """A heading in quotation marks, brackets or signs of its own, and a capital behind it."""
    start = len(shown) - len(shown.lstrip())
    pairs = {"[": "]", '"': '"', "\u201c": "\u201d", "**": "**", "__": "__"}
    pairs |= {sign * n: sign * n for sign in "=#" for n in range(6, 0, -1)}
    for opening, closing in pairs.items():
        first = start + len(opening)
        if not shown.startswith(opening, start):
            continue
        double = opening == closing and len(opening) + (opening[0] in "=#") > 1
        if double and shown[first:].lstrip().startswith(closing):
            continue
        end = shown.find(closing, first + 1)
        while end >= 0:
            inner = shown[first:end]
            held = "\n" in inner or (not double and closing in inner)
            rest = shown[end + len(closing) :]
            if not held and re.match(r"""\s+["'\[(]?[A-Z0-9]""", rest):
                return shown[: len(shown) - len(rest.lstrip())]
            end = shown.find(closing, end + 1)
    return ""


def announced_in(shown):
    """What is said to be asked, up to the end of its sentence, and what stands quoted and asks."""
    wonder, ask = ("wonder", "wondered", "wondering", "wonders"), ("ask", "asked", "asking", "asks")
    found, at = [], 0
    for word in re.finditer(r"\w+", shown):
        start = word.start()
        if start < at or not (
            word.group().lower() in ASKING or word.group().lower() in INTERROGATIVES
        ):
            continue
        quoted = re.match(r"[^.\"\u201d!?\n]*", shown[word.end() :])[0]
        closed = shown[word.end() + len(quoted) :][:1] in ('"', "\u201d")
        if shown[:start][-1:] in ('"', "'", "\u201c") and closed and 8 <= len(quoted) <= 120:
            at = word.end() + len(quoted)
            found.append(shown[start:at])
            continue
        end = re.search(r"[.!?\n]|\Z", shown[start:]).start() + start
        before = re.findall(r"\w+|\W", shown[:start].lower())
        if shown[end : end + 1] == "?" or before[-1:] != [" "]:
            continue
        lead = ()
        if before[-2:-1] and before[-2] in wonder:
            lead = before[-2:]
        elif before[-4:-1] == ["question", " ", "of"]:
            lead = before[-4:]
        elif before[-2:-1] and before[-2] in (":", ","):
            if before[-3:-2] and before[-3] in ask:
                lead = before[-3:]
            elif before[-5:-4] and before[-5] in ask and before[-4] == " " and before[-3].isalnum():
                lead = before[-5:]
        start -= len("".join(lead))
        if lead and start >= at:
            found.append(shown[start:end])
            at = end
    return found


def embedded_in(shown):
    """What is asked within sentences, each up to its end; none that a question mark ends."""
    leads = (
        "about clear unclear answer answered answers answering ask asked asks asking consider "
        "considered considers considering cover covered covers covering decide decided decides "
        "deciding describe described describes describing determine determined determines "
        "determining discuss discussed discusses discussing establish established establishes "
        "establishing examine examined examines examining explain explained explains explaining "
        "explore explored explores exploring investigate investigated investigates investigating "
        "show showed shows showing tell tells telling know knew told understand understood"
    ).split()
    pairs = [["find", "out"], ["found", "out"], ["set", "out"], ["sets", "out"]]
    found, at = [], 0
    for word in re.finditer(r"\w+", shown):
        asking = word.group().lower()
        if word.start() < at:
            continue
        end = re.search(r"[.!?\n]|\Z", shown[word.start() :]).start() + word.start()
        if shown[end : end + 1] == "?":
            continue
        before = shown[: word.start()]
        said = re.findall(r"[^\W_]+|[\W_]", before.lower())
        start = None
        if asking in INTERROGATIVES and said[-1:] == [" "]:
            if said[-2:-1] and said[-2] in leads:
                start = len(before) - len(said[-2]) - 1
            elif said[-4:-3] and ([said[-4], said[-2]] in pairs) and said[-3] == " ":
                start = len(before) - len(said[-4]) - len(said[-2]) - 2
        if start is not None and (start < at or (start and shown[start - 1] == "_")):
            start = None
        if start is None and asking in ("how", "what", "whether", "why"):
            inside = re.search(r"[^\W_](,|[^\W_]) $", before)
            start = word.start() if inside else None
        if start is not None:
            found.append(shown[start:end])
            at = end
    return " ".join(found)


def field_of(shown):
    """What stands behind the one word and colon that a text begins with, as far as it is short."""
    name = re.match(r"""[\W_]*[^\W_]\w*["']?: *["']?""", shown)
    for at in range(name.end() if name else len(shown), len(shown)):
        signs = next(
            (n for n in range(4) if shown[at + 1 + n : at + 2 + n] not in (",", '"', "'")), 4
        )
        ends = shown[at] in '.:!;|,"' and shown[at + 1 + signs : at + 2 + signs].isspace()
        if ends or shown[at] == "\n":
            said = shown[name.end() : at]
            return said if len(said.split()) <= 20 else ""
    return ""


def fields_of(shown):
    """What stands behind a name of three words and a colon, in the lines of a record, if short."""
    held = []
    for line in shown.split("\n"):
        name, _, said = re.sub(r"^\W+", "", f"{line}\n").partition(":")
        words, closing = name.rstrip("\"'*").split(" "), len(name) - len(name.rstrip("\"'*"))
        named = all(re.fullmatch(r"\w+", word) for word in words) and words[0][0].isalpha()
        parted = said[:1].isspace() or said[:1] in ("*", "'", '"')
        if named and parted and len(words) <= 3 and closing <= 3 and said.strip():
            held.append(said.strip())
    return "\n".join([said for said in held if len(said.split()) <= 20]) if len(held) > 1 else ""


def longest_run_of(asked, said):
    """How many words of the question stand in a text in one run, at most."""
    runs = [asked[at:end] for at in range(len(asked)) for end in range(at + 1, len(asked) + 1)]
    joined = f" {' '.join(said)} "
    return max([len(run) for run in runs if f" {' '.join(run)} " in joined], default=0)


def expected_of(query, texts, row):
    """Whether a text in a row that repeats the query does so as expected, but for names."""
    asked, how = list(ngrams(tokens(query))), (asks_much(query), asking_of(query))
    weights = weights_of(asked, [words_of(text) for text in texts])
    within = [f"{form} within" for form in OF_TEXTS]
    found = [parts_of(text) for text in texts]
    text = shown_of(texts[row])
    for end in range(1, min(300, len(text))):
        start, words = text[:end], re.findall(r"\w+(?:[-'\u2019.&]\w+)*", text[:end])
        behind = re.match(r"\w", text[end:]) and text[end].isupper()
        behind = behind and tokenize_query(query).names
        if behind and not re.search(r"\w[-'\u2019.&]?$", start) and tokens(start) == asked:
            found[row]["run-in"] = start if 0 < len(words) < 10 else found[row].get("run-in")
    for form in ("question", "embedded", "lines", "fields", *OF_TEXTS, *within):
        said = [
            set(normalized(asked, part, *how)) if (part := one.get(form)) else None for one in found
        ]
        if "run-in" in form and not tokenize_query(query).names:
            continue
        if form == "fields" and (tokenize_query(query).asking or asks_otherwise(query)):
            continue
        alone = "title" in form or "run-in" in form
        much_of_it = alone or form in ("embedded", "fields")
        if said[row] is None or held(said[row], weights) < (0.75 if much_of_it else 1e-300):
            continue
        runs = [longest_run_of(asked, words_of(text)) for text in texts[:50]]
        quoting = [
            run >= max(3, 0.9 * len(asked)) and held(words_of(text), weights) >= 0.75
            for run, text in zip(runs, texts, strict=False)
        ]
        company = [at for at in range(len(runs)) if at != row]
        others = [None if quoting[at] else said[at] for at in company]
        others = [
            (at, one)
            for at, one in zip(company, others, strict=True)
            if one is not None and held(one, weights) < 0.75
        ]
        asking = any(parts_of_shown(found[at][form]).get("question") for at, _ in others)
        line = "\n" in found[row][form]
        asks = tokenize_query(query).asking if asked[1:2] != ["to"] else set()
        question = asks & said[row]
        if not tokenize_query(query).asking and asks_otherwise(query):
            question = held(said[row], weights) >= 0.75
        beside = texts[row]
        if held(said[row], weights) >= 0.75:
            beside = shown_of(beside).replace(found[row][form].strip(), " ", 1)
        run = longest_run_of(asked, normalized(asked, beside, *how))
        whole = run >= max(3, 0.9 * len(asked))
        whole = whole and (tokenize_query(query).asking or asks_otherwise(query))
        if form not in ("question", "embedded") and (whole or (question and not (line and asking))):
            continue
        if alone and len(said[row] & set(asked)) < 0.75 * len(said[row]):
            continue
        if form not in ("question", "embedded") and line and question:
            others = [(at, one) for at, one in others if "\n" in found[at][form]]
        usual = len(others)
        if form in ("question", "embedded"):  # what several pages ask counts once
            usual = len({found[at][form] for at, _ in others})
        rest = sum(not quoting[at] for at in company)
        if usual >= max(2, (4 if "title" in form else 2) / 5 * rest):
            return True
    return False


def asks_much(query):
    """Whether a query asks, in six words or more, and tells nothing.

    None if it names something, or asks nothing in fewer.
    """
    read = tokenize_query(query)
    if read.names or (not read.asking and read.length < 6):
        return None
    return len(read.sequence) >= 6 and bool(read.asking) and not read.tells


def asking_of(query):
    """The words by which a query asks; None if it does not, or tells something as well."""
    read = tokenize_query(query)
    asks = (read.asking or read.asks_otherwise) and not read.names and not read.tells
    return read.asking if asks else None


def usual_gibberish(asked, texts, row):
    """Twice the median of the others' gibberish above 0.15, of eight at least, and 0.4 at most."""
    others = [with_letters_for_signs(asked, one) or one for one in texts]
    del others[row]
    values = sorted(gibberish(runs(strip_markup(one))) for one in others)
    if len(values) < 8:
        return 0.0
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    return min(0.4, 2 * max(0.0, middle - 0.15))


def own_signals(query, texts, k):
    """The signals of each of the first k passages by itself, by name; none if it holds too little.

    Shares that a short question shows by chance are discounted by its length.
    """
    asked = list(ngrams(tokens(query)))
    texts = [*[turned(asked, text) for text in texts[:k]], *texts[k:]]
    read = [words_of(text) for text in texts]
    read[:k] = [normalized(asked, text, asks_much(query), asking_of(query)) for text in texts[:k]]
    weights = weights_of(asked, read)
    lettered = [with_letters_for_signs(asked, text) or text for text in texts[:k]]
    english = in_english(asked, [words_of(text) for text in lettered], read[k:])
    by_length = min(1.0, words_meant(asked) / 8)
    by_strewn = min(1.0, words_meant(asked) / 10)
    out = []
    coverages = [held(said, weights) for said in read[:k]]
    if tokenize_query(query).names:
        written = [words_of(text) for text in texts[:k]]
        bare = [row for row in range(k) if not set(written[row]) - set(asked)]
        bare = [row for row in bare if len(written[row]) <= len(asked)]
        coverages = [0.0 if bare == [row] else held_ for row, held_ in enumerate(coverages)]
    for row, (said, text) in enumerate(zip(read[:k], texts, strict=False)):
        own = dict.fromkeys(OWN, 0.0)
        out.append(own)
        coverage = coverages[row]
        if coverage < 0.2:
            continue
        shown = with_letters_for_signs(asked, text) or text
        if reads_english(words_of(shown)):
            odd = gibberish(runs(strip_markup(shown)))
            own["gibberish"] = above(odd - usual_gibberish(asked, texts, row), 0.2, 0.4)
        if english:
            others = [one for at, one in enumerate(coverages[:10]) if at != row]
            lead = coverage - sum(others) / len(others) if others else 0.0
            relevance = 2.0 * above(coverage, 0.0, 0.5)
            pasted = tokenize_query(query).tells and words_meant(asked) > 40
            relevance += 0.0 if pasted else 2.5 * above(lead, -0.1, 0.35)
            shared = 3.0 * above(concentration(asked, text, texts[: min(k, 10)]), 0.0, 0.2)
            shared *= min(1.0, len(content_in(asked, text)) / 12)
            nats = least_manner(shown) + by_length * relevance + shared
            own["manner"] = above(nats - company(text, texts), 4.5, 15.0)
        own.update(keyword_runs(asked, said, english))
        wording = len(set(asked) & set(said)) / len(set(asked))
        if wording <= 0.6:  # no more show no run and no stretch
            continue
        read = tokenize_query(query)
        how = read.asks_otherwise, read.marked, read.names
        own.update(word_for_word(asked, said, shown, weights, *how))
        own["window_density"] = by_length * window_density(asked, said, weights)
        strewn = above(wording, 0.6 if english else 0.8)
        own["inserted_words"] = by_strewn * strewn * inserted_share(asked, said)
    return out


def signals(query, texts, k):
    """All signals of the first k passages, by name."""
    own = own_signals(query, texts, k) if tokens(query) else [dict.fromkeys(OWN, 0.0)] * k
    rows = []
    for at, shares in enumerate(own):
        rows.append({**shares, "prompt_injection": injection_strength(fold(texts[at]))})
    return rows
