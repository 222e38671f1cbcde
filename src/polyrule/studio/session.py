"""One person's work: the data, the project with its history, and where everything else about them is found.

Everything the server lets a page do is a method, here or in a part of the session, that takes and returns plain values.
Methods that change something save the project before they return; where that fails, or the page was not up to date, the
answer names the "problem".

However many questions a browser sends, one at a time touches a session: whoever asks from several threads holds the
lock, as the server does. Jobs, and what makes files, take it for as long as they need it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polyrule.data import Dataset
from polyrule.data.documents import JsonNode
from polyrule.errors import OptionError
from polyrule.model.columns import without_unused_items
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.studio.background import Workers
from polyrule.studio.column_summary import findings
from polyrule.studio.comparing import judged
from polyrule.studio.intake import Intake
from polyrule.studio.label_choice import check_choice, check_size
from polyrule.studio.learn import Recipe
from polyrule.studio.new_rows import NewRows
from polyrule.studio.project import Project
from polyrule.studio.project_file import Encoder, read_project, save_project
from polyrule.studio.queries import Questions
from polyrule.studio.script import script
from polyrule.studio.setup import Origin, Setup, aligned
from polyrule.studio.workbench import Workbench
from polyrule.utils.names import visible

ELSEWHERE = (
    "The model has changed meanwhile, in another window or because learning has ended. Here it is as it stands; "
    "nothing was done to it."
)


class Session:
    """The state of one studio; without a path, its project is in memory only. `by`, for the history, is who works."""

    def __init__(self, path: Path | None = None, by: str = "", threads: int | None = None) -> None:
        self.path, self.by = path, by
        self.lock = threading.RLock()
        self.intake = Intake()
        self.project = Project()
        self.bench: Workbench | None = None
        self.found: list[str] = []
        self.workers, self.questions = Workers(self, threads), Questions(self)
        self.new_rows: NewRows | None = None  # examples to predict
        self._given: Any = None  # a model that waits for its data
        self._encoder = Encoder()

    # ------------------------------------------------------------------------------------------------ the data

    def take(self, origin: Origin, part: str = "train") -> dict[str, Any]:
        """Look at a file that was dropped or named; it replaces data that was there before."""
        self.require_idle()
        if part == "test":
            self.intake.hold_out(origin)
        else:
            self.intake.look(origin)
            self.bench, self.project, self.found = None, Project(), []
            if self._given is not None:
                self._read(self.intake.setup)
        return self.columns()

    def choose_sheet(self, value: Any) -> dict[str, Any]:
        """Look at another sheet of the workbook; it replaces data that was there before."""
        sheet, intake = JsonNode(value, "sheet").fields(("sheet",))["sheet"].text(), self.intake
        if intake.origin is None or intake.looked is None or sheet not in intake.looked.sheets:
            raise OptionError("there is no such sheet")
        test = intake.second
        columns = self.take(replace(intake.origin, sheet=sheet))
        return columns if test is None else self.take(test, "test")

    def begin(self, origin: Origin, test: Origin | None = None) -> None:
        """Take data that was named where the studio was started."""
        self.intake.look(origin, test)
        looked = self.intake.looked
        if self._given is not None or (looked is not None and looked.named):
            self._read(self.intake.setup)

    def columns(self, start: int = 0, find: str = "") -> dict[str, Any]:
        """Return the columns of the data as they were first read, and their setup."""
        return self.intake.columns(start, find) | {"ready": self.bench is not None}

    def prepare(self, value: Any) -> dict[str, Any]:
        """Read the data with what a person said about it, and set the held-out part aside; a new history begins."""
        self.require_idle()
        setup = Setup.from_json(value)
        if self._given is None:
            check_choice(self.intake.looked, setup.reading)
        self._read(setup)
        problem = self._save()
        return self.state() | problem

    def _read(self, setup: Setup) -> None:
        """Read the examples; where that fails everything stays as it was."""
        completed, train, test = self.intake.examples(setup, self._given)
        if self._given is None:
            check_size(train, completed.reading)
        self.bring(train, test, self._given, completed.kept())
        self.intake.read(completed)

    def bring(self, train: Dataset, test: Dataset, model: Any = None, keep: Collection[str] = ()) -> None:
        """Begin to work on these examples, with a model where there is one; `keep` names identifiers to learn from."""
        project = Project()
        if model is None:
            bench = Workbench.of_raw(train, test, keep)
        else:
            if model.label_names != train.label_names:
                train, test = aligned(train, model.label_names), aligned(test, model.label_names)
            bench = Workbench.of_model(train, test, model)
            bench.check(model)
            project = project.opened(model, "opened a model", self.by)
        self.found, self.new_rows = findings(*bench.raw), None
        self.bench, self.project = bench, project
        if self.intake.origin is None:
            self.intake.origin = Origin("python", train.name)

    def judge(self, origin: Origin) -> dict[str, Any]:
        """Score the current model, and the one before its changes, on a file that was not used before."""
        bench, path = self.examples(), self.project.path()
        begun = max((at for at in path if self.project.versions[at].step["do"] in ("learn", "open")), default=0)
        fresh = self.intake.fresh(origin, bench.train)
        models = {at: self.project.versions[at].model for at in dict.fromkeys((begun, self.project.at))}
        judgment = {"file": visible(origin.name), "examples": len(fresh), "versions": judged(fresh, models)}
        when = datetime.now(UTC).isoformat(timespec="seconds")
        self.project = self.project.judged({**judgment, "sha256": origin.digest, "when": when, "by": self.by})
        return judgment | self._save()

    def predict(self, origin: Origin) -> dict[str, Any]:
        """Read a table of new examples, which stay in memory only, and predict them."""
        bench = self.examples()
        self.project.current  # noqa: B018  # a model has to be there
        self.new_rows = self.intake.new_rows(origin, bench.train)
        return self.questions.new_rows({})

    def wait_for_data(self, model: Any) -> None:
        """Keep a model until its data comes."""
        self._given = model

    def examples(self) -> Workbench:
        """Return the examples at work, or say that there are none."""
        if self.bench is None:
            raise OptionError("there is no data yet; drop a table and choose its labels")
        return self.bench

    def require_idle(self) -> None:
        """Refuse what would pull the data away under something that learns."""
        if self.workers.busy:
            raise OptionError("something is being learned; wait for it or cancel it")

    # --------------------------------------------------------------------------------------------- the history

    def state(self) -> dict[str, Any]:
        """Return everything a page needs to begin, or to go on after it was closed."""
        return {
            "file": self.intake.file_name,
            "project": None if self.path is None else visible(self.path.name),
            "waiting": None if self._given is None or self.bench is not None else len(self._given.rules),
            "looked": self.intake.looked is not None,
            "ready": self.bench is not None,
            "findings": self.found,
            "examples": [] if self.bench is None else [len(part) for part in self.bench.parts],
            "labels": [] if self.bench is None else list(self.bench.label_names),
            "onnx": find_spec("onnx") is not None,
            "predicts": self.new_rows is not None,
            "limits": self.limits(),
            "sources": [] if self.bench is None else self.bench.sources(),
            "lastWords": [dict(one) for one in self.project.last_words],
            "job": self.workers.job.number if self.workers.job is not None and self.workers.busy else None,
            **self.view(),
        }

    def limits(self) -> dict[str, Any]:
        """Return columns left out and directions with which the current model was learned."""
        for number in reversed(self.project.path()):
            step = self.project.versions[number].step
            if step["do"] == "learn":
                limits = Recipe.of_step(step).options.get("constraints", {})
                return {"forbid": limits.get("forbid", []), "monotone": limits.get("monotone", {})}
        return {"forbid": [], "monotone": self.intake.setup.monotone}

    def view(self) -> dict[str, Any]:
        """Return the current model with its counts, and the history."""
        if self.bench is None or self.project.at < 0:
            return {"view": None, "history": self.history()}
        version = self.project.current
        return {"view": self.bench.view(version.model, version.notes), "history": self.history()}

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
                "fresh": version.step["do"] in ("learn", "open"),
                "counts": version.step["do"] != "note",
                "scores": version.scores,
            }
            for number, version in enumerate(project.versions)
        ]
        undo = project.at >= 0 and project.current.parent is not None
        return {"at": project.at, "versions": entries, "undo": undo, "redo": project.following is not None}

    def change(self, value: Any) -> dict[str, Any]:
        """Do one step to the model, if it is still the version that the page shows (`at`)."""
        members = JsonNode(value, "change").fields(("step",), ("why", "at"))
        if members["at"].maybe(lambda n: n.whole(0, 10**9)) not in (None, self.project.at):
            return self.view() | {"problem": ELSEWHERE}
        why = members["why"].maybe(JsonNode.text) or ""
        return self._became(self.project.changed(members["step"].value, why[:2000], self.by))

    def undo(self) -> dict[str, Any]:
        """Go one step back."""
        return self._became(self.project.undone())

    def redo(self) -> dict[str, Any]:
        """Go one step on."""
        return self._became(self.project.redone())

    def go_to(self, value: Any) -> dict[str, Any]:
        """Go to another version."""
        number = JsonNode(value, "go").fields(("version",))["version"].whole(0, 10**9)
        return self._became(self.project.gone_to(number))

    def _became(self, project: Project) -> dict[str, Any]:
        self.project = project if project.current.scores else project.scored(self._scores(project.model))
        problem = self._save()
        return self.view() | problem

    def _scores(self, model: Any) -> tuple[float, float]:
        """Micro F1 on both parts."""
        train, held_out = (round(run.scores["micro_f1"], 6) for run in self.examples().tallies(model))
        return train, held_out

    def _save(self) -> dict[str, Any]:
        """Save the project; a disk that is full is a problem to be told of, but takes nothing away."""
        if self.path is None:
            return {}
        try:
            save_project(self.path, self.project, self.intake.about(), self._encoder)
        except OSError as error:
            why = f"{visible(self.path.name)} cannot be written ({error.strerror or error})"
            return {"problem": f"{why}. What was done is kept until the studio ends; the next change is saved with it."}
        return {}

    def learned(self, model: Any, recipe: Recipe) -> dict[str, Any]:
        """Take a model that was learned."""
        with self.lock:
            model = self.examples().adopted(model)
            return self._became(self.project.opened(model, recipe.words(model), self.by, recipe.step()))

    def resume(self) -> None:
        """Take up the work that the project file holds."""
        assert self.path is not None
        project, about = read_project(self.path)
        if about is None:
            if project.versions:
                self._given = project.model
            return
        self.intake.restore(about, str(self.path))
        if project.versions:
            first = project.versions[0]
            if first.step.get("do") == "open":  # this model said what the columns and labels are
                self._given = first.model
            self._read(self.intake.setup)
            self.project = project.over(self.examples().adopted)
            for version in self.project.versions:
                self.examples().check(version.model)

    # -------------------------------------------------------------------------------------------------- saving

    def finished(self) -> Any:
        """Return the model as it is saved: counted anew where rules were changed, with history, names and comments."""
        with self.lock:
            return self._finished()

    def _finished(self) -> Any:
        bench, version = self.examples(), self.project.current
        model = version.model.recount(bench.train) if self._recounts() else version.model
        model = without_unused_items(model) if bench.computes_items else model
        earlier = self.project.versions[self.project.path()[0]].model.info.get("history")
        notes = {text: dict(note) for text, note in version.notes.items()}
        info = {name: value for name, value in model.info.items() if name not in ("history", "notes", "last_word")}
        info["history"] = [*(earlier if isinstance(earlier, list) else []), *self._steps()]
        if last_words := self._last_words():
            info["last_word"] = last_words
        return replace(model, info=info | ({"notes": notes} if notes else {}))

    def _steps(self) -> list[dict[str, Any]]:
        """Return the history of the current model as its file stores it."""
        steps = []
        for number in self.project.path():
            one = self.project.versions[number]
            train, held_out = one.scores or self._scores(one.model)
            step = {"what": one.what, "why": one.why, "by": one.by, "when": one.when, "step": one.step["do"]}
            steps.append(step | {"rules": len(one.model), "micro_f1": {"training": train, "held out": held_out}})
        return steps

    def _last_words(self) -> list[dict[str, Any]]:
        """Return the scores on files that were not used before, of versions that led to the current model.

        Each names the step of the history by its number, from 1.
        """
        places = {number: place + 1 for place, number in enumerate(self.project.path())}
        entries = []
        for one in self.project.last_words:
            versions = [
                {**entry, "version": places[entry["version"]]}
                for entry in one["versions"]
                if entry["version"] in places
            ]
            if versions:
                entries.append({**one, "versions": versions})
        return entries

    def _recounts(self) -> bool:
        """True if rules were changed since the model was learned or opened, so that their counts are old."""
        if not isinstance(self.project.model, RuleEnsemble) and not self.examples().all_known:
            return False
        for number in reversed(self.project.path()):
            do = self.project.versions[number].step["do"]
            if do in ("learn", "open"):
                return False
            if do != "note":
                return True
        return False

    def script(self) -> str:
        """Return the work as a Python script."""
        with self.lock:
            bench = self.examples()
            examples = sum(map(len, bench.parts))
            return script(self.project, self.intake, examples, self._recounts(), bench.computes_items)

    def parts(self) -> tuple[Any, Dataset, Dataset]:
        """Return the model as it is saved, with training and held-out examples."""
        return self.finished(), *self.examples().raw
