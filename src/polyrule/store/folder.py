"""A store on disk: one folder of column blocks, and a readable header with the size and checksum of every file.

::

    store/
      header.json      format, features with their bins, label names, blocks with sizes and checksums
      000000.codes     features x rows, one or two bytes a code
      000000.labels    rows x words of 64 label bits
      000000.weights   whole-number weights, where there are any
      000000.values    features x rows of doubles, where the original values are kept

Files are read, never mapped: a mapped file that is cut short by another program ends the process.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.binning.bins import Bins
from polyrule.errors import DataError, OutputError
from polyrule.store.header import HEADER, BlockRecord, FileRecord, Header, read_header
from polyrule.store.packed import Block, Blocks, Packed
from polyrule.utils.arrays import Array, Floats, Ints
from polyrule.utils.budget import current_limits


class Store(Packed):
    """A packed data set in a folder; each block is read and checked on access.

    Parameters
    ----------
    path : path
        The folder that `polyrule.pack` or ``polyrule pack`` made.

    Examples
    --------
    >>> import tempfile
    >>> from polyrule import datasets, pack
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = pack(datasets.load("emotions", part="train"), out=f"{folder}/songs")
    ...     store = Store(f"{folder}/songs")
    ...     print(len(store), len(store.features), len(store.label_names))
    391 72 6
    """

    path: Path
    header: Header

    def __init__(self, path: str | os.PathLike[str]) -> None:
        folder = Path(path)
        header = read_header(folder)
        super().__init__(header.features, header.bins, header.labels, StoredBlocks(folder, header))
        object.__setattr__(self, "path", folder)
        object.__setattr__(self, "header", header)

    def __len__(self) -> int:
        return self.header.examples

    def __repr__(self) -> str:
        return (
            f"Store({str(self.path)!r}: {len(self)} examples x {len(self.features)} features, "
            f"{len(self.label_names)} labels)"
        )

    @property
    def total_weight(self) -> int:
        """Weight of all examples."""
        return self.header.weight

    @property
    def has_values(self) -> bool:
        """True if the original values are kept beside the codes."""
        return all("values" in block.files for block in self.header.blocks)

    @property
    def fingerprint(self) -> str:
        """A short text that changes with the data: a digest of the header, which holds the checksums of all blocks."""
        return self.header.digest[:23]

    def verify(self) -> None:
        """Read every block and hold it against its checksum, its codes, weights and values against the header."""
        for block in self.blocks:
            if block.values is not None:
                for column in range(len(self.features)):
                    block.values[column]


def is_store(path: Any) -> bool:
    """Return True if a path is a folder with the header of a store."""
    return isinstance(path, (str, os.PathLike)) and (Path(path) / HEADER).is_file()


# -- writing -----------------------------------------------------------------------------------------------------------


def block_file(folder: Path, index: int, part: str) -> Path:
    """Name of one file of a block."""
    return folder / f"{index:06d}.{part}"


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let what goes wrong on the disk be said with the name of the file or folder."""
    try:
        yield
    except OSError as problem:
        raise OutputError(f"{path}: cannot be written ({problem.strerror or problem})") from problem


def write_bytes(path: Path, content: Any) -> None:
    """Write a file under a temporary name, then give it its own."""
    temporary = path.with_name(path.name + ".part")
    with writing(path):
        with open(temporary, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)


def write_block(folder: Path, index: int, block: Block) -> BlockRecord:
    """Write the files of a block; return their record in the header."""
    parts = {"codes": block.codes, "labels": block.truth, "weights": block.weights, "values": block.values}
    files = {}
    for part, values in parts.items():
        if values is not None:
            array = np.asarray(values)
            content = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            write_bytes(block_file(folder, index, part), _bytes(content))
            chunks = content if part == "values" else [content]
            files[part] = FileRecord(content.nbytes, tuple(_crc32(chunk) for chunk in chunks))
    return BlockRecord(len(block), len(block) if block.weights is None else int(block.weights.sum()), files)


def _bytes(array: Array) -> memoryview:
    """Return the bytes of an array where they lie."""
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _crc32(array: Array) -> str:
    return f"{zlib.crc32(_bytes(array)):08x}"


# -- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredBlocks(Blocks):
    """The blocks of a folder."""

    folder: Path
    header: Header

    def __len__(self) -> int:
        return len(self.header.blocks)

    def read(self, index: int) -> Block:
        """Read a block, and hold it against the header."""
        record, header = self.header.blocks[index], self.header
        current_limits().check_time(str(self.folder))
        parts = {
            part: _read(block_file(self.folder, index, part), file, 0, *header.layout(part, record.rows))
            for part, file in record.files.items()
            if part != "values"
        }
        codes, labels, weights = parts["codes"], parts["labels"], parts.get("weights")
        _check_codes(block_file(self.folder, index, "codes"), codes, header)
        beyond = 64 * labels.shape[1] - len(header.labels)
        if beyond and (labels[:, -1] >> np.uint64(64 - beyond)).any():
            raise _damaged(block_file(self.folder, index, "labels"), f"a row has more than {len(header.labels)} labels")
        if weights is not None:
            _check_weights(block_file(self.folder, index, "weights"), weights, record.weight)
        values = None
        if "values" in record.files:
            place = block_file(self.folder, index, "values")
            values = StoredValues(place, record.files["values"], codes, header.bins)
        return Block(codes, labels, weights, values)


class StoredValues:
    """The original values of a block, read column by column: most fits never look at them, and others at a few."""

    def __init__(self, place: Path, record: FileRecord, codes: Array, bins: tuple[Bins, ...]) -> None:
        self._place, self._record, self._codes, self._bins = place, record, codes, bins
        self._known: dict[int, Floats] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that have been read."""
        return sum(column.nbytes for column in self._known.values())

    def __getitem__(self, column: int) -> Floats:
        if column not in self._known:
            self._known[column] = self._read(column)
        return self._known[column]

    def _read(self, column: int) -> Floats:
        codes, bins = self._codes[column], self._bins[column]
        values = _read(self._place, self._record, column, "<f8", codes.shape)
        low, high = (np.append(ends, np.nan)[codes] for ends in (bins.lows, bins.highs))
        if not (((low <= values) & (values <= high)) | (np.isnan(values) & (codes == len(bins)))).all():
            raise _damaged(self._place, f"a value of column {column} lies outside its bin")
        return values


def _read(place: Path, record: FileRecord, chunk: int, dtype: str, shape: tuple[int, ...]) -> Array:
    """Read the part of a file that a checksum covers: the whole file, or a column of values."""
    n_bytes = 0
    try:
        with open(place, "rb", buffering=0) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size != record.size:  # checked before memory is allocated
                raise _damaged(place, f"{size} bytes instead of {record.size}")
            array = np.empty(shape, dtype=dtype)
            room = _bytes(array)
            stream.seek(chunk * array.nbytes)
            while n_bytes < array.nbytes and (count := stream.readinto(room[n_bytes:])):
                n_bytes += count
    except OSError as problem:
        raise DataError(f"{place}: the block cannot be read ({problem.strerror}); pack the data again") from problem
    if n_bytes < array.nbytes or _crc32(array) != record.crc32[chunk]:
        raise _damaged(place, "its checksum differs")
    return array


def _check_codes(place: Path, codes: Array, header: Header) -> None:
    """Refuse codes that are no bin of their feature: counts are kept in tables that have a place for each bin."""
    for feature, bins, largest in zip(header.features, header.bins, codes.max(axis=1).tolist(), strict=True):
        if largest > len(bins):
            raise _damaged(place, f"feature {feature.name!r} has a code of {largest}, and {len(bins)} bins")


def _check_weights(place: Path, weights: Ints, total: int) -> None:
    # in two halves: a sum of forged weights could run over and come out right
    sum_of_weights = (int((weights >> 32).sum()) << 32) + int((weights & 0xFFFFFFFF).sum())
    if weights.min() < 1 or sum_of_weights != total:
        raise _damaged(place, f"weights must be at least 1 and add up to {total}")


def _damaged(place: Path, what: str) -> DataError:
    return DataError(f"{place}: the block is damaged ({what}); pack the data again")
