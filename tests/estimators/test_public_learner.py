"""Learners on public rows and shown features: nobody is asked, and no hidden value is read."""

import numpy as np
import pytest

from lpbench.estimators.public_sample.public_learner import PublicLearnerClassifier, PublicLearnerRegressor

RNG = np.random.default_rng(0)
X, X_PUBLIC, TEST = RNG.random((300, 3)), RNG.random((60, 3)), RNG.random((40, 3))
MASK = [0]


def labels(rows):
    return rows[:, 1] ** 2 - 0.5 * rows[:, 0]


def fitted(kind, own=X, y=None, **options):
    classifies = kind is PublicLearnerClassifier
    truth = (lambda rows: (labels(rows) > 0).astype(int)) if classifies else labels
    known = {"classes": (0, 1)} if classifies else {"y_range": (-1.0, 1.0)}
    given = truth(own) if y is None else y
    public = {"X_public": X_PUBLIC, "y_public": truth(X_PUBLIC)}
    return kind(**known, random_state=0, **options).fit(own, given, mask=MASK, **public)


@pytest.mark.parametrize("learner", ["ridge", "gaussian_process"])
@pytest.mark.parametrize("kind", [PublicLearnerClassifier, PublicLearnerRegressor])
def test_labels_and_hidden_features_change_nothing_and_shown_ones_do(kind, learner):
    model = fitted(kind, learner=learner)
    assert (model.guarantee_.epsilon, model.guarantee_.rounds) == (0.0, 0)
    other = X.copy()
    other[:, 0] = 1 - other[:, 0] ** 3
    blind = fitted(kind, other, np.zeros(len(X), dtype=int), learner=learner)
    np.testing.assert_array_equal(model.predict(TEST), blind.predict(TEST))
    moved, found = X**3, "predict_proba" if kind is PublicLearnerClassifier else "predict"
    shown, hidden = (fitted(kind, moved, learner=learner, shown=shown) for shown in (True, False))
    assert np.abs(getattr(shown, found)(TEST) - getattr(model, found)(TEST)).max() > 1e-3
    alone = fitted(kind, learner=learner, shown=False)
    np.testing.assert_array_equal(getattr(hidden, found)(TEST), getattr(alone, found)(TEST))


@pytest.mark.parametrize("kind", [PublicLearnerClassifier, PublicLearnerRegressor])
def test_a_monotone_change_of_a_feature_changes_nothing(kind):
    model = fitted(kind)
    stretched = kind(**{k: getattr(model, k) for k in ("y_range", "classes") if hasattr(model, k)}, random_state=0)
    truth = labels(X_PUBLIC) if kind is PublicLearnerRegressor else (labels(X_PUBLIC) > 0).astype(int)
    y = np.zeros(len(X), dtype=truth.dtype)
    stretched.fit(np.sqrt(X), y, mask=MASK, X_public=np.sqrt(X_PUBLIC), y_public=truth)
    np.testing.assert_allclose(stretched.predict(np.sqrt(TEST)), model.predict(TEST), rtol=1e-9)


def test_without_public_rows_nothing_is_known():
    model = PublicLearnerClassifier(classes=(0, 1, 2), random_state=0).fit(X, np.arange(300) % 3, mask=MASK)
    np.testing.assert_allclose(model.predict_proba(TEST), 1 / 3)
    middle = PublicLearnerRegressor(y_range=(0.0, 4.0), random_state=0).fit(X, labels(X) + 1, mask=MASK)
    np.testing.assert_array_equal(middle.predict(TEST), 2.0)


def test_public_rows_of_one_class_predict_it():
    model = PublicLearnerClassifier(classes=(0, 1, 2), random_state=0)
    model.fit(X, np.arange(300) % 3, mask=MASK, X_public=X_PUBLIC, y_public=np.full(60, 2))
    np.testing.assert_array_equal(model.predict(TEST), 2)
