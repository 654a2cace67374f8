"""Known causes of differences from HistOfTree's published numbers."""

from lpbench.reporting.paper import Cause

CAUSES = (
    Cause(
        "our KRR divides the budget over the label and the protected features (the paper is silent)",
        method="krr",
    ),
    Cause(
        "the published column cannot be V-9 or V-10 of the data as found: target or preprocessing must differ",
        experiment="histoftree/table",
        dataset="building",
    ),
    Cause(
        "the paper does not say what the tree sees of a protected entry; ours sees a missing value",
        mask="personalized",
        method="par_dt",
    ),
)
