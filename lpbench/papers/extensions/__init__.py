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
    "ResidualGP is a method for regression in which users protect the label and some features. ResidualGP asks groups "
    "of users one after the other. The reports of the first group tell the curator where the labels lie. From earlier "
    "reports, the curator forecasts the labels of a later group. Each user of this group sends the label minus the "
    "forecast, with noise. Later groups also send protected features, with noise, if this makes their reports only "
    "moderately noisier. A prediction averages a Gaussian process and a forest, weighted by how well each predicts "
    "reports that it has not seen. Protected values leave a device only in these noisy reports.",
    "ResidualScore is a method for classification. Users who show features send their class by randomized response. "
    "ResidualScore learns class probabilities from the public sample (the public score). Gaussian processes and a "
    "forest on the shown features are fitted to the differences between the unbiased reports and the public score. If "
    "users show nothing (CalibratedScore), each user sends one randomized pair: a cell of the public score and a "
    "class. CalibratedScore corrects the public score where the reports show that private users differ from public "
    "ones.",
    "docs/methods_notes.md in the repository has definitions, proofs and limits. Below, the scores of published "
    "methods are those of their best grid point on the test rows. No user can know this grid point.",
)
CORRUPTED = (
    "The first tables have data on which a tuning-free method may be worse than a constant. These data have labels in "
    "random order, for which a constant predicts best, or labels with heavy tails. We divide a method's error by the "
    "constant's error. A method passes if the geometric mean of this ratio over data sets is at most "
    f"{MOST_ON_AVERAGE}, and the ratio on each data set is at most {MOST:.2f}. The first table of each experiment "
    "shows which methods pass.",
    "The next table has public samples that differ from the private sample: other class shares, swapped labels in "
    "half of the rows, no rows from one half of the data, or few rows. Private data do not help if the forest on "
    "public rows alone is as good as the other methods.",
)

LIARS = (
    "In the last tables some users send false reports. No check can distinguish a false report from a noisy one. The "
    "harm of false reports is a method's loss with them divided by its loss without them. The influence of one report "
    "is the largest shift of the curator's estimate that one report can cause, divided by the largest shift that one "
    "record can cause without noise. The influence is computed exactly, and is infinite for unbounded noise.",
)
PEOPLE = (
    "A mask is the set of features that a user protects. A mask that depends on a protected value reveals information "
    "about this value, and ε does not count this information. The last tables compare two groups of people, which the "
    "data sets' manifests name. The group of a person is read in test rows alone.",
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
