"""Synthetic packed data of any size, with planted rules; what the measurements of docs/scale.md learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polyrule.data.table import Feature
from polyrule.store import Bins, Block, Packed
from polyrule.store.folder import HEADER, Header, write_block, write_bytes
from polyrule.store.packed import label_words, word_count

BINS = 255
BLOCK_ROWS = 1 << 18


def block(rows: int, features: int, labels: int, seed: int) -> Block:
    """Uniform codes; a label is present where two features lie in two ranges, with noise: about 3 labels of 20."""
    rng = np.random.default_rng([seed, rows, features, labels])
    codes = rng.integers(0, BINS, (features, rows), dtype=np.uint8)
    truth = np.zeros((rows, word_count(labels)), dtype=np.uint64)
    shape = np.random.default_rng(labels)
    for label in range(labels):
        first, second = shape.choice(features, 2, replace=False)
        present = (codes[first] > shape.integers(130, 170)) & (codes[second] < shape.integers(60, 110))
        present ^= rng.random(rows, dtype=np.float32) < 0.01
        truth[:, label // 64] |= present.astype(np.uint64) << np.uint64(label % 64)
    return Block(codes, truth)


def world(rows: int, features: int, labels: int, seed: int = 0, blocks: list[Block] | None = None) -> Packed:
    """Packed data in memory."""
    if blocks is None:
        sizes = [min(BLOCK_ROWS, rows - start) for start in range(0, rows, BLOCK_ROWS)]
        blocks = [block(size, features, labels, seed + i) for i, size in enumerate(sizes)]
    values = np.arange(BINS, dtype=np.float64)
    return Packed(
        tuple(Feature(f"x{j}") for j in range(features)),
        (Bins(values, values),) * features,
        tuple(f"y{i}" for i in range(labels)),
        blocks,
    )


def noisy_world(rows: int, features: int, labels: int, seed: int = 0) -> Packed:
    """Packed data whose labels follow noisy sums of four features each: few rules say much of them, but not all."""
    shape = np.random.default_rng(labels * 7 + features)
    cuts, slopes = shape.uniform(0.8, 2.2, labels), np.zeros((features, labels))
    for label in range(labels):
        chosen = shape.choice(features, 4, replace=False)
        slopes[chosen, label] = shape.choice([-1, 1], 4) * shape.uniform(0.5, 1.5, 4)
    slopes /= np.sqrt((slopes**2).sum(axis=0))
    blocks = []
    for number, start in enumerate(range(0, rows, BLOCK_ROWS)):
        here, rng = min(BLOCK_ROWS, rows - start), np.random.default_rng([seed, number])
        codes = rng.integers(0, BINS, (features, here), dtype=np.uint8)
        sums = (codes.T / BINS - 0.5) * np.sqrt(12) @ slopes + 0.5 * rng.standard_normal((here, labels))
        blocks.append(Block(codes, label_words((sums > cuts).astype(np.uint8))))
    return world(rows, features, labels, blocks=blocks)


def store(folder: Path, rows: int, features: int, labels: int) -> None:
    """The same in a folder, one block in memory at a time."""
    folder.mkdir(parents=True)
    sizes = [min(BLOCK_ROWS, rows - start) for start in range(0, rows, BLOCK_ROWS)]
    records = [write_block(folder, i, block(size, features, labels, i)) for i, size in enumerate(sizes)]
    packed = world(rows, features, labels, blocks=[])
    header = Header(packed.features, packed.bins, packed.label_names, "|u1", tuple(records))
    write_bytes(folder / HEADER, header.text.encode())
