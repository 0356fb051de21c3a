"""Trains a small proxy language model from scratch, on a CPU, on the user's own texts."""

from ragguard.proxy.training.corpus import Corpus, read_corpora
from ragguard.proxy.training.shape import SHAPES, Shape
from ragguard.proxy.training.train import Settings, Trained, train_proxy

__all__ = ["SHAPES", "Corpus", "Settings", "Shape", "Trained", "read_corpora", "train_proxy"]
