"""Alternatives to LPCT's printed numbers: a private constant, public rows alone, wrong implementations."""

from lpbench.analysis.alternatives import BUDGET, METHOD
from lpbench.members import member
from lpbench.papers.lpct.published import FIGURES
from lpbench.reporting.interpretations import Alternative

TABLE = "lpct/table2"
RUN = ("mutants/lpct_figures", "mutants/lpct_figure8", "mutants/lpct_table2")
#: Selectors that judge, by what they use: both samples, the votes of private users, public rows alone.
BOTH = ("lpct_max_edge", "lpct_max_edge[variant=text]", "lpct_cart", "lpct_random")
PRIVATE = ("lpct_p", "lpdt", "lpdt[variant=published_code]")
PRUNED = ("lpct_prune_max_edge", "lpct_prune_max_edge[variant=text]", "lpct_prune_cart[variant=text]")
PUBLIC = ("lpct_q",)
OTHERS = ("phist", "pglm", "psgd_linear", "psgd_neural")
REFERENCES = ("ct_q", "ct_w")


def _with(methods: tuple[str, ...], **changed: str) -> dict[str, str]:
    """Map each method's selector to the same selector with parameters ``changed``."""
    return {m: str(member(m).with_params(**changed)) for m in methods}


#: Laplace noise of twice the scale is that of half of the budget; LPCT-prune uses the budget for more than the noise.
LOUD = {m: m for m in (*BOTH, *PRIVATE, *OTHERS)}

ALTERNATIVES = (
    Alternative("PrivateMajority", METHOD, {"": "private_majority"}, RUN),
    Alternative("public rows alone", METHOD, {"": "ct_q"}, (), artifacts=(TABLE,)),
    Alternative("public rows alone", METHOD, {"": "lpct_max_edge[source=public]"}, RUN, artifacts=FIGURES),
    Alternative("public weight 0", METHOD, _with(BOTH, source="private"), RUN, wrong=True),
    Alternative("public weight infinite", METHOD, _with(BOTH, source="public"), RUN, wrong=True),
    Alternative("random cuts", METHOD, _with((*BOTH[:3], *PRIVATE, *PRUNED, *PUBLIC), rule="random"), RUN, wrong=True),
    Alternative("noise doubled", METHOD, _with(PRUNED, mutant="doubled_noise"), RUN, wrong=True),
    Alternative("noise doubled", METHOD, LOUD, RUN, budget=2.0, wrong=True),
    Alternative("half of the budget", BUDGET, LOUD | {m: m for m in (*PRUNED, *PUBLIC, *REFERENCES)}, RUN, budget=2.0),
)
