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
    "ResidualGP is a method for regression in which users protect the label and some features. ResidualGP asks "
    "groups of users one after the other. The reports of the first group tell the curator where the labels lie. "
    "From earlier reports, the curator forecasts the labels of a later group. Each user of a later group sends the "
    "label minus the forecast, with noise. Later groups also send protected features, with noise, if this adds only "
    "moderate noise. A prediction averages a Gaussian process and a forest. The learner that predicts unseen "
    "reports better has the larger weight. Protected values leave a device only in noisy reports.",
    "ResidualScore is a method for classification. Users who show features send their class by randomized response. "
    "ResidualScore learns class probabilities from the public sample (the public score). Gaussian processes and a "
    "forest then learn the difference between the unbiased reports and the public score. If users show nothing "
    "(CalibratedScore), each user sends one randomized pair: a cell of the public score and a class. "
    "CalibratedScore corrects the public score where private users differ from public ones.",
    "docs/methods_notes.md has definitions, proofs and limits. In the tables below, published methods have their "
    "best grid point on the test rows, which no user can know.",
)
CORRUPTED = (
    "The first tables test whether a method without tuning is worse than a constant. Their labels are in random "
    "order, for which a constant predicts best, or have heavy tails. A method's ratio is its error divided by the "
    "constant's error. A method passes if the geometric mean of its ratio over data sets is at most "
    f"{MOST_ON_AVERAGE}, and each ratio is at most {MOST:.2f}.",
    "The next table has public samples that differ from the private sample: other class shares, swapped labels in "
    "half of the rows, no rows from one half of the data, or few rows. Private data do not help if the forest on "
    "public rows alone is as good as the other methods.",
)

LIARS = (
    "In the last tables some users send false reports. No check can distinguish a false report from a noisy one. "
    "The harm of false reports is a method's loss with them divided by its loss without them. The influence of one "
    "report is the largest shift of the curator's estimate that one report can cause. We divide this shift by the "
    "largest shift that one record can cause without noise. Unbounded noise makes the influence infinite.",
)
PEOPLE = (
    "A mask is the set of features that a user protects. A mask that depends on a protected value reveals "
    "information about this value. The budget ε does not count this information. The last tables compare two groups "
    "of people. Only test rows show who is in which group.",
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
