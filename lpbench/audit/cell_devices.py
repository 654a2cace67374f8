"""Devices of HistOfTree and AdHistOfTree: a label in round 1, a randomised cell in round 2."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import Message, Randomizer
from lpbench.audit.world import (
    LABELS,
    N_FEATURES,
    N_OTHERS,
    OTHERS_MASK,
    PUBLIC,
    SHOWN,
    USER_MASK,
    Y_RANGE,
    real_message,
    repeat,
)
from lpbench.estimators.histoftree.cell_reports import bit_reports, category_reports
from lpbench.estimators.histoftree.public_mask import protection_order
from lpbench.estimators.histoftree.rounds import Rounds, Setting, Split
from lpbench.estimators.histoftree.user_cells import ReportDraws, UserGrid, UserLeaves
from lpbench.partitions import TreePartition
from lpbench.privacy import GRR, Laplace, RandomizedResponse
from lpbench.privacy.payload import Integers
from lpbench.seeds import Streams

REAL_BITS = 64.0


@builds(models.HistOfTree, models.AdHistOfTree)
def cell_reports(model: models.HistOfTree | models.AdHistOfTree) -> Randomizer:
    """Both rounds of a user who protects one feature of the grid and, unless it has one bin, one of the tree.

    With one bin the aligned case is audited, in which every cell is public and the budget of round 2 is left over.
    """
    params, user, others = model.get_params(deep=False), USER_MASK, OTHERS_MASK
    setting = model._setting(params, others, model.epsilon)
    if setting.bins == 1:
        user, others = np.all(OTHERS_MASK, axis=0), OTHERS_MASK & np.all(OTHERS_MASK, axis=0)
        setting = model._setting(params, others, model.epsilon)
    return _both_rounds(setting, model.epsilon, user, _others_tree(setting, others.tobytes()))


def _both_rounds(setting: Setting, epsilon: float, mask: np.ndarray, tree: TreePartition) -> Randomizer:
    label_budget, cell_budget = setting.budgets(epsilon)
    records, labels, cells, codes = _values(setting, tree, mask)

    def send_label(value: int, n: int, streams: Streams) -> np.ndarray:
        return _rounds(records[value], labels[value], mask, n, streams).labels(label_budget)

    scale = Laplace.for_budget(label_budget, sensitivity=Y_RANGE[1] - Y_RANGE[0])
    messages = [real_message(scale, labels, send_label, client="Rounds.labels")]
    if codes.size > 1:
        messages.append(_cell_message(setting, tree, mask, (records, labels), cells, codes, cell_budget))
    released = 0.0 if setting.rule == "random" else float((~mask).sum())
    return Randomizer(
        "",
        "semi_feature_ldp" if mask.any() else "label_ldp",
        epsilon,
        messages,
        labels.size,
        public_bits=REAL_BITS * released,
        bits_down=(tree.n_leaves() - 1) * (REAL_BITS + math.ceil(math.log2(max(tree.n_features, 2)))),
        note="" if codes.size > 1 else f"every cell is public; the label gets {setting.label_share:.0%} of epsilon",
    )


def _cell_message(setting, tree, mask, values, cells, codes, budget) -> Message:
    """Round 2: the cell by GRR over V, or the bits of V by randomised response (the other bits are 0)."""
    records, labels = values
    n_cells, n_all = codes.size, setting.bins**setting.n_grid_features * tree.n_leaves(setting.depth)
    one_hot = np.eye(n_cells, dtype=bool)[cells]

    def where(value: int, n: int, streams: Streams) -> tuple[UserGrid, UserLeaves, ReportDraws]:
        rounds = _rounds(records[value], labels[value], mask, n, streams)
        split = _split(rounds, setting)
        (leaves,) = split.leaves(tree, [setting.depth])
        return split.grid(setting.bins), leaves, rounds.draws

    def send_category(value: int, n: int, streams: Streams) -> np.ndarray:
        grid, leaves, draws = where(value, n, streams)
        codes, leaf = category_reports(grid, leaves, budget, draws.keep)
        return codes * leaves.n_leaves + leaf

    def send_bits(value: int, n: int, streams: Streams) -> np.ndarray:
        _, _, draws = where(value, n, streams)
        names = np.column_stack([np.repeat(np.arange(n), n_cells), np.tile(np.arange(n_cells), n)])
        bits = bit_reports(np.tile(one_hot[value], n), budget, draws.bits_seed, names[:, 0], names[:, 1:])
        vector = np.zeros((n, n_all), dtype=bool)
        vector[:, codes] = bits.reshape(n, n_cells)
        return vector

    if setting.mechanism == "rr":
        mechanism = RandomizedResponse.for_budget(budget, changed_bits=2)
        return Message(mechanism, one_hot, send_bits, (Integers(2, n_all),), 2, client="bit_reports")
    return Message(GRR(budget, n_cells), cells, send_category, (Integers(n_all),), 2, client="category_reports")


def _rounds(record: np.ndarray, label: float, mask: np.ndarray, n: int, streams: Streams) -> Rounds:
    return Rounds(repeat(record, n), np.full(n, label), repeat(mask, n), Y_RANGE[1] - Y_RANGE[0], streams)


def _split(rounds: Rounds, setting: Setting) -> Split:
    return rounds.split(protection_order(OTHERS_MASK), setting.n_grid_features)


@lru_cache(maxsize=32)
def _others_tree(setting: Setting, others: bytes) -> TreePartition:
    """The partition that was broadcast: grown from the first messages of users with the mask ``others``."""
    mask = np.frombuffer(others, dtype=bool).reshape(OTHERS_MASK.shape)
    rng = PUBLIC.generator("others")
    X = rng.random((N_OTHERS, N_FEATURES))
    y = np.clip(Y_RANGE[0] + 4 * X[:, 2] * X[:, 1], *Y_RANGE)
    rounds = Rounds(X, y, mask, Y_RANGE[1] - Y_RANGE[0], PUBLIC)
    split = _split(rounds, setting)
    ((tree, _),) = split.trees(setting.rule, setting.split_score, rounds.labels(1.0), [setting.depth])
    return tree


def _values(setting: Setting, tree: TreePartition, mask: np.ndarray):
    """Protected values: one record for each cell that the user may lie in, with the smallest and the largest label.

    Returns
    -------
    records (n_values, d), labels (n_values,), position of the cell in V (n_values,), codes of the cells of V
    """
    columns = np.flatnonzero(mask)
    places = [_places(setting, tree, int(column)) for column in columns]
    protected = np.array(np.meshgrid(*places, indexing="ij")).reshape(columns.size, -1).T
    records = repeat(SHOWN, len(protected))
    records[:, columns] = protected
    rounds = Rounds(records, np.zeros(len(records)), repeat(mask, len(records)), 1.0, PUBLIC)
    split = _split(rounds, setting)
    (leaves,) = split.leaves(tree, [setting.depth])
    grid = split.grid(setting.bins)
    key = grid.truth * leaves.n_leaves + leaves.truth
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    if grid.choices[0] * leaves.choices[0] != first.size:
        raise ValueError("the audited records miss a possible cell, so that the channel would be incomplete")
    labels = LABELS[[0, -1]]
    return (
        np.repeat(records[first], labels.size, axis=0),
        np.tile(labels, len(first)),
        np.repeat(cell[first], labels.size),
        key[first],
    )


def _places(setting: Setting, tree: TreePartition, column: int) -> np.ndarray:
    """One position between any two neighbouring cuts of a feature, whether they are of the grid or of the tree."""
    order = protection_order(OTHERS_MASK)
    cuts = np.arange(1, setting.bins) / setting.bins
    if column not in order[: setting.n_grid_features]:
        position = np.sort(order[setting.n_grid_features :]).tolist().index(column)
        cuts = tree.threshold[tree.feature == position]
    edges = np.unique(np.concatenate([[0.0], cuts, [1.0]]))
    return (edges[:-1] + edges[1:]) / 2
