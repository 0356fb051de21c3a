"""The questions of the benchmark: records, and what reads them from here and from elsewhere."""

from benchmarks.datasets.records import DATASETS, OWN, Dataset, Record, load_folder, skerrin

__all__ = ["DATASETS", "OWN", "Dataset", "Record", "load_folder", "skerrin"]
