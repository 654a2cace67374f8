"""Where each estimator's reports are made: the question that is asked there, of whom, at which budget.

A report source is a function that ``fit`` and ``sweep`` look up and whose result is what devices send, or the sum of
what they send where sums are drawn by their law. The leak test records and replays results there, and the accountant
adds up what the questions cost.
"""

from __future__ import annotations

from lpbench import estimators as models
from lpbench.audit import sources_of_reports as reports
from lpbench.audit import sources_of_sums as sums
from lpbench.audit.sources import Sources

#: Estimator class -> function of an instance that lists where its reports are made.
REPORT_SOURCES: dict[type, Sources] = {
    models.HistOfTree: reports.cells,
    models.AdHistOfTree: reports.cells,
    models.LabelDT: reports.LABELS,
    models.ParDT: reports.LABELS,
    models.KRR: reports.FEATURES,
    models.PrivateMean: reports.LABELS,
    models.PrivateMajority: reports.CLASSES,
    models.LabelLDPKNN: reports.LABELS,
    models.PrivateLabelsRegressor: reports.NUMBERS,
    models.PrivateLabelsClassifier: reports.CODES,
    models.PrivateSelectionRegressor: reports.SELECTION,
    models.PrivateSelectionClassifier: reports.SELECTION,
    models.LabelLDPVote: reports.CUBES,
    models.LPCT: sums.lpct,
    models.LPCTPrune: sums.prune,
    models.Hist: sums.histogram,
    models.PHIST: sums.histogram,
    models.LDPMean: sums.histogram,
    models.LDPVote: sums.histogram,
    models.PGLM: sums.moments,
    models.ResidualGP: reports.RESIDUALS,
    models.PublicResidualGP: reports.RESIDUALS,
    models.ResidualScore: reports.SCORES,
    models.LPDTRegressor: reports.cells,
    models.PublicTreeClassifier: reports.cells,
    models.CalibratedScore: reports.SUBSETS,
    models.PSGD: sums.gradients,
    models.LabelCDPVote: reports.CHOICES,
    models.CDPVote: reports.CHOICES,
    models.LabelCDPMean: reports.MEANS,
    models.CDPMean: reports.MEANS,
}

#: Estimators that protect nothing, so that there is nothing to check.
UNPROTECTED = (
    *(models.DT, models.CT, models.PublicForest, models.PublicForestRegressor),
    *(models.KNNMean, models.CubeMean, models.CubeVote),
)
