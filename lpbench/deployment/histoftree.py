"""HistOfTree as a protocol of two rounds (its sections 3.2, 3.3): labels and public features, then randomised cells.

The client and the curator run the functions of :mod:`.rounds`, one user at a time on the one side
and without anything protected on the other. Fed with the same draws, the curator's model is that of ``fit`` to the last
bit, whatever the order in which reports arrive.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_number, check_range, check_whole
from lpbench.deployment.broadcast import MOST_DEPTH, Broadcast, campaign_of
from lpbench.deployment.client import Answer, RegressionClient, budget_of, fresh_generator, shown_fields
from lpbench.deployment.collector import Collector, ProtocolError, Round
from lpbench.errors import ConfigurationError
from lpbench.estimators.histoftree.cell_device import CELL, CellQuestion, Places
from lpbench.estimators.histoftree.cell_reports import BitSums, CategorySums
from lpbench.estimators.histoftree.histoftree import CellRegressor
from lpbench.estimators.histoftree.public_mask import protection_order
from lpbench.estimators.histoftree.rounds import Rounds, Split
from lpbench.estimators.histoftree.user_cells import Query, ReportDraws, UserGrid, UserLeaves
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.privacy import RandomizedResponse
from lpbench.privacy.payload import LARGEST_REAL

NAME = "histoftree"


@dataclass
class UserDraws(ReportDraws):
    """The randomness of some users, given instead of drawn from streams.

    Attributes
    ----------
    label, keep, leaf : ndarrays of shape (n,)
    bin : mapping of feature -> ndarray of shape (n,)
    bits_seed, bits_user : int
        Seed of the bits of randomised response, and the user's number within it.
    """

    label: np.ndarray
    keep: np.ndarray
    leaf: np.ndarray
    bin: dict[int, np.ndarray]
    bits_seed: int = 0
    bits_user: int = 0

    @classmethod
    def fresh(cls, n_features: int) -> UserDraws:
        """Draw the randomness of one device from the operating system's entropy."""
        rng = fresh_generator()
        bins = {j: rng.random(1) for j in range(n_features)}
        return cls(rng.laplace(size=1), rng.random(1), rng.random(1), bins, secrets.randbits(128))

    @classmethod
    def none(cls, n: int, n_features: int) -> UserDraws:
        """Zeros, for the curator, who randomises nothing."""
        zeros = np.zeros(n)
        return cls(zeros, zeros, zeros, dict.fromkeys(range(n_features), zeros))

    def bins(self, columns: Sequence[int]) -> np.ndarray:
        """Uniforms of the given features, shape (n, len(columns))."""
        return np.column_stack([self.bin[int(c)] for c in columns]) if len(columns) else np.empty((self.keep.size, 0))


class HistOfTreeClient(RegressionClient):
    """A device with one record; ``draws`` are :class:`UserDraws`."""

    protocol = NAME

    def _fresh_draws(self, n_features: int) -> UserDraws:
        return UserDraws.fresh(n_features)

    def _plan(self, broadcast: Broadcast) -> Answer:
        return self._label(broadcast.settings) if broadcast.settings["round"] == 1 else self._cell(broadcast)

    def _label(self, settings: dict) -> Answer:
        label, cell = budget_of(settings, "label_budget"), check_number("cell_budget", settings["cell_budget"], least=0)
        lo, hi = check_range("label_range", settings["label_range"])
        if max(abs(lo), abs(hi)) > LARGEST_REAL or settings["d"] != self._record.X.size:
            raise ProtocolError(f"label_range=[{lo!r}, {hi!r}] or d={settings['d']!r} does not fit this device")
        question = LabelQuestion((lo, hi), label, noise="discrete")
        return Answer.of(LABEL, self._record, question, self._draws.label, shows=True, promised=(label, cell))

    def _cell(self, broadcast: Broadcast) -> Answer:
        settings, d = broadcast.settings, self._record.X.shape[1]
        columns = settings["grid"] + settings["columns"]
        if sorted(columns) != list(range(d)):
            raise ProtocolError(f"the features {columns} of grid and tree must be the {d} features, each once")
        depth = check_whole("depth", settings["depth"], most=MOST_DEPTH)
        # An empty list has no whole numbers of its own.
        grid, tree = (np.array(settings[name], dtype=np.intp) for name in ("grid", "columns"))
        budget = self._promised[1]
        question = CellQuestion(broadcast.partition, depth, grid, tree, settings["bins"], settings["mechanism"], budget)
        return Answer.of(CELL, self._record, question, self._draws)


class HistOfTreeCurator:
    """The curator of both rounds.

    Parameters
    ----------
    model : HistOfTree or AdHistOfTree
        Parameters of the method; ``y_range`` must be given, and ``noise`` be discrete.
    n_features : int
    secret : bytes
        Key of the enrolment tokens.
    """

    def __init__(self, model: CellRegressor, n_features: int, secret: bytes):
        if model.y_range is None:
            raise ConfigurationError("y_range=None: a curator cannot take the range from labels; pass y_range=(lo, hi)")
        if model.constants != "paper":
            raise ConfigurationError(
                f"constants={model.constants!r}: the budgets are promised before any mask is known; use 'paper', and "
                "label_share=1 where no cell needs randomising"
            )
        if model.noise != "discrete":
            raise ConfigurationError(f"noise={model.noise!r}: devices send discrete noise only; use noise='discrete'")
        check_number("epsilon", model.epsilon, above=0, hint="devices have finite budgets")
        self.model, self.d, self._secret = clone(model), n_features, secret
        self._streams = self.model._streams()
        lo, hi = map(float, model.y_range)
        # The budgets of both rounds are promised at once: the division does not depend on what the first round brings.
        share = model.label_share
        label, cell = share * model.epsilon, (1 - share) * model.epsilon if share < 1 else 0.0
        self._budgets = label, cell
        question = LabelQuestion((lo, hi), label, noise="discrete")
        self._label_fields = (*LABEL.fields(question), *shown_fields(n_features))
        settings = {"label_range": [lo, hi], "label_budget": label, "cell_budget": cell, "d": n_features}
        self.first = Broadcast({"protocol": NAME, "round": 1, **settings}).encode()
        self.second = b""

    def collector(self, number: int, shard: int = 0, n_shards: int = 1) -> Collector:
        """Return an empty collector for a round."""
        if number == 1:
            rules = Round(1, campaign_of(self.first), self._label_fields)
            return Collector(rules, self._secret, shard, n_shards, possible=self._legal_labels)
        if not self.second:
            raise ProtocolError("round 2 opens when round 1 is closed")
        rules = Round(2, campaign_of(self.second), CELL.fields(self._question))
        return Collector(rules, self._secret, shard, n_shards, possible=self._legal_cells)

    def close_labels(self, collector: Collector) -> bytes:
        """Grow the partition from the reports of round 1; returns the broadcast of round 2."""
        self._users, rows = collector.rows()
        if self._users.size == 0:
            raise ProtocolError("nobody has reported in round 1")
        self._labels, self._mask, X = rows[:, 0], rows[:, 1 : 1 + self.d] > 0, rows[:, 1 + self.d :]
        rounds = Rounds(X, self._labels, self._mask, self._streams, UserDraws.none(len(X), self.d))
        self._setting = self.model._setting(self.model.get_params(deep=False), self._mask, self.model.epsilon)
        setting = self._setting
        self._split = rounds.split(protection_order(self._mask), setting.n_grid_features)
        least, depths = setting.min_samples_leaf, [setting.depth]
        [(self._tree, _)] = self._split.trees(setting.rule, setting.split_score, self._labels, depths, least)
        columns = self._split.grid_columns, self._split.tree_columns
        self._question = CellQuestion(
            self._tree, setting.depth, *columns, setting.bins, setting.mechanism, self._budgets[1]
        )
        CELL.check(self._question)
        settings = {
            "after": campaign_of(self.first).hex(), "grid": self._split.grid_columns.tolist(),
            "columns": self._split.tree_columns.tolist(), "bins": setting.bins, "depth": setting.depth,
            "mechanism": setting.mechanism,
        }  # fmt: skip
        self.second = Broadcast({"protocol": NAME, "round": 2, **settings}, self._tree).encode()
        return self.second

    def fit(self, collector: Collector) -> CellRegressor:
        """Return the fitted model from the reports of round 2; users who reported in one round only are left out."""
        users, reports = collector.rows()
        member = np.searchsorted(self._users, users)
        places = self._places(member)
        grid, leaves = places.grid, places.leaves
        labels, budget = self._labels[member], self._budgets[1]
        sums: CategorySums | BitSums
        if self._setting.mechanism == "grr":
            codes = np.divmod(reports[:, 0].astype(np.int64), leaves.n_leaves)
            sums = CategorySums(codes, grid, leaves, labels, budget)
        else:
            sums = ReceivedBits(reports > 0, grid, leaves, labels, budget)
        model = clone(self.model)
        model.y_range_, model.n_features_in_ = tuple(map(float, self.model.y_range)), self.d
        model._assemble(self._setting, self._split, self._tree, (grid, leaves), labels, sums)
        return model

    def _places(self, member: np.ndarray) -> Places:
        """What public features tell about the cells of some users; their true cells stay unknown."""
        X, mask = self._split._rounds.X[member], self._mask[member]
        rounds = Rounds(X, self._labels[member], mask, self._streams, UserDraws.none(member.size, self.d))
        split = Split(rounds, self._split.grid_columns, self._split.tree_columns)
        (leaves,) = split.leaves(self._tree, [self._setting.depth], self._setting.rule)
        return Places(split.grid(self._setting.bins), leaves)

    def _legal_labels(self, users: np.ndarray, values: np.ndarray) -> np.ndarray:
        mask, X = values[:, 1 : 1 + self.d] > 0, values[:, 1 + self.d :]
        return ((X >= 0) & (X <= 1) & ((X == 0) | ~mask)).all(axis=1)

    def _legal_cells(self, users: np.ndarray, values: np.ndarray) -> np.ndarray:
        place = np.minimum(np.searchsorted(self._users, users), self._users.size - 1)
        known, possible = self._users[place] == users, self._places(place).possible()
        if self._setting.mechanism == "grr":
            return known & possible[np.arange(users.size), values[:, 0].astype(np.int64)]
        return known & ((values == 0) | possible).all(axis=1)


class ReceivedBits(BitSums):
    """The sums of :class:`BitSums` from bits that were received instead of simulated.

    Parameters
    ----------
    bits : boolean ndarray of shape (n, cells)
    grid, leaves, labels, budget
        See :class:`BitSums`.
    """

    def __init__(self, bits: np.ndarray, grid: UserGrid, leaves: UserLeaves, labels: np.ndarray, budget: float):
        super().__init__(0, grid, leaves, labels, budget)
        self._bits = bits

    def _indicators(self, user: np.ndarray, query: Query, leaves: np.ndarray, cell: np.ndarray) -> np.ndarray:
        bits = self._bits[user, query.codes[cell] * self._leaves.n_leaves + leaves[cell]]
        if self._budget == 0:
            return bits.astype(float)
        return np.where(self._fixed[user], bits, RandomizedResponse(self._budget / 2, 2).estimate(bits))
