"""Benchmark data sets: size, labels, where they come from, whom to cite."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polyrule.errors import OptionError
from polyrule.utils.messages import did_you_mean


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """One benchmark data set.

    Attributes
    ----------
    name : str
    domain : str
    examples, train, test : int
        Numbers of rows, in all and by the benchmark's split.
    nominal, numeric : int
        Numbers of features of each kind.
    labels : int
    cardinality : float
        Average number of labels of an example, over train and test part.
    citation : str
        The work that introduced the data.
    openml : int or None
        Identifier at OpenML where it is confirmed.
    note : str
        What one must know before using it.
    source : str
        Where the files come from.
    checksums : dict
        For each part of the split, what `polyrule.datasets.remote.checksum` gives.
    """

    name: str
    domain: str
    examples: int
    train: int
    test: int
    nominal: int
    numeric: int
    labels: int
    cardinality: float
    citation: str
    openml: int | None = None
    note: str = ""
    source: str = "MULAN, mulan.sourceforge.net/datasets-mlc.html"
    checksums: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def features(self) -> int:
        """Number of features."""
        return self.nominal + self.numeric

    @property
    def density(self) -> float:
        """Share of present labels: cardinality divided by the number of labels."""
        return self.cardinality / self.labels


_TSOUMAKAS_2008 = (
    "G. Tsoumakas, I. Katakis, I. Vlahavas: Effective and efficient multilabel classification in domains with large "
    "number of labels. ECML/PKDD 2008 Workshop on Mining Multidimensional Data"
)

ENTRIES: dict[str, DatasetEntry] = {
    entry.name: entry
    for entry in (
        DatasetEntry(
            "flags", "images (toy)", 194, 129, 65, 9, 10, 7, 3.3918,
            "E. Corrêa Gonçalves, A. Plastino, A. A. Freitas: A genetic algorithm for optimizing the label ordering in "
            "multi-label classifier chains. ICTAI 2013",
        ),
        DatasetEntry(
            "emotions", "music", 593, 391, 202, 0, 72, 6, 1.8685,
            "K. Trohidis, G. Tsoumakas, G. Kalliris, I. Vlahavas: Multi-label classification of music into emotions. "
            "ISMIR 2008",
            40589,
            "embedded in the package; three label names are spelled as in English, unlike the benchmark's files",
            "scikit-multiflow 0.1.4 (embedded), equal to MULAN's",
        ),
        DatasetEntry(
            "scene", "images", 2407, 1211, 1196, 0, 294, 6, 1.0740,
            "M. R. Boutell, J. Luo, X. Shen, C. M. Brown: Learning multi-label scene classification. Pattern "
            "Recognition 37(9), 2004",
            40595,
            "the published cardinality 1.06 is that of the train part",
        ),
        DatasetEntry(
            "yeast", "biology", 2417, 1500, 917, 0, 103, 14, 4.2371,
            "A. Elisseeff, J. Weston: A kernel method for multi-labelled classification. NIPS 2001",
            40597,
        ),
        DatasetEntry(
            "birds", "audio", 645, 322, 323, 2, 258, 19, 1.0140,
            "F. Briggs et al.: The 9th annual MLSP competition: new methods for acoustic classification of multiple "
            "simultaneous bird species in a noisy environment. MLSP 2013",
            note="294 of 645 examples have no label",
        ),
        DatasetEntry(
            "genbase", "biology", 662, 463, 199, 1186, 0, 27, 1.2523,
            "S. Diplaris, G. Tsoumakas, P. A. Mitkas, I. Vlahavas: Protein classification with multiple algorithms. "
            "PCI 2005",
            note="the feature protein is an identifier with 662 values (drop='protein' leaves it out); one row of the "
            "split appears twice",
        ),
        DatasetEntry(
            "medical", "text", 978, 333, 645, 1449, 0, 45, 1.2454,
            "J. P. Pestian et al.: A shared task involving multi-label classification of clinical free text. BioNLP "
            "2007",
        ),
        DatasetEntry(
            "CAL500", "music", 502, 335, 167, 0, 68, 174, 26.0438,
            "D. Turnbull, L. Barrington, D. Torres, G. Lanckriet: Semantic annotation and retrieval of music and sound "
            "effects. IEEE Transactions on Audio, Speech, and Language Processing 16(2), 2008",
            note="MULAN ships no split: train is the first 335 rows, test the last 167",
            source="MULAN, split by the paper's authors (github.com/keelm/SeCo-MLC)",
        ),
        DatasetEntry(
            "enron", "text", 1702, 1123, 579, 1001, 0, 53, 3.3784,
            "B. Klimt, Y. Yang: The Enron corpus: a new dataset for email classification research. ECML 2004",
        ),
        DatasetEntry(
            "corel5k", "images", 5000, 4500, 500, 499, 0, 374, 3.5220,
            "P. Duygulu, K. Barnard, J. F. G. de Freitas, D. A. Forsyth: Object recognition as machine translation: "
            "learning a lexicon for a fixed image vocabulary. ECCV 2002",
        ),
        DatasetEntry(
            "bibtex", "text", 7395, 4880, 2515, 1836, 0, 159, 2.4019,
            "I. Katakis, G. Tsoumakas, I. Vlahavas: Multilabel text classification for automated tag suggestion. "
            "ECML/PKDD 2008 Discovery Challenge",
        ),
        DatasetEntry(
            "tmc2007-500", "text", 28596, 21519, 7077, 500, 0, 22, 2.1579,
            "A. N. Srivastava, B. Zane-Ulman: Discovering recurring anomalies in text reports regarding complex space "
            "systems. IEEE Aerospace Conference 2005",
            note="the version MULAN repaired in 2016; older literature used a faulty one (cardinality 2.220)",
        ),
        DatasetEntry(
            "delicious", "text (web)", 16105, 12920, 3185, 500, 0, 983, 19.0200, _TSOUMAKAS_2008,
            note="14 examples have no label",
        ),
        DatasetEntry(
            "mediamill", "video", 43907, 30993, 12914, 0, 120, 101, 4.3755,
            "C. G. M. Snoek, M. Worring, J. C. van Gemert, J.-M. Geusebroek, A. W. M. Smeulders: The challenge problem "
            "for automated detection of 101 semantic concepts in multimedia. ACM Multimedia 2006",
        ),
    )
}  # fmt: skip

_CHECKSUMS = {
    "flags": ("4eb50f8fcf842e3e", "7fdab6ae84eec5f0"),
    "emotions": ("1b2cb39f46441c2e", "29012dd959dfa379"),
    "scene": ("0cc6a5f51aba8e01", "34537bd26f0aaf1c"),
    "yeast": ("c24a5e6d966499ef", "9b2fb9dea9c449b5"),
    "birds": ("969eb740019a833e", "df7ab22c0520ce6b"),
    "genbase": ("3132273562ede582", "b19ec51aa84a03ed"),
    "medical": ("0be48d3f71c75e51", "e3320e2828659a36"),
    "CAL500": ("de949853b99e7251", "54e006601c8bd375"),
    "enron": ("076dcb9240609a46", "ce02283c5dcf8367"),
    "corel5k": ("dae3b08ed71a382b", "96346ce11379ec08"),
    "bibtex": ("5db37e3848d3575f", "3bf7374616e6687e"),
    "tmc2007-500": ("76a3f50401b2ce75", "724a216dd292955c"),
    "delicious": ("27eb326b01ce37ed", "7161f418f93f1971"),
    "mediamill": ("1d3f4612bc9622f1", "5b8eea67ac70688f"),
}
ENTRIES = {
    name: replace(entry, checksums=dict(zip(("train", "test"), _CHECKSUMS[name], strict=True)))
    for name, entry in ENTRIES.items()
}


def entry(name: str) -> DatasetEntry:
    """Look up a data set; capitals do not matter.

    Examples
    --------
    >>> entry("cal500").labels
    174
    """
    by_lower = {entry.lower(): entry for entry in ENTRIES}
    name_of_entry = by_lower.get(str(name).lower())
    if name_of_entry is not None:
        return ENTRIES[name_of_entry]
    raise OptionError(f"there is no data set {name!r}{did_you_mean(str(name), ENTRIES)} (known: {', '.join(ENTRIES)})")
