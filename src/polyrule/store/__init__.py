"""Data packed for counting: codes of bins, label bits, blocks of rows; in memory or in a folder."""

from polyrule.binning.bins import Bins
from polyrule.store.folder import Store, is_store
from polyrule.store.packed import Block, Packed, pack_table
from polyrule.store.packing import pack

__all__ = ["Bins", "Block", "Packed", "Store", "is_store", "pack", "pack_table"]
