"""Tuning-free private regression: randomized residuals, Gaussian processes with known noise, and a forest."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from lpbench.estimators.base import LocalRegressor, check_epsilon
from lpbench.estimators.relabeled import RelabeledUsers
from lpbench.estimators.tuning_free.mixture import Fitted
from lpbench.estimators.tuning_free.public_check import Agreement, CheckedMean
from lpbench.estimators.tuning_free.public_mean import PublicMean
from lpbench.estimators.tuning_free.public_score import NOTE
from lpbench.estimators.tuning_free.rounds import RESIDUAL, Curator, Enrolled
from lpbench.estimators.tuning_free.working_range import RangeCheck
from lpbench.privacy import Records, Users


@dataclass(frozen=True, eq=False)
class LabelResidual:
    """Label minus a public model's prediction at the complete record, clipped to [-half, half]."""

    model: PublicMean
    half: float
    shift: float = 0.0  # added to the model's prediction

    def labels(self, records: Records) -> np.ndarray:
        """Label minus the public prediction, clipped to its stated range: shape (n,)."""
        predicted = records.by_row(self.model, self.model.predict) + self.shift
        return np.clip(records.y - predicted, -self.half, self.half)


@dataclass(eq=False, repr=False)
class ResidualGP(LocalRegressor):
    """Private regression with masks, a public sample, both or neither, without a parameter to tune.

    Users are asked in groups (:mod:`.rounds`). Some report where in its declared range the label lies, which is
    narrowed to the part whose expected error is least (:mod:`.working_range`). The first quarter reports the label over
    that whole part. Every later group reports the residual of the current model, clipped to an interval of public width
    and randomized at the whole budget (:mod:`.level_reports`), so that the noise is on the scale of the residual and
    not on that of the label's range. Where the budget is large enough that it costs little, a quarter of the users
    sends along the bin of one protected feature each, and the rest are asked for those features whose effects these
    reports support (:mod:`.bin_effects`). The reports give labels with known noise, to which Gaussian processes on the
    features that are shown are fitted and averaged (:mod:`.gaussian_average`), and beside them a forest is grown
    (:mod:`.half_forest`). Users who show the same are pooled first where most do and their labels agree
    (:meth:`.rounds.Curator.pool_repeats`). The prediction is a mixture of the private constant, the processes and the
    forest, weighted by reports that they have not seen (:mod:`.mixture`).

    Forests and Gaussian processes on a public sample (:class:`.public_mean.PublicMean`) are broadcast. Every device
    subtracts their prediction at its own complete record from its label and is asked for what is left, clipped to the
    largest residual of a public row that was left out. A sample too small for a forest is not read: a mean is worth
    less than the width it adds. Up to a quarter of the users check this public model first (:mod:`.public_check`): some
    report their label, so that the model can be moved to where private labels lie, others whether the model is nearer
    to their label than a constant, and whether the interval of residuals is wide enough. Where the model is no nearer
    than that, it is not used. Too few reports check nothing.

    Everything after the reports is post-processing, and every choice is a function of reports, the features that are
    shown, the mask, n and the budget.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no randomization beyond rounding to 64 levels.
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`.

    Attributes
    ----------
    guarantee_ : Guarantee
        ``semi_feature_ldp``: epsilon of the one report that a user sends.
    public_ : PublicMean or None
        The public model, None where there is none or reports contradict it.
    agreement_ : Agreement or None
        Diagnosis of the public sample: the share of users for whom its model is nearer than a constant, with an
        interval, the number of users asked, and whether it is used; None without a sample.
    fitted_ : Fitted
        The private model of the label, or of what the public model leaves.

    Notes
    -----
    Public are: the features that are shown, the mask, n, ``y_range``, ``domain``, and the public sample.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import ResidualGP
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = ResidualGP(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    rounding = "linear algebra of the BLAS"
    uses_mask = True
    uses_public = True

    epsilon: float = 1.0

    #: Ablations change these.
    _in_rounds: ClassVar[bool] = True
    _ask_protected: ClassVar[bool] = True
    _parts: ClassVar[tuple[str, ...]] = ("gp", "forest")

    def learn(self, users: Users) -> Self:
        """Ask the users in groups, and fit their reports."""
        check_epsilon(self.epsilon)
        streams, (lo, hi) = self._streams(), self.y_range_
        public, enrolled = PublicMean.of(users, streams), Enrolled.of(users, streams)
        self.public_ = public = public if public is not None and public.weights.size else None
        # A range of a single value, taken from constant labels, is widened to have a width.
        y_range = (lo, hi) if hi > lo else (lo - 0.5, hi + 0.5)
        order = enrolled.order
        if public is None and self._in_rounds:
            check = RangeCheck(users, y_range, self.epsilon, order).run()
            y_range, order = check.y_range, check.rest
        curator = Curator(enrolled, y_range, self.epsilon, self._in_rounds, self._ask_protected, order)
        self.agreement_: Agreement | None = None
        if public is not None:
            users.note(NOTE)
            users, curator = self._checked(users, public, curator)
        for question in curator.questions():
            if question.users.size:
                curator.learn(question, users.ask(RESIDUAL, question, question.users))
        curator.pool_repeats()
        learned = curator.targets, curator.noise, curator.seen, curator.effects
        self.fitted_ = Fitted.to(enrolled, curator.result(), *learned, self._parts)
        return self

    def _checked(self, users: Users, public: PublicMean, curator: Curator) -> tuple[Users, Curator]:
        """Check the public mean by reports: return users of its residuals, or of labels, and their curator."""
        check = CheckedMean.of(users, public, curator)
        self.agreement_ = check.agreement
        if not check.agreement.used:
            self.public_, curator.order = None, check.order
            if check.located is not None:
                curator.learn(*check.located)
            return users, curator
        y_range = (-check.half, check.half)
        users = RelabeledUsers(users, LabelResidual(public, check.half, check.agreement.shift), y_range)
        settings = self.epsilon, self._in_rounds, self._ask_protected
        return users, Curator(curator.enrolled, y_range, *settings, check.order)

    def predict(self, X: np.ndarray, return_std: bool = False) -> Any:
        """Predict labels for complete rows X of shape (m, d): ndarray of shape (m,).

        With ``return_std`` also the standard deviation of a label about its prediction, shape (m,), as the Gaussian
        processes state it: doubt about the mean, and the label's own spread. It is no calibrated interval:
        :class:`lpbench.estimators.PrivateIntervals` makes one.
        """
        X = self._check_predict(X)
        moved = 0.0 if self.agreement_ is None else self.agreement_.shift
        public = None if self.public_ is None else self.public_.predict(X) + moved
        mean = self._finish(self.fitted_.at(X, public))
        return (mean, self.fitted_.deviation(X)) if return_std else mean
