"""The limits of label differential privacy: rates of convergence under four models; letter Z."""

from lpbench.papers.label_dp.claims import checks
from lpbench.papers.label_dp.errata import ERRATA
from lpbench.papers.label_dp.figures import write_budget_rates, write_rates
from lpbench.papers.label_dp.rates import read_rates
from lpbench.papers.published_files import stated_claims
from lpbench.reporting.paper import Citation, Output, Paper

PAPER = Paper(
    name="label_dp",
    title="Limits of label differential privacy",
    short="Label DP",
    citation=Citation(
        "On Theoretical Limits of Learning with Label Differential Privacy", "Zhao, Ma, Shen, Wang, Fan", "2025"
    ),
    letter="Z",
    order=3,
    claims=stated_claims("Z", checks),
    errata=ERRATA,
    outputs={
        "label_dp/table1": Output(write_rates, read_rates, in_place=True),
        "label_dp/budget": Output(write_budget_rates, in_place=True),
    },
)
