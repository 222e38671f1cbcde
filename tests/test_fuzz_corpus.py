"""Every case that the fuzzer kept, and every past finding among them, is replayed: a result or one typed error."""

import random

import pytest
from fuzz.mutate import mutate_bytes, mutate_json
from fuzz.targets import CORPUS, TARGETS, quiet

SLOW = ("command",)


@pytest.mark.parametrize("target", [target for target in TARGETS if target.name not in SLOW], ids=lambda t: t.name)
def test_the_corpus_and_a_few_changes_of_it(target):
    rng = random.Random(target.name)
    inputs = target.inputs()
    with quiet():
        for raw in inputs:
            target.run(raw)
        for _ in range(100):
            target.run(target.mutate(rng.choice(inputs), inputs, target.words, rng))


def test_the_corpus_of_commands():
    (target,) = [target for target in TARGETS if target.name == "command"]
    with quiet():
        for raw in target.inputs()[:12]:
            target.run(raw)


def test_the_corpus_is_small():
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]
    assert sizes
    assert max(sizes) <= 4_000
    assert sum(sizes) <= 400_000


def test_mutations_change_something():
    rng = random.Random(0)
    seed = b'{"a": [1, 2, {"b": "c"}], "d": 1.5}'
    for mutate in (mutate_bytes, mutate_json):
        made = {mutate(seed, [seed], [b"x"], rng) for _ in range(50)}
        assert len(made - {seed}) > 25
