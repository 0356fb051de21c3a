"""A quarantine that holds some texts, without a store."""

from ragguard.content import content_keys
from ragguard.inline.fingerprints import signature
from ragguard.inline.quarantined import Quarantined


def quarantine_of(texts):
    keys = content_keys(texts)
    signatures = dict(zip(keys, map(signature, texts), strict=True))
    return Quarantined().changed(frozenset(keys), signatures, frozenset())
