"""Candidate explanations of why our numbers differ from HistOfTree's published tables."""

from collections.abc import Iterator

import pandas as pd

from lpbench.analysis.numbers import AFTER_THE_FACT, CONTRADICTION, GUESS
from lpbench.experiments.results import Results
from lpbench.papers.histoftree.published import TABLES, printed_cells
from lpbench.reporting.interpretations import Bound, Interpretations, Step, Tolerance
from lpbench.reporting.paper import Cause

ARTIFACTS = tuple(TABLES)
TRIED = "histoftree/causes"
NAMES = {"max_edge": "max-edge", "cart": "CART"}
MASKS = {"aligned": "aligned", "personalized": "personalised"}
#: Data sets on which a single cell already gives a millionth of the printed error.
IMPOSSIBLE = ("building", "music_origin", "pyrimidines")

CAUSES = (
    Cause("a depth-0 tree, absent from the paper's grid, removes most of the difference (variant inferred)",
          experiment="histoftree/table", method="histoftree_"),
    Cause("the paper does not state the smallest depth of AdHistOfTree, which is 1 in our run and 0 in the variant "
          "inferred",
          experiment="histoftree/table", method="adhistoftree_"),
    Cause("the paper does not say how KRR divides the budget, and half of it for the label agrees better with print "
          "(variant inferred) than our equal parts for label and features", method="krr"),
    Cause("the paper's label is not column V-9 or V-10 of our data, so the paper's label or preprocessing is not ours",
          experiment="histoftree/table", dataset="building"),
    Cause("the paper does not print its order of features, and the order by importance in a random forest fits the "
          "printed numbers best (found later by search, decides no claim)",
          experiment="histoftree/table", method="par_dt"),
)  # fmt: skip


def _candidates(mask: str, method: str, what: str, *steps: Step, unexplained: str = "") -> Interpretations:
    words = f"{what}, {MASKS[mask]} masks, Tables 1-3"
    return Interpretations(words, ARTIFACTS, method, steps, mask, unexplained)


def _by_importance(method: str, interpretation: str = "") -> Step:
    """A step for the nine data sets run with features in the order of importance, by ``method`` (a selector).

    ``interpretation`` is its text; empty: the order alone.
    """
    order = "features ordered by their importance in a random forest, not by our list of sensitivity"
    return Step(interpretation or order, method, AFTER_THE_FACT, TRIED, "importance")


def _interpretations() -> Iterator[Interpretations]:
    """Yield the interpretations of Tables 1-3, method by method and mask by mask, from the text's onwards."""
    building = "Building (see “Printed numbers that our data rule out”)"
    depth_0 = "in addition, a depth-0 tree spends the whole ε on the label"
    for mask in MASKS:
        for rule, name in NAMES.items():
            method = f"histoftree_{rule}"
            steps = [
                Step("the text's grid, depth 1, 2, 4, 6", method, "text"),
                Step("a depth-0 tree in the grid", f"{method}[variant=inferred]", "inferred"),
                _by_importance(f"{method}[variant=inferred]"),
                _by_importance(f"{method}[variant=found]", depth_0),
            ]
            if mask == "aligned":
                leaf = "a minimum leaf size from 10 to 2000 in place of a depth-0 tree"
                steps.append(Step(leaf, f"{method}[variant=leaf_size]", "refuted", TRIED, "leaf_size"))
            else:
                fixed = "the text's search grid, with s fixed at s*"
                steps.append(Step(fixed, f"{method}[n_grid_features=s*]", "refuted", TRIED, "fixed_s"))
            yield _candidates(mask, method, f"HistOfTree ({name})", *steps, unexplained=building)
    for rule, name in NAMES.items():
        method = f"adhistoftree_{rule}"
        yield _candidates(
            "personalized",
            method,
            f"AdHistOfTree ({name})",
            Step("the paper's rule (15) chooses the depth p ≥ 1", method, "text"),
            Step("the paper's rule (15) chooses the depth p ≥ 0", f"{method}[variant=inferred]", "inferred"),
            _by_importance(f"{method}[variant=inferred]"),
            _by_importance(f"{method}[variant=found]", depth_0),
            unexplained=building,
        )
    for mask in MASKS:
        yield _candidates(
            mask,
            "krr",
            "KRR",
            Step(
                "scikit-learn's tree, not clipped, and equal parts of the budget for the label and each feature",
                "krr[variant=text]",
                "text",
            ),
            Step("half of the budget for the label, half for the features", "krr[variant=inferred]", "inferred"),
            Step(
                "half of the budget for the label, half for the features, and predictions clipped to the label's range",
                "krr[budget=halves]",
                AFTER_THE_FACT,
                TRIED,
                "clipped",
            ),
            _by_importance("krr[variant=inferred]"),
            _by_importance(
                "krr[variant=mostly_label]", "features ordered by importance, and 0.7 of the budget for the label"
            ),
            Step(
                "the whole budget for the label and again for each feature, which exceeds the stated ε, and clipped "
                "predictions",
                "krr[variant=per_attribute]",
                "refuted",
                TRIED,
                "per_attribute",
            ),
            unexplained="Building, and the numbers that depend on how KRR divides its budget",
        )
    for mask in MASKS:
        # Hist protects everything whatever the mask: ours is the same in both halves, and what was tried was run in one
        yield _candidates(
            mask,
            "hist",
            "Hist",
            Step("the text's grid, t = 1, 2, 3 or 4 bins", "hist", "text"),
            Step(
                "the private mean in place of t = 1 (one bin)",
                "hist or private_mean",
                AFTER_THE_FACT,
                TRIED,
                "no_single_bin",
                mask="aligned",
            ),
            Step("a grid without t = 1 (one bin)", "hist", "refuted", TRIED, "no_single_bin", mask="aligned"),
            unexplained="the numbers of Building, Music and Pyrimidines, with and without t = 1 in the grid. Without "
            "t = 1, numbers of data sets with few features also differ from print",
        )
    for mask in MASKS:
        yield _candidates(
            mask,
            "par_dt",
            "ParDT",
            Step(
                "scikit-learn's tree without clipping, label noise at the whole budget, 30 % test rows",
                "par_dt[variant=text]",
                "text",
            ),
            _by_importance("par_dt[variant=text]"),
            Step("predictions clipped to the public range", "par_dt", "tried", TRIED, "clipped"),
            Step("label noise at half of the budget", "par_dt[variant=text]", "refuted", TRIED, "half_budget", 2.0),
            unexplained="Building",
        )
    yield _candidates(
        "aligned",
        "par_dt",
        "ParDT on four data sets",
        Step("30 % test rows", "par_dt[variant=text]", "silent"),
        Step("50 % test rows", "par_dt[variant=text]", "refuted", TRIED, "half_test"),
        unexplained="the largest budget",
    )


def building_is_no_mean(results: Results) -> str:
    """Computation about the building data: equal max-edge and CART cells must come from a depth-0 tree.

    Its error is at least that of the mean.
    """
    rows = results.artifact("extensions/constants_regression").rows()
    rows = rows[(rows["dataset"] == "building") & (rows["method"] == "private_mean")]
    least = rows[rows["epsilon"] == rows["epsilon"].max()]["ratio"].min()
    printed = _printed("building", "histoftree_max_edge", "histoftree_cart")
    cells = printed[printed["epsilon"] == 1.0]["published"]
    return (
        f"at ε = {rows['epsilon'].max():g} the private mean has {least:.1f} times the error of our non-private tree. "
        f"The printed scores of max-edge and CART at ε = 1 are {cells.min():g} and {cells.max():g}"
    )


def one_cell_is_in_the_grid(results: Results) -> str:
    """Computation about grids with t = 1: the best error is at most that of the privatized mean, a few units."""
    parts = []
    for dataset in IMPOSSIBLE:
        rows = pd.concat([results.artifact(name).rows() for name in ARTIFACTS])
        rows = rows[(rows["dataset"] == dataset) & (rows["method"] == "hist")]
        printed = _printed(dataset, "hist")["published"]
        parts.append(
            f"{dataset.replace('_', ' ')}: our scores {rows['ratio'].min():.3g} to {rows['ratio'].max():.3g}, "
            f"printed scores {printed.min():g} to {printed.max():g}"
        )
    return "; ".join(parts)


def _printed(dataset: str, *methods: str) -> pd.DataFrame:
    cells = pd.concat([printed_cells(name) for name in ARTIFACTS])
    return cells[(cells["dataset"] == dataset) & (cells["mask"] == "aligned") & cells["method"].isin(methods)]


INTERPRETATIONS = tuple(_interpretations())
BOUNDS = (
    Bound("Tables 1-3, Building", "the printed scores at ε = 1 imply a nearly constant prediction, but no constant has "
          "a score near them if column V-9 is the label", building_is_no_mean, ({"dataset": "building"},), GUESS),
    Bound("Tables 1-3, Hist", "the paper's grid contains one bin (t = 1), which predicts a privatized mean, so the "
          "best score cannot be worse than the score of this mean",
          one_cell_is_in_the_grid, tuple({"dataset": name, "method": "hist"} for name in IMPOSSIBLE[1:]),
          CONTRADICTION),
)  # fmt: skip
TOLERANCES = dict.fromkeys(ARTIFACTS, Tolerance(0.15, relative=True))
