"""Classes of a number beside its print, and what a print identifies: its method, its budget, too, or neither.

A print that a constant, a run on public rows alone or a wrong implementation would meet as well does not say which
method was run. So every number that stands, or might stand, in a print's place gets its class by one function, our run
like any other: what stands in place of our run is judged by the same rules.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

#: Classes. *Equivalent*: two one-sided tests at 5 % show a distance from the print below the margin.
#: *Different*: one of them shows a larger one. *Cannot tell*: neither. *Not comparable*: there is no number, the paper
#: contradicts itself, or our target is a guess.
EQUIVALENT, DIFFERENT, CANNOT_TELL, NOT_COMPARABLE = "equivalent", "different", "cannot tell", "not comparable"
NUMBER_CLASSES = (EQUIVALENT, CANNOT_TELL, DIFFERENT, NOT_COMPARABLE)
#: The upper 5 % of the normal law begin here.
ONE_SIDED = 1.645
#: What our run that judges is called among the alternatives.
OURS = "our run"
#: What an alternative counts against: the method that a print identifies, or its budget.
METHOD, BUDGET = "method", "budget"
ALTERNATIVE_COLUMNS = ["number", "alternative", "counted", "value", "se", "class"]


def class_of(
    value: np.ndarray, se: np.ndarray, published: np.ndarray, se_print: np.ndarray, margin: np.ndarray
) -> np.ndarray:
    """Return the class of each value beside its print.

    Parameters
    ----------
    value, se : ndarray of shape (n,)
        What stands in the print's place, and its standard error (NaN: not known, which decides nothing).
    published, se_print : ndarray of shape (n,)
        The print and its standard error, which is assumed, since papers print none.
    margin : ndarray of shape (n,)
        Largest distance that counts as none, in the unit of the values.

    Returns
    -------
    ndarray of str of shape (n,)
        One of :data:`NUMBER_CLASSES`.
    """
    apart = np.abs(np.asarray(value, dtype=float) - published)
    reach = ONE_SIDED * np.hypot(se, se_print)
    rounding = 1e-11
    cases = [np.isnan(apart) | np.isnan(margin), apart + reach <= margin + rounding, apart - reach > margin + rounding]
    return np.select(cases, [NOT_COMPARABLE, EQUIVALENT, DIFFERENT], CANNOT_TELL)


def identified(rows: pd.DataFrame, judged_as: str = OURS, factor: float = 1.0) -> pd.DataFrame:
    """Say of every number its class, and what it identifies, if one of the alternatives is taken for our run.

    Parameters
    ----------
    rows : DataFrame
        The alternatives of each ``number``, :data:`OURS` among them: columns alternative, counted, value, se,
        published, margin, rescale (the print's standard error over that of our run: the root of our replications over
        the paper's).
    judged_as : str
        The alternative in place of our run, which it then does not stand beside; our run takes its place among those
        that count against the method. Numbers without this alternative are left out.
    factor : float
        Multiple of the print's standard error, whose value is an assumption.

    Returns
    -------
    DataFrame
        Indexed by number: ``class`` of what is in place, ``identifies`` (empty, "method", or "budget", which includes
        the method), and ``beside``, the alternatives that are not different.
    """
    judged = rows[(rows["alternative"] == judged_as) & rows["value"].notna()].set_index("number")
    beside = rows[rows["number"].isin(judged.index)]
    classes = _classes(beside, judged["se"] * judged["rescale"] * factor)
    counted = beside["counted"].mask(beside["alternative"] == OURS, METHOD).mask(beside["alternative"] == judged_as, "")
    classed = pd.DataFrame({"number": beside["number"], "alternative": beside["alternative"], "class": classes})
    equivalent = classed[classed["alternative"] == judged_as].set_index("number")["class"]
    result = pd.DataFrame({"class": equivalent, "identifies": "", "beside": ""}).loc[judged.index]
    differs, holds = classed["class"] == DIFFERENT, result["class"] == EQUIVALENT
    for level in (METHOD, BUDGET):
        # who was compared with nothing identifies nothing
        against = differs[counted == level].groupby(classed["number"][counted == level]).all()
        holds &= against.reindex(result.index, fill_value=False)
        result["identifies"] = result["identifies"].mask(holds, level)
    alike = classed[(counted == METHOD) & ~differs].groupby("number")["alternative"].agg("; ".join)
    return result.assign(beside=alike.reindex(result.index, fill_value=""))


def classes_beside_ours(rows: pd.DataFrame) -> np.ndarray:
    """Return the class of each alternative as a replacement of our number, the print being as precise as our run."""
    ours = rows[rows["alternative"] == OURS].set_index("number")
    return _classes(rows, ours["se"] * ours["rescale"])


def _classes(rows: pd.DataFrame, se_print: pd.Series) -> np.ndarray:
    """Class of each alternative's row by the standard error of its number's print, ``se_print`` by number."""
    value, se, published, margin = (rows[key].to_numpy(dtype=float) for key in ("value", "se", "published", "margin"))
    return class_of(value, se, published, rows["number"].map(se_print).to_numpy(dtype=float), margin)


def wrong_in_place(rows: pd.DataFrame, wrong: Sequence[str]) -> list[tuple[str, int, int, int]]:
    """Count what a wrong implementation would identify, and our run on the same numbers.

    Returns
    -------
    list of tuple
        Name, numbers that it applies to, those that our run identifies with all alternatives beside it, and those that
        the wrong one identifies in its place.
    """
    ours = identified(rows)["identifies"] != ""
    counts = []
    for name in wrong:
        identifies = identified(rows, name)["identifies"] != ""
        counts.append((name, len(identifies), int(ours[identifies.index].sum()), int(identifies.sum())))
    return counts
