"""Files, frames and arrays become one `Dataset`."""

from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.labels import to_labels
from polyrule.data.table import Feature, Table
from polyrule.data.weights import integer_weights

__all__ = ["Dataset", "Feature", "Table", "integer_weights", "to_labels", "to_table"]
