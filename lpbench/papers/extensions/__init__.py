"""Our own experiments: constant baselines, tuning-free methods, ablations and sensitivity."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from lpbench.experiments.method import Method
from lpbench.papers.extensions import stress
from lpbench.papers.extensions.stress import MOST, MOST_ON_AVERAGE
from lpbench.reporting.paper import Output, Page, Paper
from lpbench.reporting.plain_table import PlainTable

WITHOUT_TUNING = (
    "ResidualGP (regression; users protect the label and some features) asks groups of users one after the other. The "
    "first group locates the labels; later ones send noisy residuals of a forecast from the reports so far. Protected "
    "features are also requested when the budget makes this worthwhile. The curator averages a Gaussian process and a "
    "forest by how well each predicts unseen reports, and reads nothing but reports.",
    "ResidualScore (classification): users who show features send their class by randomized response. Gaussian "
    "processes and a forest on the shown features are fitted to the differences between the unbiased reports and a "
    "public score. Where users show nothing (CalibratedScore), each sends one randomized pair, a cell of the public "
    "score and a class; the score is corrected where the reports show that private users differ from public ones.",
    "docs/methods_notes.md in the repository has definitions, proofs and limits. Published methods below have their "
    "best grid point on the test rows, which no user has.",
)
CORRUPTED = (
    "Data on which a tuning-free method may do harm: labels in random order, where a constant predicts best, and "
    f"labels with heavy tails. Pass criterion: an error of at most {MOST_ON_AVERAGE} times that of the constant as a "
    f"geometric mean over data sets, and of at most {MOST:.2f} times on each. The first table of each experiment shows "
    "where it is met.",
    "Then public samples unlike the private one: other class shares, labels swapped in half of the rows, half of the "
    "rows missing, and few rows. Where the public forest alone is as good as the others, private data do not help.",
)

LIARS = (
    "The next tables have users who lie; no check of a report can tell a lie from noise. The influence of one report "
    "is how far it can move the curator's estimate, as a multiple of one record's effect: exact, and infinite for "
    "unbounded noise.",
)
PEOPLE = (
    "A mask that depends on the protected value leaks it, which epsilon does not count. The last table has "
    "the group of people whose error grows most under privacy; manifests name the groups, which are read in test rows "
    "alone.",
)
STANDARD_TASKS = ("regression", "classification")


def _compared(lay_out: Callable[..., PlainTable | None]) -> Output:
    """Make an Output with the table that ``lay_out(standings, method cards)`` returns; it is empty without standings.

    ``lay_out`` returns None where nothing can be compared.
    """

    def read(_: Path, rows: pd.DataFrame | None, cards: Mapping[str, Method]) -> list[PlainTable]:
        table = None if rows is None else lay_out(rows, cards)
        return [] if table is None else [table]

    return Output(read=read)


PAPER = Paper(
    name="extensions",
    title="Our methods",
    order=200,
    # references come last in every table
    methods=("private_constant", "private_mean", "private_majority", "label_dt", "dt", "ct_w"),
    leaderboard=tuple(
        f"{name}{task}"
        for name in ("extensions/tuning_free_", "comparison/", "extensions/constants_")
        for task in STANDARD_TASKS
    ),
    outputs={
        **{f"extensions/corrupted_data_{task}": _compared(stress.corrupted_table) for task in STANDARD_TASKS},
        **{f"extensions/liars_{task}": _compared(stress.liars_table) for task in STANDARD_TASKS},
        **{f"extensions/groups_{task}": _compared(stress.groups_table) for task in STANDARD_TASKS},
        "extensions/masks_strength": _compared(stress.strength_table),
        "extensions/masks_strength_classification": _compared(stress.strength_table),
        "extensions/masks_rules": _compared(stress.rules_table),
    },
    pages=(
        Page(
            name="tuning_free",
            title="Without tuning",
            # the comparisons first, then what each ingredient is worth
            experiments=(
                *("extensions/tuning_free_regression", "extensions/tuning_free_classification"),
                *("extensions/tuning_free", "extensions/ablation"),
            ),
            lead=WITHOUT_TUNING,
            file="methods",
        ),
        Page(
            name="corrupted_data",
            title="Corrupted data",
            experiments=("extensions/corrupted_data", "extensions/drift", "extensions/liars"),
            lead=CORRUPTED + LIARS,
            file="methods",
        ),
        Page(
            name="people",
            title="Who protects what, and who pays",
            experiments=("extensions/masks", "extensions/groups"),
            lead=PEOPLE,
            file="methods",
        ),
        Page(name="further", title="Constant baselines and variants", experiments=("extensions/",), file="methods"),
    ),
)
