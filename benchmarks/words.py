"""Time and memory of the words of 100,000 texts, beside scikit-learn's CountVectorizer.

Usage::

    python benchmarks/words.py [ROWS] [WORDS_PER_TEXT]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from polyrule.data.derive.vocabulary import MAX_ITEMS, MIN_ROWS, find_words

N_WORDS = 50_000


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    n_rows, length = (int(word) for word in (sys.argv[1:] + ["100000", "100"][len(sys.argv) - 1 :])[:2])
    rng = np.random.default_rng(0)
    words = np.array([f"w{number:x}{chr(97 + number % 26)}" for number in range(N_WORDS)])
    shares = 1 / np.arange(1, N_WORDS + 1)  # Zipf's law
    texts = [" ".join(row) for row in words[rng.choice(N_WORDS, (n_rows, length), p=shares / shares.sum())]]
    size, before, start = sum(map(len, texts)), peak_bytes(), time.process_time()
    find_words(texts, np.arange(n_rows))
    seconds, memory = time.process_time() - start, peak_bytes() - before
    start = time.process_time()
    CountVectorizer(binary=True, min_df=MIN_ROWS, max_features=MAX_ITEMS).fit_transform(texts)
    reference = time.process_time() - start
    print(f"{n_rows} texts of {length} words, {size / 1e6:.0f} MB: {seconds:.1f} s, {memory / size:.1f} times the text")
    print(f"CountVectorizer: {reference:.1f} s, so {seconds / reference:.2f} times as long")


if __name__ == "__main__":
    main()
