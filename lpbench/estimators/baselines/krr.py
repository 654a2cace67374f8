"""KRR: k-ary randomized response on the protected features, then a tree (HistOfTree sec. 5, App. C.1)."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.baselines.trees import TreeRegressor
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.partitions import grid_digits
from lpbench.privacy import GRR, Device, Mechanism, Records, Users, grr_reports
from lpbench.privacy.device import proven
from lpbench.privacy.domain import Categories
from lpbench.privacy.exact import blocks, words
from lpbench.privacy.mechanism import registered
from lpbench.privacy.payload import Field, Integers
from lpbench.seeds import Streams

BUDGET_DIVISIONS = ("composed", "halves", "mostly_label", "per_attribute")
#: Share of the label under ``mostly_label``: the middle of those that HistOfTree searches.
LABEL_SHARE = 0.7
#: Entries of reports that are drawn at a time.
_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class FeatureQuestion:
    """Ask for the bin of every protected feature, each randomized at its share epsilon / ``split`` of the budget."""

    bins: int  # k equal bins of each feature
    n_features: int
    epsilon: float  # of a user
    split: int | np.ndarray  # a feature gets epsilon / split (public); () or (n,)

    def take(self, users: Any) -> Self:
        """Return the question for some of the users asked, by position: ``split`` may differ between users."""
        return self if np.ndim(self.split) == 0 else replace(self, split=np.asarray(self.split)[users])

    @property
    def share(self) -> np.ndarray:
        """Budget of each protected feature of a user, of shape () or (n,)."""
        return np.asarray(check_epsilon(self.epsilon) / self.split)


@registered(lambda epsilon: FeatureResponse(GRR(epsilon / 2.0, 4), (True, False, True)))
@dataclass(frozen=True)
class FeatureResponse(Mechanism):
    """Randomized response on each protected feature by itself; a feature that is shown is sent as 0."""

    response: GRR  # of one protected feature
    protected: tuple[bool, ...]  # which features are

    @property
    def epsilon(self) -> float:
        """Exact epsilon of all features together."""
        return sum(self.protected) * self.response.epsilon

    @property
    def domain(self) -> Categories:
        """Domain of a report's input: a bin for each feature."""
        return Categories(self.response.n_categories, len(self.protected))

    @property
    def bits(self) -> float:
        """Bits of a report: those of the bins of the protected features."""
        return sum(self.protected) * self.response.bits

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Randomize bins ``values`` (n, d) of n users entry by entry; features that are shown are sent as 0."""
        return np.where(self.protected, self.response.randomize(values, rng), 0)

    def _losses(self, values: np.ndarray) -> np.ndarray:
        """Privacy losses between any two rows of ``values`` (n, d), shape (n, n): sums over the protected features.

        Features are randomized one by one, so that their losses add up.
        """
        by_feature = [self.response.losses(column) for column in values.T[list(self.protected)]]
        return sum(by_feature, np.zeros((len(values),) * 2))

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Minus the number of features whose reported bin is the true one."""
        return -(reports == inputs).sum(axis=1).astype(float)


@proven
class FeatureDevice(Device[FeatureQuestion]):
    """Send the bin of every protected feature by k-ary randomized response, and 0 for one that is shown anyway."""

    def mechanism(self, question: FeatureQuestion) -> FeatureResponse:
        """Independent responses of a user who protects all features, at the largest share."""
        return self._response(question, np.ones(question.n_features, dtype=bool))

    def inputs(self, records: Records, question: FeatureQuestion) -> np.ndarray:
        """True bins of all features, shape (n, d)."""
        return grid_digits(records.X, question.bins)

    def law(self, question: FeatureQuestion, records: Records) -> tuple[Mechanism, np.ndarray]:
        """Independent responses on what the records protect; ``split`` is the same for all of them."""
        protected = self._protected(records)
        if (protected != protected[0]).any():
            raise ConfigurationError("records must protect the same features; pass records that differ where protected")
        return self._response(question, protected[0]), self.inputs(records, question)

    def draws(self, streams: Streams, n: int, question: FeatureQuestion) -> np.ndarray:
        """Whole numbers of all features, shape (2, n, d); they depend on neither k nor the budget."""
        return words(streams.generator("features"), (2, n, question.n_features))

    def report(self, records: Records, question: FeatureQuestion, draws: np.ndarray) -> np.ndarray:
        """Return the reported bins, integers of shape (n, d): randomized where protected, 0 elsewhere."""
        reports, shares = np.empty(records.X.shape, dtype=np.int64), np.broadcast_to(question.share, len(records))
        for block in blocks(reports.shape, _AT_ONCE):
            some, (keep, blind) = records.take(block), draws[:, block]
            protected, reports[block] = self._protected(some), 0
            truth, share = self.inputs(some, question)[protected], shares[block][np.nonzero(protected)[0]]
            keep, blind = keep[protected], blind[protected]
            reports[block][protected] = grr_reports(truth, question.bins, share, keep, blind)
        return reports

    def columns(self, question: FeatureQuestion) -> int:
        """Return the number of features, each of which has an entry in the report."""
        return question.n_features

    def fields(self, question: FeatureQuestion) -> tuple[Field, ...]:
        """One bin for each feature; a payload's length does not depend on who sends it."""
        return (Integers(question.bins, question.n_features),)

    def budgets(self, records: Records, question: FeatureQuestion) -> np.ndarray:
        """The share of a feature times the number of features that the user protects."""
        protected = self._protected(records).sum(axis=1)
        # a user who protects nothing spends nothing, also where the budget is infinite
        return np.where(protected > 0, question.share, 0.0) * protected

    @staticmethod
    def _protected(records: Records) -> np.ndarray:
        return np.ones(records.X.shape, dtype=bool) if records.mask is None else records.mask

    @staticmethod
    def _response(question: FeatureQuestion, protected: np.ndarray) -> FeatureResponse:
        return FeatureResponse(GRR(float(np.max(question.share)), question.bins), tuple(protected.tolist()))


FEATURES = FeatureDevice()


@dataclass(eq=False, repr=False)
class KRR(TreeRegressor):
    """Obfuscate each protected feature by k-ary randomized response, the label by Laplace noise, and grow a tree.

    A protected X_i^l is cut into ``bins`` equal bins, its bin goes through generalized randomized response, and the
    curator reads the center of the reported bin. Unprotected features, and those of test rows, stay as they are.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise (features are still binned).
    bins : int
        k >= 2.
    budget : {"composed", "halves", "mostly_label", "per_attribute"}
        The paper does not say how epsilon is divided. ``composed``: the label and each of the s_i features that user i
        protects get epsilon / (s_i + 1), which is epsilon-semi-feature LDP by composition, and so is ``halves``: every
        label gets epsilon / 2, each protected feature epsilon / (2 s_i); ``mostly_label`` 0.7 and 0.3 in their
        place. ``per_attribute``: each gets the whole epsilon, which is *not*; ``guarantee_`` then states
        (1 + max s_i) epsilon.
    max_depth : int or None
        Greatest depth of the tree, as in scikit-learn; None: no limit.
    min_samples_leaf : int or float
        Fewest users in a leaf, or their share, as in scikit-learn.

    Attributes
    ----------
    tree_ : CutTree

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import KRR
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = KRR(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    bins: int = 2
    budget: str = "composed"
    max_depth: int | None = None
    min_samples_leaf: float = 1

    uses_mask = True

    @property
    def exceeds_budget(self) -> bool:  # type: ignore[override]
        """True for the variant ``per_attribute``, which spends epsilon on every attribute."""
        return self.budget == "per_attribute"

    def _messages(self, users: Users) -> tuple[np.ndarray, np.ndarray]:
        """Ask for noisy labels and randomized bins.

        Return features (n, d), a protected one as its bin's center, and labels (n,).
        """
        check_choice("budget", self.budget, BUDGET_DIVISIONS)
        check_whole("bins", self.bins, least=2)
        mask = users.mask
        protected = mask.sum(axis=1)
        # one number for all where users protect equally many
        of_label, of_feature = self._divide(protected if np.ptp(protected) else protected[0])
        del protected
        if self.budget == "per_attribute":
            budget = float(self.epsilon)
            users.note(f"each attribute gets the whole {budget:g}; the sum over a user's attributes is stated")
        of_epsilon = LABEL_SHARE if self.budget == "mostly_label" else 1.0
        labels = users.ask(LABEL, LabelQuestion(self.y_range_, of_epsilon * check_epsilon(self.epsilon), of_label))
        if not mask.any():
            return users.public_features, labels
        question = FeatureQuestion(self.bins, users.n_features, self.epsilon, of_feature)
        centers = (users.ask(FEATURES, question)[mask] + 0.5) / self.bins
        features = users.public_features.copy()
        features[mask] = centers
        return features, labels

    def _divide(self, protected: Any) -> tuple[int | np.ndarray, int | np.ndarray]:
        """Divisors of epsilon for the label and for a feature of users who protect ``protected`` () or (n,) features.

        A divisor is a number or an array (n,); a label or feature gets the budget epsilon (under ``mostly_label`` the
        label 0.7 of it) over its divisor.
        """
        if self.budget == "halves":
            return 2, 2 * np.maximum(protected, 1)
        if self.budget == "mostly_label":
            return 1, np.maximum(protected, 1) / (1.0 - LABEL_SHARE)
        return (1, 1) if self.budget == "per_attribute" else (1 + protected, 1 + protected)
