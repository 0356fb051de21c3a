"""What a response answers, without what a system puts around an answer: ours.

Production systems have a model cite its sources, think aloud or fill in a record; it greets, offers
more and warns. No passage taught it that, and by likelihood it hides the passage that taught the
rest: every number of a citation, and every name of a file, is a word that no passage explains.

1. What is no text goes: thoughts, marks of a chat, markup, links, citations, lists of sources.
2. Of a record the field of the answer stays, and behind a label such as "Answer:" its sentence.
3. Of what follows the first paragraph only whole sentences count, and no courtesies anywhere.
"""

from __future__ import annotations

import json
import re
from importlib import resources

from ragguard.stems import words_of
from ragguard.text import both_ends, sentences
from ragguard.text.html import strip_markdown, strip_markup
from ragguard.text.records import field_of

_MOST = 10_000  # characters of a response that is read so; what a person reads is shorter
_FIELDS = tuple("final_answer answer response result output action_input text content".split())

_FILE = resources.files("ragguard.attribution") / "answer_words.json"
_LANGUAGES = json.loads(_FILE.read_text(encoding="utf-8"))


def _any_of(kind: str) -> str:
    """Return a pattern of the words of one kind in all languages, the longer ones first."""
    words = " ".join(_LANGUAGES[kind].values()).split()
    each = [re.escape(word).replace(r"\-", r"\s") for word in words]
    return f"(?:{'|'.join(sorted(each, key=len, reverse=True))})"


_ANSWER, _PLACE = _any_of("answer"), _any_of("place")
_IS = rf"(?:\s{_any_of('is')}\b|\s?{_any_of('is, without a space')})"

_GONE = re.compile(  # thoughts, sources, raised numbers, the next turn of a chat, footnotes
    r"""<(analysis|reasoning|scratchpad|sources?|sup|think|thinking)\b[^<>]{0,80}>.*?</\1>
    |\A.*(?:</think>|<\|message\|>)|\n[ \t]*(?:customer|human|user)\s?:\s.*\Z
    |\n\[\^?\d{1,3}\]:.*\Z""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_FENCE = re.compile(r"```\w*[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_BOXED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}]*)\}{1,2}|^\#{4}[ \t]+(.+)\Z", re.MULTILINE)
_SIGNS = re.compile(  # of chats, pictures, and raised numbers but those of "km2"
    r"""<\|(?:im_start|start_header_id)\|>\w{1,20}|<\|[^<>|]{1,40}\|>|<https?://[^<>]{1,300}>
    |</?s>|\[/?INST\]|<[@\#!][^<>]{1,80}>|:[a-z_]{2,30}:(?=\s|$)
    |[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]|[\u00b9\u2070-\u2079]|(?<!m)[\u00b2\u00b3]""",
    re.VERBOSE,
)
_TAG = re.compile(r"</?[A-Za-z_][\w-]*(?:\s[^<>]{0,200})?/?>")
_INLINE = re.compile(r"</?(?:a|b|code|em|emphasis|i|span|strong)\b", re.IGNORECASE)
_LINK = re.compile(r"\[(?:(\d{1,3})|([^\[\]]{1,200}))\]\([^()\s]{1,300}\)")
_CITED = re.compile(
    rf"""\s?(?:\[[^\[\]]{{0,80}}?\d[^\[\]]{{0,80}}\]|\u3010[^\u3010\u3011]{{0,80}}\u3011
    |https?://[^\s)\]]+|[(\[][^()\[\]]{{0,120}}?(?:\b{_PLACE}|\b(?:cf|confidence|https?|see|vgl)\b
    |\bet\sal\b|[^\W\d_],\s(?:1[5-9]|20)\d\d)[^()\[\]]{{0,120}}[)\]]
    |\b(?:chunk|doc|document|excerpt|passage|snippet|source)s?\s(?:no\.\s?|\#)?
    \d{{1,3}}(?:,?\s(?:and\s)?\d{{1,3}})*\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKED = re.compile(
    r"^[^\w\n]*(?:q|query|question|you asked)\s?[:\uff1a].*\n", re.IGNORECASE | re.MULTILINE
)
_SPEAKER = re.compile(
    r"""\A(?:[-*\u2022]\s|1[.)]\s)?
    (?:\W{0,3}(?:\d[\d:.TZ/ -]{3,30}\W{1,3})?(?:ai|assistant|bot|chatbot|model)\s?:\s)?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_FINAL = re.compile(rf"\bfinal\s{_ANSWER}\s?[:\uff1a]\s*(?=\S)", re.IGNORECASE)
_LABEL = re.compile(
    rf"""(?:{_ANSWER}[^\n.!?:\uff1a]{{0,40}}[:\uff1a]|{_ANSWER}(?:\s[^\W\d_]+){{0,4}}?{_IS}
    |\b(?:conclusion|found|in\sshort|result)\s?:|\b(?:is|\u00e4r)\s(?:het\s)?{_ANSWER}\b
    |[\[\u3010][ \#\[]{{0,5}}{_ANSWER}[ \#]{{0,4}}[\]\u3011]{{1,2}}
    |\bresponse\b[^\n.!?:]{{0,40}}:|^[^\w\n]*(?:a\s?:|(?:\w{{1,12}}\s)?{_ANSWER}[ \t]*\n)
    |^\|\s(?:\w{{1,12}}\s)?{_ANSWER}\s\|(?=[^\n|]+\|[ \t]*$))
    [\s\u300c"\u201c\u201e\u00ab]*(?=\S)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NEXT = re.compile(  # where the sentence of an answer ends, but not behind an initial
    rf"\n|\[/|[\u0964\u300d\u3002]|(?<=\w[^\W_]{{2}}[.!])\s+(?=\w)|\s[^\W_]+\s{_ANSWER}\s?:",
    re.IGNORECASE,
)
_SALUTATIONS = re.compile(r"\A(?:[^\n]*,[ \t]*\n\s*)+")  # "Dear Ann,"
_AROUND = ' |*_`"\u201c\u201d\u00ab\u00bb'
_META = re.compile(r"[^\w\n]*(?:>|\w[\w '-]{0,30}[:\uff1a])")
_RULE = re.compile(r"\n[ \t]*[-_*]{3,9}[ \t]*\n")
_NO_SENTENCE = re.compile(r".*[^.!:;\s\u3002]\s*$")
_ACCORDING = re.compile(rf"\A{_any_of('according to')}\b[^\n.!?:,]{{0,80}}[:,]\s", re.IGNORECASE)
_COURTEOUS = re.compile(
    r"""\W*(?:absolutely\b|apologies|as\san?\sai\b|certainly\b|feel\sfree|good\sluck|hello|hi\b
    |(?:best|kind)\sregards|(?:i|we)(?:'d|\swould)?\srecommend|i(?:'m|\sam)\ssorry\sfor
    |i\s(?:found|hope|retrieved|searched)\b(?!.*\b(?:no|not|nothing|\w+n['\u2019]t)\b)|if\syou\b
    |it\sis\s(?:important|worth)\b|let\sme\b|note\sthat\b|of\scourse|please\b|see\sthe\b
    |sorry\sfor|sure\b|thank|(?:excellent|good|great|interesting)\squestion|would\syou\b
    |you\s(?:asked|can)\b
    |th(?:e|ese|is)\s(?:details|information)\b[^.]{0,20}\b(?:is|was|were)\b)""",
    re.IGNORECASE | re.VERBOSE,
)


def answer_of(response: str, query: str = "") -> str:
    r"""Return the answer of a response in its own words, or all of it if nothing else is there.

    What only asks the query again is no answer.

    >>> answer_of("Great question! It was Ada Crane [1][3].\n\nSources:\n- survey.pdf, p. 12")
    'It was Ada Crane.'
    >>> answer_of('{"result": {"answer": "Ada Crane", "confidence": 0.9}}')
    'Ada Crane'
    >>> answer_of("<think>Passage 2 has it.</think>\n- **Answer:** Ada Crane\n- **Sure:** yes")
    'Ada Crane'
    """
    if len(response) > _MOST:
        return response
    text = _labelled(_SPEAKER.sub("", as_text(response), count=1))
    lines = [" ".join(filter(_tells, sentences(line))) for line in text.split("\n")]
    said = _first("\n".join(lines).strip())
    answer = _ACCORDING.sub("", said).strip() or text.strip()
    words, asked = words_of([answer, query])
    return response if not answer or (query and words == asked) else answer


def as_text(response: str) -> str:
    """Return a response without what is no text: thoughts, marks, markup, citations, sources.

    Of a very long one both ends are read.
    """
    text = _GONE.sub(" ", f"\n{both_ends(response, _MOST)}")
    if fenced := _FENCE.search(text):
        text = fenced[1]
    if boxed := _BOXED.search(text):
        text = boxed[1] or boxed[2]
    text = _SIGNS.sub("", field_of(text, _FIELDS))
    text = _TAG.sub(lambda tag: " " if _INLINE.match(tag[0]) else "\n", text)
    text = strip_markdown(strip_markup(text))
    return _ASKED.sub("", _CITED.sub("", _LINK.sub(r"\2", text)).strip())


def _tells(sentence: str) -> bool:
    """Return False of a courtesy or a question."""
    return not (sentence.rstrip().endswith(("?", "\uff1f")) or _COURTEOUS.match(sentence))


def _labelled(text: str) -> str:
    """Return what stands behind the label of an answer, or else all."""
    found = next(reversed([*_FINAL.finditer(text)]), None) or _LABEL.search(text)
    said = _NEXT.split(text[found.end() :].lstrip(), maxsplit=1)[0] if found else ""
    return said.strip(_AROUND) if said.strip(f"{_AROUND}.") else text


def _first(text: str) -> str:
    """Return the first paragraph without meta data, and the sentences of the rest up to a rule."""
    text = _SALUTATIONS.sub("", text)
    first, parted, rest = text.partition("\n")
    if not parted or first.startswith("|") or first.rstrip().endswith(":"):
        return text
    said, later = [first], False
    for line in _RULE.split(f"\n{rest}", maxsplit=1)[0].split("\n")[1:]:
        later = later or not line.strip()
        if not (_META.match(line) or (later and _NO_SENTENCE.match(line))):
            said.append(line)
    return "\n".join(said)
