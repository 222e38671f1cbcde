"""Queries to the workers of a cluster, repeated if the cluster loses something."""

from __future__ import annotations

import collections
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from dask.distributed import CancelledError, Client

from polyrule.search.counted.counter import Counter
from polyrule.search.counted.queries import Query
from polyrule.search.counted.workers import Share, StoreBlocks, add_up, answer_share, unpacked_answer
from polyrule.store import Store

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
#: Answers that one task adds, and maximum number of answers that the client adds.
FAN = 4
#: Number of times that a query is repeated if the cluster loses it.
TRIES = 5


class DaskCounter(Counter):
    """Counter on shares that workers hold.

    No task is bound to a worker: it runs at its share, or at a place where that can be made again. `shares` makes
    futures of `Share`; it is called again if the cluster has lost them.
    """

    def __init__(self, client: Client, shares: Callable[[], list[Any]]) -> None:
        self.client = client
        self._make = shares
        self._shares: list[Any] = []

    def run(self, query: Query[Answer]) -> Answer:
        """Return the sum of the answers of all shares."""
        answer: Answer = again(lambda: self._ask(query), self.close)
        return answer

    def close(self) -> None:
        """Release the shares with their state."""
        self._shares = []

    def _ask(self, query: Query[Any]) -> Any:
        if not self._shares:
            self._shares = self._make()
        submit = self.client.submit
        answers = [submit(answer_share, share, self.steps, query, pure=False) for share in self._shares]
        while len(answers) > FAN:
            answers = [submit(add_up, answers[i : i + FAN], pure=False) for i in range(0, len(answers), FAN)]
        return unpacked_answer(add_up(self.client.gather(answers)))


def again(call: Callable[[], Answer], lost: Callable[[], None] = lambda: None) -> Answer:
    """Call, and repeat the call if the cluster loses it, such as when a client reconnects."""
    for tries in range(1, TRIES + 1):
        try:
            return call()
        except (CancelledError, OSError) as problem:
            if tries == TRIES:
                raise
            logger.warning("the cluster lost a query (%s); repeating it", type(problem).__name__)
            lost()
    raise AssertionError


def store_shares(client: Client, store: Store) -> list[Any]:
    """Divide the blocks of a store among the threads of the cluster."""
    path, labels = str(store.path.resolve()), len(store.label_names)
    shares = min(max(1, sum(client.nthreads().values())), len(store.blocks))
    parts = [tuple(range(share, len(store.blocks), shares)) for share in range(shares)]
    near = collections.Counter[str]()  # threads on each machine, which share its memory
    for address, threads in client.nthreads().items():
        near[address.rpartition(":")[0]] += threads
    neighbors = max(near.values(), default=1)
    blocks = [StoreBlocks(path, store.fingerprint, part) for part in parts]
    return [client.submit(Share, part, labels, neighbors, pure=False) for part in blocks]


def block_shares(client: Client, blocks: list[Any], labels: int) -> list[Any]:
    """Join the blocks of each worker to one share for each of its threads."""
    threads = client.nthreads()
    places: dict[str, list[Any]] = {}
    for block, addresses in zip(blocks, client.who_has(blocks).values(), strict=True):
        places.setdefault(min(addresses, default=""), []).append(block)
    shares = []
    for address, local_blocks in sorted(places.items()):
        parts = min(len(local_blocks), threads.get(address, 1))
        shares += [client.submit(Share, local_blocks[part::parts], labels, pure=False) for part in range(parts)]
    return shares
