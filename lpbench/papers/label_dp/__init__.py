"""The limits of label differential privacy: rates of convergence under four models; letter Z."""

from lpbench.papers.label_dp.claims import decider
from lpbench.papers.label_dp.errata import ERRATA
from lpbench.papers.published_files import stated_claims
from lpbench.reporting.paper import Paper

PAPER = Paper(
    name="label_dp",
    title="Limits of label differential privacy",
    short="Label DP",
    letter="Z",
    order=3,
    claims=stated_claims("Z", decider),
    errata=ERRATA,
)
