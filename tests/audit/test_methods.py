"""The audit of whole methods by what users answer: honest ones pass, also over many seeds, and leaks are caught."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from lpbench.audit import laws, table
from lpbench.audit.methods import complaints, findings, recorded_users, settings
from lpbench.audit.randomizers import exact_loss
from lpbench.audit.recorded import recorded_run
from lpbench.audit.recording import Recording
from lpbench.estimators import PrivateMajority
from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.private_labels import LABEL, LabelDevice, LabelQuestion
from lpbench.experiments import catalog
from lpbench.seeds import Streams

METHODS = table.audited_methods()
REGISTERED = list(catalog.methods())
ONE_A_DEVICE = (
    "private_mean", "private_majority", "krr", "histoftree_max_edge[noise=discrete]", "lpct_max_edge[noise=per_user]",
    "pglm", "psgd_linear", "residual_gp", "calibrated_score", "hist", "private_labels_classifier[randomizer=alibi]",
)  # fmt: skip
#: Reports of features, levels and labels, sums of classes by a shortcut, a release, users who show different things;
#: the slow suite audits every method.
KINDS = ("krr", "residual_gp", "label_ldp_knn", "label_ldp_vote", "cdp_vote", "lpdt_regressor")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in KINDS)) for n in METHODS])
def test_nothing_is_wrong(name):
    assert table.method_complaints(name) == []


@pytest.mark.parametrize("name", METHODS)
def test_the_exact_loss_of_the_messages_is_what_is_stated(name):
    """Of the user who spends most, at planted values; the guarantee is neither exceeded nor far from it.

    A curator's release is audited beside one sample, which need not be the worst: tests of label DP enumerate them.
    """
    run = recorded_run(table.estimator_of(name), 1.0)
    if run.spent.model == "none":
        return
    loss = exact_loss(run.randomizer).epsilon
    assert loss <= run.spent.epsilon * (1 + 1e-9) and "author" not in run.spent.note
    if run.randomizer.messages and run.spent.delta == 0 and run.spent.model not in ("cdp", "label_cdp"):
        assert loss >= 0.3 * run.spent.epsilon
    if name in REGISTERED:
        stated = catalog.method(name).privacy
        assert stated in ("", run.spent.model), f"the YAML says {stated}, what was asked is {run.spent.model}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_A_DEVICE)
def test_p_values_of_an_honest_method_are_not_small(name):
    """200 seeds of the reports and references; corrected p-values are at most 0.01 in no more than 1 % of them."""
    own, sample = next(settings(table.estimator_of(name), (1.0,)))
    recording = Recording()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own.learn_from(recorded_users(sample, 3, recording))
    found = [finding.p for seed in range(200) for finding in findings(recording, seed)]
    small = sum(p < 0.01 for p in found)
    assert small <= binom.ppf(1 - 1e-6, len(found), 0.01), f"{small} of {len(found)}"
    assert min(found) > 1e-7


def test_one_coincidence_on_a_fine_grid_is_no_repetition():
    """An honest audit has some 300 groups of 162 numbers, of which a pair is equal once in 20,000 groups."""
    noise = np.random.default_rng(1).laplace(size=(81, 2))
    noise[63, 1] = noise[4, 1]
    assert not laws._duplicates(noise)
    noise[78:, 0] = noise[:3, 0]
    assert laws._duplicates(noise)


@dataclass(eq=False, repr=False)
class Honest(LocalRegressor):
    epsilon: float = 1.0

    def learn(self, users):
        self.mean_ = float(users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon)).mean())
        return self

    def predict(self, X):
        return np.full(len(self._check_predict(X)), self.mean_)


class ReadsRecords(Honest):
    def learn(self, users):
        super().learn(users)
        self.mean_ = float(users._records.y.min())
        return self


class KeepsUsers(Honest):
    def learn(self, users):
        self.users_ = users
        return super().learn(users)


class AsksAtTwoBudgets(Honest):
    def learn(self, users):
        users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon / 2))
        return super().learn(users)


STASH = []


class Stashing(LabelDevice):
    def inputs(self, records, question):
        STASH.append(float(records.y.mean()))
        return super().inputs(records, question)


class Rounded(LabelDevice):
    def report(self, records, question, draws):
        return self.inputs(records, question) + np.round(question.scale * draws.laplace(size=len(records)), 1)


def asking(device, afterwards=None):
    class Asking(Honest):
        def learn(self, users):
            self.mean_ = float(users.ask(device(), LabelQuestion(self.y_range_, self.epsilon)).mean())
            if afterwards is not None:
                self.mean_ = afterwards()
            return self

    return Asking


#: What no mutant of test_mutants.py does.
LEAKS = {
    "reads the records": (ReadsRecords, "sealed"),
    "keeps its users": (KeepsUsers, "sealed"),
    "asks at half the budget first": (AsksAtTwoBudgets, "account"),
    "a device hands a mean around its users": (asking(Stashing, lambda: STASH[-1]), "sealed"),
    "rounded noise": (asking(Rounded), "law"),
}


class NeedsRecords(LabelDevice):
    def inputs(self, records, question):
        assert len(records), "a model predicts for at least one record"
        return super().inputs(records, question)


class AsksOneUser(Honest):
    def learn(self, users):
        self.mean_ = float(users.ask(NeedsRecords(), LabelQuestion(self.y_range_, self.epsilon), np.arange(1))[0])
        return self


@pytest.mark.parametrize("model", [Honest(), AsksOneUser()])
def test_an_honest_method_passes(model):
    assert list(complaints(model)) == []


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_caught(name):
    kind, check = LEAKS[name]
    found = list(complaints(kind()))
    assert found and found[0].check == check, [str(c) for c in found]


def test_a_report_that_is_not_finite_is_a_finding():
    class Infinite(LabelDevice):
        def report(self, records, question, draws):
            reports = super().report(records, question, draws)
            reports[0] = np.inf
            return reports

    found = [str(c) for c in complaints(asking(Infinite)())]
    assert any("not finite" in what for what in found)


def test_ranks_are_exact_for_any_number_of_references():
    """A mechanism ranked among its own draws: normal scores with mean 0 and variance 1, ties and all."""
    own, sample = next(settings(PrivateMajority(), (1.0,)))
    recording = Recording()
    own.learn_from(recorded_users(sample, 1, recording))
    entry, streams = recording.asked[0], Streams(4)
    stack = np.stack(
        [entry.device.report(entry.records, entry.question, streams.generator("call", k=k)) for k in range(60)]
    )
    scores, repeated = laws._normal_scores(
        entry.device, entry.question, entry.records, stack, streams.generator("references")
    )
    assert not repeated
    for g in scores:
        assert abs(g.mean()) < 5 / math.sqrt(g.size) and abs((g**2).mean() - 1) < 5 * math.sqrt(2 / g.size)
