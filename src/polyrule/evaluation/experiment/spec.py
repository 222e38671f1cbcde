"""What an experiment file says, checked: data sets, learners, splits, limits, and how the results are shown."""

from __future__ import annotations

import hashlib
import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polyrule.errors import OptionError
from polyrule.evaluation.experiment.fields import Fields
from polyrule.evaluation.scores import MEASURES


@dataclass(frozen=True)
class DataSpec:
    """One data set of an experiment."""

    name: str  # what rows and tables call it
    source: str  # A name known to `polyrule.datasets.load`, a file, or ``"package.module.function"`` when `make` is set
    make: bool = False  # whether `source` is a function that returns a `Dataset` (or X and Y)
    # Arguments of that function, or of `polyrule.data.read` for a file
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # Turn numeric features into this number of intervals of equal frequency, fitted on each training part
    discretise: int | None = None
    file: str = ""  # what the files hold, as a digest, if `source` is a file
    test: str = ""  # the file with the test part; without one that is the last third of the rows

    def definition(self) -> dict[str, Any]:
        """Return the options that decide the results: of files their contents, not their place."""
        members = asdict(self)
        for name in ("source", "test") if self.file else ("file", "test"):
            del members[name]
        return members


@dataclass(frozen=True)
class LearnerSpec:
    """One learner of an experiment: a class with its parameters."""

    name: str  # what rows and tables call it
    class_path: str  # ``"package.module.Class"`` of any classifier with scikit-learn's interface
    # Arguments of the class. A value ``{class = "…", …}`` becomes an object of that class.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # "table" (features with names and kinds) or "matrix" (numbers only, nominal features encoded)
    input: str = "matrix"
    # Parameters to choose from lists of values, by cross-validation inside the training part
    tune: Mapping[str, list[Any]] = field(default_factory=dict)
    # tune_measure, tune_folds: what the choice maximises, and over how many folds
    tune_measure: str = "micro_f1"
    tune_folds: int = 3
    # family, measure: free words for the tables: rows of one family and measure stand together
    family: str = ""
    measure: str = ""


@dataclass(frozen=True)
class SplitSpec:
    """Split into train and test examples: the published parts, or folds."""

    kind: str = "parts"
    folds: int = 10
    seeds: tuple[int, ...] = (0,)
    stratified: bool = True


@dataclass(frozen=True)
class Limits:
    """Limits of one run, after which it is ended and recorded as such.

    `seconds` is wall-clock time; `cpu_seconds` (Linux) is fairer on a machine that has other work to do.
    """

    seconds: float = 600.0
    cpu_seconds: float | None = None
    memory_mb: float = 4096.0
    threads: int = 1


@dataclass(frozen=True)
class ComparisonSpec:
    """One statistical comparison to make from the rows: which data sets and learners, by which measures."""

    name: str
    data: tuple[str, ...]
    learners: tuple[str, ...]
    measures: tuple[str, ...]
    alpha: float = 0.05


@dataclass(frozen=True)
class ExperimentSpec:
    """A whole experiment, as read from a TOML file.

    Attributes
    ----------
    name, title : str
        Of the experiment; the name is that of its folder of results.
    data : tuple of DataSpec
    learners : tuple of LearnerSpec
    split : SplitSpec
        Given parts, or folds.
    limits : Limits
        Of time and memory for one run.
    workers : int
        Processes that run at the same time.
    python_path : tuple of str
        Folders with classes that learners name.
    measures : tuple of str
        Scores that get a table.
    comparisons : tuple of ComparisonSpec
        Which learners are ranked against each other.
    published : mapping
        Files with published numbers to show beside ours: keys "performance" and "models".
    scores : mapping
        Conventions for 0/0, as arguments of `polyrule.evaluation.score`.
    """

    name: str
    title: str
    data: tuple[DataSpec, ...]
    learners: tuple[LearnerSpec, ...]
    split: SplitSpec = SplitSpec()
    limits: Limits = Limits()
    workers: int = 1
    python_path: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    measures: tuple[str, ...] = ("hamming_accuracy", "subset_accuracy", "micro_f1", "macro_f1")
    comparisons: tuple[ComparisonSpec, ...] = ()
    published: Mapping[str, str] = field(default_factory=dict)


def load_spec(path: str | Path) -> ExperimentSpec:
    """Read and check the experiment file at `path`."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot read experiment file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"experiment file {path} is not UTF-8 text") from None
    return parse_spec(text, name=path.stem, folder=path.parent, where=str(path))


def parse_spec(
    text: str, name: str = "experiment", folder: Path | None = None, where: str = "experiment"
) -> ExperimentSpec:
    """Check the text of an experiment file; relative paths in it start from `folder`, errors name `where` it is from.

    Examples
    --------
    >>> spec = parse_spec('''
    ... [[data]]
    ... name = "emotions"
    ... [[learner]]
    ... name = "majority"
    ... class = "polyrule.evaluation.MajorityClassifier"
    ... ''')
    >>> [learner.class_path for learner in spec.learners]
    ['polyrule.evaluation.MajorityClassifier']
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{where}: not valid TOML: {error}") from None
    folder = folder or Path()
    top = Fields(document, where)
    data = tuple(_data(entry, folder) for entry in top.sections("data"))
    learners = tuple(learner for entry in top.sections("learner") for learner in _learners(entry))
    for kind, key, items in (("data set", "data", data), ("learner", "learner", learners)):
        if not items:
            raise OptionError(f"{where}: at least one [[{key}]] is needed; 'polyrule experiment --help' shows a file")
        _distinct([item.name for item in items], kind, where)
    spec = ExperimentSpec(
        name=top.text("name", name),
        title=top.text("title", name),
        data=data,
        learners=learners,
        split=_split(top),
        limits=_limits(top),
        workers=top.integer("workers", 1, minimum=1),
        python_path=tuple(str((folder / entry).resolve()) for entry in top.texts("python_path")),
        scores=_score_options(top),
        measures=_measures(top, ExperimentSpec.measures),
        comparisons=tuple(_comparison(entry, data, learners) for entry in top.sections("comparison")),
        published=_published(top, folder),
    )
    _distinct([slug(item.name) for item in spec.comparisons], "comparison", where)
    top.done()
    return spec


def _data(fields: Fields, folder: Path) -> DataSpec:
    make, file, test = fields.text("make", ""), fields.text("file", ""), fields.text("test", "")
    name = fields.text("name", Path(file).stem) if file else fields.text("name")
    source = fields.text("source", name)
    bins = fields.integer("discretise", 0, minimum=0)
    parameters = fields.table("parameters")
    if bins == 1:
        raise OptionError(f"{fields.where}: discretise must be at least 2 intervals, or 0 for none, got 1")
    if make and file:
        raise OptionError(f"{fields.where}: data is made by a function (make) or read from a file, not both")
    if test and not file:
        raise OptionError(f"{fields.where}: test names the test part of a file; say file = …, too")
    if not file:
        return DataSpec(name, make or source, bool(make), parameters, bins or None)
    places = [str((folder / place).resolve()) for place in (file, test) if place]
    digest = hashlib.sha256()
    for place in places:
        try:
            digest.update(Path(place).read_bytes())
        except OSError as error:
            raise OptionError(f"{fields.where}: cannot read {place}: {error.strerror}") from None
    return DataSpec(
        name, places[0], False, parameters, bins or None, digest.hexdigest()[:16], places[1] if test else ""
    )


def _learners(fields: Fields) -> list[LearnerSpec]:
    """One learner for each combination of the values in `grid`, named after them."""
    name, class_path = fields.text("name"), fields.text("class")
    default_input = "table" if class_path.startswith("polyrule.") else "matrix"
    common: dict[str, Any] = {
        "class_path": class_path,
        "input": fields.choice("input", ("table", "matrix"), default_input),
        "tune": fields.lists("tune"),
        "tune_measure": fields.choice("tune_measure", MEASURES, "micro_f1"),
        "tune_folds": fields.integer("tune_folds", 3, minimum=2),
        "family": fields.text("family", name),
    }
    parameters, grid = fields.table("parameters"), fields.lists("grid")
    measure = fields.text("measure", "")
    learners = []
    for values in itertools.product(*grid.values()):
        values_of_grid = dict(zip(grid, values, strict=True))
        learners.append(
            LearnerSpec(
                name=" ".join([name, *(str(value) for value in values)]),
                parameters={**parameters, **values_of_grid},
                measure=str(values_of_grid.get("measure", measure or parameters.get("measure", ""))),
                **common,
            )
        )
    return learners


def _split(top: Fields) -> SplitSpec:
    with top.section("split") as fields:
        return SplitSpec(
            kind=fields.choice("kind", ("parts", "folds"), "parts"),
            folds=fields.integer("folds", 10, minimum=2),
            seeds=tuple(fields.integers("seeds", (0,))),
            stratified=fields.flag("stratified", True),
        )


def _limits(top: Fields) -> Limits:
    with top.section("limits") as fields:
        return Limits(
            seconds=fields.number("seconds", Limits.seconds),
            cpu_seconds=fields.number("cpu_seconds", None),
            memory_mb=fields.number("memory_mb", Limits.memory_mb),
            threads=fields.integer("threads", Limits.threads, minimum=1),
        )


def _score_options(top: Fields) -> dict[str, float]:
    with top.section("scores") as fields:
        options = {
            name: fields.number(name, None, share=True) for name in ("zero_division", "empty_label", "empty_example")
        }
    return {name: value for name, value in options.items() if value is not None}


def _published(top: Fields, folder: Path) -> dict[str, str]:
    with top.section("published") as fields:
        places = {name: fields.text(name, "") for name in ("performance", "models")}
    return {name: str((folder / place).resolve()) for name, place in places.items() if place}


def _comparison(fields: Fields, data: tuple[DataSpec, ...], learners: tuple[LearnerSpec, ...]) -> ComparisonSpec:
    known_data, known_learners = [item.name for item in data], [item.name for item in learners]
    spec = ComparisonSpec(
        name=fields.text("name", "comparison"),
        data=tuple(fields.texts("data", known_data)),
        learners=tuple(fields.texts("learners", known_learners)),
        measures=_measures(fields, ("micro_f1",)),
        alpha=fields.number("alpha", 0.05, share=True),
    )
    if not 0 < spec.alpha < 1:  # before hours of runs, not when their tables are made
        raise OptionError(f"{fields.where}: alpha must lie between 0 and 1, got {spec.alpha:g}")
    several = (("data set", spec.data, known_data), ("learner", spec.learners, known_learners))
    for kind, names, known_names in several:
        for name in names:
            if name not in known_names:
                raise OptionError(f"{fields.where}: no {kind} is named {name!r} (there are: {', '.join(known_names)})")
            if names.count(name) > 1:
                raise OptionError(f"{fields.where}: the {kind} {name!r} is listed twice")
    return spec


def _measures(fields: Fields, default: tuple[str, ...]) -> tuple[str, ...]:
    measures = tuple(fields.texts("measures", default))
    for measure in measures:
        if measure not in MEASURES:
            raise OptionError(f"{fields.where}: unknown measure {measure!r}: choose from {', '.join(MEASURES)}")
    return measures


def slug(text: str) -> str:
    """Make a file name of a title."""
    return "-".join("".join(mark if mark.isalnum() else " " for mark in text.lower()).split()) or "table"


def _distinct(names: list[str], kind: str, where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"{where}: two entries for {kind} {name!r}: give each its own name")
