"""Picture of an audit: the distributions of the reports of two values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from scipy.stats import ks_2samp

from lpbench.audit.black_box.decide import Verdict
from lpbench.audit.black_box.values import show_value
from lpbench.errors import ConfigurationError

#: Bars of a histogram, and categories that are shown.
_BARS, _CATEGORIES = 60, 12
_COLOURS = ("#0072b2", "#d55e00")


@rc_context({"text.parse_math": False})  # names and values are the user's
def draw(verdict: Verdict, path: Path) -> None:
    """Draw the column of the reports whose two distributions differ most, and where the event lies."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ConfigurationError(f"figure {str(path)!r} must end in .png, .svg or .pdf")
    from matplotlib.figure import Figure

    first, second = verdict.samples_of
    name = max(first, key=lambda n: _difference(first[n], second[n]))
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot()
    inside = [verdict.event.happens(columns) for columns in verdict.samples_of]
    if first[name].dtype == object:
        names, counts = np.unique(np.concatenate([first[name], second[name]]).astype(str), return_counts=True)
        places = names[np.sort(np.argsort(-counts, kind="stable")[:_CATEGORIES])]
        shares = [np.array([(column == place).mean() for place in places]) for column in (first[name], second[name])]
        edges, ticks = np.arange(len(places) + 1) - 0.5, places
    else:
        both = np.concatenate([first[name], second[name]])
        low, high = np.quantile(both[np.isfinite(both)], [0.001, 0.999])
        edges, ticks = np.linspace(low, high if high > low else low + 1, _BARS + 1), None
        shares = [np.histogram(column, edges)[0] / len(column) for column in (first[name], second[name])]
    for value, share, hits, colour in zip(verdict.values, shares, verdict.hits, _COLOURS, strict=True):
        label = f"value {show_value(value)}: event in {100 * hits / verdict.tested:.3g} %"
        axes.stairs(share, edges, color=colour, fill=True, alpha=0.35, label=label)
        axes.stairs(share, edges, color=colour)
    if ticks is None:
        _shade(axes, edges, np.concatenate([first[name], second[name]]), np.concatenate(inside))
    else:
        axes.set_xticks(range(len(ticks)), ticks)
    state = "refuted" if verdict.violated else "not refuted"
    axes.set(xlabel=name, ylabel="share of the reports")
    axes.set_title(f"{verdict.name}: {verdict.claim} {state}, loses at least {verdict.bound:.3g}", fontsize=10)
    axes.legend(frameon=False, title=verdict.rule if len(verdict.rule) <= 60 else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _difference(first: np.ndarray, second: np.ndarray) -> float:
    """Kolmogorov's distance of two samples, or the largest difference of a category's share."""
    if first.dtype == object:
        seen, codes = np.unique(np.concatenate([first, second]).astype(str), return_inverse=True)
        shares = [np.bincount(c, minlength=seen.size) / len(c) for c in (codes[: len(first)], codes[len(first) :])]
        return float(np.abs(shares[0] - shares[1]).max())
    return float(ks_2samp(first, second, method="asymp").statistic)


def _shade(axes, edges: np.ndarray, reports: np.ndarray, inside: np.ndarray) -> None:
    """Shade the bars in which most reports belong to the event."""
    total, events = np.histogram(reports, edges)[0], np.histogram(reports[inside], edges)[0]
    for low, high, share in zip(edges[:-1], edges[1:], events / np.maximum(total, 1), strict=True):
        if share > 0.5:
            axes.axvspan(low, high, color="0.5", alpha=0.15, linewidth=0)
