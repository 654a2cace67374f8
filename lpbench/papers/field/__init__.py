"""The field: our methods among rivals of the literature, on data sets that no choice was made on."""

from lpbench.papers.field.ranking import write_field
from lpbench.papers.field.texts import AGAINST_WHOM
from lpbench.reporting.paper import Output, Page, Paper

PAPER = Paper(
    name="field",
    title="The field",
    order=210,
    methods=("private_mean", "private_majority", "dt", "ct_w"),
    leaderboard=("field/regression", "field/classification"),
    outputs={
        f"field/{kind}{name}": Output(write_field)
        for kind in ("", "sealed_", "full_")
        for name in ("regression", "classification")
    },
    pages=(Page(name="against_whom", title="Against whom?", experiments=("field/",), lead=AGAINST_WHOM),),
)
