"""Comparison with published methods on held-out data."""

from lpbench.papers.comparison.intervals import read_intervals, write_intervals
from lpbench.reporting.paper import Output, Page, Paper

REGRESSION = (
    "The tables compare our tuning-free methods and the papers' methods with baselines. A baseline pairs a published "
    "label randomizer with a scikit-learn learner on the public features. Baselines are not tuned. The learner of a "
    "baseline was chosen on development sets. A published method with a parameter is shown at three settings: the "
    "best grid point on the test rows (oracle), one setting fixed without test rows (tuning-free), and the setting "
    "that is chosen from privatized reports of some users (private). No user can obtain the oracle score.",
    "The data sets are of three kinds. Held-out sets come first in a table. Development sets, on which choices were "
    "made, are gray. Sealed sets are run only after all choices. A table may have methods with different inputs, but "
    "the leaderboard above ranks only methods with equal inputs. standings.csv.gz has each method's loss on each data "
    "set, divided by the loss of the best private constant and by the loss of the best method without privacy. The "
    "file also has the bits of a user's reports.",
)
CLASSIFICATION = (
    "The tables compare our methods and the papers' methods with baselines that pair a published label randomizer "
    "with a learner. The settings, the kinds of data sets and the files are those of regression.",
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
