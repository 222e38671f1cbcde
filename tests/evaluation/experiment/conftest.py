"""A tiny experiment with learners that behave badly in every way a learner can."""

import textwrap

import pytest

LEARNERS = textwrap.dedent(
    """
    import os, signal, sys, time
    import numpy as np

    def mark():
        if "COUNT_FILE" in os.environ:
            with open(os.environ["COUNT_FILE"], "a") as handle:
                handle.write("x")

    class Base:
        def __init__(self, seconds=0.0):
            self.seconds = seconds
        def fit(self, X, Y):
            self.work()
            self.prediction_ = (Y.mean(axis=0) >= 0.5).astype(int)
            return self
        def predict(self, X):
            return np.tile(self.prediction_, (len(X), 1))
        def work(self):
            time.sleep(self.seconds)

    class Good(Base):
        pass

    class Counting(Base):
        def work(self):
            mark()
            time.sleep(self.seconds)

    class Failing(Base):
        def work(self):
            raise ValueError("no rules today\\nsecond line")

    class Exiting(Base):
        def work(self):
            sys.exit(3)

    class Crashing(Base):
        def work(self):
            os.kill(os.getpid(), signal.SIGSEGV)

    class Vanishing(Base):
        def work(self):
            os._exit(7)

    class Hungry(Base):
        def work(self):
            self.block = np.ones(60_000_000)  # 480 MB
            time.sleep(600)

    class Slow(Base):
        def work(self):
            mark()
            time.sleep(600)

    class Busy(Base):
        def work(self):
            while True:
                pass

    class Deaf(Base):
        def work(self):
            mark()
            sum(range(10**14))  # one call into C that never lets another thread run

    class Importing(Base):
        def work(self):
            import a_package_nobody_has

    class BadPrediction(Base):
        def predict(self, X):
            return np.full((len(X), 2), 0.5)
    """
)


@pytest.fixture
def learner_folder(tmp_path):
    folder = tmp_path / "learners"
    folder.mkdir()
    (folder / "odd_learners.py").write_text(LEARNERS)
    return folder


@pytest.fixture
def experiment_text(learner_folder):
    def text(learners, data=1, extra=""):
        parts = [f'name = "tiny"\npython_path = ["{learner_folder}"]\n{extra}']
        for number in range(data):
            parts.append(
                f'[[data]]\nname = "d{number}"\nmake = "sklearn.datasets.make_multilabel_classification"\n'
                f"parameters = {{ n_samples = 30, n_features = 4, n_classes = 3, random_state = {number} }}\n"
            )
        for name in learners:
            class_name, _, seconds = name.partition(":")
            parts.append(
                f'[[learner]]\nname = "{name}"\nclass = "odd_learners.{class_name}"\n'
                f"parameters = {{ seconds = {seconds or 0.0} }}\n"
            )
        return "\n".join(parts)

    return text
