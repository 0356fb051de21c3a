"""Response keyword matching: responsible is a passage that a reader takes the answer from."""

from benchmarks.attributors.judging import judged_by, reader_judge

ATTRIBUTOR = judged_by(
    "response keywords",
    "RAGForensics, baseline",
    "WWW 2025",
    lambda setting: reader_judge(
        list(dict.fromkeys(text for record in setting.dataset.records for text in record.hits))
    ),
)
