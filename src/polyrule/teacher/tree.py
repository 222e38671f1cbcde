"""An extremely randomised tree (Geurts, Ernst and Wehenkel 2006): compiled, or the same in NumPy.

A node tries some features, with one random cut each, and takes the cut that brings the codes of its examples nearest to
the mean of their side. All sums are whole numbers and every random number is drawn in one order, so that a tree is the
same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyrule.arrays import Floats32, Ints, Ints32
from polyrule.native import native

CODE_WIDTH = 8
_LARGEST_SUM = 2**29
_LISTED_SHARE = 0.25  # of the examples, at most
_BITS = 2**64 - 1


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in the order in which they are made: a left child follows its parent.

    Parameters
    ----------
    feature : ndarray of int32
        -1 for a leaf.
    cut : ndarray of float32
        A value at most as large goes to the left.
    right : ndarray of int32
        The other child; of a leaf, its number.
    """

    feature: Ints32
    cut: Floats32
    right: Ints32

    def leaves(self, design: Floats32) -> Ints32:
        """Return the number of the leaf of every row; no value is missing."""
        found = np.zeros(len(design), dtype=np.int32)
        if native is not None:
            native.find_leaves(self.feature, self.cut, self.right, np.ascontiguousarray(design), found)
            return found
        inner = np.flatnonzero(self.feature[found] >= 0)
        while len(inner):
            node = found[inner]
            left = design[inner, self.feature[node]] <= self.cut[node]
            found[inner] = np.where(left, node + 1, self.right[node])
            inner = inner[self.feature[found[inner]] >= 0]
        return np.asarray(self.right[found])


@dataclass(frozen=True, eq=False)
class Columns:
    """What a forest is grown from: a matrix, and of features that are mostly one value, which examples have others.

    Parameters
    ----------
    design : ndarray of float32, shape (examples, features)
        No value is missing.
    values : ndarray of float32, shape (features, examples)
        The same, one feature after the other.
    usual : ndarray of float32, shape (features,)
    starts : ndarray of int64, shape (features + 1,)
        Where each feature begins in `listed`; one whose values are not mostly the same has nothing there.
    listed : ndarray of int32
        Examples whose value is not the usual one.
    """

    design: Floats32
    values: Floats32
    usual: Floats32
    starts: Ints
    listed: Ints32

    @classmethod
    def of(cls, design: Floats32, usual: Floats32) -> Columns:
        """Take the columns of a matrix, whose usual values are known."""
        design, values = np.ascontiguousarray(design), np.ascontiguousarray(design.T)
        unusual = values != usual[:, None]
        counts = np.count_nonzero(unusual, axis=1)
        unusual[counts > _LISTED_SHARE * len(design)] = False
        listed = np.flatnonzero(unusual) % max(1, len(design))
        starts = np.append(0, np.cumsum(np.where(counts > _LISTED_SHARE * len(design), 0, counts)))
        return cls(design, values, usual.astype(np.float32), starts, listed.astype(np.int32))


def grow(
    columns: Columns, rows: Ints, codes: Ints32, weights: Floats32, tried: int, smallest: int, seed: int
) -> tuple[Tree, Ints32]:
    """Grow a tree; also return the leaf of every example, whether it was grown from it or not.

    Parameters
    ----------
    columns : Columns
    rows : ndarray of int
        Examples that it is grown from, ascending.
    codes : ndarray of int32, shape (rows, 8)
        What should be alike in a leaf.
    weights : ndarray, shape (rows,)
        Positive.
    tried : int
        How many features are looked at in each node: of those that are not known to be constant there, the same share.
    smallest : int
        Fewest examples in a leaf.
    seed : int
    """
    scale = _LARGEST_SUM / (float(weights.sum(dtype=np.float64)) * max(1, int(np.abs(codes).max(initial=0))))
    whole = np.maximum(np.rint(weights.astype(np.float64) * scale), 1).astype(np.int32)
    room = 2 * len(rows)
    feature, cut, right = np.empty(room, np.int32), np.empty(room, np.float32), np.empty(room, np.int32)
    leaves = np.empty(columns.values.shape[1], dtype=np.int32)
    given = rows.astype(np.int32), codes, whole, tried, smallest, seed, feature, cut, right, leaves
    if native is None:
        size = _grow(columns.values, *given)
    else:
        size = native.grow_tree(columns.design, columns.values, columns.usual, columns.starts, columns.listed, *given)
    return Tree(feature[:size].copy(), cut[:size].copy(), right[:size].copy()), leaves


def _grow(
    columns: Floats32,
    rows: Ints32,
    codes: Ints32,
    weights: Ints32,
    tried: int,
    smallest: int,
    seed: int,
    feature: Ints32,
    cut: Floats32,
    right: Ints32,
    leaves: Ints32,
) -> int:
    """Plain form of the compiled function; every number comes out the same."""
    features, products = np.arange(len(columns)), codes.astype(np.int64) * weights[:, None]
    tasks = [(np.arange(len(rows)), np.setdiff1d(np.arange(columns.shape[1]), rows), len(columns), -1)]
    size = leaf = 0
    while tasks:
        bag, rest, alive, parent = tasks.pop()
        node, size = size, size + 1
        if parent >= 0:
            right[parent] = node
        feature[node], best, drawn, visited, wanted = -1, -1.0, 0, 0, -(-tried * alive // len(columns))
        every, weight = products[bag].sum(axis=0), int(weights[bag].sum())
        searched = len(bag) >= 2 * smallest and bool((codes[bag] != codes[bag[0]]).any())
        while searched and drawn < alive and (visited < wanted or not drawn):
            seed, bits = _random(seed)
            other = drawn + ((bits >> 32) * (alive - drawn) >> 32)
            features[[drawn, other]] = features[[other, drawn]]
            values = columns[features[drawn], rows[bag]]
            low, high = values.min(), values.max()
            visited += 1
            if low == high:
                alive -= 1
                features[[drawn, alive]] = features[[alive, drawn]]
                continue
            drawn += 1
            threshold = low + np.float32(bits & 0xFFFFFF) * np.float32(2**-24) * (high - low)
            left = values <= (threshold if threshold < high else low)
            if min(left.sum(), len(left) - left.sum()) < smallest:
                continue
            sums, heavy = products[bag[left]].sum(axis=0), int(weights[bag[left]].sum())
            near, far = (sum(float(part) * float(part) for part in side) for side in (sums, every - sums))
            value = near / heavy + far / (weight - heavy)
            if value > best:
                best, feature[node], cut[node] = value, features[drawn - 1], threshold if threshold < high else low
        if feature[node] < 0:
            leaves[rows[bag]] = leaves[rest] = right[node] = leaf
            leaf += 1
            continue
        left = columns[feature[node]] <= cut[node]
        tasks.append((bag[~left[rows[bag]]], rest[~left[rest]], alive, node))
        tasks.append((bag[left[rows[bag]]], rest[left[rest]], alive, -1))
    return size


def _random(state: int) -> tuple[int, int]:
    """Splitmix64: the next state, and 64 random bits."""
    state = bits = (state + 0x9E3779B97F4A7C15) & _BITS
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & _BITS
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & _BITS
    return state, bits ^ (bits >> 31)
