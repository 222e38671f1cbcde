"""Reports to look at: songs (emotions), flags (made up, mixed kinds, missing values), documents (made up, sparse).

    python examples/gallery.py [FOLDER]

writes the pages and an index into FOLDER, `gallery` unless told otherwise.
"""

from __future__ import annotations

import html
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from polyrule import RuleEnsembleClassifier, SeCoClassifier, datasets
from polyrule.data import Dataset, Feature, Table
from polyrule.report import Report, build

COLOURS = ("red", "green", "blue", "yellow", "white", "black", "orange")
RELIGIONS = ("christian", "muslim", "buddhist", "hindu", "ethnic")
CONTINENTS = ("Africa", "America", "Asia", "Europe", "Oceania")

TOPICS = {
    "medicine": ("patient", "dose", "clinical", "fever", "x-ray", "vaccine", "symptom"),
    "sport": ("match", "goal", "season", "coach", "league", "injury", "score"),
    "finance": ("market", "shares", "profit", "bank", "quarter", "rates", "debt"),
    "politics": ("vote", "minister", "election", "law", "party", "tax", "reform"),
    "science": ("study", "theory", "experiment", "data", "particle", "climate", "model"),
    "travel": ("island", "hotel", "flight", "beach", "train", "museum", "ticket"),
    "food": ("recipe", "salt", "butter", "oven", "taste", "wine", "garlic"),
    "technology": ("software", "chip", "network", "startup", "robot", "code", "battery"),
}
# Topics that tend to come together, as in real collections.
COMPANIONS = {"medicine": "science", "finance": "politics", "travel": "food", "technology": "finance"}


def flags(examples: int, seed: int) -> Dataset:
    """Flags of countries that do not exist."""
    random = np.random.default_rng(seed)
    continent = random.integers(0, len(CONTINENTS), examples)
    religion = np.where(
        random.random(examples) < 0.6, np.array([0, 0, 2, 0, 0])[continent], random.integers(0, 5, examples)
    )
    stripes = random.poisson(1.6, examples).astype(float)
    area = np.round(np.exp(random.normal(5.5, 1.6, examples)), 1)
    stars = np.where(continent == 1, random.poisson(3, examples), random.poisson(0.6, examples)).astype(float)
    cross = ((continent == 3) & (random.random(examples) < 0.55)).astype(float)
    noise = random.random((examples, len(COLOURS)))
    red = (stripes >= 2) | (noise[:, 0] < 0.45)
    green = ((religion == 1) | (continent == 0)) & (noise[:, 1] < 0.85)
    blue = ((stars >= 2) | (continent == 4)) & (noise[:, 2] < 0.9)
    yellow = green & (noise[:, 3] < 0.75) | (noise[:, 3] < 0.12)
    white = (cross == 1) | (stripes >= 3) | (blue & (noise[:, 4] < 0.6))
    black = (continent == 0) & ~blue & (noise[:, 5] < 0.5)
    orange = (religion == 3) & (noise[:, 6] < 0.8)
    labels = np.column_stack([red, green, blue, yellow, white, black, orange]).astype(np.uint8)
    colours = (labels.sum(axis=1) + random.integers(0, 2, examples)).astype(float)
    values = np.column_stack([continent, religion, stripes, colours, stars, cross, area]).astype(float)
    values[random.random(values.shape) < 0.03] = np.nan
    features = (
        Feature("continent", "nominal", CONTINENTS),
        Feature("religion", "nominal", RELIGIONS),
        Feature("stripes"),
        Feature("colours"),
        Feature("stars"),
        Feature("cross", "nominal", ("no", "yes")),
        Feature("area"),
    )
    return Dataset(Table.from_array(values, features), labels, COLOURS, name="made-up flags")


def documents(examples: int, seed: int) -> Dataset:
    """Documents as counts of words; most counts are 0 and the table stays sparse."""
    random = np.random.default_rng(seed)
    names = tuple(TOPICS)
    labels = (random.random((examples, len(names))) < 0.16).astype(np.uint8)
    labels[np.arange(examples), random.integers(0, len(names), examples)] = 1
    for topic, companion in COMPANIONS.items():
        follows = (labels[:, names.index(topic)] == 1) & (random.random(examples) < 0.6)
        labels[follows, names.index(companion)] = 1
    words = [word for topic in names for word in TOPICS[topic]] + [f"word{number}" for number in range(400)]
    counts = random.poisson(0.03, (examples, len(words))).astype(float)
    for position, _ in enumerate(names):
        own = slice(7 * position, 7 * position + 7)
        counts[:, own] += random.poisson(0.75, (examples, 7)) * labels[:, [position]]
    features = tuple(Feature(word) for word in words)
    return Dataset(Table.from_array(sp.csc_array(counts), features), labels, names, name="made-up documents")


def songs_report() -> Report:
    train, test = datasets.load("emotions", part="train"), datasets.load("emotions", part="test")
    models = {
        "multi F0.5": SeCoClassifier("f0.5", lift="kln:0.1", max_conditions=3).fit(train),
        "multi Hamming": SeCoClassifier("hamming", max_conditions=3).fit(train),
        "single F0.5": SeCoClassifier("f0.5", heads="single", max_conditions=3).fit(train),
        "ensemble of 10": RuleEnsembleClassifier(max_rules=10).fit(train),
    }
    return build(models, train, test, title="Emotions in songs")


def flags_report() -> Report:
    train, test = flags(400, 1), flags(200, 2)
    models = {
        "multi F0.5": SeCoClassifier("f0.5", lift="kln:0.2").fit(train),
        "multi precision": SeCoClassifier("precision", min_coverage=10).fit(train),
        "single F0.5": SeCoClassifier("f0.5", heads="single").fit(train),
    }
    return build(models, train, test, title="Colours of flags")


def documents_report() -> Report:
    train, test = documents(900, 1), documents(500, 2)
    return build(SeCoClassifier("f0.5", lift="kln:0.1").fit(train), train, test, title="Topics of documents")


PAGES = {
    "songs": (songs_report, "Real data (emotions): 72 numeric features, 6 labels; three rule lists and an ensemble."),
    "flags": (flags_report, "Made up: nominal and numeric features, missing values, labels that depend on each other."),
    "documents": (documents_report, "Made up: 456 sparse word counts, 8 topics."),
}

INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>polyrule reports</title><style>
body {{ font: 17px/1.6 system-ui, sans-serif; max-width: 46rem; margin: 4rem auto; padding: 0 1.2rem; }}
h1 {{ letter-spacing: -0.02em; }} ul {{ list-style: none; padding: 0; display: grid; gap: 1rem; }}
li {{ border: 1px solid #8886; border-radius: 12px; padding: 1rem 1.3rem; }}
a {{ font-weight: 650; font-size: 1.15rem; }}
p {{ margin: 0.2rem 0 0; opacity: 0.85; }}
</style></head><body><main><h1>Reports made with polyrule</h1><ul>
{entries}
</ul></main></body></html>
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for name, (make, words) in PAGES.items():
        report = make()
        report.save(folder / f"{name}.html")
        sizes = ", ".join(f"{model['name']} {len(model['rules'])}" for model in report.summary["models"])
        print(f"{folder / name}.html  (rules: {sizes})")
        title = html.escape(report.summary["title"])
        entries.append(f'<li><a href="{name}.html">{title}</a><p>{html.escape(words)}</p></li>')
    (folder / "index.html").write_text(INDEX.format(entries="\n".join(entries)), encoding="utf-8")
    print(folder / "index.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "gallery"))
