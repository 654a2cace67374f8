"""Devices of HistOfTree and AdHistOfTree: a label in round 1, a randomised cell in round 2."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds
from lpbench.audit.randomizers import BY_DEVICE, Path, Randomizer, message_of
from lpbench.audit.world import LABELS, N_FEATURES, N_OTHERS, OTHERS_MASK, PUBLIC, SHOWN, USER_MASK, Y_RANGE, repeat
from lpbench.estimators.histoftree.cell_device import CELL, CellQuestion
from lpbench.estimators.histoftree.cell_reports import BitSums
from lpbench.estimators.histoftree.public_mask import protection_order
from lpbench.estimators.histoftree.rounds import Rounds, Setting
from lpbench.estimators.private_labels import LABEL, REAL_BITS, LabelQuestion
from lpbench.partitions import TreePartition
from lpbench.privacy import RandomizedResponse, Records
from lpbench.seeds import Streams


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
    tree, (label_budget, cell_budget) = _others_tree(setting, others.tobytes()), setting.budgets(model.epsilon)
    model.y_range_, order = Y_RANGE, protection_order(OTHERS_MASK)
    s = setting.n_grid_features
    columns = order[:s], np.sort(order[s:])
    question = CellQuestion(tree, setting.depth, *columns, setting.bins, setting.mechanism, cell_budget)
    records, randomised = records_of_cells(question, user)
    messages = [message_of(LABEL, model._label_question(label_budget), records)]
    if randomised:
        path = Path("BitSums.estimate", bit_sums) if setting.mechanism == "rr" else BY_DEVICE
        messages.append(message_of(CELL, question, records, path, path))
    released = 0.0 if setting.rule == "random" else float((~user).sum())
    return Randomizer(
        "",
        "semi_feature_ldp" if user.any() else "label_ldp",
        model.epsilon,
        messages,
        len(records),
        public_bits=REAL_BITS * released,
        bits_down=(tree.n_leaves() - 1) * (REAL_BITS + math.ceil(math.log2(max(tree.n_features, 2)))),
        note="" if randomised else f"every cell is public; the label gets {setting.label_share:.0%} of epsilon",
    )


def bit_sums(records: Records, question: CellQuestion, streams: Streams) -> np.ndarray:
    """Sums of the bits of all cells, from the estimates that fit and sweep simulate where they are looked up."""
    draws = CELL.draws(streams, len(records), question)
    places = CELL.places(records, question, draws)
    sums = BitSums(draws.bits_seed, places.grid, places.leaves, np.zeros(len(records)), question.budget)
    response = RandomizedResponse.for_budget(question.budget, changed_bits=2)
    return (response.keep - response.flip) * sums.of_all_cells()[0] + response.flip * places.possible().sum(axis=0)


@lru_cache(maxsize=32)
def _others_tree(setting: Setting, others: bytes) -> TreePartition:
    """The partition that was broadcast: grown from the first messages of users with the mask ``others``."""
    mask = np.frombuffer(others, dtype=bool).reshape(OTHERS_MASK.shape)
    rng = PUBLIC.generator("others")
    X = rng.random((N_OTHERS, N_FEATURES))
    y = np.clip(Y_RANGE[0] + 4 * X[:, 2] * X[:, 1], *Y_RANGE)
    rounds = Rounds(X, y, mask, PUBLIC)
    split = rounds.split(protection_order(OTHERS_MASK), setting.n_grid_features)
    labels = rounds.labels(LabelQuestion(Y_RANGE, 1.0))
    least = setting.min_samples_leaf
    ((tree, _),) = split.trees(setting.rule, setting.split_score, labels, [setting.depth], least)
    return tree


def records_of_cells(question: CellQuestion, mask: np.ndarray) -> tuple[Records, bool]:
    """One record for each cell that the user may lie in, with the smallest and the largest label; is there a choice?"""
    columns = np.flatnonzero(mask)
    positions = [_positions(question, int(column)) for column in columns]
    protected = np.array(np.meshgrid(*positions, indexing="ij")).reshape(columns.size, -1).T
    rows = repeat(SHOWN, len(protected))
    rows[:, columns] = protected
    everywhere = Records(rows, np.zeros(len(rows)), repeat(mask, len(rows)))
    places = CELL.places(everywhere, question, CELL.draws(PUBLIC, len(rows), question))
    _, first = np.unique(places.cells, return_index=True)
    if places.choices[0] != first.size:
        raise ValueError("the audited records miss a possible cell, so that the channel would be incomplete")
    labels = LABELS[[0, -1]]
    pairs = everywhere.take(np.repeat(first, labels.size))
    return replace(pairs, y=np.tile(labels, first.size)), first.size > 1


def _positions(question: CellQuestion, column: int) -> np.ndarray:
    """One position between any two neighbouring cuts of a feature, whether they are of the grid or of the tree."""
    cuts = np.arange(1, question.bins) / question.bins
    if column not in question.grid_columns:
        position = question.tree_columns.tolist().index(column)
        cuts = question.tree.threshold[question.tree.feature == position]
    edges = np.unique(np.concatenate([[0.0], cuts, [1.0]]))
    return (edges[:-1] + edges[1:]) / 2
