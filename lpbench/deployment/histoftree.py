"""HistOfTree as a protocol of two rounds (its sections 3.2, 3.3): labels and public features, then randomised cells.

The client and the curator run the functions of :mod:`.rounds`, one user at a time on the one side
and without anything protected on the other. Fed with the same draws, the curator's model is that of ``fit`` to the last
bit, whatever the order in which reports arrive.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from lpbench.checks import check_choice, check_number, check_range, check_whole
from lpbench.deployment.broadcast import MOST_DEPTH, Broadcast, campaign_of
from lpbench.deployment.client import Answer, Client, budget_of, features_of, fresh_generator
from lpbench.deployment.collector import Collector, ProtocolError, Round
from lpbench.deployment.ledger import Ledger
from lpbench.errors import ConfigurationError
from lpbench.estimators.histoftree.cell_reports import BitSums, CategorySums, bit_reports, category_reports
from lpbench.estimators.histoftree.histoftree import CellRegressor
from lpbench.estimators.histoftree.public_mask import protection_order
from lpbench.estimators.histoftree.rounds import MECHANISMS, Rounds, Split
from lpbench.estimators.histoftree.user_cells import Query, ReportDraws, UserGrid, UserLeaves
from lpbench.estimators.private_labels import discrete_labels
from lpbench.privacy import DiscreteLaplace, RandomizedResponse
from lpbench.privacy.payload import LARGEST_REAL, Field, GridPoints, Integers, Reals, grid_reach
from lpbench.seeds import Streams

NAME = "histoftree"
#: Cells of grid x tree beyond which a report would be too long (or too many to number densely).
MOST_CELLS = 1 << 16


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


def label_fields(mechanism: DiscreteLaplace, label_range: tuple[float, float], n_features: int) -> tuple[Field, ...]:
    """Round 1: the privatised label, which features are protected, and the features (0 where protected)."""
    reach = grid_reach(max(map(abs, label_range)) + mechanism.step, mechanism.scale, mechanism.step)
    return GridPoints(mechanism.step, reach), Integers(2, n_features), Reals(n_features)


def cell_fields(n_cells: int, mechanism: str) -> tuple[Field, ...]:
    """Round 2: the number of the cell, or one bit per cell."""
    return (Integers(n_cells),) if mechanism == "grr" else (Integers(2, n_cells),)


class HistOfTreeClient(Client):
    """A device with one record.

    Parameters
    ----------
    user, token, limit
        See :class:`~lpbench.deployment.client.Client`.
    x : ndarray of shape (d,)
        Clipped to [0, 1].
    y : float
        Clipped to the range that is announced.
    protected : boolean ndarray of shape (d,)
    draws : UserDraws, optional
        The device's randomness; None: from the operating system.
    ledger
        See :class:`~lpbench.deployment.client.Client`.
    """

    protocol = NAME

    def __init__(
        self,
        user: int,
        token: bytes,
        limit: float,
        x: ArrayLike,
        y: float,
        protected: ArrayLike,
        draws: UserDraws | None = None,
        ledger: Ledger | Path | str | None = None,
    ):
        super().__init__(user, token, limit, ledger)
        self._x = np.clip(features_of(x), 0.0, 1.0)
        self._y = np.array([check_number("y", y)])
        self._mask = np.asarray(protected, dtype=bool).reshape(self._x.shape)
        self._draws = UserDraws.fresh(self._x.shape[1]) if draws is None else draws

    def _plan(self, broadcast: Broadcast) -> Answer:
        return self._label(broadcast.settings) if broadcast.settings["round"] == 1 else self._cell(broadcast)

    def _rounds(self, y: np.ndarray, label_range: float) -> Rounds:
        return Rounds(self._x, y, self._mask, label_range, Streams(0), self._draws, "discrete")

    def _label(self, settings: dict) -> Answer:
        label, cell = budget_of(settings, "label_budget"), check_number("cell_budget", settings["cell_budget"], least=0)
        lo, hi = check_range("label_range", settings["label_range"])
        if max(abs(lo), abs(hi)) > LARGEST_REAL or settings["d"] != self._x.size:
            raise ProtocolError(f"label_range=[{lo!r}, {hi!r}] or d={settings['d']!r} does not fit this device")
        shown = np.where(self._mask, 0.0, self._x)[0]

        def values() -> np.ndarray:
            # A refusal would tell that the label is outside.
            report = self._rounds(np.clip(self._y, lo, hi), hi - lo).labels(label)
            return np.concatenate([report, self._mask[0], shown])

        mechanism = discrete_labels(hi - lo, label)
        return Answer(label, label_fields(mechanism, (lo, hi), shown.size), values, promised=(label, cell))

    def _cell(self, broadcast: Broadcast) -> Answer:
        (_, budget), (grid, leaves, mechanism) = self._promised, self._places(broadcast)
        if budget == 0 and grid.choices[0] * leaves.choices[0] > 1:
            raise ProtocolError("no budget is left for the cell, which is not public")

        def category() -> np.ndarray:
            codes, leaf = category_reports(grid, leaves, budget, self._draws.keep)
            return codes * leaves.n_leaves + leaf

        fields = cell_fields(number_of_cells(grid, leaves), mechanism)
        return Answer(budget, fields, category if mechanism == "grr" else lambda: self._bits(grid, leaves, budget))

    def _places(self, broadcast: Broadcast) -> tuple[UserGrid, UserLeaves, str]:
        """Locate the user in the cells of a broadcast, which must be a division of all features of a sane size."""
        settings, tree, d = broadcast.settings, broadcast.partition, self._x.shape[1]
        columns, mechanism = settings["grid"] + settings["columns"], settings["mechanism"]
        bins = check_whole("bins", settings["bins"], least=1, most=MOST_CELLS)
        depth = check_whole("depth", settings["depth"], most=MOST_DEPTH)
        if sorted(columns) != list(range(d)) or tree.n_features != len(settings["columns"]):
            raise ProtocolError(f"the features {columns} of grid and tree must be the {d} features, each once")
        check_choice("mechanism", mechanism, MECHANISMS)
        if bins ** len(settings["grid"]) * tree.n_leaves(depth) > MOST_CELLS:
            raise ProtocolError(f"more than {MOST_CELLS} cells are asked for")
        # An empty list has no whole numbers of its own.
        places = [np.array(settings[name], dtype=np.intp) for name in ("grid", "columns")]
        split = Split(self._rounds(self._y, 1.0), *places)
        (leaves,) = split.leaves(tree, [depth])
        return split.grid(bins), leaves, mechanism

    def _bits(self, grid: UserGrid, leaves: UserLeaves, budget: float) -> np.ndarray:
        """One bit per cell: randomised in the cells that the user may lie in, 0 elsewhere."""
        digits, cells = _grid_digits(grid)
        possible_grid = np.flatnonzero(grid.locate(cells).shown[0] == grid.shown[0])
        pairs = np.array(np.meshgrid(possible_grid, leaves.leaves, indexing="ij")).reshape(2, -1)
        truth = (pairs[0] == grid.truth[0]) & (pairs[1] == leaves.truth[0])
        if truth.size > 1:
            names = np.column_stack([pairs[1], digits[pairs[0]]])
            users = np.full(truth.size, self._draws.bits_user)
            truth = bit_reports(truth, budget, self._draws.bits_seed, users, names)
        bits = np.zeros(number_of_cells(grid, leaves))
        bits[pairs[0] * leaves.n_leaves + pairs[1]] = truth
        return bits


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
        self._label_fields = label_fields(discrete_labels(hi - lo, label), (lo, hi), n_features)
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
        fields = cell_fields(self._n_cells, self._setting.mechanism)
        rules = Round(2, campaign_of(self.second), fields)
        return Collector(rules, self._secret, shard, n_shards, possible=self._legal_cells)

    def close_labels(self, collector: Collector) -> bytes:
        """Grow the partition from the reports of round 1; returns the broadcast of round 2."""
        self._users, rows = collector.rows()
        if self._users.size == 0:
            raise ProtocolError("nobody has reported in round 1")
        self._labels, self._mask, X = rows[:, 0], rows[:, 1 : 1 + self.d] > 0, rows[:, 1 + self.d :]
        lo, hi = self.model.y_range
        rounds = Rounds(X, self._labels, self._mask, hi - lo, self._streams, UserDraws.none(len(X), self.d))
        self._setting = self.model._setting(self.model.get_params(deep=False), self._mask, self.model.epsilon)
        setting = self._setting
        self._split = rounds.split(protection_order(self._mask), setting.n_grid_features)
        [(self._tree, _)] = self._split.trees(setting.rule, setting.split_score, self._labels, [setting.depth])
        self._n_cells = setting.bins**setting.n_grid_features * self._tree.n_leaves(setting.depth)
        if self._n_cells > MOST_CELLS:
            raise ConfigurationError(
                f"{self._n_cells} cells are more than the {MOST_CELLS} that a report may name; use fewer bins, a "
                "smaller n_grid_features or depth"
            )
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
        grid, leaves = self._cells(member)
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

    def _cells(self, member: np.ndarray) -> tuple[UserGrid, UserLeaves]:
        """What public features tell about the cells of some users; their true cells stay unknown."""
        X, mask = self._split._rounds.X[member], self._mask[member]
        rounds = Rounds(X, self._labels[member], mask, 1.0, self._streams, UserDraws.none(member.size, self.d))
        split = Split(rounds, self._split.grid_columns, self._split.tree_columns)
        (leaves,) = split.leaves(self._tree, [self._setting.depth], self._setting.rule)
        return split.grid(self._setting.bins), leaves

    def _possible(self, member: np.ndarray) -> np.ndarray:
        """Which cells some users may lie in: boolean ndarray of shape (len(member), cells)."""
        grid, leaves = self._cells(member)
        _, cells = _grid_digits(grid)
        in_grid = np.stack(grid.locate(cells).shown)[grid.pattern] == grid.shown[:, None]
        in_tree = np.zeros((member.size, leaves.n_leaves), dtype=bool)
        in_tree[leaves.users, leaves.leaves] = True
        return (in_grid[:, :, None] & in_tree[:, None, :]).reshape(member.size, self._n_cells)

    def _legal_labels(self, users: np.ndarray, values: np.ndarray) -> np.ndarray:
        mask, X = values[:, 1 : 1 + self.d] > 0, values[:, 1 + self.d :]
        return ((X >= 0) & (X <= 1) & ((X == 0) | ~mask)).all(axis=1)

    def _legal_cells(self, users: np.ndarray, values: np.ndarray) -> np.ndarray:
        place = np.minimum(np.searchsorted(self._users, users), self._users.size - 1)
        known, possible = self._users[place] == users, self._possible(place)
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


def number_of_cells(grid: UserGrid, leaves: UserLeaves) -> int:
    """Cells of grid x tree."""
    return grid.bins**grid.s * leaves.n_leaves


def _grid_digits(grid: UserGrid) -> tuple[np.ndarray, np.ndarray]:
    """Digits and centres of all cells of the grid in the order of their numbers, both of shape (bins^s, s)."""
    numbers = np.arange(grid.bins**grid.s)[:, None]
    digits = numbers // grid.bins ** np.arange(grid.s)[::-1] % grid.bins
    return digits, (digits + 0.5) / grid.bins
