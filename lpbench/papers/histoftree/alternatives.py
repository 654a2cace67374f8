"""Alternatives to the numbers of HistOfTree's tables: a private constant, half of the budget, wrong implementations."""

import json

import pandas as pd

from lpbench.analysis.alternatives import BUDGET, METHOD
from lpbench.experiments.results import Results
from lpbench.members import bare_name
from lpbench.papers.histoftree.published import TABLES
from lpbench.reporting.interpretations import Alternative
from lpbench.reporting.plain_table import PlainTable

RUN = "mutants/histoftree"
TREES = ("histoftree_max_edge", "histoftree_cart", "adhistoftree_max_edge", "adhistoftree_cart")
#: Selectors that judge.
JUDGED = (*TREES, "par_dt[variant=text]", "krr[variant=text]", "hist")


def _patched(patch: str, methods: tuple[str, ...]) -> dict[str, str]:
    """Map each method's selector to that of its mutant named ``patch``, such as ``hist`` to ``hist[mutant=patch]``."""
    return {m: f"{m.removesuffix('[variant=text]')}[mutant={patch}{',variant=text' * ('[' in m)}]" for m in methods}


ALTERNATIVES = (
    Alternative("PrivateMean", METHOD, {"": "private_mean"}, (RUN,)),
    Alternative("labels in the clear", METHOD, _patched("clear_labels", JUDGED), (RUN,), wrong=True),
    Alternative("label noise doubled", METHOD, _patched("doubled_label_noise", JUDGED), (RUN,), wrong=True),
    Alternative("reports not debiased", METHOD, _patched("no_debiasing", TREES), (RUN,), wrong=True),
    Alternative(
        "random cuts",
        METHOD,
        # without labels the rule of the cuts makes no difference
        {m: f"{m.removesuffix('_max_edge').removesuffix('_cart')}_max_edge[rule=random]" for m in TREES},
        (RUN,),
        wrong=True,
    ),
    Alternative("half of the budget", BUDGET, {m: m for m in JUDGED}, (RUN, *TABLES), budget=2.0),
)


def chosen_settings(results: Results) -> PlainTable | None:
    """Lay out how many bins and which depth the best grid points of HistOfTree's columns have, by table and mask."""
    rows = [one for name in TABLES if (one := results.artifact(name).chosen) is not None]
    if not rows:
        return None
    chosen = pd.concat(rows)
    chosen = chosen[(chosen["selection"] == "oracle") & chosen["method"].isin(TREES[:2])]
    cells = chosen.drop_duplicates(["experiment", "dataset", "mask", "method"])
    cells = cells.assign(**{key: [json.loads(text).get(key) for text in cells["params"]] for key in ("bins", "depth")})
    cells["mask"] = cells["mask"].map(bare_name)
    lines = [
        (f"{epsilon:g}", mask, method, *_share(group))
        for (epsilon, mask, method), group in cells.groupby(["epsilon", "mask", "method"])
    ]
    one, shallow, total = (cells["bins"] == 1).sum(), (cells["depth"] == 1).sum(), len(cells)
    return PlainTable(
        "The columns count data sets whose best grid point has one bin (“one bin”) or a tree with one cut (“depth 1”). "
        "With one bin, the protected features' grid has a single cell, so reports reveal nothing about these features.",
        ("ε", "mask", "method", "one bin", "depth 1"),
        tuple(lines),
        finding=f"The best grid point has one bin in {one} of {total} HistOfTree table cells, and depth 1 in {shallow}",
    )


def _share(cells: pd.DataFrame) -> tuple[str, str]:
    """Return two texts "k of n": how many of the n printed cells are of one bin, and how many of depth 1."""
    return f"{(cells['bins'] == 1).sum()} of {len(cells)}", f"{(cells['depth'] == 1).sum()} of {len(cells)}"
