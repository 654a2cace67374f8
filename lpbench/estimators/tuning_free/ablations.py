"""ResidualGP and ResidualScore with one ingredient changed, for ``extensions/ablation_*``."""

from lpbench.estimators.tuning_free.calibration import Design
from lpbench.estimators.tuning_free.public_score import LEAF_SIZES
from lpbench.estimators.tuning_free.residual_gp import ResidualGP
from lpbench.estimators.tuning_free.residual_score import ResidualScore


class ShownAlone(ResidualGP):
    """A public sample is not read: what committed results of the field call ``residual_gp``."""

    uses_public = False


class InOneRound(ShownAlone):
    """Everybody reports the label over its whole range."""

    _in_rounds = False


class ProtectedNotAsked(ShownAlone):
    """Protected features are never asked for."""

    _ask_protected = False


class WithoutForest(ShownAlone):
    """Gaussian processes alone, beside the constant."""

    _parts = ("gp",)


class WithoutProcesses(ShownAlone):
    """The forest alone, beside the constant."""

    _parts = ("forest",)


class WithoutPublicSample(ResidualScore):
    """A public sample is not read."""

    uses_public = False


class RecordScore(ResidualScore):
    """Every user protects the whole record, whatever the mask: a calibrated public score."""

    rounding = ""
    uses_mask = False
    protects = "record"


class OneLeafSize(RecordScore):
    """Forests of the smallest leaf size alone."""

    _design = Design(leaf_sizes=LEAF_SIZES[:1])


class ClassShares(RecordScore):
    """No forest: the class shares of the public sample are the score."""

    _design = Design(leaf_sizes=())


class WithoutSpread(RecordScore):
    """The tree cuts by the public labels alone, not by the spread of the features."""

    _design = Design(spread=0.0)


class WithoutTree(RecordScore):
    """Bins of the score, and no tree."""

    _design = Design(leaves=False)


class LabelsAlone(RecordScore):
    """Labels alone are reported."""

    _design = Design(in_cells=False)


class RandomizedResponse(RecordScore):
    """Randomized response in place of subsets, whatever the number of cells."""

    _design = Design(subsets=False)


class Distrust(RecordScore):
    """Drift is taken for granted."""

    _design = Design(trust=0.0)
