"""Exports a causal language model as a proxy, and checks that it scores and blames as before."""

from ragguard.export.export import export_proxy
from ragguard.export.verify import verify_proxy

__all__ = ["export_proxy", "verify_proxy"]
