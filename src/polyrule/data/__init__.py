"""Files, frames and arrays become one `Dataset`."""

from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.examples import integer_weights
from polyrule.data.labels import to_labels
from polyrule.data.reading import read, read_chunks
from polyrule.data.table import Feature, Table

__all__ = ["Dataset", "Feature", "Table", "integer_weights", "read", "read_chunks", "to_labels", "to_table"]
