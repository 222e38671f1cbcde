"""Files, frames and arrays become one `Dataset`."""

from polyrule.data.dataset import Dataset
from polyrule.data.table import Feature, Table

__all__ = ["Dataset", "Feature", "Table"]
