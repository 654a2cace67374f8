"""Methods that run apart: estimators whose code has places of its own, for fits, runs, audits and submissions alike.

A class made here has an author's parameters and none of his code: it learns and predicts at :class:`.keeper.Places`;
sealing, sweeps, scores and accounts are the library's. Every fit is checked: inputs of devices by the keeper, and what
was spent by :func:`check_spent`.
"""

import atexit
import hashlib
import importlib.util
import secrets
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from lpbench.audit.author_process import FACTS
from lpbench.audit.keeper import Foreign, Places, modules_of
from lpbench.errors import PrivacyError, check_known
from lpbench.estimators.base import LocalClassifier, LocalEstimator, LocalRegressor, Task
from lpbench.experiments import catalog
from lpbench.experiments.method import MOST_DELTA, Method
from lpbench.experiments.single_method import at_one_setting
from lpbench.experiments.spent import keeps_model
from lpbench.paths import own_folders
from lpbench.privacy import Guarantee, Users
from lpbench.problem import Problem
from lpbench.seeds import Streams, stable_hash


def apart(method: str | LocalEstimator) -> LocalEstimator:
    """Return an estimator that runs a method apart: its code meets no record, and every fit is checked.

    Parameters
    ----------
    method : str or estimator
        Name of a registered method or plug-in, at the one setting that it states; ``module:Class``; or an estimator of
        a class in a module, whose parameters are taken over. Its module is imported where it runs, and not here.

    Returns
    -------
    estimator
        With ``fit``, ``predict``, parameters and ``guarantee_`` of the method, and its predictions to the bit.

    Raises
    ------
    PrivacyError
        From ``fit``: an input of a device leaves its mechanism's domain or depends on others, or a user spends more
        than ``epsilon``, or under another model than is stated.
    """
    if not isinstance(method, str):
        kind = type(method)
        return wrapped(f"{kind.__module__}.{kind.__qualname__}")(**method.get_params(deep=False))
    if ":" in method:
        return wrapped(method.replace(":", "."))()
    return at_one_setting(catalog.method(method, apart=True)).build()


#: Share of predictions that stay when one half of the rows is predicted alone: of a few, rounding decides.
ALONE = 0.9


class _Apart:
    """Estimator whose ``learn`` and ``predict`` run a method's code in isolated processes; see :func:`apart`."""

    _places: ClassVar[Places]
    _model: ClassVar[Foreign]
    _privacy: ClassVar[str] = ""  # the model that is stated, if any
    _secret: ClassVar[int | None] = None  # seed of the users' noise in the place of the published one

    def __init__(self, **params: Any) -> None:
        check_known(f"unknown parameter of {self._model.estimator}", params, self._get_param_names())
        vars(self).update({"random_state": None} | self._model.params | params)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted({*cls._model.params, "random_state"})

    def task(self, problem: Problem, streams: Streams) -> Task:
        """Return the task of a problem.

        A secret, if set, keys the users' draws, which the author cannot repeat then.
        """
        if self._secret is None:
            return super().task(problem, streams)  # type: ignore[misc,no-any-return]
        users = Streams(stable_hash(secret=self._secret, seed=streams.seed))
        return replace(super().task(problem, users), streams=streams.party("curator"))  # type: ignore[misc]

    def learn(self, users: Users) -> Self:
        """Learn in the author's isolated process, check what users spent, and keep the fitted model.

        The model stays a pickle that only the author's process reads.
        """
        public = {"y_range": users.y_range, "classes": users.classes}
        params = {name: public.get(name, getattr(self, name)) for name in self._model.params}
        model, streams = self._model, self._streams()  # type: ignore[attr-defined]
        uses = model.uses_mask or model.protects == "label", model.uses_public
        self.fitted_ = self._places.learn(model.estimator, users, params | {"random_state": streams}, *uses)
        check_spent(model, users, float(params.get("epsilon", 0.0)), self._privacy)
        self.spent_ = users.spent
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict rows X (m, d) in an isolated process that has no access to users."""
        predictions = self._predicted_by("predict", X)
        moved = self._secret is not None and not self._model.classifier
        return np.clip(predictions, *self.y_range_) if moved else predictions  # type: ignore[attr-defined]

    def _predicted_by(self, by: str, X: np.ndarray) -> np.ndarray:
        """Predictions of rows X (m, d) by the author's method ``by``, "predict" or "predict_proba".

        PrivacyError if the model states another guarantee than was spent, if shape or numbers are wrong, or if
        predictions of rows change with the rows beside them, which is tried on half of the rows.
        """
        predictions, stated = self._places.predict(self.fitted_, X, by)
        if stated != self.spent_:
            raise PrivacyError(f"guarantee_ says {stated}, and its users have spent {self.spent_}")
        if len(predictions) != len(X) or (predictions.dtype.kind == "f" and not np.isfinite(predictions).all()):
            raise PrivacyError(f"{by} returns shape {predictions.shape} for {len(X)} rows, or not a finite number")
        draws = np.random.default_rng(secrets.randbits(128))
        # those with the least or the largest predictions: a random half has nearly the quantiles of all rows
        ends = np.argsort(predictions, kind="stable")[:: draws.choice((-1, 1))]
        rows = draws.permutation(ends[: (len(X) + 1) // 2])
        again, those = self._places.predict(self.fitted_, X[rows], by)[0], predictions[rows]
        real = predictions.dtype.kind == "f"
        same = partial(np.isclose, rtol=0.0, atol=1e-6 * np.ptp(predictions)) if real else np.equal
        if again.shape != those.shape or np.mean(same(again, those)) < ALONE:
            raise PrivacyError(f"{by} of a row changes with the rows that are predicted beside it")
        return predictions


class _Regressor(_Apart, LocalRegressor):  # type: ignore[misc]
    """Regressor whose code runs in isolated processes."""


class _Classifier(_Apart, LocalClassifier):  # type: ignore[misc]
    """Classifier whose code runs in isolated processes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._model.multi_class
        return tags

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of rows X (m, d), shape (m, n_classes), from an isolated process."""
        return self._predicted_by("predict_proba", X)


def check_spent(model: Foreign, users: Users, epsilon: float, privacy: str = "") -> None:
    """Refuse what users have spent beyond a method's ``epsilon``, or under a weaker model than is stated.

    A person of several rows has the budget for each of them.

    Raises
    ------
    PrivacyError
        A user spent more, a delta above 0.001, or under another model; or nothing, for a budget that is taken.
    """
    spent: Guarantee = users.spent
    budget = epsilon if model.uses_epsilon else 0.0
    of_a_row = spent.epsilon if users.units is None else float(users.spent_by_user.max())  # type: ignore[attr-defined]
    if of_a_row > budget * (1.0 + 1e-9) and not (model.exceeds_budget and model.estimator.startswith("lpbench.")):
        raise PrivacyError(f"a user spent {of_a_row:.9g} of a budget of {budget:.9g}")
    if spent.delta > MOST_DELTA:
        raise PrivacyError(f"delta = {spent.delta:.3g}: a guarantee that fails so often is none")
    if not keeps_model(privacy, spent.model, model.protects):
        raise PrivacyError(f"{privacy} is stated, and the reports say {spent.model}")


def kind_of(places: Places, estimator: str, privacy: str = "", secret: int | None = None) -> type[Any]:
    """Return the estimator class that runs the method of a dotted path in isolated processes (``places``).

    Its constructor has the parameters that the author's process describes; ``secret`` keys the users' randomness.
    """
    model = places.describe(estimator, {})
    if model.replaced:
        name = f"{estimator.rpartition('.')[2]}.{model.replaced[0]}"
        raise PrivacyError(f"{name} replaces the way in that seals the records")
    module, _, name = estimator.rpartition(".")
    facts = {key: getattr(model, key) for key in FACTS}
    listed = [
        Parameter(key, Parameter.KEYWORD_ONLY, default=value)
        for key, value in (model.params | {"random_state": None}).items()
    ]
    attributes: dict[str, Any] = {"_places": places, "_model": model, "_privacy": privacy, "_secret": secret}
    base = _Classifier if model.classifier else _Regressor
    return type(name, (base,), {**attributes, **facts, "__signature__": Signature(listed), "__module__": module})


def wrapped(path: str) -> type[Any]:
    """Return the class that runs a method apart, named ``privacy model:dotted path``, for the source as it is now."""
    privacy, _, estimator = path.rpartition(":")
    return _wrapped(estimator, privacy, tuple((folder, _digest(folder)) for folder in folders_of(estimator)))


@cache
def _wrapped(estimator: str, privacy: str, folders: tuple[tuple[Path, str], ...]) -> type[Any]:
    return kind_of(_started(folders), estimator, privacy)


@cache
def _started(folders: tuple[tuple[Path, str], ...]) -> Places:
    places = Places(path=[folder for folder, _ in folders]).__enter__()
    atexit.register(places.__exit__)
    return places


def _digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in modules_of(folder))).hexdigest()


def found_in_place(method: Method, function: str, **words: Any) -> list[Any]:
    """Call a function of this package inside an isolated process of a method's code, and return the items it yields.

    The function gets ``folders``, where the code lies there, may start processes of its own, and has no private record
    at hand.
    """
    places: Places = method.apart().estimator_class._places
    if places.words != "namespaces":
        print(f"isolation: {places.words}", flush=True)
    words |= {"folders": places.there}
    return places.call("run", None, True, function=function, words=words)["found"]  # type: ignore[no-any-return]


def folders_of(estimator: str) -> Sequence[Path]:
    """Return the folders whose modules an author's process may read: plug-ins' and that of the method's module.

    The latter (from the dotted path ``estimator``) counts where it is neither there nor installed.
    """
    package = estimator.partition(".")[0]
    spec = importlib.util.find_spec(package)
    if package == "lpbench" or spec is None or spec.origin is None:
        return own_folders()
    beside = Path(spec.origin).resolve().parent
    if spec.submodule_search_locations:
        beside = beside.parent
    held = [Path(p).resolve() for p in (sys.prefix, sys.base_prefix)] + own_folders()
    return [*own_folders(), *([] if any(beside.is_relative_to(folder) for folder in held) else [beside])]
