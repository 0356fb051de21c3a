"""A quarantine that holds some texts, without a store."""

from ragguard.content import content_keys
from ragguard.inline.fingerprints import fingerprints, signature
from ragguard.inline.quarantined import Quarantined


def quarantine_of(texts):
    keys = content_keys(texts)
    signatures = dict(zip(keys, map(signature, texts), strict=True))
    return Quarantined().changed(frozenset(keys), signatures, frozenset())


def said_by(text):
    """Return what a text says, as `signature` takes it."""
    return fingerprints([text]).distinct(0)
