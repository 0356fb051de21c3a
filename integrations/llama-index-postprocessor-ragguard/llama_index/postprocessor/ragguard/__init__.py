"""ragguard for LlamaIndex: a node postprocessor with feedback from responses."""

from llama_index.postprocessor.ragguard.base import RAGGuardPostprocessor, RAGGuardVerdictEvent

__all__ = ["RAGGuardPostprocessor", "RAGGuardVerdictEvent"]
