from dataclasses import replace

import numpy as np
import pytest
from tests.report.worlds import random_data, random_model

from polyrule.evaluation import score
from polyrule.model.predict import predict
from polyrule.report.counts import PartCovers, count_predictions
from polyrule.report.curves import curve


@pytest.mark.parametrize("seed", range(8))
def test_every_point_is_the_score_of_the_list_cut_off_there(seed):
    model = random_model(seed, rules=12, full=seed % 4 == 3)
    data = random_data(model, 80, seed)
    truth = np.asarray(data.Y)
    points = curve(model, count_predictions(model, PartCovers(data.X, truth)))
    assert len(points) == len(model) + 1
    for step in range(len(model) + 1):
        prefix = replace(model, rules=model.rules[:step])
        scores = score(truth, prefix.predict(data.X))
        assert points.micro_f1[step] == pytest.approx(scores["micro_f1"])
        assert points.hamming_accuracy[step] == pytest.approx(scores["hamming_accuracy"])
        assert points.subset_accuracy[step] == pytest.approx(scores["subset_accuracy"])
        setter = predict(prefix, data.X).setter
        assert points.set_share[step] == pytest.approx((setter >= 0).mean())
        stopped = np.array([any(by >= 0 and prefix.rules[by].stop for by in row) for row in setter])
        assert points.open_examples[step] == ((setter < 0).any(axis=1) & ~stopped).sum()
