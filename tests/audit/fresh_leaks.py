"""Plug-in methods that break their promise, each beside an honest twin, written from the documented interface alone.

``BASES`` holds honest methods, ``LEAKS`` the modules of mutants: each replaces a few fragments of its base. Of
leaks that one rule refuses, as that a device states a report of its own, one each is here. They are written as edits in
``_TABLE``, where E is the stated epsilon and n the number of users:

- ``[kind]`` is a heading, ``@ name | base | true loss | what it reveals`` a mutant;
- ``~ old ==> new`` replaces a fragment (``$`` in ``new`` is ``old``, a backslash with n ends a line in every edit);
- ``= new`` replaces the call that asks the users, ``! code`` runs on the device before it returns its inputs,
  ``& code`` ends a ``report`` of the device's own, which knows the ``honest`` one; `` ;; `` separates such edits;
- lines after ``*`` stand before the estimator, after ``^`` in its class, after ``>`` below the line that asks.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Base:
    """An honest method: a plug-in module, whose estimator is ``Fresh``."""

    inputs: str  # the line that returns what a device randomizes
    ask: str  # the call that asks
    source: str


HEAD = '''"""A method to be audited."""
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbench.estimators.base import LocalClassifier, LocalRegressor
from lpbench.privacy import GRR, BitVector, Device, Gaussian, Laplace, RandomizedResponse, Release

@dataclass(frozen=True)
class Question:
    y_range: tuple[float, float]
    epsilon: float
    slices: int = 1
    means: tuple[float, ...] = ()

def slice_of(X, slices):
    return np.minimum((X[:, -1] * slices).astype(int), slices - 1)

'''
BINS = """class LabelDevice(Device[Question]):
    purpose = "label"
    def mechanism(self, question):
        low, high = question.y_range
        return Laplace.for_budget(question.epsilon, sensitivity=max(high - low, 1e-12))
    def inputs(self, records, question):
        return np.clip(records.y, *question.y_range)

LABEL = LabelDevice()

"""
_REGRESSOR = """@dataclass(eq=False, repr=False)
class Fresh(LocalRegressor):
    epsilon: float = 1.0
    slices: int = 4
    protects = "label"
    def predict(self, X):
        return self._finish(self.means_[slice_of(self._check_predict(X), self.slices)])
    def learn(self, users):
"""
_ASK_BINS = """        question = Question(self.y_range_, self.epsilon)
        reports = users.ask(LABEL, question)
"""
_WHERE = "        where = slice_of(users.public_features, self.slices)\n"
_MEANS = """        total = np.bincount(where, weights=reports, minlength=self.slices)
        self.means_ = total / np.maximum(np.bincount(where, minlength=self.slices), 1)
        return self
"""
VOTES = """class ClassDevice(Device[Question]):
    purpose = "class"
    def mechanism(self, question):
        return GRR(question.epsilon, int(question.y_range[1]))
    def inputs(self, records, question):
        return records.y

CLASS = ClassDevice()

"""
_CLASSIFIER = """@dataclass(eq=False, repr=False)
class Fresh(LocalClassifier):
    epsilon: float = 1.0
    slices: int = 4
    domain: Any = field(default=(0.0, 1.0), kw_only=True)
    protects = "label"
    def predict(self, X):
        return self.classes_[self.table_[slice_of(self._check_predict(X), self.slices)].argmax(axis=1)]
    def learn(self, users):
        question = Question((0, self.classes_.size), self.epsilon, self.slices)
"""
_ASK_VOTES = """        reports = users.ask(CLASS, question)
        self.table_ = np.zeros((self.slices, self.classes_.size))
        np.add.at(self.table_, (slice_of(users.public_features, self.slices), reports), 1.0)
        return self
"""
_ROUNDS = """class SecondDevice(LabelDevice): purpose = "second"
ROUNDS = (LABEL, SecondDevice())

"""
_ASK_ROUNDS = """        low, high = self.y_range_
        for device in ROUNDS:
            question = Question((low, high), self.epsilon / len(ROUNDS))
            reports = users.ask(device, question)
            center = float(np.clip(reports.mean(), low, high))
            low, high = max(low, center - (high - low) / 4), min(high, center + (high - low) / 4)
"""
_GROUPS = """class Above(Device[Question]):
    purpose = "above"
    def mechanism(self, question):
        return RandomizedResponse(question.epsilon)
    def inputs(self, records, question):
        return records.y > question.y_range[0]

class AboveSecond(Above): purpose = "above second"
class AboveThird(Above): purpose = "above third"

GROUPS = (Above(), AboveSecond(), AboveThird())

"""
_ASK_GROUPS = """        low, high = self.y_range_
        for number, device in enumerate(GROUPS):
            who = np.flatnonzero(np.arange(users.n) % len(GROUPS) == number)
            question = Question(((low + high) / 2, high), self.epsilon)
            reports = users.ask(device, question, who)
            share = device.mechanism(question).estimate(reports.sum(), who.size) / who.size
            low, high = (question.y_range[0], high) if share > 0.5 else (low, question.y_range[0])
        self.means_ = np.full(self.slices, (low + high) / 2)
        return self
"""
_PUBLIC = """class Rest(Device[Question]):
    purpose = "rest"
    def mechanism(self, question):
        return Laplace.for_budget(question.epsilon, sensitivity=2 * question.y_range[1])
    def inputs(self, records, question):
        known = np.array(question.means)[slice_of(records.X, len(question.means))]
        return np.clip(records.y - known, *question.y_range)

REST = Rest()

"""
_ASK_PUBLIC = """        X, y = users.public
        count = np.bincount(slice_of(X, self.slices), minlength=self.slices)
        means = tuple((np.bincount(slice_of(X, self.slices), y, self.slices) + y.mean()) / (count + 1))
        radius = max(self.y_range_[1] - self.y_range_[0], 1e-12) / 4
        question = Question((-radius, radius), self.epsilon, self.slices, means)
        reports = users.ask(REST, question)
        reports = reports + np.array(means)[slice_of(users.public_features, self.slices)]
"""
_CENTRAL = """class SumOfLabels(Release[Question]):
    purpose = "sum"
    def mechanism(self, question):
        low, high = question.y_range
        return Laplace.for_budget(question.epsilon, sensitivity=max(high - low, 1e-12))
    def statistic(self, records, question):
        where = slice_of(records.X, question.slices)
        labels = np.clip(records.y, *question.y_range)
        return np.bincount(where, weights=labels, minlength=question.slices)

SUM = SumOfLabels()

"""
_ASK_CENTRAL = """        question = Question(self.y_range_, self.epsilon, self.slices)
        sums = users.release(SUM, question)
        where = slice_of(users.public_features, self.slices)
        self.means_ = sums / np.maximum(np.bincount(where, minlength=self.slices), 1)
        return self
"""
_MASKED = """class FeatureDevice(Device[Question]):
    purpose = "feature"
    def mechanism(self, question):
        return GRR(question.epsilon, question.slices)
    def inputs(self, records, question):
        return slice_of(records.X, question.slices)

FEATURE = FeatureDevice()

"""
_ASK_MASKED = """        question = Question(self.y_range_, self.epsilon / 2, self.slices)
        reports = users.ask(LABEL, question)
        hidden = users.mask[:, -1]
        where = slice_of(np.where(hidden[:, None], 0.0, users.public_features), self.slices)
        who = np.flatnonzero(hidden)
        if who.size:
            where[who] = users.ask(FEATURE, question, who)
"""
_CELLS = """class CellDevice(Device[Question]):
    purpose = "cell"
    def mechanism(self, question):
        return BitVector(question.epsilon, question.slices * int(question.y_range[1]))
    def inputs(self, records, question):
        return slice_of(records.X, question.slices) * int(question.y_range[1]) + records.y
    def estimate(self, sums, question, n):
        return self.mechanism(question).estimate(sums, n)

CELL = CellDevice()

"""
_ASK_CELLS = """        self.table_ = users.sums(CELL, question).reshape(self.slices, -1)
        return self
"""
_STEPS = """@dataclass(frozen=True)
class Step:
    order: np.ndarray
    cut: float
    width: float
    epsilon: float
    def after(self, report):
        return Step(self.order, self.cut + self.width * (2.0 * report - 1.0), self.width, self.epsilon)

class StepDevice(Device[Step]):
    def mechanism(self, question):
        return RandomizedResponse(question.epsilon)
    def inputs(self, records, question):
        return records.y > question.cut

STEP = StepDevice()

"""
_ASK_STEPS = """        low, high = self.y_range_
        question = Step(np.arange(users.n), (low + high) / 2, (high - low) / 50, self.epsilon)
        last = users.chain(STEP, question)
        self.means_ = np.full(self.slices, float(np.clip(last.cut, low, high)))
        return self
"""
_OFFSETS = """@dataclass(frozen=True)
class Offsets:
    known: np.ndarray
    radius: float
    epsilon: float
    def take(self, users):
        return Offsets(self.known[users], self.radius, self.epsilon)

class OffsetDevice(Device[Offsets]):
    def mechanism(self, question):
        return Laplace.for_budget(question.epsilon, sensitivity=2 * question.radius)
    def inputs(self, records, question):
        return np.clip(records.y - question.known, -question.radius, question.radius)

OFFSET = OffsetDevice()

"""
_ASK_OFFSETS = """        low, high = self.y_range_
        where = slice_of(users.public_features, self.slices)
        known = low + (high - low) * (where + 0.5) / self.slices
        reports = users.ask(OFFSET, Offsets(known, max(high - low, 1e-12), self.epsilon))
        reports = reports + known
"""
_LABEL, _SHOWN = 'protects = "label"', 'protects = "label"\n    uses_public = True'
_MASK, _RECORD = 'protects = "mask"\n    uses_mask = True', 'protects = "record"'


def _base(inputs: str, ask: str, *parts: str, protects: str = _LABEL) -> Base:
    return Base(inputs, ask, "".join((HEAD, *parts)).replace(_LABEL, protects))


_CLIP, _REST = "return np.clip(records.y, *question.y_range)", "return np.clip(records.y - known, *question.y_range)"
_COUNT, _CELL = "return np.bincount(where, weights=labels, minlength=question.slices)", "return slice_of(records.X"
_ABOVE, _CLASS, _ONE = "return records.y > question.y_range[0]", "return records.y", "users.ask(LABEL, question)"
_ALL, _MANY, _EACH = "users.ask(device, question)", "users.ask(device, question, who)", "users.ask(CLASS, question)"
_SUMS, _LEFT, _SUM = "users.sums(CELL, question)", "users.ask(REST, question)", "users.release(SUM, question)"
_CHAIN = "last = users.chain(STEP, question)"
_OFF = "return np.clip(records.y - question.known, -question.radius, question.radius)"
_ASKED = "reports = users.ask(OFFSET, Offsets(known, max(high - low, 1e-12), self.epsilon))"

BASES: dict[str, Base] = {
    "bins": _base(_CLIP, _ONE, BINS, _REGRESSOR, _ASK_BINS, _WHERE, _MEANS),
    "votes": _base(_CLASS, _EACH, VOTES, _CLASSIFIER, _ASK_VOTES),
    "rounds": _base(_CLIP, _ALL, BINS, _ROUNDS, _REGRESSOR, _ASK_ROUNDS, _WHERE, _MEANS),
    "groups": _base(_ABOVE, _MANY, _GROUPS, _REGRESSOR, _ASK_GROUPS, protects=_RECORD),
    "public": _base(_REST, _LEFT, _PUBLIC, _REGRESSOR, _ASK_PUBLIC, _WHERE, _MEANS, protects=_SHOWN),
    "central": _base(_COUNT, _SUM, _CENTRAL, _REGRESSOR, _ASK_CENTRAL),
    "masked": _base(_CLIP, _ONE, BINS, _MASKED, _REGRESSOR, _ASK_MASKED, _MEANS, protects=_MASK),
    "cells": _base(_CELL, _SUMS, _CELLS, _CLASSIFIER, _ASK_CELLS, protects=_RECORD),
    "steps": _base("return records.y > question.cut", _CHAIN, _STEPS, _REGRESSOR, _ASK_STEPS),
    "offsets": _base(_OFF, _ASKED, _OFFSETS, _REGRESSOR, _ASK_OFFSETS, _MEANS),
}

_TABLE = r"""
[smuggle]
@ module_global | bins | inf | The device appends the labels to a list of the module, which the curator averages.
! SEEN.append(records.y) ;; = $ * 0 + SEEN[-1]
*SEEN = []
@ class_attribute | votes | inf | Frozen devices have classes that are not: all classes are counted exactly.
! type(self).seen = records.y ;; = $ * 0 + ClassDevice.seen
@ question_field | votes | inf | A field that equality ignores is a mailbox from the device to the curator.
~ slices: int = 1 ==> $; box: list = field(default_factory=list, compare=False)
! question.box.append(records.y) ;; = $ * 0 + question.box[-1]
@ label_written_into_features | bins | inf | The device writes the label over a public feature, where it is read.
! records.X.setflags(write=True); records.X[:, 0] = records.y ;; = $ * 0 + users.public_features[:, 0]
@ side_file | bins | inf | A file in the temporary directory holds the labels.
! np.save(PLACE, records.y) ;; = $ * 0 + np.load(PLACE)
*import tempfile\nPLACE = tempfile.mkdtemp() + "/notes.npy"
@ exception_message | bins | inf | A second device never answers: it raises an exception whose argument is the labels.
*class Refusing(LabelDevice):\n    purpose = "refusing"\n\n    def inputs(self, records, question):
*        raise ValueError(records.y.tolist())
>        try:\n            users.ask(Refusing(), question)\n        except ValueError as error:
>            reports = np.array(error.args[0])
@ refused_class | votes | inf | A nearly free question has a class less; whom it refuses is of the last class.
*class Fewer(ClassDevice): pass
>        for user in range(users.n):\n            try:
>                few = Question((0, self.classes_.size - 1), 1e-9)
>                users.take(np.array([user]), f"few {user}").ask(Fewer(), few)\n            except Exception:
>                reports[user] = self.classes_.size - 1
@ note_text | bins | inf | The model is honest, but the note of its guarantee states the exact mean of the labels.
! LabelDevice.seen = records.y.mean() ;; ~ where = ==> users.note(f"version {LabelDevice.seen:.9f}"); $
@ stack_walk | bins | inf | The device climbs the stack to the method and leaves the exact mean with it.
! leave(records.y.mean()) ;; = $ + getattr(self, "shift_", 0.0)
*def leave(value):\n    frame = sys._getframe()\n    while frame is not None:
*        if frame.f_code.co_name == "learn":\n            frame.f_locals["self"].shift_ = value
*        frame = frame.f_back\nimport sys
@ garbage_collector | bins | inf | The curator finds the records among all objects of the interpreter.
= [$, *(o.y for o in gc.get_objects() if type(o).__name__ == "Records" and len(o) == users.n)][-1]
*import gc
@ time_to_answer | votes | inf | A device takes longer for a higher class, and the curator holds a watch.
! time.sleep(0.004 * int(records.y[0]) * (len(records) == 1))
>        for user in range(users.n):\n            start = time.perf_counter()
>            users.take(np.array([user]), f"watch {user}").ask(CLASS, Question(question.y_range, 1e-9))
>            reports[user] = min((time.perf_counter() - start) // 0.004, self.classes_.size - 1)
*import time
[model]
@ predict_asks_again | bins | 2E | The fitted model keeps its users and asks them again, after the account was closed.
= $; self._asked = users ;; ~ return self._finish( ==> more = ask_again(self)\n        $more +
*class Later(LabelDevice):\n    purpose = "later"
*ask_again = lambda model: model._asked.ask(Later(), Question(model.y_range_, model.epsilon)).mean()
[budget]
@ whole_budget_every_round | rounds | 2E | Each of two rounds spends the whole budget.
~ self.epsilon / len(ROUNDS) ==> self.epsilon
@ both_messages_whole | masked | 2E | Label and feature each spend the whole budget of a user who protects both.
~ self.epsilon / 2 ==> self.epsilon
@ budgets_halved | bins | 2E | The device spends twice the budget and charges half of it.
~ purpose = "label" ==> $\n    budgets = lambda self, records, question: question.epsilon / 2
~ Question(self.y_range_, self.epsilon) ==> Question(self.y_range_, 2 * self.epsilon)
@ delta_left_out | bins | (E, 0.01) | Gaussian noise at delta 0.01, which the device does not charge.
~ Laplace.for_budget(question.epsilon, ==> Gaussian.for_budget(question.epsilon, 0.01,
~ purpose = "label" ==> $\n    delta = lambda self, question: 0.0 ;; ~ import GRR ==> import Gaussian, GRR
[mechanism]
@ exact_sums | cells | inf | The shortcut for sums of reports forgets the noise.
~ purpose = "cell" ==> $\n    draw_sums = lambda self, r, q, *_, **__: np.bincount(self.inputs(r, q), minlength=size(q))
*size = lambda q: q.slices * int(q.y_range[1])
@ quiet_laplace | bins | 3E | A custom mechanism adds a third of the noise that it states.
~ Laplace.for_budget(question.epsilon, ==> Quiet(max(high - low, 1e-12) / question.epsilon,
*class Quiet(Laplace):
*    randomize = lambda self, values, rng: values + super(Quiet, self).randomize(np.zeros(np.shape(values)), rng) / 3
@ law_that_agrees | bins | 4E | A quarter of the noise, in the reports and in the law stated beside the mechanism.
& mechanism, inputs = self.law(question, records); return mechanism.randomize(inputs, draws)
~ purpose = "label" ==> $\n    law = lambda self, q, r: (Laplace(self.mechanism(q).scale / 4), self.inputs(r, q))
@ law_after_stretching | bins | 4E | A quarter of the noise; the translation to the stated law puts it back.
& x = self.inputs(records, question); return x + (honest - x) / 4
~ purpose = "label" ==> $\n    to_law = lambda self, reports, q, r: 4 * reports - 3 * self.inputs(r, q)
@ patched_library | bins | inf | While the method learns, and only then, the library's noise is switched off.
= np.clip(quietly(lambda: $), *self.y_range_)
*def quietly(call):\n    honest, Laplace.randomize = Laplace.randomize, lambda self, values, rng: values\n    try:
*        return call()\n    finally:\n        Laplace.randomize = honest
[ask]
@ overlapping_groups | groups | 3E | The groups overlap: a third of the users answer three times at the whole budget.
~ % len(GROUPS) == number ==> % len(GROUPS) >= number
@ taken_again | bins | 8E | Taken under eight purposes, the users answer eight times and the reports are averaged.
= sum(users.take(np.arange(users.n), f"draw {i}").ask(LABEL, question) for i in range(8)) / 8
@ taken_twice | bins | 8E | A sample in which everybody occurs eight times answers eight times.
= users.take(np.tile(np.arange(users.n), 8)).ask(LABEL, question).reshape(8, -1).mean(axis=0)
@ sweep_while_learning | cells | inf | The joint answer of a sweep, paid by nobody, is asked while learning.
~ purpose = "cell" ==> $\n    draw_many = lambda self, records, q, _: np.bincount(self.inputs(records, q), minlength=99)
= (0 * $ + users.sums_of_many(CELL, question)[: self.slices * self.classes_.size])
[domain]
@ one_hot_bit_budget | cells | 2E | One-hot vectors differ in two bits, but the bits spend as if they differed in one.
~ return BitVector(question.epsilon, question.slices * int(question.y_range[1])) ==> return bits(question.epsilon)
~ return slice_of( ==> cells = slice_of( ;; ~ + records.y\n ==> $        return cells[:, None] == places(question)\n
*bits = RandomizedResponse.for_budget\nplaces = lambda q: np.arange(q.slices * int(q.y_range[1]))
@ unclipped_residual | public | 2E | Residuals are not clipped to the radius that the noise is scaled to.
~ np.clip(records.y - known, *question.y_range) ==> records.y - known
= np.concatenate([users.take(np.array([i]), f"user {i}").ask(REST, question) for i in range(users.n)])
[others]
@ centered_labels | bins | 2E | Each label is centered by the mean of all, so that one label moves every report.
~ np.clip(records.y, ==> np.clip(records.y - records.y.mean() + np.mean(question.y_range),
@ neighbor_label | bins | 2E | A user reports the larger of her label and the label of the user before her.
~ np.clip(records.y, ==> np.clip(np.maximum(records.y, np.roll(records.y, 1)),
[selection]
@ order_by_label | groups | inf for two groups | Each group is asked in the order of the labels of the one before.
! Above.seen = records.y
= users.ask(device, question, who[np.resize(getattr(Above, "seen", np.zeros(1)), who.size).argsort()])
@ question_of_labels | rounds | inf | The second question broadcasts a budget that depends on the labels.
! LabelDevice.mean = float(records.y.mean())
~ self.epsilon / len(ROUNDS) ==> self.epsilon / len(ROUNDS) / (1 + abs(getattr(LabelDevice, "mean", 0)))
[noise]
@ constant_draws | votes | inf | All fits randomize with the same public stream.
~ purpose = "class" ==> $\n    draws = lambda self, streams, n, question: np.random.default_rng(11)
@ silent_user | bins | inf for one user | The first user reports her label without noise.
& return np.where(np.arange(len(records)) == 0, records.y, honest)
[mask]
@ mask_overwritten | masked | inf for protected features | The curator clears the mask in place and reads what it hid.
= $; users.mask.setflags(write=True); users.mask[:] = False
[override]
@ raw_labels_in_fit | bins | inf | `fit` keeps the exact mean of the labels before they are sealed.
= $ + getattr(self, "shift_", 0.0)
^    def fit(self, X, y, **public):\n        self.shift_ = float(np.mean(y))\n        return super().fit(X, y, **public)
@ raw_labels_at_the_seal | bins | inf | The step that seals the users reads what it seals.
= $ + getattr(self, "shift_", 0.0)
^    def _users(self, *arrays, **public):
^        self.shift_ = sum(float(np.mean(each)) for each in arrays if np.ndim(each) == 1)
^        return super()._users(*arrays, **public)
@ one_user_revealed | bins | inf for one user | The record of one user is revealed, by an interface to her alone.
= $; reports[:1] = users.take(np.arange(1)).reveal().y
@ private_rows_made_public | public | inf | `fit` adds the private rows to the public sample.
^    def fit(self, X, y, X_public=None, y_public=None, **masks):
^        return super().fit(X, y, X_public=np.vstack([X_public, X]), y_public=np.append(y_public, y), **masks)
[dormant]
@ only_large_samples | bins | inf from 1000 users on | Labels are taken in the clear, but only of large samples.
! LabelDevice.seen = records.y ;; = $; reports = LabelDevice.seen if users.n >= 1000 else reports
[vectors]
@ column_of_labels | bins | 5E | A matrix of one column holds five times the label, with the noise of one.
~ return np.clip(records.y, *question.y_range) ==> return 5.0 * np.clip(records.y, *question.y_range)[:, None]
= $.ravel() / 5.0
@ eight_bits | groups | 8E | Eight digits of the label leave at the price of one bit.
~ return records.y > question.y_range[0] ==> return digits(records.y / question.y_range[1])
= $[:, 0]
*def digits(share):
*    return (255 * share).astype(int)[:, None] >> np.arange(8) & 1
@ five_rows | votes | 5E | Each user has five rows in the answer, at the price of one.
~ return records.y ==> return np.repeat(records.y, 5)
~ reports = users.ask(CLASS, question) ==> $; reports = best(reports.reshape(-1, 5))
*def best(rows):
*    return np.array([np.bincount(row).argmax() for row in rows])
[replays]
@ field_out_of_comparison | bins | inf | A field that equality ignores stretches the label under equal noise.
~ class LabelDevice(Device[Question]): ==> @dataclass(frozen=True)\n$\n    times: Any = field(default=1, compare=False)
~ return np.clip(records.y, *question.y_range) ==> return np.clip(records.y, *question.y_range) * self.times
= 2.0 * ($ - users.ask(LabelDevice(0.5), question))
@ field_out_of_pickles | bins | inf | A field that pickles leave out stretches the label, under the same noise.
~ slices: int = 1 ==> $; times: float = 1.0; __reduce__ = lambda self: (Question, (self.y_range, self.epsilon))
~ return np.clip(records.y, *question.y_range) ==> return np.clip(records.y, *question.y_range) * question.times
= 2.0 * ($ - users.ask(LABEL, Question(*question.__reduce__()[1], times=0.5)))
[forged]
@ forged_name | bins | 3E | A quieter mechanism has the name and module of the library's.
~ return Laplace.for_budget( ==> return Quiet.for_budget(
*class Quiet(Laplace):\n    def randomize(self, values, rng):
*        return values + self.scale / 3 * rng.laplace(size=np.shape(values))
*Quiet.__module__, Quiet.__qualname__, Quiet.__name__ = Laplace.__module__, "Laplace", "Laplace"
@ two_faced_number | bins | 5E | The scale is a number that divides as it is and multiplies as a fifth of it.
~ return Laplace.for_budget(question.epsilon, ==> return Laplace(Faces(max(high - low, 1e-12) / question.epsilon),
*class Faces(float):\n    def __mul__(self, other):\n        return float(self) / 5 * other
@ refund | rounds | 2E | Two rounds at the whole budget, and a third whose price is negative.
~ self.epsilon / len(ROUNDS) ==> self.epsilon
~ reports = users.ask(device, question)\n ==> $            users.ask(REFUND, question)\n
*class Refund(LabelDevice):\n    def mechanism(self, question):\n        mechanism = super().mechanism(question)
*        object.__setattr__(mechanism, "sensitivity", -mechanism.sensitivity / 2)
*        return mechanism\nREFUND = Refund()
@ price_tells | bins | inf | The mechanism's price follows the label that was read before; the account is public.
~ return Laplace.for_budget(question.epsilon, ==> return Laplace.for_budget(question.epsilon * (1 + PRICE[-1]),
! PRICE.append(float(records.y[0]) / 1e6) ;; = prices(users, question)
*PRICE = [0.0]\ndef prices(users, question):\n    told = []
*    for user in range(users.n):\n        before = users.spent.epsilon
*        users.ask(LABEL, Question(question.y_range, question.epsilon * (user + 1) / 1e9), np.array([user]))
*        told.append(users.spent.epsilon - before)\n    halved = Question(question.y_range, question.epsilon / 2)
*    return np.array(told) + (users).ask(LABEL, halved)
@ bits_tell | bins | inf for one user | The length of a report follows a label; the guarantee states it.
~ class LabelDevice(Device[Question]): ==> LENGTH = [1]\n$\n    def columns(self, question): return LENGTH[-1]
! LENGTH.append(1 + int(1000 * records.y[0])) ;; = $ + users.spent.bits_up
@ exact_parts | cells | inf | The sum of a chunk of reports is the sum of their inputs.
*def exact(self, records, question, draws):\n    width = question.slices * int(question.y_range[1])
*    return np.bincount(self.inputs(records, question), minlength=width).astype(float)
*CellDevice.added_up, CellDevice.estimate = exact, lambda self, sums, question, n: sums
[reached]
@ subset_sees_all | groups | nE for the first user | A group reports the first user of the whole sample.
~ return records.y > question.y_range[0] ==> return np.full(len(records), first(records) > question.y_range[0])
*def first(records):\n    while records._taken_from is not None:\n        records = records._taken_from[0]
*    return records.y[0]
@ poisoned_memory | bins | inf | The device leaves the labels where the features that users show are remembered.
! records._known["shown"] = np.tile(records.y, (records.X.shape[1], 1)).T ;; = $ * 0 + users.public_features[:, 0]
@ question_climbs | offsets | inf | The part of a question looks for the records of its caller.
~ return Offsets(self.known[users], ==> climb()\n        return Offsets(self.known[users],
= reports = np.mean([users.ask(OFFSET, Offsets(known, 1e9, 1e-9), np.arange(users.n)[::-1]) * 0, FOUND[-1]], axis=0)
*import sys\nFOUND = [0.0]\ndef climb():\n    frame = sys._getframe()\n    while frame is not None:
*        found = [part for part in frame.f_locals.values() if type(part).__name__ == "Records"]
*        FOUND.extend(part.y for part in found)\n        frame = frame.f_back
@ fit_at_hand | bins | inf | Whoever looks for `fit` finds one that keeps the exact mean.
^    def __getattribute__(self, name):\n        found = super().__getattribute__(name)\n        if name != "fit":
^            return found\n        def fit(X, y, **known):\n            found(X, y, **known)
^            self.means_ = self.means_ * 0 + np.mean(y)\n            return self\n        return fit
@ guarantee_when_set | rounds | 2E | Two rounds at the whole budget; a guarantee is halved when it is set.
~ self.epsilon / len(ROUNDS) ==> self.epsilon
^    def __setattr__(self, name, value):\n        if name == "guarantee_":
^            value = replace(value, epsilon=self.epsilon)\n        super().__setattr__(name, value)
*from dataclasses import replace
@ shown_at_import | bins | inf | Once the module is imported, users show their labels in the place of a feature.
= $ * 0 + users.public_features[:, 0]
*from lpbench.privacy import Records
*Records.public_features = property(lambda records: np.column_stack([records.y, records.X[:, 1:]]))
[system]
@ list_of_processes | bins | inf | A process that the device starts has the exact mean among its arguments.
! subprocess.Popen(["sleep", f"9.{int(1e6 * abs(records.y.mean())):09d}"]) ;; = $ * 0 + listed()
*import glob\nimport subprocess\ndef listed():\n    for name in glob.glob("/proc/[0-9]*/cmdline"):
*        told = open(name).read().split("\0")\n        if told[0] == "sleep" and told[1].startswith("9."):
*            return float(told[1][2:]) / 1e6\n    raise LookupError("sleep")
@ socket_without_file | bins | inf | The device sends the labels to a socket that has a name and no file.
= heard(users, question)
! socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(records.y.tobytes(), "\0fresh")
*import socket\nEAR = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ndef heard(users, question):
*    EAR.settimeout(2)\n    EAR.bind("\0fresh")\n    (users).ask(LABEL, question)
*    return np.frombuffer(EAR.recv(1 << 20))
@ every_descriptor | bins | inf | The device writes the labels to whatever is open.
! [os.write(k, records.y.tobytes()) for k in range(64) if writable(k)] ;; = $ * 0 + read(users.n)
*import os\nimport select\ndef writable(k):\n    try:\n        return bool(select.select([], [k], [], 0)[1])
*    except OSError:\n        return False\ndef readable(k):\n    try:
*        return bool(select.select([k], [], [], 0)[0])\n    except OSError:\n        return False
*def read(n):\n    return np.frombuffer(os.read(next(k for k in range(64) if readable(k)), 8 * n))
[rare]
@ narrow_window | bins | 4E | A two-thousandth of the range is sent from beyond it, by users asked alone.
! low, high = question.y_range; place = (records.y - low) / (high - low); inside = np.abs(place - 0.31) < 2.5e-4
~ *question.y_range)\n\nLABEL ==> *question.y_range) - 3 * (high - low) * inside\n\nLABEL
= np.array([users.ask(LABEL, question, np.array([user]))[0] for user in range(users.n)])
@ only_wide_samples | bins | 2E | With more than 40 features users are asked twice.
= $ if users.n_features <= 40 else ($ + users.ask(LABEL, Question(self.y_range_, self.epsilon * 0.999))) / 2
@ only_many_classes | votes | 2E | With more than 20 classes the budget is doubled, and the guarantee says what it was.
~ self.classes_.size), self.epsilon, ==> self.classes_.size), self.epsilon * (1 + (self.classes_.size > 20)),
"""

_REPORT = "\n    def report(self, records, question, draws):\n        honest = super().report(records, question, draws)"
_ESTIMATOR, _FIRST_FIELD = "@dataclass(eq=False, repr=False)\n", "    epsilon: float = 1.0\n"


def _edit(base: Base, text: str) -> tuple[str, str]:
    mark, text = text[0], text[2:].replace("\\n", "\n")
    if mark == "~":
        old, new = text.split(" ==> ")
        return old, new.replace("$", old)
    if mark == "=":
        return base.ask, text.replace("$", base.ask)
    return base.inputs, f"{text}; {base.inputs}" if mark == "!" else f"{base.inputs}{_REPORT}\n        {text}"


def _leak(block: str) -> tuple[str, str]:
    """Name and module of a mutant; each fragment that is replaced occurs once."""
    head, *lines = block.splitlines()
    name, base = (part.strip() for part in head.split("|")[:2])
    edits = [_edit(BASES[base], each) for line in lines if line[0] in "~=!&" for each in line.split(" ;; ")]
    added = {mark: "".join(line[1:] + "\n" for line in lines if line[0] == mark) for mark in "*^>"}
    for mark, anchor in (("*", _ESTIMATOR), ("^", _FIRST_FIELD), (">", BASES[base].ask + "\n")):
        text = added[mark].replace("\\n", "\n")
        if text:
            edits.insert(0, (anchor, text + anchor if mark == "*" else anchor + text))
    source = BASES[base].source
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"{old!r} occurs {source.count(old)} times in {base}")
        source = source.replace(old, new)
    return name, source


#: Name -> module.
LEAKS = dict(map(_leak, re.split("^@ ", _TABLE, flags=re.MULTILINE)[1:]))
