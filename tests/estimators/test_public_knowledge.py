import numbers as numbers_abc
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import lpbench.estimators
from lpbench import estimators as models
from lpbench.audit.contract import problem_for
from lpbench.audit.methods import recorded_users
from lpbench.audit.recording import Recording
from lpbench.audit.samples import CHANGES, Y_RANGE, audit_sample
from lpbench.errors import ClippingWarning, ConfigurationError, DataError, PrivacyLeakWarning
from lpbench.estimators.public_scaler import PublicScaler
from lpbench.seeds import Streams
from tests.estimators.contents import arrays
from tests.estimators.loops import learned

#: A grid of more cells than are numbered densely.
SPARSE = models.HistOfTree(n_grid_features=3, bins=200, depth=1)
PRIVATE = [
    model()
    for name in lpbench.estimators.__all__
    for model in [getattr(models, name)]
    if model.uses_epsilon and name not in ("LDPMean", "LDPVote")
] + [
    models.LDPMean(bins=2),
    models.LDPVote(bins=2),
    models.HistOfTree(mechanism="rr"),
    SPARSE,
    models.PSGD(hidden_ratio=1.0),
]
CLASSIFIERS = [model for model in PRIVATE if hasattr(model, "classes")]


def pickled_numbers(model, sample, replayed=None):
    """All numbers inside the pickle of a model that learns from sealed users, and what they answered."""
    recording = Recording(replayed=replayed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).learn_from(recorded_users(sample, 11, recording))
    restored = pickle.loads(pickle.dumps(fitted))
    found = [np.ravel(a).astype(float) for a in arrays(restored) if a.dtype.kind in "fiub"]
    return np.concatenate([*found, np.array(numbers(restored, {}))]), recording


def numbers(value, seen):
    """All single numbers inside an object, in a fixed order; whether two places share a tuple does not matter."""
    if isinstance(value, numbers_abc.Number):
        return [float(value)]
    if isinstance(value, dict):
        return [x for part in value.values() for x in numbers(part, seen)]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in numbers(part, seen)]
    if id(value) in seen or not hasattr(value, "__dict__"):
        return []
    seen[id(value)] = value
    return numbers(vars(value), seen)


#: Every model and every change, in turns; the slow suite has every change of every model.
TURNS = [
    pytest.param(model, change, marks=[pytest.mark.slow] * (k % len(CHANGES) != turn), id=f"{model!r}-{change}")
    for k, model in enumerate(PRIVATE)
    for turn, change in enumerate(CHANGES)
]


@pytest.mark.parametrize(("model", "change"), TURNS)
def test_a_pickle_depends_on_protected_values_through_reports_alone(model, change):
    """Values, indices and sizes: with the reports of one sample the pickle of another's model is the same."""
    public = {"random_state": 7, "y_range": Y_RANGE, "classes": [0, 1]}
    model = clone(model).set_params(**{name: value for name, value in public.items() if name in model.get_params()})
    sample = audit_sample(model, "partial" if model.uses_mask else "all")
    expected, recording = pickled_numbers(model, sample)
    assert expected.size > 2
    found, again = pickled_numbers(model, sample.changed(change), replayed=recording)
    np.testing.assert_array_equal(found, expected)
    assert again.questions() == recording.questions()


@pytest.mark.parametrize("model", PRIVATE, ids=repr)
def test_a_pickle_holds_no_seed_of_the_noise_and_no_generator(model, monkeypatch):
    """Seeds have 128 bits, and would stand in the pickle byte by byte."""
    problem, seeds, init = problem_for(model), set(), Streams.__init__

    def remembered(self, seed):
        init(self, seed)
        seeds.add(int(seed))

    fitted = model.for_problem(problem).set_params(random_state=None)
    with monkeypatch.context() as patch:
        patch.setattr(Streams, "__init__", remembered)
        fitted.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
        written = pickle.dumps(fitted)
    # Others are constants, of points that everybody may know.
    secret = {seed for seed in seeds if seed > 2**64}
    assert secret
    assert not [seed for seed in secret if seed.to_bytes(17, "little").rstrip(b"\0") in written]
    for word in (b"Generator", b"PCG64", b"Streams"):
        assert word not in written


def test_a_table_that_is_too_large_to_be_written_out_is_not_pickled():
    X = np.random.default_rng(0).random((50, 21))
    fitted = models.PHIST(random_state=0).fit(X, (X[:, 0] > 0.5).astype(int))
    with pytest.raises(pickle.PicklingError, match=r"2\^21 cells, more than 1048576.*use fewer bins"):
        pickle.dumps(fitted)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_one_private_label_does_not_change_a_given_list_of_classes(model):
    problem = problem_for(model)
    arguments = (problem.X_train, problem.y_train)
    named = clone(model).set_params(random_state=0, classes=np.unique(problem.y_train))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        learned(named, *arguments, **problem.fit_arguments)
    assert "classes" not in named.guarantee_.note
    with pytest.warns(PrivacyLeakWarning, match="classes"):
        open_list = learned(clone(model).set_params(random_state=0, classes=None), *arguments, **problem.fit_arguments)
    assert "list of classes taken from protected labels" in open_list.guarantee_.note
    np.testing.assert_array_equal(named.predict(problem.X_test), open_list.predict(problem.X_test))
    with pytest.raises(DataError, match="not in `classes`"):
        learned(named, problem.X_train, np.where(np.arange(len(arguments[1])) == 0, 99, arguments[1]))


def test_clipping_to_the_domain_is_told_and_ranges_may_differ_by_feature():
    rng = np.random.default_rng(0)
    unit = rng.random((60, 2))
    X, domain = unit * [10.0, 2.0] - [0.0, 1.0], [(0.0, 10.0), (-1.0, 1.0)]
    y = unit[:, 0]
    with pytest.warns(ClippingWarning, match="domain"):
        learned(models.Hist(y_range=(0, 1), random_state=0), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippingWarning)
        told = learned(models.Hist(y_range=(0, 1), domain=domain, random_state=0), X, y)
        scaled = learned(models.Hist(y_range=(0, 1), random_state=0), PublicScaler(domain).fit_transform(X), y)
    np.testing.assert_array_equal(told.predict(X), scaled.predict(PublicScaler(domain).fit(X).transform(X)))
    with pytest.raises(ConfigurationError, match="2 features"):
        learned(models.Hist(domain=[(0, 1)] * 3, y_range=(0, 1)), X, y)
