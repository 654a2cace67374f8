"""Audit of a whole method by what its users answer: sealed, account, rows, law. It knows no method.

The same four checks serve a registered method, a user's own and a mutant of either.
"""

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from lpbench.audit import laws
from lpbench.audit.accounting import wrong_account
from lpbench.audit.recording import Asked, RecordedUsers, Recording
from lpbench.audit.samples import CHANGES, AuditSample, audit_sample, planted_densely
from lpbench.errors import ConfigurationError, DataError, LpbenchError, PrivacyError
from lpbench.estimators.base import LocalEstimator
from lpbench.experiments.method import MOST_DELTA
from lpbench.privacy import Guarantee, Records, Release, Users
from lpbench.privacy.device import own_statements, question_of
from lpbench.seeds import Streams, stable_hash

#: Probability that any method that keeps its promise is accused by a sampled check, over a whole audit.
METHOD_FALSE_ALARM = 1e-6
#: Sampled checks of one audit, among which that probability is divided.
_TESTS = 4000
#: Orders in which users are asked again, all and either half of them.
_ORDERS = 3
#: p-value below which a test is made again with more samples, on which alone it is judged.
_ODD = 0.05
#: Answers to questions of one kind that are tested from either end.
_ALIKE = 3
#: Budgets at which methods are audited, a small one among them.
AUDIT_BUDGETS = (1.0, 4.0, 0.05)
#: Seeds of the users and of the curator: a method cannot know the users' noise.
USERS_SEED, CURATOR_SEED = 20240501, 7

#: What puts a method's users together: (sample, seed of the users) -> users and the recording of what passes.
MakeUsers = Callable[[AuditSample, int, Recording], Users]


@dataclass(frozen=True)
class Complaint:
    """Promise that a method breaks: the name of the check, and a sentence."""

    check: str  # {"sealed", "account", "rows", "law"}, or "apart": of a method of somebody's own
    what: str

    def __str__(self) -> str:
        return f"{self.check}: {self.what}"


def recorded_users(sample: AuditSample, seed: int, recording: Recording) -> RecordedUsers:
    """Return a sample's users, who record all their answers."""
    return RecordedUsers(sample.users(seed), recording)


def settings(
    model: LocalEstimator, budgets: Sequence[float] = AUDIT_BUDGETS
) -> Iterator[tuple[LocalEstimator, AuditSample]]:
    """Models and samples in which a method is audited: budgets, masks, three classes."""
    for epsilon, sample in samples(model, budgets):
        copy = clone(model).set_params(random_state=CURATOR_SEED)
        params = copy.get_params()
        if copy.uses_epsilon and "epsilon" in params:
            copy.set_params(epsilon=epsilon)
        yield copy.set_params(**sample.stated(params)), sample


def samples(model: Any, budgets: Sequence[float] = AUDIT_BUDGETS) -> Iterator[tuple[float, AuditSample]]:
    """Yield (budget, sample) pairs to audit a method on: every budget, then other masks, and three classes."""
    first = budgets[0]
    kinds: list[tuple[float, dict[str, Any]]] = [(epsilon, {}) for epsilon in budgets]
    if model.protects == "mask":
        kinds.append((first, {"mask": "all"}))
        if model.uses_mask:
            kinds.append((first, {"mask": "none"}))
    if takes_many_classes(model):
        kinds.append((first, {"n_classes": 3}))
    for number, (epsilon, kind) in enumerate(kinds):
        yield epsilon, audit_sample(model, **kind, number=number)


def takes_many_classes(model: Any) -> bool:
    """Return True if a method is a classifier of more than two classes."""
    return is_classifier(model) and model.__sklearn_tags__().classifier_tags.multi_class


def complaints(model: LocalEstimator) -> Iterator[Complaint]:
    """Audit a method at every setting of :func:`settings`; yields nothing if it keeps its promise."""
    for configured, sample in settings(model):
        yield from complaints_in(configured, sample)


def complaints_in(
    model: LocalEstimator, sample: AuditSample, make_users: MakeUsers = recorded_users
) -> Iterator[Complaint]:
    """Yield the broken promises of one fit on a sample; a fit that fails is a complaint as well."""
    recording = Recording()
    try:
        fitted, users = _learned(model, sample, make_users, recording)
    except (Exception, SystemExit) as error:
        broken = [] if isinstance(error, PrivacyError) else list(_broken_laws(recording))
        yield from broken
        if not broken:
            yield Complaint("sealed", str(error) if isinstance(error, LpbenchError) else f"it fails: {error!r}")
        return
    yield from wrong_answers(model, recording, users.spent, sample)
    if not recording.revealed:
        yield from _broken_laws(recording)
        yield from _sealed(model, fitted, users.spent, sample, make_users, recording)


def wrong_answers(model: Any, recording: Recording, spent: Guarantee, sample: AuditSample) -> Iterator[Complaint]:
    """Yield complaints about one run's recorded answers: wrong accounts, dependence on others' records."""
    n_classes = 0 if sample.classes is None else sample.classes.size
    for what in wrong_account(recording, spent, len(sample.records), sample.y_range, n_classes):
        yield Complaint("account", what)
    if model.uses_epsilon and not model.exceeds_budget and spent.epsilon > model.epsilon * (1.0 + 1e-9):
        yield Complaint("account", f"a user spent {spent.epsilon:.9g} of a budget of {model.epsilon:.9g}")
    if spent.delta > MOST_DELTA:
        yield Complaint("account", f"delta = {spent.delta:.3g}: a guarantee that fails so often is none")
    if recording.revealed:
        if model.uses_epsilon:
            yield Complaint("sealed", "the method takes a budget and reads the records themselves")
        return
    for entry in _distinct(recording):
        for what in broken_rows(entry, sample.y_range, n_classes):
            yield Complaint("rows", what)


def _broken_laws(recording: Recording) -> Iterator[Complaint]:
    for finding in findings(recording):
        if finding.p < METHOD_FALSE_ALARM / _TESTS:
            yield Complaint("law", f"{finding.what} (p < {METHOD_FALSE_ALARM / _TESTS:.0e})")


def findings(recording: Recording, seed: int = 0) -> Iterator[laws.LawTest]:
    """Yield statistical tests of everything that was asked; suspicious ones are repeated on more and fresh samples."""
    tests = {"ask": laws.of_reports, "sums": laws.of_sums, "chain": laws.of_chain, "release": laws.of_release}
    for k, entry in enumerate(one for answer in _distinct(recording) for one in (*_as_reports(answer), answer)):
        test = tests[entry.kind]
        finding = test(entry, Streams(stable_hash(audit="law", number=k, seed=seed)))
        if METHOD_FALSE_ALARM / _TESTS <= finding.p < _ODD:
            finding = test(entry, Streams(stable_hash(audit="law again", number=k, seed=seed)), more=5)
        yield finding


def _learned(
    model: LocalEstimator, sample: AuditSample, make_users: MakeUsers, recording: Recording
) -> tuple[LocalEstimator, Users]:
    users = make_users(sample, USERS_SEED, recording)
    return learned(model, users), users


def learned(model: LocalEstimator, users: Users) -> LocalEstimator:
    """Return a copy of a model that has learned from users, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).learn_from(users)


def _sealed(
    model: LocalEstimator,
    fitted: LocalEstimator,
    spent: Guarantee,
    sample: AuditSample,
    make_users: MakeUsers,
    recording: Recording,
) -> Iterator[Complaint]:
    """Complaints where anything but the reports decides what is learned or noted, or the model holds a record.

    ``fitted`` learned from ``recording``, at the cost ``spent``. It is learned again with other private values and the
    same replayed reports, and must come out equal.
    """
    try:
        content = pickle.dumps(vars(fitted))
    except LpbenchError as error:
        yield Complaint("sealed", str(error))
        return
    if _holds(content, sample):
        yield Complaint("sealed", "the fitted model holds a private label or feature")
    expected, questions = _outcome(fitted, sample), recording.questions()
    for change in CHANGES:
        twin_recording = Recording(replayed=recording)
        try:
            twin, users = _learned(model, sample.changed(change), make_users, twin_recording)
            same = twin_recording.questions() == questions and np.array_equal(_outcome(twin, sample), expected)
            same = same and users.spent == spent
        except LpbenchError as error:
            yield Complaint("sealed", str(error))
            return
        if not same:
            yield Complaint("sealed", f"the same reports and other private values ({change}) give another model")
            return


def _outcome(fitted: LocalEstimator, sample: AuditSample) -> np.ndarray:
    predictions = fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.predict
    return np.asarray(predictions(sample.X_test), dtype=float)


def _holds(content: bytes, sample: AuditSample) -> bool:
    """Return True if the bytes of a private number occur in a pickle; numbers of few digits may occur by chance."""
    records = sample.records
    protected = records.X if records.mask is None else records.X[records.mask]
    labels = records.y if sample.classes is None else np.empty(0)
    numbers = np.concatenate([labels, np.ravel(protected)])  # labels first: there may be thousands of features
    odd = numbers[np.abs(np.round(numbers, 9) - numbers) > 0]
    return any(number.tobytes() in content for number in odd[:400])


def _distinct(recording: Recording) -> list[Asked]:
    """Recorded answers whose devices, questions and users differ; of many similar ones the first and the last."""
    distinct: dict[Any, Asked] = {}
    for entry, digest in zip(recording.asked, recording.questions(), strict=True):
        distinct.setdefault((entry.kind, digest, entry.users.tobytes()), entry)
    alike: dict[Any, list[Asked]] = {}
    for entry in distinct.values():
        alike.setdefault((entry.kind, repr(entry.device), type(entry.question)), []).append(entry)
    return [entry for group in alike.values() for entry in (*group[:_ALIKE], *group[_ALIKE:][-_ALIKE:])]


def _as_reports(entry: Asked) -> Iterator[Asked]:
    """Yield the single reports behind a shortcut's answer (sums, chains): every user's to the first question.

    Nothing for other answers.
    """
    if entry.kind in ("sums", "chain"):
        streams, question = Streams(stable_hash(audit="chain")), entry.question
        draws = entry.device.draws(streams, len(entry.records), question)
        yield replace(entry, kind="ask", answer=entry.device.report(entry.records, question, draws))


def broken_rows(entry: Asked, y_range: tuple[float, float] | None, n_classes: int) -> Iterator[str]:
    """Yield sentences about what in a recorded answer depends on more than the own record; none if nothing does."""
    device, name = entry.device, type(entry.device).__name__
    if isinstance(device, Release):
        return
    if not own_statements(type(device)):  # the harness draws by the mechanism, so that inputs must lie in its domain
        dense = planted_densely(entry.records, y_range, n_classes)
        mechanism, inputs = device.law(question_of(entry.question, np.zeros(len(dense), dtype=int)), dense)
        try:
            mechanism.check_inputs(inputs)
        except DataError as error:
            yield f"{name}, with some value that a user may hold: {error}"
    records, question, rng = entry.records, entry.question, np.random.default_rng(5)
    expected = _inputs(device, question, records)
    orders = [rng.permutation(len(records)) for _ in range(_ORDERS)]
    for cohort in (members for order in orders for members in (order, *np.array_split(order, min(2, len(order))))):
        inputs = _inputs(device, question_of(question, cohort), records.take(cohort))
        if not all(np.array_equal(again, given[cohort]) for again, given in zip(inputs, expected, strict=True)):
            yield f"inputs of {name} change with who else is asked, or their order"
            return


def _inputs(device: Any, question: Any, records: Records) -> list[np.ndarray]:
    """Return two arrays with an entry a user: the mechanism's description, and the input of it."""
    try:
        mechanism, inputs = device.law(question, records)
        return [np.asarray([repr(mechanism)] * len(records)), np.asarray(inputs)]
    except ConfigurationError:
        # users who show different things have mechanisms of their own
        single = [device.law(question_of(question, np.array([i])), records.take([i])) for i in range(len(records))]
        return [np.asarray([repr(m) for m, _ in single]), np.asarray([repr(np.asarray(v).tolist()) for _, v in single])]
