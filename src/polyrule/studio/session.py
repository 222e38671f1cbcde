"""One person's work: the data, the project with its history, the job that runs, and every question about them.

Everything the server lets a page do is a method here that takes and returns plain values. Methods that change
something save the project before they return.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from polyrule.data import Dataset
from polyrule.data.names import visible
from polyrule.ensemble.model import RuleEnsemble
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.model.printing import rule_text
from polyrule.model.reading import Node
from polyrule.model.rule_list import RuleList
from polyrule.studio import ask
from polyrule.studio.bits import Words, pack
from polyrule.studio.comparing import compare
from polyrule.studio.jobs import Job
from polyrule.studio.learn import Recipe, learn
from polyrule.studio.project import Project
from polyrule.studio.project_file import Encoder, read_project, save_project
from polyrule.studio.reference import references
from polyrule.studio.script import script
from polyrule.studio.shapes import shaped_rule
from polyrule.studio.steps import apply, read_step, said
from polyrule.studio.tables import (
    Look,
    Origin,
    Setup,
    aligned,
    check_learnable,
    describe_columns,
    findings,
    first_look,
    load,
    numbered,
    split,
)
from polyrule.studio.workbench import Workbench

P = ParamSpec("P")
R = TypeVar("R")


def _alone(method: Callable[Concatenate[Session, P], R]) -> Callable[Concatenate[Session, P], R]:
    """Let one request at a time touch the session."""

    @wraps(method)
    def guarded(self: Session, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return guarded


class Session:
    """The state of one studio.

    Parameters
    ----------
    path : Path or None
        The project file; None keeps the project in memory only.
    by : str
        Who works here, for the history.
    threads : int or None
        For learning; the models do not depend on it.
    """

    def __init__(self, path: Path | None = None, by: str = "", threads: int | None = None) -> None:
        self.path, self.by, self.threads = path, by, threads
        self.project = Project()
        self.origin: Origin | None = None
        self.test_origin: Origin | None = None
        self.setup = Setup()
        self.bench: Workbench | None = None
        self.job: Job | None = None
        self._side: Job | None = None  # scores of other models, which may take long
        self.found: list[str] = []
        self._looked: Look | None = None
        self._given: Any = None  # a model that waits for its data
        self._references: list[dict[str, Any]] | None = None
        self._encoder = Encoder()
        self._lock = threading.RLock()

    # ------------------------------------------------------------------------------------------------ the data

    @_alone
    def take(self, origin: Origin, part: str = "train") -> dict[str, Any]:
        """Look at a file that was dropped or named; it replaces data that was there before."""
        self._require_idle()
        if part == "test":
            if self._looked is None:
                raise OptionError("drop the data to learn from first, then the held-out data")
            self.test_origin = origin
            return self.columns()
        self._looked = _quiet(lambda: first_look(origin))
        self.origin, self.test_origin, self.bench = origin, None, None
        self.project, self.setup, self._references, self.found = Project(), self._looked.setup, None, []
        if self._given is not None:
            self._prepare()
        return self.columns()

    @_alone
    def begin(self, origin: Origin, test: Origin | None = None) -> None:
        """Take data that was named where the studio was started."""
        self._looked = _quiet(lambda: first_look(origin))
        self.origin, self.test_origin, self.setup = origin, test, self._looked.setup
        if self._given is not None or self._looked.named:
            self._prepare()

    @_alone
    def columns(self, start: int = 0, find: str = "") -> dict[str, Any]:
        """Return the columns of the data as they were first seen, and what is said about them by now."""
        if self._looked is None:
            raise OptionError("there is no data yet")
        second = None if self.test_origin is None else visible(self.test_origin.name)
        said_of = {"setup": self.setup.to_json(), "ready": self.bench is not None, "second": second}
        return describe_columns(self._looked, max(0, start), find) | said_of | {"file": self._file_name()}

    @_alone
    def prepare(self, value: Any) -> dict[str, Any]:
        """Read the data with what a person said about it, and set the held-out part aside; a new history begins."""
        self._require_idle()
        setup = Setup.from_json(value)
        if self.origin is None:
            raise OptionError("there is no data yet")
        before = self.setup, self.bench, self.project
        self.setup = setup
        try:
            self._prepare()
        except BaseException:
            self.setup, self.bench, self.project = before
            raise
        self._save()
        return self.state()

    def _prepare(self) -> None:
        origin = self.origin
        assert origin is not None
        model = self._given
        if model is not None:
            self.setup = replace(self.setup, reading=self.setup.reading | _labels_of(model, self.setup.reading))
        features = None if model is None else model.features
        data = numbered(_quiet(lambda: load(origin, self.setup, features)))
        check_learnable(data)
        second = self.test_origin
        if second is None:
            train, test = _quiet(lambda: split(data, self.setup))
        else:
            train = data
            test = aligned(numbered(_quiet(lambda: load(second, self.setup, data.features))), data.label_names)
        self.bring(train, test, model)

    @_alone
    def bring(self, train: Dataset, test: Dataset, model: Any = None) -> None:
        """Begin to work on these examples, with a model where there is one."""
        bench = Workbench(train, test)
        project = Project()
        if model is not None:
            if model.label_names != train.label_names:
                bench = Workbench(aligned(train, model.label_names), aligned(test, model.label_names))
            bench.check(model)
            project = project.opened(model, "opened a model", self.by)
        self.found = findings(bench.train, bench.test)
        self.bench, self.project, self._references = bench, project, None
        if self.origin is None:
            self.origin = Origin("python", train.name)

    @_alone
    def forget_files(self, folder: Path) -> None:
        """Remove dropped tables that are not, or no longer, those of the project."""
        used = {origin.path for origin in (self.origin, self.test_origin) if origin is not None}
        for path in folder.iterdir():
            if str(path) not in used and not path.name.startswith("."):
                path.unlink(missing_ok=True)

    def wait_for_data(self, model: Any) -> None:
        """Keep a model until its data comes."""
        self._given = model

    def _file_name(self) -> str | None:
        return None if self.origin is None else visible(self.origin.name)

    # --------------------------------------------------------------------------------------------- the history

    @_alone
    def state(self) -> dict[str, Any]:
        """Return everything a page needs to begin, or to go on after it was closed."""
        return {
            "file": self._file_name(),
            "project": None if self.path is None else visible(self.path.name),
            "waiting": None if self._given is None or self.bench is not None else len(self._given.rules),
            "looked": self._looked is not None,
            "ready": self.bench is not None,
            "findings": self.found,
            "examples": [] if self.bench is None else [len(part) for part in self.bench.parts],
            "labels": [] if self.bench is None else list(self.bench.label_names),
            "monotone": self.setup.monotone,
            "job": self.job.number if self.job is not None and not self.job.finished else None,
            **self.view(),
        }

    @_alone
    def view(self) -> dict[str, Any]:
        """Return the model at hand with its counts, and where it stands in the history."""
        if self.bench is None or self.project.at < 0:
            return {"view": None, "history": self.history()}
        version = self.project.current
        return {"view": self.bench.view(version.model, version.notes), "history": self.history()}

    @_alone
    def history(self) -> dict[str, Any]:
        """Return the versions in words."""
        project = self.project
        entries = [
            {
                "number": number,
                "what": visible(version.what),
                "why": visible(version.why),
                "by": visible(version.by),
                "when": version.when,
                "parent": version.parent,
                "rules": len(version.model.rules),
            }
            for number, version in enumerate(project.versions)
        ]
        undo = project.at >= 0 and project.current.parent is not None
        return {"at": project.at, "versions": entries, "undo": undo, "redo": project.following is not None}

    @_alone
    def change(self, value: Any) -> dict[str, Any]:
        """Do one step to the model."""
        members = Node(value, "change").fields(("step",), ("why",))
        why = members["why"].maybe(Node.text) or ""
        return self._became(self.project.changed(members["step"].value, why[:2000], self.by))

    @_alone
    def undo(self) -> dict[str, Any]:
        """Go one step back."""
        return self._became(self.project.undone())

    @_alone
    def redo(self) -> dict[str, Any]:
        """Go one step on."""
        return self._became(self.project.redone())

    @_alone
    def go_to(self, value: Any) -> dict[str, Any]:
        """Go to another version."""
        number = Node(value, "go").fields(("version",))["version"].whole(0, 10**9)
        return self._became(self.project.gone_to(number))

    def _became(self, project: Project) -> dict[str, Any]:
        self.project = project
        self._save()
        return self.view()

    def _save(self) -> None:
        if self.path is not None:
            save_project(self.path, self.project, self.about_data(), self._encoder)

    def about_data(self) -> dict[str, Any] | None:
        """Return what a project file says about its data."""
        if self.origin is None or self.origin.kind == "python":
            return None
        second = None if self.test_origin is None else asdict(self.test_origin)
        return {"origin": asdict(self.origin), "test": second, "setup": self.setup.to_json()}

    @_alone
    def resume(self) -> None:
        """Take up the work that the project file holds."""
        assert self.path is not None
        project, about = read_project(self.path)
        if about is None:
            if project.versions:
                self._given = project.model
            return
        node = Node(about, str(self.path), "data").fields(("origin", "test", "setup"))
        self.origin = _origin(node["origin"])
        self.test_origin = node["test"].maybe(_origin)
        self.setup = Setup.from_json(node["setup"].value)
        self._looked = _quiet(lambda: first_look(self.origin))  # type: ignore[arg-type]
        if project.versions:
            self._prepare()
            assert self.bench is not None
            for version in project.versions:
                self.bench.check(version.model)
            self.project = project

    # ------------------------------------------------------------------------------------------------ learning

    @_alone
    def learn(self, value: Any) -> dict[str, Any]:
        """Begin to learn; the job tells the rest."""
        bench = self._bench()
        self._require_idle()
        members = dict(Node(value, "learn").mapping())
        keeps = members.pop("pinned", False) is True
        if keeps and self.project.at >= 0 and isinstance(self.project.model, RuleList):
            members["keep"] = self._pinned()
        names = {feature.name for feature in bench.train.features}
        monotone = {name: way for name, way in self.setup.monotone.items() if name in names}
        recipe = Recipe.from_json(members, monotone, self.threads)
        before = self.project.model if recipe.keep else None

        def work(job: Job) -> dict[str, Any] | None:
            model, warned = learn(recipe, bench.train, before, job)
            if job.cancelled:
                return None
            with self._lock:
                self.project = self.project.opened(model, recipe.words(model), self.by, recipe.step())
                self._save()
                return {**self.view(), "warnings": [visible(text) for text in warned]}

        self.job = Job(work).start()
        return {"job": self.job.number}

    def _pinned(self) -> list[int]:
        version = self.project.current
        return [
            index
            for index in range(len(version.model.rules))
            if version.notes.get(said(version.model, index), {}).get("pinned")
        ]

    @_alone
    def compare_with_others(self) -> dict[str, Any]:
        """Begin to score what everybody would try first; the job tells the rest."""
        bench = self._bench()
        if self._references is not None:
            return {"references": self._references}
        if self._side is not None and not self._side.finished:
            return {"job": self._side.number}

        def work(job: Job) -> dict[str, Any] | None:
            entries = references(*bench.parts, job, self.threads)
            with self._lock:
                if not job.stopping and bench is self.bench:
                    self._references = entries
            return {"references": entries}

        self._side = Job(work).start()
        return {"job": self._side.number}

    def find_job(self, number: int) -> Job:
        """Return a job that runs or has just ended."""
        for job in (self.job, self._side):
            if job is not None and job.number == number:
                return job
        raise OptionError(f"there is no job {number}")

    @_alone
    def stop(self, value: Any) -> dict[str, Any]:
        """End the job that runs; what it found so far is kept or thrown away."""
        keep = Node(value, "stop").fields((), ("keep",))["keep"].maybe(Node.flag) or False
        if self.job is not None:
            self.job.stop(keep)
        return {}

    def _require_idle(self) -> None:
        if self.job is not None and not self.job.finished:
            raise OptionError("something is being learned; wait for it or cancel it")

    def intervals(self) -> dict[str, Any]:
        """Return how far the scores on the held-out part could be off; others need not wait for it."""
        with self._lock:
            bench, model, at = self._bench(), self.project.model, self.project.at
            bench.tallies(model)
        return {"interval": bench.intervals(model), "at": at}

    # ------------------------------------------------------------------------------------------------ questions

    @_alone
    def labels(self) -> dict[str, Any]:
        """Return the model with all that is told about labels: the graph and which stand in for which."""
        version = self.project.current
        return {"view": self._bench().view(version.model, version.notes, graph=True)}

    @_alone
    def trial(self, value: Any) -> dict[str, Any]:
        """Return what a step would do, without doing it; a draft that makes no sense yet is no failure."""
        try:
            return self._tried(read_step(Node(value, "trial").fields(("step",))["step"].value))
        except (ModelError, OptionError) as error:
            return {"problem": str(error)}

    @_alone
    def shape(self, value: Any) -> dict[str, Any]:
        """Return a rule put together on the page as a step with its text, and what the step would do."""
        members = Node(value, "shape").fields(("head", "body", "rule"))
        model = self._list()
        index = members["rule"].whole(0, len(model.rules) - 1)
        try:
            rule = shaped_rule(members["head"], members["body"], model.rules[index])
            replace(model, rules=(rule,))  # a list checks what its rules name
            text = rule_text(rule, model.features, model.label_names)
            return self._tried({"do": "replace", "rule": index, "text": text}) | {"text": text}
        except (ModelError, OptionError) as error:
            return {"problem": str(error)}

    def _tried(self, step: dict[str, Any]) -> dict[str, Any]:
        before = self.project.model
        return {"step": step, "effect": self._bench().effect(before, apply(before, step))}

    @_alone
    def conditions(self, value: Any) -> dict[str, Any]:
        """Return which conditions of a rule could be dropped, and which added."""
        rule = Node(value, "conditions").fields(("rule",))["rule"].whole(0, 10**6)
        return ask.conditions(self._bench(), self._list(), rule)

    @_alone
    def complete(self, value: Any) -> dict[str, Any]:
        """Return how the text of a rule could go on."""
        text = Node(value, "complete").fields(("text",))["text"].text()
        return {"offers": ask.complete(self.project.model, text[:5000])}

    @_alone
    def rows(self, value: Any) -> dict[str, Any]:
        """Return a few examples that a filter means."""
        members, at, words = self._selection(value, ("start",))
        start = members["start"].maybe(lambda n: n.whole(0, 10**9)) or 0
        return self._bench().rows(self.project.model, at, words, start)

    @_alone
    def shared(self, value: Any) -> dict[str, Any]:
        """Return the rules that examples share."""
        _, at, words = self._selection(value)
        return {"rules": self._bench().shared_rules(self.project.model, at, words)}

    @_alone
    def suggest(self, value: Any) -> dict[str, Any]:
        """Return rules that would set the chosen training examples right."""
        members, at, words = self._selection(value)
        if at != 0:
            raise OptionError("rules are suggested for training examples only; held-out ones are never learned from")
        label = members["label"].maybe(lambda n: n.whole(0, 10**6))
        value_wanted = {"missed": 1, "extra": 0}.get(str(members["filter"].value))
        return {"suggestions": ask.suggest(self._bench(), self._list(), words, label, value_wanted)}

    def _selection(self, value: Any, more: tuple[str, ...] = ()) -> tuple[dict[str, Node], int, Words]:
        """Read which examples are meant: a filter, or the rows themselves."""
        members = Node(value, "rows").fields(("part",), ("filter", "label", "rule", "rows", *more))
        bench = self._bench()
        at = members["part"].whole(0, len(bench.parts) - 1)
        if members["rows"].value is not None:
            mask = np.zeros(len(bench.parts[at]), dtype=bool)
            mask[[item.whole(0, len(mask) - 1) for item in members["rows"]]] = True
            return members, at, pack(mask)
        label, rule = (members[name].maybe(lambda n: n.whole(0, 10**6)) for name in ("label", "rule"))
        kind = members["filter"].maybe(Node.text) or "all"
        return members, at, bench.select(self.project.model, at, kind, label, rule)

    # -------------------------------------------------------------------------------------- comparing and saving

    @_alone
    def compare(self, value: Any) -> dict[str, Any]:
        """Return two versions side by side."""
        members = Node(value, "compare").fields(("first", "second"))
        versions = self.project.versions
        first, second = (versions[members[name].whole(0, len(versions) - 1)].model for name in ("first", "second"))
        return compare(self._bench(), first, second)

    @_alone
    def finished(self) -> Any:
        """Return the model as it is saved: counted anew where rules were changed, with history, names and comments."""
        bench, version = self._bench(), self.project.current
        model = version.model.recount(bench.train) if self._recounts() else version.model
        path = [self.project.versions[number] for number in self.project.path()]
        earlier = path[0].model.info.get("history")
        steps = [{"what": one.what, "why": one.why, "by": one.by, "when": one.when} for one in path]
        notes = {text: dict(note) for text, note in version.notes.items()}
        info = {name: value for name, value in model.info.items() if name not in ("history", "notes")}
        info["history"] = [*(earlier if isinstance(earlier, list) else []), *steps]
        return replace(model, info=info | ({"notes": notes} if notes else {}))

    def _recounts(self) -> bool:
        """Whether rules were changed since the model was learned or opened, so that their counts are old."""
        if isinstance(self.project.model, RuleEnsemble) or not self._bench().all_known:
            return False
        for number in reversed(self.project.path()):
            do = self.project.versions[number].step["do"]
            if do in ("learn", "open"):
                return False
            if do != "note":
                return True
        return False

    @_alone
    def script(self) -> str:
        """Return the work as a Python script."""
        bench = self._bench()
        examples = sum(len(part) for part in bench.parts)
        return script(self.project, self.origin, self.test_origin, self.setup, examples, self._recounts())

    def parts(self) -> tuple[Any, Dataset, Dataset]:
        """Return the model as it is saved, with training and held-out examples."""
        bench = self._bench()
        return self.finished(), bench.train, bench.test

    def _bench(self) -> Workbench:
        if self.bench is None:
            raise OptionError("there is no data yet; drop a table and choose its labels")
        return self.bench

    def _list(self) -> RuleList:
        model = self.project.model
        if not isinstance(model, RuleList):
            raise OptionError("this is for rule lists; the rules of a scorecard are weighed together")
        return model


def _labels_of(model: Any, reading: dict[str, Any]) -> dict[str, Any]:
    """Where the labels of a model stand, unless a person has said it."""
    return {} if reading.get("labels") or reading.get("tags") else {"labels": list(model.label_names)}


def _origin(node: Node) -> Origin:
    members = node.fields(("kind", "name", "path", "digest"))
    origin = Origin(**{name: member.text() for name, member in members.items()})
    if origin.kind == "file":
        try:
            found = Origin.of_file(Path(origin.path), origin.name)
        except OSError as problem:
            raise DataError(f"{origin.path}: the data of the project cannot be read ({problem.strerror})") from problem
        if found.digest != origin.digest:
            raise DataError(f"{origin.path}: the data has changed since the project began; begin a new project")
    return origin


def _quiet(work: Callable[[], R]) -> R:
    """Run without the library's warnings, which the page shows as findings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()
