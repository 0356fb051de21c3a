"""Exports a causal language model as a proxy, and checks that it scores and blames as before."""

from ragguard.proxy.export.export import export_proxy
from ragguard.proxy.export.verify import verify_proxy

__all__ = ["export_proxy", "verify_proxy"]
