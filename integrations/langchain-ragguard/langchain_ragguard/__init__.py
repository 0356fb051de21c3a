"""ragguard for LangChain: a retriever, a document compressor and feedback from a chain."""

from langchain_ragguard.compressor import RAGGuardCompressor
from langchain_ragguard.feedback import RAGGuardFeedback
from langchain_ragguard.retriever import RAGGuardRetriever

__all__ = ["RAGGuardCompressor", "RAGGuardFeedback", "RAGGuardRetriever"]
