"""Data packed for counting: codes of bins, label bits, blocks of rows; in memory or in a folder of mapped files."""

from polyrule.store.bins import Bins
from polyrule.store.packed import Block, Packed, pack_table

__all__ = ["Bins", "Block", "Packed", "pack_table"]
