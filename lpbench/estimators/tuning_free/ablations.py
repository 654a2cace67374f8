"""ResidualGP and ResidualScore with one ingredient changed, for ``extensions/ablation_*``."""

from lpbench.estimators.tuning_free.calibration import Design
from lpbench.estimators.tuning_free.public_score import LEAF_SIZES
from lpbench.estimators.tuning_free.residual_gp import ResidualGP
from lpbench.estimators.tuning_free.residual_score import ResidualScore


class ShownAlone(ResidualGP):
    """ResidualGP without a public sample; committed results call it ``residual_gp``."""

    uses_public = False


class InOneRound(ShownAlone):
    """Ablation of ResidualGP's two rounds: everybody reports the label over its whole range."""

    _in_rounds = False


class ProtectedNotAsked(ShownAlone):
    """Ablation of ResidualGP's last part: protected features are never asked for."""

    _ask_protected = False


class WithoutForest(ShownAlone):
    """Ablation: ResidualGP averages Gaussian processes and the constant, without the forest."""

    _parts = ("gp",)


class WithoutProcesses(ShownAlone):
    """Ablation: ResidualGP averages the forest and the constant, without Gaussian processes."""

    _parts = ("forest",)


class WithoutPublicSample(ResidualScore):
    """ResidualScore without a public sample."""

    uses_public = False


class RecordScore(ResidualScore):
    """ResidualScore where every user protects the whole record, whatever the mask: a calibrated public score."""

    rounding = ""
    uses_mask = False
    protects = "record"


class OneLeafSize(RecordScore):
    """Ablation: the public score's forests all have the smallest leaf size."""

    _design = Design(leaf_sizes=LEAF_SIZES[:1])


class ClassShares(RecordScore):
    """Ablation: the class shares of the public sample are the score, without a forest."""

    _design = Design(leaf_sizes=())


class WithoutSpread(RecordScore):
    """Ablation: the tree cuts by the public labels alone, not by the spread of the features."""

    _design = Design(spread=0.0)


class WithoutTree(RecordScore):
    """Ablation: cells are bins of the public score, without the tree."""

    _design = Design(leaves=False)


class LabelsAlone(RecordScore):
    """Ablation: users report their label alone, not its pair with the cell of the score."""

    _design = Design(in_cells=False)


class RandomizedResponse(RecordScore):
    """Ablation: reports use generalized randomized response instead of subset selection."""

    _design = Design(subsets=False)


class Distrust(RecordScore):
    """Ablation: the prior gives no probability to "public and private class probabilities agree" (trust 0)."""

    _design = Design(trust=0.0)
