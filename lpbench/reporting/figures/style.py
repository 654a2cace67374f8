"""One look for all figures, and files whose bytes depend on the data alone."""

from __future__ import annotations

import importlib
import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lpbench.analysis.exponents import reference_line
from lpbench.disk import atomic_write
from lpbench.paths import REPRODUCED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colors: distinguishable with any common color blindness (yellow is left out, too pale).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
GRAY = "#7F7F7F"
#: Color of methods that no paper has, distinguished by their markers.
OWN = "#882255"
PRIVATE, PUBLIC, SELECTED = "#0072B2", "#F0F0F0", "#E69F00"

_RC = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "legend.fontsize": 8,
    "axes.grid": True,
    "axes.formatter.limits": [-5, 9],
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "lpbench",
    # hinted letters are narrower than those that a browser draws, for which the layout has to leave room
    "text.hinting": "none",
    # text stays text: it can be searched and read out, and a figure takes a third of the space
    "svg.fonttype": "none",
    # every text of an SVG file names them all
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "savefig.dpi": 100,
}
#: For a paper: letters that can be read at the printed width, fonts that are embedded, a resolution that prints.
_PRINTED_RC = {
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}
#: Inches of a column and of a page's text, as conferences have them.
WIDTHS = {"column": 3.25, "text": 6.75}
_WIDTH: ContextVar[float | None] = ContextVar("width", default=None)
#: Options of a file format. Date and program are left out, so that equal figures are equal files.
_OPTIONS: dict[str, dict] = {
    "svg": {"metadata": dict.fromkeys(("Date", "Creator", "Format", "Type"))},
    "png": {"metadata": {"Software": None}, "pil_kwargs": {"optimize": True}},
    "pdf": {"metadata": dict.fromkeys(("Creator", "Producer", "CreationDate"))},
}


@cache
def pyplot() -> Any:
    """Import matplotlib's pyplot, for files alone; it takes half a second, and most commands draw nothing."""
    import matplotlib

    matplotlib.use("Agg")
    return importlib.import_module("matplotlib.pyplot")


@contextmanager
def look(mathematics: bool = False):
    """Context with the project's matplotlib style; a dollar sign is plain text unless ``mathematics``."""
    settings = {"text.parse_math": mathematics}
    with pyplot().style.context(["default", (_RC if printed_width() is None else _RC | _PRINTED_RC) | settings]):
        yield


@contextmanager
def printed(width: float):
    """Context in which figures are drawn for a paper: a width in inches, PDF and PNG (300 dpi)."""
    token = _WIDTH.set(width)
    try:
        yield
    finally:
        _WIDTH.reset(token)


def printed_width() -> float | None:
    """Width in inches of a figure for a paper; None for pages."""
    return _WIDTH.get()


def budget_colors(budgets: Sequence[float], non_private: float) -> dict[float, str]:
    """Colors of budgets from one sequential scale, the same in all figures; budgets beyond its ends share it out."""
    from matplotlib.colors import to_hex

    private = sorted(b for b in budgets if b < non_private)
    low, high = 0.25, 16.0  # ends of the scale; from non_private on all is black
    if all(low <= b <= high for b in private):
        places = [math.log(b / low) / math.log(high / low) for b in private]
    else:
        places = [k / max(len(private) - 1, 1) for k in range(len(private))]
    scale = pyplot().get_cmap("viridis")
    colors = {b: to_hex(scale(0.92 * p)) for b, p in zip(private, places, strict=True)}
    return {b: colors.get(b, "#000000") for b in budgets}


def method_look(position: int | None) -> dict[str, str]:
    """Color and marker of a method by its place among those of its paper; ``None`` for a method of no paper."""
    if position is None:
        return {"color": OWN, "marker": "*"}
    return {"color": COLORS[position % 7], "marker": MARKERS[(position % 7 + position // 7) % len(MARKERS)]}


def method_looks(places: Mapping[str, int | None]) -> dict[str, dict[str, str]]:
    """Colors and markers by the place in the paper; those of no paper get, in order, what is still free."""
    look_of = {name: method_look(position) for name, position in places.items() if position is not None}
    taken = {value for look in look_of.values() for value in look.values()}
    colors, markers = (sorted(choices, key=taken.__contains__) for choices in ((OWN, *COLORS[:7]), ("*", *MARKERS[:7])))
    for name, position in places.items():
        if position is None:
            # every color with every marker, both new from one to the next
            looks = ({"color": colors[k % 8], "marker": markers[(k + k // 8) % 8]} for k in count())
            look_of[name] = next(look for look in looks if look not in look_of.values())
    return {name: look_of[name] for name in places}


def log_scale(ax: Axes) -> None:
    """Make the vertical axis logarithmic, with a few labels that are plain numbers; once everything is drawn."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.yaxis.get_view_interval()
    decades = math.log10(high / low)
    ax.yaxis.set_major_locator(LogLocator(subs=(1,) if decades > 2 else (1, 3) if decades > 1 else (1, 2, 3, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value < 1e5 else f"{value / 1e6:g} M"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def draw_slope(ax: Axes, x: np.ndarray, y: np.ndarray, exponent: float, color: str) -> None:
    """Draw a dashed line of slope ``-exponent`` through the middle of a curve on double logarithmic axes."""
    ax.plot(*reference_line(x, y, exponent), linestyle="--", linewidth=1.0, color=color, zorder=1)


def finish(
    ax: Axes,
    title: str,
    xlabel: str = "sample size N",
    loc: Literal["best", "upper right", "lower left"] = "best",
    legend: str | None = None,
) -> None:
    """Set logarithmic scales (x to base 2), names and the legend of an axes of risk curves.

    The y axis is named "excess risk"; ``legend`` heads the legend and says what its numbers are (None: no heading).
    """
    ax.set_xscale("log", base=2)
    log_scale(ax)
    ax.set_xlabel(xlabel)
    ax.set_ylabel("excess risk")
    ax.set_title(title, loc="left")
    ax.legend(loc=loc, fontsize=7, title=legend, title_fontsize=7)


def heading(figure: Figure, text: str) -> None:
    """Write a figure's heading at its left, in lines that the figure has room for: 13 letters an inch."""
    lines = (textwrap.fill(line, int(13 * figure.get_figwidth())) for line in text.splitlines())
    figure.suptitle("\n".join(lines), fontsize=9, x=0.02, ha="left")


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write ``name.svg`` (for a paper PDF) without dates, atomically, and return its path; closes the figure.

    A PNG stands beside it, but in a report: MLflow compares pictures of that kind alone.
    """
    formats = ["svg" if printed_width() is None else "pdf", *["png"] * (REPRODUCED not in folder.parts)]
    _settle(figure)
    for suffix in formats:
        content = BytesIO()
        figure.savefig(content, format=suffix, **_OPTIONS[suffix])
        with atomic_write(folder / f"{name}.{suffix}") as file:
            file.write(_slim(content.getvalue().decode()).encode() if suffix == "svg" else content.getvalue())
    pyplot().close(figure)
    return [folder / f"{name}.{formats[0]}"]


def _slim(svg: str) -> str:
    """Shorten an SVG to less than half: short coordinates, no unused names, shared styles."""

    def shorter(attribute: re.Match[str]) -> str:
        """Coordinates to a hundredth of a point, which is not seen."""
        text = " ".join(attribute[0].split())
        return re.sub(r"-?\d+\.\d+(?:e-?\d+)?", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), text)

    svg = re.sub(r"<!--.*?-->", "", svg)  # sources of formulas
    svg = re.sub(r">\s+<", "><", re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg))
    svg = re.sub(r'(?<= )(?:d|x|y|width|height|points|transform)="[^"]*"', shorter, svg)
    rules = ""
    for k, (look, times) in enumerate(Counter(re.findall(r' style="([^"]*)"', svg)).most_common()):
        if times > 1:
            svg, rules = svg.replace(f' style="{look}"', f' class="s{k}"'), f"{rules}.s{k}{{{look}}}"
    svg = svg.replace("</style>", f"{rules}</style>", 1)
    used = set(re.findall(r"#([\w.-]+)", svg))
    return re.sub(r' id="([^"]+)"', lambda name: name[0] if name[1] in used else "", svg) + "\n"


def _settle(figure: Figure) -> None:
    """Fix the axes' places, rounded: the solver's last digits depend on memory, and names in an SVG on them."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        if any(ax.get_aspect() != "auto" for ax in figure.axes):  # these find their place only in a second pass
            engine.execute(figure)
        with pyplot().rc_context({"figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)  # "none" would be an engine too, for which everything is drawn twice
    for ax in figure.axes:
        ax.set_position(tuple(np.round(ax.get_position(original=True).bounds, 9)))
