"""Numbers as tables, pages and scripts print them."""

import math

from lpbench.analysis.rates import Interval


def print_number(value: float, style: str) -> str:
    """A number with the digits of a table: four significant ones, three (one from 10,000 on), or per cent."""
    if math.isnan(value):
        return ""
    if style == "per_cent":
        return f"{100 * value:.2f}"
    if style == "three_digits":
        if abs(value) >= 10_000:
            return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
        return f"{value:.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"
    # four digits, but no exponent up to a million: 255500, not 2.555e+05
    return f"{float(format(value, '.4g')):g}"


def print_score(mean: float, se: float) -> str:
    """A mean with its standard error, where there is one, without exponents where they can do without."""
    value_text, spread = (f"{float(format(value, digits)):g}" for value, digits in ((mean, ".4g"), (se, ".2g")))
    return value_text if math.isnan(se) else f"{value_text} ±{spread}"


def print_value(value: object, form: str = "g") -> str:
    """A value of any type as text, numbers in a format."""
    return format(value, form) if isinstance(value, float) else str(value)


def print_ratio(ratio: Interval) -> str:
    """A ratio with its interval over data sets, where there are enough for one."""
    if math.isnan(ratio.estimate):
        return "–"
    return f"{ratio.estimate:.2f}" + ("" if math.isnan(ratio.low) else f" [{ratio.low:.2f}, {ratio.high:.2f}]")


def per_cent(share: float) -> str:
    """Return a share as a whole percentage."""
    return f"{100 * share:.0f} %"


def for_script(value: float, form: str) -> float | None:
    """Round a number for JSON by a format, as short as possible; None where it is NaN."""
    if not math.isfinite(value):
        return None
    number = float(format(value, form))
    return int(number) if number.is_integer() else number
