"""Comparison with published methods on held-out data, with advice on what to use."""

from collections.abc import Mapping
from pathlib import Path

from lpbench.analysis import Summary
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.papers.comparison.advice import read_advice, read_choices, write_advice
from lpbench.papers.comparison.intervals import read_intervals, write_intervals
from lpbench.papers.comparison.ranking import write_field
from lpbench.reporting.paper import Output, Page, Paper

REGRESSION = (
    "Our tuning-free methods and the papers' methods beside baselines that pair a published label randomiser with a "
    "scikit-learn learner on the public features. Baselines are not tuned; their learner was chosen on development "
    "sets. A published method with a parameter is shown at its best grid point on the test rows (oracle), at one "
    "setting fixed without them (tuning-free), and at one chosen by privatised reports of some users (private), which "
    "is what a user can have.",
    "Data sets are of three kinds: development sets, on which choices were made; held-out sets; and sealed sets, on "
    "which nothing is run before the end. Each comparison begins with advice: what to use, given what is public and "
    "the budget. field.csv has the rank sum of each method and the probabilities that it beats "
    "the constant and the best learner without privacy, with intervals, and the bits of a user's reports; "
    "field_seconds.csv has the median seconds of a fit.",
    "This page covers regression; classification has its own.",
)
CLASSIFICATION = (
    "Our methods and the papers' beside baselines that pair a published label randomiser with a learner. The page on "
    "regression explains selections, kinds of data sets and files.",
)


def write_outputs(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Write ``field.csv``, ``field_seconds.csv`` and ``advice.csv`` beside the standard tables."""
    return write_field(experiment, summary, cards, folder) + write_advice(experiment, summary, cards, folder)


#: Experiments of numbers and of classes, each with a page of its own.
NUMBERS = tuple(
    f"field/{name}" for name in ("regression", "public_sample", "intervals", "sealed_regression", "full_regression")
)
CLASSES = tuple(
    f"field/{name}" for name in ("classification", "unbalanced", "sealed_classification", "full_classification")
)

PAPER = Paper(
    name="field",
    title="Comparison on held-out data",
    order=210,
    methods=("private_constant", "private_mean", "private_majority", "dt", "ct_w"),
    leaderboard=("field/regression", "field/classification", "field/public_sample"),
    outputs={"settings.advice": Output(write_outputs)},
    drawings={"field/intervals": write_intervals},
    text_tables={"field/intervals": read_intervals},
    advice={"settings.advice": read_advice},
    choices={"settings.advice": read_choices},
    pages=(
        Page(name="field", title="Comparison on held-out data: regression", experiments=NUMBERS, lead=REGRESSION),
        Page(
            name="field_classes",
            title="Comparison on held-out data: classification",
            experiments=CLASSES,
            lead=CLASSIFICATION,
        ),
    ),
)
