"""Response keyword matching: responsible is a passage that a reader takes the answer from."""

from benchmarks.attributors.judging import Finds, judged_by
from benchmarks.plugins import Setting
from ragguard.attribution.answer_agreement import answers_agree
from ragguard.demo.reader import ExtractiveReader
from ragguard.passage import Passage


def _answered(setting: Setting) -> Finds:
    hits = dict.fromkeys(text for record in setting.dataset.records for text in record.hits)
    reader = ExtractiveReader(hits)

    def finds(question: str, passage: str, response: str) -> bool:
        answer = reader.answer(question, [Passage(passage)])
        return bool(answer) and answers_agree(question, answer, response)

    return finds


ATTRIBUTOR = judged_by("response keywords", "RAGForensics, baseline", "WWW 2025", _answered)
