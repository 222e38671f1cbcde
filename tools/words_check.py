"""Count private words in the source, and keep the figure of every package from rising.

Usage::

    python tools/words_check.py [ROOT] [--by word|package|file] [--top N] [--examples WORD] [--max FIGURE]
    python tools/words_check.py --check     # fail if a package is above its ceiling
    python tools/words_check.py --lower     # lower the ceilings to the present figures

ROOT is a checkout (default: the current folder); `src/polyrule/**/*.py` and `native/**/*.{cpp,hpp,h}` are read. Four
figures are printed, each per 1,000 lines:

- *names*: identifiers that are, or contain as a part (snake_case or CamelCase), a private word of `TERMS`;
- *fillers*: identifiers that are exactly a participle or pronoun of `FILLERS` (``found``, ``given``, ``said``, ...);
- *prose*: private words of `TERMS` marked True and phrases of `PHRASES` in docstrings, comments and messages;
- *openings*: docstrings whose first word is no verb or noun of the field (`BAD_OPENINGS`).

`words_ceilings.json` beside this file has the sum that each package may not exceed. A package without an entry may
reach `DEFAULT_CEILING`. `--max FIGURE` fails when the sum of the whole source exceeds FIGURE. Tests, benchmarks and
docs are not counted.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import re
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

# Private word -> the field's word. True: also counted in prose (the word has no innocent use there).
TERMS: dict[str, tuple[str, bool]] = {
    "expecting": ("precision_estimates", False),
    "composing": ("pipeline", False),
    "composition": ("Stages / ListSettings", False),
    "reviser": ("refine", False),
    "relearn": ("refit_check", False),
    "relearned": ("refitted", True),
    "readable": ("derived / thresholds", False),
    "narrowing": ("columns", False),
    "narrow": ("drop_unused_features", False),
    "flip": ("counterfactual", True),
    "flips": ("counterfactuals", True),
    "pieces": ("chunks", False),
    "piece": ("chunk", False),
    "kinds": ("counts_by_outcome / model types", False),
    "world": ("HeadProblem", True),
    "worlds": ("problems", True),
    "course": ("Trace", False),
    "tally": ("counts", True),
    "whatif": ("CommitEffect", False),
    "settled": ("pruned", False),
    "settle": ("prune", False),
    "members": ("ConditionRows; members of a group stay", False),
    "falling": ("exp_neg", False),
    "log_of_one_and": ("log1p", False),
    "chances": ("probabilities", True),
    "chance": ("probability", False),
    "lowest": ("minimize_logistic_loss", False),
    "bends": ("hessian", True),
    "bend": ("hessian", True),
    "surplus": ("net_gain / gradient", True),
    "surpluses": ("gradients", True),
    "curvature": ("hessian", True),
    "slopes": ("gradients", False),
    "deal": ("stratified_folds", False),
    "dealt": ("assigned to folds", True),
    "heeding": ("report_out_of_memory", True),
    "through_rows": ("backend", False),
    "what_about": ("direction_key", False),
    "said_shorter": ("simplify_group", False),
    "left_out": ("out_of_fold", False),
    "opinion": ("soft_labels", True),
    "opinions": ("soft labels", True),
    "taught": ("with_soft_targets", True),
    "teach": ("make_soft_targets", False),
    "speaking": ("translate_errors", False),
    "hurried": ("decision_out_of_time", True),
    "judges": ("judged_labels", False),
    "telling": ("informative / progress_callback", True),
    "merits": ("cv_scores", True),
    "evidence": ("out_of_fold_scores", True),
    "worth": ("gain", False),
    "earnings": ("rule gains", True),
    "coded": ("encoded / packed", False),
    "gaps": ("missing / threshold intervals", False),
    "lay": ("assign", False),
    "asker": ("callback", False),
    "quantum": ("SCALE", False),
    "grain": ("RESOLUTION", False),
    "honest": ("unbiased", True),
    "doubt": ("se_multiple / uncertainty", True),
    "stale": ("invalid", False),
    "lent": ("shared", True),
    "lends": ("shares", True),
    "lender": ("donor", True),
    "usual": ("most_common", False),
}

#: Identifiers that are exactly one of these say nothing about what they hold.
FILLERS = frozenset(
    (
        *("found", "given", "said", "told", "every", "here", "own", "mine", "others", "some", "kept", "made", "wanted"),
        *("asked", "chosen", "least", "most", "away", "known", "shown", "held", "stated", "enough", "either", "mixed"),
        *("sought", "taken"),
    )
)

#: Phrases of translated prose. Each must have an idiomatic replacement in WORDS.md.
PHRASES = {
    "who/whoever for code": r"\bwho(ever)? (is|has|asks|adds|counts|computes|goes|learns|says|made|listens"
    r"|compares|waits)\b",
    "somebody/nobody": r"\b(nobody|somebody|everybody|anybody|everyone)\b",
    "so many / so much": r"\bso (many|much)\b(?! (that|as))",
    "what ... is said/told": r"\b(is|are|was) (said|told|asked|heard)\b",
    "speaks/says of a number": r"\b(says|say|speaks?|tells?|knows?) (of|about|how|what|which)\b",
    "the other way round": r"\bthe other way round\b",
    "now and then": r"\bnow and then\b",
    "what is left": r"\bwhat (is|was) (left|there|wanted|known|sought)\b",
    "at hand / in hand": r"\b(at|in) hand\b",
    "by itself/themselves": r"\bby (itself|themselves)\b",
    "of its/their own": r"\bof (its|their|our) own\b",
    "worth a look / worth": r"\bis worth\b|\bare worth\b",
    "inverted 'Of n, ...'": r"(?m)^\W*Of (very )?(many|more|several|few|a|each|other|those)\b",
    "is lost/gone/over": r"\b(time|limit|rule|list) (is|was) (over|gone|up)\b",
}

#: First words of a docstring that hide its subject. "Whether", "How many" and "Which" are questions, not summaries.
BAD_OPENINGS = re.compile(
    r"(Whether|What|Which|Who|Whom|Whose|How|Where|When|Why|From|So|Of|With|As|Also|Same|1 where|The same|Go through"
    r"|Say|Tell|Let|Lay|Give|Bring|Hear|Know|Return (what|who|which|whether|how|where|why|the same|that))\b"
)

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORD = re.compile(r"[A-Za-z_]+")
_CPP = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*', re.DOTALL)
_MULTI = {term for term in TERMS if "_" in term}


#: Private in C++ only: the members of a `GroupCondition` are public in Python and in model files.
_ONLY_CPP = {"members"}


def hits_of_name(name: str, skip: set[str] = frozenset()) -> set[str]:  # type: ignore[assignment]
    """Return the private terms that an identifier is or holds."""
    parts = {part.lower() for part in _PART.findall(name)} - skip
    return (parts & TERMS.keys()) | {term for term in _MULTI if term in name.lower()}


#: Beside this file: the sum per 1,000 lines that a package may not exceed.
CEILINGS = Path(__file__).resolve().with_name("words_ceilings.json")
DEFAULT_CEILING = 60.0


class Counts:
    """Hits of one file by category and word."""

    def __init__(self) -> None:
        self.lines = 0
        self.hits: Counter[tuple[str, str]] = Counter()
        self.places: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, category: str, word: str, line: int) -> None:
        """Count one hit."""
        self.hits[category, word] += 1
        self.places[word].append(line)

    def name(self, name: str, line: int, skip: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """Count an identifier."""
        for term in hits_of_name(name, skip):
            self.add("names", term, line)
        if name.strip("_") in FILLERS:
            self.add("fillers", name.strip("_"), line)

    def prose(self, text: str, line: int) -> None:
        """Count a docstring or a comment."""
        for match in _WORD.finditer(text):
            word = match[0].lower()
            if word in TERMS and TERMS[word][1]:
                self.add("prose", word, line + text.count("\n", 0, match.start()))
        for label, pattern in PHRASES.items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                self.add("prose", f"<{label}>", line + text.count("\n", 0, match.start()))


def count_python(path: Path) -> Counts:
    """Count a Python file: names by tokens, prose by docstrings and comments."""
    counts, text = Counts(), path.read_text(encoding="utf-8")
    counts.lines = text.count("\n")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and (docstring := ast.get_docstring(node)):
            line = node.body[0].lineno
            counts.prose(re.sub(r"(?m)^\s*(>>>|\.\.\.).*$", "", docstring), line)  # examples are code
            if not isinstance(node, ast.Module) and BAD_OPENINGS.match(docstring):
                counts.add("openings", "<" + BAD_OPENINGS.match(docstring)[0] + ">", line)
        elif isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    counts.prose(part.value, part.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            counts.name(token.string, token.start[0], _ONLY_CPP)
        elif token.type == tokenize.COMMENT:
            counts.prose(token.string, token.start[0])
    return counts


def count_cpp(path: Path) -> Counts:
    """Count a C++ file: identifiers outside comments and strings, prose in comments."""
    counts, text = Counts(), path.read_text(encoding="utf-8")
    counts.lines = text.count("\n")
    for match in _CPP.finditer(text):
        line, found = 1 + text.count("\n", 0, match.start()), match[0]
        if found.startswith(("//", "/*")):
            counts.prose(found, line)
        elif found[0] not in "\"'":
            counts.name(found, line)
    return counts


def files_of(root: Path) -> dict[Path, Counts]:
    """Count every source file of a checkout."""
    native = sorted((root / "native").rglob("*"))
    cpp = [path for path in native if path.suffix in (".cpp", ".hpp", ".h") and "tests" not in path.parts]
    python = {path: count_python(path) for path in sorted((root / "src" / "polyrule").rglob("*.py"))}
    return python | {path: count_cpp(path) for path in cpp}


def package_of(relative: Path) -> str:
    """Return the package of a file: the folder below `src/polyrule`, or ``native/`` with its folder."""
    parts = relative.parts[2:] if relative.parts[0] == "src" else relative.parts
    return "/".join(parts[:2] if parts[0] == "native" else parts[:1])


def rate(counts: list[Counts]) -> float:
    """Return the hits per 1,000 lines of some files together."""
    return 1000 * sum(sum(one.hits.values()) for one in counts) / max(1, sum(one.lines for one in counts))


def packages(files: dict[Path, Counts], root: Path) -> dict[str, float]:
    """Return the figure of every package."""
    groups: defaultdict[str, list[Counts]] = defaultdict(list)
    for path, counts in files.items():
        groups[package_of(path.relative_to(root))].append(counts)
    return {package: rate(groups[package]) for package in sorted(groups)}


def too_high(figures: dict[str, float], ceilings: dict[str, float]) -> list[str]:
    """Return a sentence for every package above its ceiling."""
    return [
        f"{package}: {figure:.1f} private words per 1,000 lines, above its ceiling of {ceiling:g}"
        for package, figure in figures.items()
        if figure > (ceiling := ceilings.get(package, DEFAULT_CEILING))
    ]


def lowered(figures: dict[str, float], ceilings: dict[str, float]) -> dict[str, float]:
    """Return the ceilings at the present figures, rounded up to a tenth; none rises, and gone packages are left out.

    A package without an entry gets one at or below `DEFAULT_CEILING`.
    """
    rounded = {package: math.ceil(10 * figure) / 10 for package, figure in figures.items()}
    return {package: min(figure, ceilings.get(package, DEFAULT_CEILING)) for package, figure in rounded.items()}


def main() -> int:
    """Print the tables; return 1 if a ceiling or `--max` is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=".", type=Path)
    parser.add_argument("--by", choices=("word", "package", "file"), default="package")
    parser.add_argument("--top", type=int, default=40)
    parser.add_argument("--examples", metavar="WORD", help="print places of one word")
    parser.add_argument("--max", type=float, help="fail above this sum of hits per 1,000 lines")
    parser.add_argument("--check", action="store_true", help="fail if a package is above its ceiling")
    parser.add_argument("--lower", action="store_true", help="lower the ceilings to the present figures")
    args = parser.parse_args()
    files = files_of(args.root)
    if args.check or args.lower:
        figures = packages(files, args.root)
        ceilings = json.loads(CEILINGS.read_text(encoding="utf-8"))
        for sentence in (problems := too_high(figures, ceilings)):
            print(f"words_check: {sentence}; see --examples WORD and --by word", file=sys.stderr)
        if args.lower and not problems:
            CEILINGS.write_text(json.dumps(lowered(figures, ceilings), indent=2) + "\n", encoding="utf-8")
        return 1 if problems else 0
    if args.examples:
        for path, counts in files.items():
            for line in counts.places.get(args.examples, ()):
                text = path.read_text(encoding="utf-8").splitlines()[line - 1].strip()[:120]
                print(f"{path.relative_to(args.root)}:{line}: {text}")
        return 0
    categories = ("names", "fillers", "prose", "openings")

    def table(groups: dict[str, list[Counts]], top: int) -> None:
        print(f"{'':34} {'lines':>7} " + " ".join(f"{name:>9}" for name in (*categories, "sum")))
        rows = []
        for group, members in groups.items():
            lines = max(1, sum(counts.lines for counts in members))
            sums = [sum(n for c in members for (cat, _), n in c.hits.items() if cat == name) for name in categories]
            rows.append((group, lines, *(1000 * number / lines for number in (*sums, sum(sums)))))
        for group, lines, *figures in sorted(rows, key=lambda row: -row[-1])[:top]:
            print(f"{group:34} {lines:7} " + " ".join(f"{figure:9.1f}" for figure in figures))

    groups: defaultdict[str, list[Counts]] = defaultdict(list)
    if args.by == "word":
        words: Counter[tuple[str, str]] = sum((counts.hits for counts in files.values()), Counter())
        print(f"{'word':34} {'category':9} {'hits':>6}  tomorrow")
        for (category, word), number in words.most_common(args.top):
            print(f"{word:34} {category:9} {number:6}  {TERMS.get(word, ('',))[0]}")
    else:
        for path, counts in files.items():
            relative = path.relative_to(args.root)
            name = str(relative) if args.by == "file" else package_of(relative)
            groups[name].append(counts)
        table(groups, args.top if args.by == "file" else 99)
    print("\nper 1,000 lines:")
    by_language = {
        "Python (src/polyrule)": [counts for path, counts in files.items() if path.suffix == ".py"],
        "C++ (native)": [counts for path, counts in files.items() if path.suffix != ".py"],
        "both": list(files.values()),
    }
    table(by_language, 3)
    total = rate(list(files.values()))
    if args.max is not None and total > args.max:
        print(f"words_check: {total:.1f} hits per 1,000 lines, above {args.max:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
