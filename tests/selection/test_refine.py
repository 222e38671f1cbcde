"""Constants, weak rules and lists that are no better than constants."""

import numpy as np
import pytest

from polyrule import RuleListClassifier
from polyrule.errors import ModelWarning, OptionError
from polyrule.model.rule_list import RuleList


def told_by_a_sign(examples: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """A frequent label that one sign tells well, among labels that nothing tells, so that saying it always pays."""
    rng = np.random.default_rng(0)
    sign = np.arange(examples) % 5 < 3
    told = np.where(sign, rng.random(examples) < 0.8, rng.random(examples) < 0.25)
    others = rng.random((examples, 4)) < 0.25
    return np.column_stack([sign, rng.random(examples)]), np.column_stack([told, others]).astype(int)


def noise(examples: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.random((examples, 4)).round(2), (rng.random((examples, 3)) < [0.7, 0.3, 0.1]).astype(int)


@pytest.mark.filterwarnings("ignore::polyrule.errors.ModelWarning")
def test_what_nothing_tells_stays_constant_and_comes_first():
    X, Y = noise()
    model = RuleListClassifier().fit(X, Y, label_names=["often", "some", "rare"]).rules_
    assert model.constants() == (0,)
    lines = str(model).splitlines()
    assert next(line for line in lines if line.startswith("1.")).startswith("1. always: often (right for 64 %)")
    assert "<- true" not in str(model)


def test_a_list_of_noise_is_constants_or_empty_and_says_so():
    X, Y = noise()
    with pytest.warns(ModelWarning, match="the list is no more than the same labels for everyone"):
        model = RuleListClassifier().fit(X, Y).rules_
    assert not any(rule.body for rule in model.rules)
    assert "no more than the same labels" in model._repr_html_().split("<table>")[0]
    assert not RuleListClassifier().fit(X, np.column_stack([X[:, 0] > 0.6, X[:, 1] > 0.8])).rules_.shortfall()


def test_a_list_that_is_no_better_than_constants_says_so_first():
    X, Y = noise()
    Y[:, 0] = (X[:, 0] > 0.15) ^ (np.random.default_rng(0).random(len(X)) < 0.05)
    model = RuleListClassifier(teacher=None).fit(X, Y).rules_
    model.info["pruning"]["constant"] = model.info["pruning"]["expected"] - 0.001
    model.info["pruning"]["margin"] = 0.01
    assert str(model).startswith("(hardly better than predicting the same labels for everyone: f1 to expect 0")


def test_a_list_of_constants_is_not_compared_with_constants():
    X = np.random.default_rng(0).random((200, 3))
    with pytest.warns(ModelWarning, match="the list is no more than the same labels for everyone$"):
        model = RuleListClassifier().fit(X, np.tile([0, 1], (200, 1))).rules_
    assert str(model).startswith("(no more than the same labels for everyone)\n1. always: y1 (right for 99 %)")


@pytest.mark.parametrize("least", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("kind", ["plain", "weighted", "unknown", "no teacher", "hamming"])
@pytest.mark.filterwarnings("ignore::polyrule.errors.ModelWarning")
def test_every_label_is_expected_to_be_as_precise_as_asked(kind, least):
    rng = np.random.default_rng(1)
    X = rng.random((240, 4)).round(2)
    Y = (X[:, :3] + 0.5 * rng.random((240, 3)) > [0.6, 0.9, 1.1]).astype(float)
    weights = rng.integers(1, 4, 240) / 2 if kind == "weighted" else None
    if kind == "unknown":
        Y[rng.random(Y.shape) < 0.1] = np.nan
    options = {"no teacher": {"teacher": None}, "hamming": {"optimize": "hamming"}}.get(kind, {})
    fitted = RuleListClassifier(min_precision=least, **options).fit(X, Y, sample_weight=weights)
    chances = [literal.chance for rule in fitted.rules_.rules for literal in rule.head]
    assert all(chance >= least for chance in chances)
    assert chances or least == 0.9
    if weights is None:
        assert not fitted.rules_.verify(X, Y, learn=least == 0.6).findings  # learned anew once is enough


def test_weak_labels_are_kept_out_by_choosing_again():
    X, Y = told_by_a_sign()
    loose, strict = (RuleListClassifier(min_precision=least).fit(X, Y).rules_ for least in (0, 0.5))
    assert min(literal.chance for rule in loose.rules for literal in rule.head) < 0.5
    assert len(strict)
    assert strict.info["options"]["min_precision"] == 0.5
    assert not strict.verify(X, Y).findings


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan")])
def test_a_share_is_asked_for(wrong):
    with pytest.raises(OptionError, match="min_precision must be a share from 0 to 1"):
        RuleListClassifier(min_precision=wrong).fit([[1], [2]], [[0], [1]])


def test_lists_as_they_are_grown_expect_nothing():
    model = RuleListClassifier.paper().fit([[1], [2], [3], [4]], [[0], [0], [1], [1]]).rules_
    assert all(rule.expected is None for rule in model.rules)
    assert "expect" not in str(model)


def test_the_order_of_rows_does_not_matter():
    X, Y = told_by_a_sign(300)
    order = np.random.default_rng(5).permutation(len(X))
    one, other = RuleListClassifier().fit(X, Y).rules_, RuleListClassifier(n_jobs=2).fit(X[order], Y[order]).rules_
    assert one.rules == other.rules
    assert one.default_chances == other.default_chances
    assert one.info["pruning"]["expected"] == other.info["pruning"]["expected"]


def of_kinds(*kinds: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Examples of several kinds: percent of 800, and percent of these that have a label; four more labels are noise."""
    rng = np.random.default_rng(0)
    sizes = [8 * share for share, _ in kinds]
    signs = np.repeat(np.arange(len(kinds)), sizes)[:, None] == np.arange(len(kinds))
    told = np.concatenate([np.arange(size) * part % 100 < part for size, (_, part) in zip(sizes, kinds, strict=True)])
    noise = rng.random((800, 4)) < 0.25
    return np.column_stack([signs, rng.random(800).round(2)]), np.column_stack([told, noise]).astype(int)


def said_first(model: RuleList) -> tuple[int, float]:
    """How many rules with conditions set the first label, and on which part of 800 examples it is set."""
    over = [(bool(rule.body), one.tp + one.fp) for rule in model.rules for one in rule.head if one.label == 0]
    return sum(told for told, _ in over), sum(said for _, said in over) / 800


NEARLY_ALL = (96, 60), (4, 5)


@pytest.mark.filterwarnings("ignore::polyrule.errors.ModelWarning")
def test_constants_do_not_depend_on_order_and_weights_are_repetitions():
    X, Y = of_kinds(*NEARLY_ALL)
    rng = np.random.default_rng(7)
    order, times = rng.permutation(800), rng.integers(1, 3, 800)
    repeated = np.repeat(np.arange(800), times)
    assert RuleListClassifier().fit(X[order], Y[order]).rules_.rules == RuleListClassifier().fit(X, Y).rules_.rules
    bare = RuleListClassifier(teacher=None)  # a forest draws weights and repetitions differently
    weighted = bare.fit(X, Y, sample_weight=times).rules_
    assert weighted.rules == bare.fit(X[repeated], Y[repeated]).rules_.rules
