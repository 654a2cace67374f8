"""Small files: the same picture, the same bytes on every run, text that stays text, colours that follow the page."""

import io
import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from lpbench.reporting.figures import style
from lpbench.reporting.figures.compact import DIGITS, PALETTE, compact_png, compact_svg


def _draw(folder):
    with style.look():
        figure, ax = plt.subplots()
        ax.plot([0, 1, 3], [1 / 3, -0.001, 2 / 3], marker="o", label="a < b")
        ax.scatter(np.linspace(0, 3, 500), np.linspace(0, 1, 500), rasterized=True)
        ax.set(title="an ε", xlabel="$x^1$")
        ax.legend()
        return style.save(figure, folder, "figure")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return _draw(tmp_path_factory.mktemp("figures"))


def test_same_bytes_on_every_run(files, tmp_path):
    for first, second in zip(files, _draw(tmp_path), strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_svg_is_well_formed_and_keeps_its_text(files):
    text = files[0].read_text(encoding="utf-8")
    ET.fromstring(text)
    assert "a &lt; b" in text and "an ε" in text and "<metadata" not in text and "<!--" not in text
    places = re.findall(r'<(?:path d|use href="[^"]*" x|text class="[^"]*" x)="([^"]*)"', text)
    assert len(places) > 20 and not [p for p in places if re.search(rf"\.\d{{{DIGITS + 1}}}", p)]
    assert len(text) < 20_000


def test_references_of_an_svg_resolve(files):
    text = files[0].read_text(encoding="utf-8")
    wanted = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    assert wanted and wanted <= set(re.findall(r' id="([^"]+)"', text))


def test_svg_follows_a_dark_page(files):
    text = files[0].read_text(encoding="utf-8")
    plain, dark = re.search(r"<style[^>]*>(.*)@media\(prefers-color-scheme:dark\)\{(.*)\}</style>", text).groups()
    paper = next(name for name, look in re.findall(r"\.(s\d+)\{([^}]*)\}", plain) if look == "fill:#ffffff")
    assert f".{paper}{{fill:#14171b}}" in dark and "#ffffff" not in dark and "#000000" not in dark
    assert set(re.findall(r'class="([^"]*)"', text)) == set(re.findall(r"\.(s\d+)\{", plain))


def test_groups_without_a_purpose_are_unwrapped():
    text = '<svg><style></style><g id="a"><g transform="scale(2)"><g id="b"><path d="M 0 0 "/></g></g></g></svg>'
    assert '<g transform="scale(2)"><path d="M0 0"/></g></svg>' in compact_svg(text)


def test_paths_say_no_more_than_is_read():
    path = '<path d="M 10.04 -0.5 \nL 3 -0.01 \nL 4 5 \nQ 1.26 2 3 4 \nL 6 7 \nz\n" transform="rotate(45.678)"/>'
    shown = '<path d="M10-.5 3 0 4 5Q1.3 2 3 4L6 7z" transform="rotate(45.68)"/>'
    assert shown in compact_svg(f"<svg><style></style>{path}</svg>")


def test_a_path_stands_where_it_is_used_unless_it_is_used_twice():
    one, two = (f'<defs><path id="{name}" d="M 0 0 L 1 1 "/></defs>' for name in "ab")
    uses = [f'<use xlink:href="#{name}" x="1" y="2.5" style="fill: #{name * 3}"/>' for name in "abb"]
    text = compact_svg(f"<svg><defs><style></style></defs>{one}{two}{''.join(uses)}</svg>")
    assert '<path d="M0 0 1 1" transform="translate(1 2.5)" class="s0"/>' in text
    assert text.count("<use href") == 2 and text.count("<defs><path") == 1


def test_neighbours_clipped_alike_share_a_group_and_its_look():
    marker = '<defs><path id="m" d="M 0 0 "/></defs>'
    use = '<use xlink:href="#m" x="{}" y="0" style="fill: #abcdef"/>'
    clip = '<clipPath id="c"><path d="M 0 0 "/></clipPath>'
    groups = "".join(f'<g clip-path="url(#c)">{use.format(k)}</g>' for k in range(2))
    text = compact_svg(f"<svg><style></style>{marker}{clip}{groups}</svg>")
    uses = [f'<use href="#i1" x="{k}" y="0"/>' for k in range(2)]
    assert f'<g clip-path="url(#i0)" class="s0">{"".join(uses)}</g>' in text


def test_png_is_on_a_palette_and_close_to_what_was_drawn(files):
    image = Image.open(files[1])
    assert image.mode == "P"
    with style.look():
        figure, ax = plt.subplots()
        ax.plot([0, 1], [0, 1])
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        plt.close(figure)
    before = np.asarray(Image.open(io.BytesIO(buffer.getvalue())).convert("RGB"), dtype=int)
    small = compact_png(buffer.getvalue())
    after = np.asarray(Image.open(io.BytesIO(small)).convert("RGB"), dtype=int)
    assert len(small) < len(buffer.getvalue()) and len(np.unique(after.reshape(-1, 3), axis=0)) <= PALETTE
    assert np.abs(before - after).mean() < 1


def test_compaction_is_done_once():
    assert compact_svg("<svg><style></style><g></g></svg>").count("@media") == 1
