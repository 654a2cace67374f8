"""Candidate explanations of why our numbers differ from LPCT's published ones."""

from collections.abc import Iterator

import numpy as np

from lpbench.errors import NotRunError
from lpbench.experiments.results import Results
from lpbench.papers.lpct.published import FIGURES, printed_cells
from lpbench.reporting.interpretations import Bound, Interpretations, Step, Tolerance
from lpbench.reporting.paper import Cause

TABLE, TRIED, TRIED_TABLE = "lpct/table2", "lpct/causes", "lpct/causes_tables"
#: Distance within which an accuracy of the table counts as met.
CELL_WITHIN = 0.02
#: Private users of figure 7, public rows of its panels.
N_PRIVATE, N_PUBLIC = 10_000, 100

CODE = (
    "the authors' scripts cut cells by entropy, search least leaf sizes over powers of 2, and predict class 0 outside "
    "the public range of the features"
)

CAUSES = (
    Cause(f"{CODE}. The variant released also chooses cuts as the released code does", experiment=TABLE,
          method="lpct_"),
    Cause(f"{CODE}. The variant released also chooses cuts as the released code does", experiment=TABLE,
          method="lpdt"),
    Cause("the authors' code (variant released) has one learning rate for private and public steps, searches four "
          "rates, and spends ε on each tensor of weights", method="psgd_"),
    Cause("the authors' code (variant released) does not scale rows to length 1, and adds noise as for rows of length "
          "d + 1. The paper also prints the same column at ε = 0.5 and 2", method="pglm"),
    Cause("the authors' code (variant released) sets seed 1 inside fit, so that all replications have the same noise",
          experiment=TABLE, method="phist"),
    Cause("the released LPCT-prune cannot have made the printed accuracies, because its own, like ours, are lower",
          method="lpct_prune"),
    Cause("our CT-Q has the numbers of the authors' saved log, not those of the printed table",
          experiment=TABLE, method="ct_q"),
    Cause("printed seconds have one digit, and ratios of seconds depend on the implementations",
          experiment="lpct/table3"),
)  # fmt: skip


def _tables() -> Iterator[Interpretations]:
    """Yield the interpretations of Table 2: the text's, the authors' scripts, the released code."""
    shallow = "the authors' scripts: a query of depth 2 in place of depth p0"
    rates = "the authors' code: one learning rate for public and private steps, searched over four values"
    ten, next_best = (
        "ten candidate thresholds per feature",
        "another feature among the best tenth if the best cut leaves too few rows",
    )
    for words, base, default, scripts, difference, search in (
        ("LPCT (max-edge)", "lpct_max_edge", "[variant=text]", "published_tables", CODE, next_best),
        ("LPCT (CART)", "lpct_cart", "", "published_code", CODE, f"{ten}, and {next_best}"),
        ("LPCT-prune (max-edge)", "lpct_prune_max_edge", "[variant=text]", "published_tables", shallow, next_best),
        (
            "LPCT-prune (CART)",
            "lpct_prune_cart",
            "[variant=text]",
            "published_tables",
            shallow,
            f"{ten}, and {next_best}",
        ),
        ("LPDT", "lpdt", "", "published_code", CODE, next_best),
        ("PSGD-L", "psgd_linear", "", "published_code", rates, "spends ε on each tensor of weights, 2 ε in all"),
        (
            "PSGD-N",
            "psgd_neural",
            "",
            "published_code",
            f"{rates}, and one width of the network",
            "spends ε on each tensor of weights, 4 ε in all",
        ),
    ):
        also = search if base.startswith("psgd") else f"chooses cuts in its own way: {search}"
        steps = [
            Step("the text", base + default, "text"),
            Step(difference, f"{base}[variant={scripts}]", "code", TRIED_TABLE, "scripts"),
            Step(f"the authors' code, which also {also}", f"{base}[variant=released]", "code"),
        ]
        if "prune" in base:
            authors = "the constants of the authors' code, and one query with the whole ε in place of Algorithm 2's two"
            steps.insert(1, Step(authors, f"{base}[variant=tight_no_flag]", "code"))
        if base == "lpct_cart":
            steps.append(Step(f"the text with {ten}", "lpct_cart[search=released]", "tried", TRIED_TABLE, "scripts"))
        if base == "lpdt":
            steps.append(Step("CART in place of max-edge", "lpdt[rule=cart]", "tried"))
        unexplained = (
            "the numbers on Employ, Employee and Landcover, which the released code does not reproduce"
            if "prune" in base
            else ""
        )
        yield Interpretations(f"{words}, Table 2", (TABLE,), base, tuple(steps), unexplained=unexplained)
    for words, base, text, code, unexplained in (
        (
            "PGLM",
            "pglm",
            "a private release of moments",
            "rows are not scaled, an estimate above 1/2 is class 1, and the noise has the code's variance",
            "the printed column at ε = 2, which repeats the column at ε = 0.5",
        ),
        (
            "PHIST",
            "phist",
            "each user's noise is drawn anew in each replication",
            "fit sets seed 1, and one draw stands for the sum of all users' noise",
            "numbers that neither interpretation reproduces (the printed column rests on a single draw of the noise)",
        ),
    ):
        steps = [
            Step(f"the text: {text}", base, "text"),
            Step(f"the authors' code: {code}", f"{base}[variant=released]", "code"),
        ]
        yield Interpretations(f"{words}, Table 2", (TABLE,), base, tuple(steps), unexplained=unexplained)


def _figures() -> Iterator[Interpretations]:
    """Yield the interpretations of the figures, each from the text's to the authors' code."""
    curve, prune = "lpct_max_edge", "lpct_prune_max_edge"
    yield Interpretations(
        "LPCT against the depth, Figure 7(a)",
        ("lpct/figure7a",),
        curve,
        (
            Step(
                "the text: 50 public rows, and a cell with one public row is a leaf",
                curve,
                "text",
                TRIED,
                "one_row_fifty",
            ),
            Step("the authors' script: 100 public rows", curve, "code", TRIED, "one_row"),
            Step("the authors' code: cells are cut as long as they contain a public row", curve, "code"),
        ),
    )
    yield Interpretations(
        "LPCT-prune against the depth, Figure 7(b)",
        ("lpct/figure7b",),
        prune,
        (
            Step(
                "the authors' script: 100 public rows, and a cell with one public row is a leaf",
                prune,
                "code",
                TRIED,
                "one_row",
            ),
            Step("the authors' code: cells are cut as long as they contain a public row", prune, "code"),
            Step("the constants printed in Algorithm 2", f"{prune}[constants=paper]", "tried", TRIED, "constants"),
            Step(
                "exact variances in place of the bounds in Algorithm 2's constants",
                f"{prune}[constants=exact]",
                "tried",
                TRIED,
                "constants",
            ),
        ),
        unexplained="the curve at ε = 1000, which our data rule out (see below)",
    )
    for name, words in (("4a", "4(a)"), ("4b", "4(b)"), ("5c", "5(c)")):
        steps = [
            Step("the constants of section 6.1, and no second query", f"{prune}[variant=tight_no_flag]", "text"),
            Step("the authors' code", prune, "code"),
        ]
        yield Interpretations(
            f"LPCT-prune, Figure {words}",
            (f"lpct/figure{name}",),
            prune,
            tuple(steps),
            unexplained="the curves of LPCT-prune, which the released code does not reproduce",
        )
    for name, words in (("4a", "4(a)"), ("4b", "4(b)"), ("4c", "4(c)"), ("5a", "5(a)"), ("7c", "7(c)")):
        steps = [Step("the text", f"{curve}[variant=text]", "text"), Step("the authors' code", curve, "code")]
        yield Interpretations(f"LPCT, Figure {words}", (f"lpct/figure{name}",), curve, tuple(steps))
    random = "lpct_random"
    yield Interpretations(
        "LPCT-R, Figure 9(b)",
        ("lpct/figure9",),
        random,
        (
            Step("the grid of 800 settings that LPCT searches (the fair comparison)", random, "silent"),
            Step("the authors' grid of 68 settings", f"{random}[min_samples_leaf=1]", "code"),
        ),
    )


def private_votes_stay_out(results: Results) -> str:
    """The released constants use private votes only in a cell with twice the average number of users."""
    cells = printed_cells("lpct/figure7b")
    printed = cells[cells["epsilon"] == 1000.0]
    top = printed.loc[printed["published"].idxmax()]
    share = needed_share(int(top["x"]), 1000.0)
    mean = N_PRIVATE * 2.0 ** -top["x"]
    rows = results.artifact("lpct/figure7b").rows()
    ours = rows[(rows["epsilon"] == 1000.0) & (rows["x"] == top["x"])]["mean"]
    if ours.empty:
        raise NotRunError("lpct/figure7b was not run at epsilon 1000")
    public = printed_cells("lpct/figure6b")
    public = public[(public["method"] == "lpct_q") & (public["x"] == N_PUBLIC)]["published"].iloc[0]
    return (
        f"at depth {top['x']:g} a leaf has {mean:.0f} users on average, and uses private votes from {share:.1f} times "
        f"this average on ({(share - 1) * np.sqrt(mean):.0f} standard deviations above it). The accuracy of LPCT-Q, "
        f"which has no private votes, is {public:g} in print with {N_PUBLIC} public rows (Figure 6(b)). The accuracy "
        f"of LPCT-prune is {ours.iloc[0]:.3f} in our run and {top['published']:g} in print"
    )


def needed_share(depth: int, epsilon: float, climbed: int = 0) -> float:
    """Relative number of users that a cell needs before the released constants use its private votes.

    It is u = c1 n_P / (c2 epsilon^2) over the cell's share n_P 2^-k of the users.
    """
    k = depth - climbed
    c2 = np.log(N_PRIVATE + N_PUBLIC) + k + 1
    c1 = 2 ** (climbed + 1) * (2 * np.log(2 * N_PRIVATE) + epsilon * 2 ** (-k / 2) * np.sqrt(c2)) ** 2
    return float(c1 / (c2 * epsilon**2) * 2.0**k)


def printed_public_tree(results: Results) -> str:
    """List the data sets on which the printed CT-Q is farther from ours than the tolerance."""
    ours = results.artifact(TABLE).rows()
    ours = ours[(ours["method"] == "ct_q") & (ours["epsilon"] == 2.0)].set_index("dataset")["mean"]
    printed = printed_cells(TABLE)
    printed = printed[(printed["method"] == "ct_q") & (printed["epsilon"] == 2.0)].set_index("dataset")["published"]
    far = [d for d in printed.index if d in ours.index and abs(ours[d] - printed[d]) > CELL_WITHIN]
    return "; ".join(f"{d} has {ours[d]:.3f} in our run and {printed[d]:.3f} in print" for d in far)


INTERPRETATIONS = (*_tables(), *_figures())
BOUNDS = (
    Bound("Figure 7(b), ε = 1000", "under the released code's constants, a cell uses private votes only if it has at "
          "least twice the average number of users. Hence nearly all leaves predict from public rows alone",
          private_votes_stay_out, ({"artifact": "lpct/figure7b", "epsilon": 1000.0},)),
    Bound("Table 2, CT-Q", "CT-Q reads public rows alone and uses no randomness. Hence the same rows give the same "
          "accuracy. The authors' saved log has our accuracies, not the printed ones", printed_public_tree,
          ({"artifact": TABLE, "method": "ct_q"},)),
)  # fmt: skip
TOLERANCES = dict.fromkeys(FIGURES, Tolerance(0.015)) | {TABLE: Tolerance(CELL_WITHIN)}
