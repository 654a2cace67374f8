"""Known causes of differences from LPCT's published numbers."""

from lpbench.reporting.paper import Cause

CAUSES = (
    Cause(
        "the paper's code spends the budget once a parameter tensor; ours spends it once",
        method="psgd_",
    ),
    Cause(
        "the paper's code adds too little noise to a sum of reports, and prints the same column at ε = 0.5 and 2",
        method="pglm",
    ),
    Cause(
        "the paper's code draws one Laplace variable of the sum's scale, with a fixed seed",
        method="phist",
    ),
    Cause(
        "Algorithm 2 leaves its constants open; the code behind the figures differs from it",
        method="lpct_prune",
    ),
    Cause(
        "printed seconds have one digit, and ratios of seconds depend on the implementations",
        experiment="lpct/table3",
    ),
)
