"""What the pages of the methods without a parameter to tune, and of attacks on them, say before their tables."""

from lpbench.papers.extensions.attack import MOST, MOST_ON_AVERAGE

WITHOUT_TUNING = (
    "ResidualGP (regression, users protect the label and some features): groups of users are asked one after the "
    "other. The first tells where the labels lie, a later one sends the noisy residual of a forecast from the "
    "reports so far, and where it pays the protected features are asked for too. The curator averages a Gaussian "
    "process and a forest by how well each predicts reports it has not seen. Nobody chooses a parameter, and "
    "nothing but reports is read.",
    "ResidualScore (classification; CalibratedScore where everything of a private user is protected): the public "
    "sample makes a score and cells; each user sends one randomised category of cell and class. The curator "
    "corrects the score where the reports say that private users differ from public ones, as much as the noise "
    "allows.",
    "Definitions, proofs of the guarantees, and when each fails: docs/methods_notes.md in the repository. Below, "
    "every published method has its best grid point on the test rows, which no user has.",
)

UNDER_ATTACK = (
    "Data on which a method without tuning may do harm: labels in random order, where the best prediction is a "
    f"constant, and labels with heavy tails. What is asked for is an error of at most {MOST_ON_AVERAGE} times that "
    f"of the constant as a geometric mean over sets, and of at most {MOST:.2f} times on any set; the first table of a "
    "unit says where that holds.",
    "Then public samples that are not like the private one: other shares of the classes, labels swapped in one half of "
    "the rows, one half of the rows missing, and few rows. Where the public forest alone is as good as the others, "
    "private data do not help.",
)
