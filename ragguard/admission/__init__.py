"""Admission: whether passages may become searchable, judged before anybody asks a question."""

from ragguard.admission.base import Base, as_base
from ragguard.admission.judging import Admission, Scan, admit, propose

__all__ = ["Admission", "Base", "Scan", "admit", "as_base", "propose"]
