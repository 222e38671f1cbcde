"""Who asks the workers of a cluster, and asks again when the cluster loses something."""

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
#: Answers that are added by one task, and most answers that the client adds itself.
FAN = 4
#: How often a question is asked again when the cluster loses it.
TRIES = 5


class DaskCounter(Counter):
    """Asks shares that lie on workers. No task is bound to a worker: it goes where its share is, or can be made again.

    `shares` makes futures of `Share`; it is called again where the cluster has lost them.
    """

    def __init__(self, client: Client, shares: Callable[[], list[Any]]) -> None:
        self.client = client
        self._make = shares
        self._shares: list[Any] = []

    def run(self, question: Query[Answer]) -> Answer:
        """Return the sum of the answers of all shares."""
        answer: Answer = again(lambda: self._ask(question), self.close)
        return answer

    def close(self) -> None:
        """Let go of the shares, and with them of what the workers know."""
        self._shares = []

    def _ask(self, question: Query[Any]) -> Any:
        if not self._shares:
            self._shares = self._make()
        submit = self.client.submit
        answers = [submit(answer_share, share, self.steps, question, pure=False) for share in self._shares]
        while len(answers) > FAN:
            answers = [submit(add_up, answers[i : i + FAN], pure=False) for i in range(0, len(answers), FAN)]
        return unpacked_answer(add_up(self.client.gather(answers)))


def again(call: Callable[[], Answer], lost: Callable[[], None] = lambda: None) -> Answer:
    """Call, and call again where the cluster has lost what was asked, as it does when a client reconnects."""
    for tries in range(1, TRIES + 1):
        try:
            return call()
        except (CancelledError, OSError) as problem:
            if tries == TRIES:
                raise
            logger.warning("the cluster lost a question (%s); asking again", type(problem).__name__)
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
    others = max(near.values(), default=1)
    blocks = [StoreBlocks(path, store.fingerprint, part) for part in parts]
    return [client.submit(Share, part, labels, others, pure=False) for part in blocks]


def block_shares(client: Client, blocks: list[Any], labels: int) -> list[Any]:
    """Put the blocks that lie on one worker together, one share for each of its threads."""
    threads = client.nthreads()
    places: dict[str, list[Any]] = {}
    for block, found in zip(blocks, client.who_has(blocks).values(), strict=True):
        places.setdefault(min(found, default=""), []).append(block)
    shares = []
    for address, here in sorted(places.items()):
        parts = min(len(here), threads.get(address, 1))
        shares += [client.submit(Share, here[part::parts], labels, pure=False) for part in range(parts)]
    return shares
