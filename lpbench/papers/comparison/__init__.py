"""Comparison with published methods on held-out data."""

from lpbench.papers.comparison.intervals import read_intervals, write_intervals
from lpbench.reporting.paper import Output, Page, Paper

REGRESSION = (
    "The tables compare our tuning-free methods and the papers' methods with baselines. A baseline pairs a "
    "published label randomizer with a scikit-learn learner on the public features. Baselines are not tuned, and "
    "development sets chose their learners. A published method with a parameter is shown at three settings. "
    "“Oracle” is the best grid point on the test rows, which no user can know. “Tuning-free” is one setting fixed "
    "without test rows. “Private” is the setting that privatized reports of some users chose.",
    "Held-out data sets come first in a table. Development sets, on which choices were made, are gray. Sealed sets "
    "are run only after all choices. A table may have methods with different inputs, but the leaderboard above "
    "ranks only methods with equal inputs. standings.csv.gz has each method's loss on each data set, and the bits "
    "of a user's reports.",
)
CLASSIFICATION = (
    "The tables compare our methods and the papers' methods with baselines. A baseline pairs a published label "
    "randomizer with a learner. Settings, kinds of data sets and files are as for regression.",
)


#: Experiments of numbers and of classes, each with a page of its own.
NUMBERS = tuple(
    f"comparison/{name}"
    for name in ("regression", "public_sample", "intervals", "sealed_regression", "full_regression", "free_regression")
)
CLASSES = tuple(
    f"comparison/{name}"
    for name in ("classification", "unbalanced", "sealed_classification", "full_classification", "free_classification")
)

PAPER = Paper(
    name="comparison",
    title="Comparison",
    order=210,
    methods=("private_constant", "private_mean", "private_majority", "dt", "ct_w"),
    leaderboard=("comparison/regression", "comparison/classification", "comparison/public_sample"),
    outputs={"comparison/intervals": Output(write_intervals, read_intervals)},
    pages=(
        Page(
            "held-out-regression",
            "Held-out sets first: regression",
            NUMBERS,
            REGRESSION,
            file="leaderboard",
        ),
        Page(
            "held-out-classification",
            "Held-out sets first: classification",
            CLASSES,
            CLASSIFICATION,
            file="leaderboard",
        ),
    ),
)
