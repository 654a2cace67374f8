"""The field: our methods among rivals of the literature, on data sets that no choice was made on."""

from lpbench.papers.field.ranking import write_field
from lpbench.papers.field.texts import AGAINST_WHOM
from lpbench.reporting.paper import Output, Page, Paper

PAPER = Paper(
    name="field",
    title="The field",
    order=210,
    methods=("private_mean", "private_majority", "dt", "ct_w"),
    leaderboard=("field/regression", "field/classification", "field/public_sample"),
    outputs={
        f"field/{name}": Output(write_field)
        for name in (
            *("regression", "classification", "public_sample"),
            *("sealed_regression", "sealed_classification", "full_regression", "full_classification"),
        )
    },
    pages=(Page(name="against_whom", title="Against whom?", experiments=("field/",), lead=AGAINST_WHOM),),
)
