"""Slimmed figures have the same shapes in fewer bytes."""

import re
from io import StringIO
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np

from lpbench.reporting.figures.slim import slim

SVG = "{http://www.w3.org/2000/svg}"


def drawn():
    figure, axes = plt.subplots(1, 2, figsize=(6, 3))
    for ax in axes:
        ax.plot(np.linspace(0, 1, 40), np.sin(np.arange(40)), marker="o", label="a curve")
        ax.legend()
    content = StringIO()
    figure.savefig(content, format="svg")
    plt.close(figure)
    return content.getvalue()


def shapes(svg):
    """Each visible element with its numbers and its whole style, in order."""
    root = ElementTree.fromstring(svg)
    rules = dict(re.findall(r"\.(\w+)\{([^}]*)\}", next(root.iter(f"{SVG}style")).text))
    found = []
    for element in root.iter():
        if element.tag in (f"{SVG}path", f"{SVG}use", f"{SVG}text", f"{SVG}rect"):
            style = element.get("style") or rules.get(element.get("class", ""), "")
            places = " ".join(element.get(k, "") for k in ("d", "x", "y"))
            numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", places)]
            found.append((element.tag, style.replace(" ", ""), (element.text or "").strip(), numbers))
    return found


def test_the_same_shapes_in_half_the_bytes():
    svg = drawn()
    found = slim(svg)
    assert len(found) < 0.6 * len(svg) and slim(svg) == found
    for before, after in zip(shapes(svg), shapes(found), strict=True):
        assert before[:3] == after[:3]
        np.testing.assert_allclose(after[3], before[3], atol=0.0051)


def test_everything_that_is_referred_to_is_there():
    found = slim(drawn())
    names = set(re.findall(r'\bid="([^"]+)"', found))
    assert set(re.findall(r"#(n\d+)", found)) == names
    assert re.search(r'<svg[^>]*? width="[\d.]+pt" height="[\d.]+pt"', found)
