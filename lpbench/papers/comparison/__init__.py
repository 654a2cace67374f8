"""Comparison with published methods on held-out data."""

from lpbench.papers.comparison.intervals import read_intervals, write_intervals
from lpbench.reporting.paper import Output, Page, Paper

REGRESSION = (
    "Our tuning-free methods and the papers' methods beside baselines that pair a published label randomizer with a "
    "scikit-learn learner on the public features. Baselines are not tuned; their learner was chosen on development "
    "sets. A published method with a parameter is shown at its best grid point on the test rows (oracle), at one "
    "setting fixed without them (tuning-free), and at one chosen by privatised reports of some users (private), which "
    "is what a user can have.",
    "Data sets are of three kinds: held-out sets, which come first; development sets, on which choices were made, in "
    "gray; and sealed sets, on which nothing is run before the end. Methods in a table may differ in inputs; the "
    "leaderboard above ranks methods with equal inputs. standings.csv.gz has each method's loss on each data set, "
    "divided by that of the best private constant and by that of the best method without privacy, and the bits of a "
    "user's reports.",
)
CLASSIFICATION = (
    "Our methods and the papers' beside baselines that pair a published label randomizer with a learner; selections, "
    "kinds of data sets and files are those of regression.",
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
