"""Long work: learning a model, and scoring the models that are tried first, with progress."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyrule.data.documents import JsonNode
from polyrule.errors import OptionError
from polyrule.studio.carrying import carry
from polyrule.studio.comparing import references
from polyrule.studio.jobs import Job
from polyrule.studio.learn import Recipe, learn
from polyrule.studio.project import meaning
from polyrule.studio.workbench import Workbench
from polyrule.utils.names import visible

if TYPE_CHECKING:
    from polyrule.studio.session import Session


class Workers:
    """The jobs of a session: one that learns, and one beside it that scores other models.

    Models do not depend on the number of threads.
    """

    def __init__(self, session: Session, threads: int | None = None) -> None:
        self.session, self.threads = session, threads
        self.job: Job | None = None
        self.side: Job | None = None
        self.closed = False
        self._scored: Workbench | None = None  # the examples that others are, or were, scored on
        self._references: list[dict[str, Any]] | None = None

    @property
    def busy(self) -> bool:
        """True if something is being learned."""
        return self.job is not None and not self.job.finished

    def learn(self, value: Any) -> dict[str, Any]:
        """Begin to learn; the job has the result."""
        session = self.session
        bench = session.examples()
        session.require_idle()
        recipe, _ = self._recipe(value)
        before: Any = session.project.model if recipe.keep else None

        def work(job: Job) -> dict[str, Any] | None:
            model, warned = learn(recipe, bench, before, job)
            if job.cancelled:
                return None
            there = {meaning(rule)[1] for rule in model.rules}
            gone = [at + 1 for at in recipe.keep if meaning(before.rules[at])[1] not in there]
            if gone:
                warned.append(
                    f"Pinned rules that got 0 points beside the others are left out: {', '.join(map(str, gone))}."
                )
            found = session.learned(model, recipe)
            return {**found, "warnings": [visible(text) for text in warned]}

        self.job = Job(work).start()
        return {"job": self.job.number}

    def carried(self, value: Any) -> dict[str, Any]:
        """Return the rules that stay if a person learns again, and sentences about those that do not."""
        recipe, lost = self._recipe(value)
        return {"keeps": [at + 1 for at in recipe.keep], "lost": [visible(text) for text in lost]}

    def _recipe(self, value: Any) -> tuple[Recipe, tuple[str, ...]]:
        """Return the recipe that the page asks for, with the rules that stay, and sentences about those that do not."""
        session, members = self.session, dict(JsonNode(value, "learn").mapping())
        pinned, edited = (members.pop(name, False) is True for name in ("pinned", "edited"))
        features, setup = session.examples().features, session.intake.setup
        recipe = Recipe.from_json(members, features, setup, self.threads)
        if session.project.at < 0:
            return recipe, ()
        found = carry(session.project.current, recipe, pinned, edited)
        return replace(recipe, keep=found.keep), found.lost

    def compare_with_others(self) -> dict[str, Any]:
        """Begin to score simple models and a forest; the job has the result."""
        bench = self.session.examples()
        if self._scored is bench and self._references is not None:
            return {"references": self._references}
        if self.side is not None and not self.side.finished:
            if self._scored is bench:
                return {"job": self.side.number}
            self.side.stop(keep=False)

        def work(job: Job) -> dict[str, Any] | None:
            entries = references(*bench.parts, job, self.threads)
            with self.session.lock:
                if not job.stopping and bench is self._scored:
                    self._references = entries
            return {"references": entries}

        self._scored, self._references = bench, None
        self.side = Job(work, waits=True).start()
        return {"job": self.side.number}

    def find_job(self, number: int) -> Job:
        """Return a job that runs or has just ended."""
        for job in (self.job, self.side):
            if job is not None and job.number == number:
                return job
        raise OptionError(f"there is no job {number}")

    def stop(self, value: Any) -> dict[str, Any]:
        """End the job that runs; what it found so far is kept or thrown away."""
        keep = JsonNode(value, "stop").fields((), ("keep",))["keep"].maybe(JsonNode.flag) or False
        if self.job is not None:
            self.job.stop(keep)
        return {}

    def close(self) -> None:
        """End everything that still runs; a forest may still grow for a while."""
        self.closed = True
        for job in (self.job, self.side):
            if job is not None:
                job.stop(keep=False)
