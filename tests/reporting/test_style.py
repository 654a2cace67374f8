import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lpbench.paths import COMMITTED
from lpbench.reporting.figures import style
from tests.committed import check_out


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


def test_last_bits_of_a_layout_change_no_byte(tmp_path):
    """The layout's solver sorts by addresses in memory, and so ends in other last bits in another process."""
    files = []
    for name, towards in (("one", 0.0), ("other", 1.0)):
        with style.look():
            figure = plt.figure(layout="none")
            figure.add_axes(tuple(np.nextafter([0.123456, 0.1, 0.7, 0.8], towards))).plot([0, 1])
            files.append(style.save(figure, tmp_path, name))
    first, second = ([path.read_bytes() for path in formats] for formats in files)
    assert first == second


def test_a_png_is_beside_each_svg_but_in_a_report(files, tmp_path):
    assert files[0].suffix == ".svg" and files[0].with_suffix(".png").read_bytes()[1:4] == b"PNG"
    (tmp_path / "reproduced").mkdir()
    _draw(tmp_path / "reproduced")
    assert [path.suffix for path in (tmp_path / "reproduced").iterdir()] == [".svg"]


def test_svg_is_well_formed_and_keeps_its_text(files):
    text = files[0].read_text(encoding="utf-8")
    ET.fromstring(text)
    assert "a &lt; b" in text and "an ε" in text and "dc:date" not in text
    assert "prefers-color-scheme" not in text  # a dark page turns it around itself


def test_the_users_own_settings_come_back():
    before = plt.rcParams["svg.fonttype"]
    with style.look():
        assert plt.rcParams["svg.fonttype"] == "none"
    assert plt.rcParams["svg.fonttype"] == before


def test_budgets_have_one_sequential_scale_in_all_figures():
    first, second = style.budget_colors([0.5, 2, 8, 1000], 512), style.budget_colors([2, 4], 512)
    assert first[2] == second[2] and first[1000] == "#000000" and len(set(first.values())) == 4
    far = style.budget_colors([0.02, 0.05, 0.1], 512)
    assert len(set(far.values())) == 3


def test_a_method_looks_the_same_wherever_it_stands():
    looks = [tuple(style.method_look(k).values()) for k in range(20)]
    assert len(set(looks)) == 20 and style.method_look(None)["color"] not in {c for c, _ in looks}


def test_committed_pictures_of_the_pages_are_drawn_on_white():
    """Those that `lpbench report` makes again are drawn by ``style.save`` like the one above."""
    pages = [p.read_text(encoding="utf-8") for p in COMMITTED.glob("*.html")]
    shown = {source for page in pages for source in re.findall(r'<img src="([^"]+\.svg)"', page)}
    shown = {source for source in shown if (COMMITTED / source).is_file()}
    assert len(shown) > 20
    assert [s for s in shown if "prefers-color-scheme" in (COMMITTED / s).read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    "title", ["Mean (US$, not $k)", r"HistOfTree ($\rhoo$ = 0.5)", r"half $\alpha", "Cash $$ left_over"]
)
def test_a_dollar_sign_in_a_title_is_one(title, tmp_path):
    with style.look():
        figure, ax = plt.subplots()
        ax.set_title(title)
        style.save(figure, tmp_path, "t")
    assert f">{title}<" in (tmp_path / "t.svg").read_text(encoding="utf-8")


def test_no_committed_drawing_shows_the_source_of_a_formula(tmp_path):
    root = check_out("*.svg", tmp_path)
    drawings = list(root.rglob("*.svg"))
    assert len(drawings) > 50 and root / "docs/need.svg" in drawings
    assert not [str(path) for path in drawings if "mathdefault" in path.read_text(encoding="utf-8")]
