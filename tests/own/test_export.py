import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lpbench.reporting.figures import style
from tests.experiments.helpers import study, write_experiment

METHODS = ("private_mean", "hist", "label_dt", "dt")
DATASETS = ("diabetes_progression", "sine_wave[n_private=300]")


def write_study(kind: str, datasets=DATASETS, **group) -> None:
    group |= {"dataset": [*datasets], "mask": ["personalized"], "grid": {"bins": [1, 2]}}
    made = study(METHODS, "own/t", "50 % of a_title & more", 3, **group)
    write_experiment(Path("lpbench_plugins"), made | {"kind": kind})


def run(lpbench, line: str) -> str:
    code, out, error = lpbench(line)
    assert code == 0, out + error
    return out


@pytest.mark.slow
def test_tables_figures_and_tests_of_a_study(lpbench):
    write_study("table")
    run(lpbench, "experiment=own/t tracking=none runner=serial")
    svg = Path("results/own/t/t_budgets.svg").read_text(encoding="utf-8")
    assert svg.count(">privacy budget ε<") == 2, "on the axis of every panel"
    out = run(lpbench, "export own/t")
    files = {path.name for path in Path("export/own/t").iterdir()}
    assert files == {"t.tex", "t_budgets.pdf", "t_budgets.png"}
    assert all(f"export/own/t/{name}" in out for name in files)

    with Image.open("export/own/t/t_budgets.png") as image:
        assert image.width == round(3.25 * 300) and round(image.info["dpi"][0]) == 300
    pdf = Path("export/own/t/t_budgets.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and re.search(rb"/MediaBox \[ ?0 0 234 ", pdf) and b"/CreationDate" not in pdf
    run(lpbench, "export own/t")
    assert Path("export/own/t/t_budgets.pdf").read_bytes() == pdf, "the same bytes again"

    latex = Path("export/own/t/t.tex").read_text(encoding="utf-8")
    packages = re.findall(r"\\usepackage\{(\w+)\}", latex)
    assert packages == ["booktabs"] and latex.startswith("%") and latex.count(r"\toprule") == 2
    for unwanted in ("reproduced", "published", "Rank sum", "resizebox", "paper's rule", "multirow"):
        assert unwanted not in latex
    assert r"50 \% of a\_title \& more" in latex and r"$\varepsilon$ = 4" in latex and r"\mathbf{" in latex
    assert latex.count("{") == latex.count("}") and latex.isascii()

    run(lpbench, "export own/t --ranks --width text --selection tuning_free")
    assert "Rank sum & " in Path("export/own/t/t_tuning_free.tex").read_text(encoding="utf-8")
    with Image.open("export/own/t/t_tuning_free_budgets.png") as image:
        assert image.width == round(6.75 * 300)
    code, _, error = lpbench("export own/t --selection private")
    assert code == 2 and "no result with selection=private; it has oracle, tuning_free" in error


def test_a_figure_of_a_study(lpbench):
    write_study("figure", DATASETS[:1], x="epsilon")
    run(lpbench, "experiment=own/t tracking=none runner=serial")
    run(lpbench, "export own/t --width 4 --folder out")
    assert {path.name for path in Path("out/own/t").iterdir()} == {"t.pdf", "t.png"}
    with Image.open("out/own/t/t.png") as image:
        assert image.width == 1200


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("export own/t", "experiment own/t has no scores in"),
        ("export own/u", "did you mean own/t"),
        ("export own/t --width wide", "--width wide must be column, text, or inches"),
    ],
)
def test_what_cannot_be_exported_is_refused(lpbench, line, said):
    write_study("table")
    Path("results").mkdir()
    code, _, error = lpbench(line)
    assert code == 2 and said in error and not Path("export").exists()


def test_own_methods_get_unused_colors_and_markers_first():
    places = {"own_a": None, "krr": 0, "own_b": None, "hist": 5, **{f"own_{k}": None for k in range(20)}}
    looks = style.method_looks(places)
    assert {name: looks[name] for name in ("krr", "hist")} == {
        "krr": style.method_look(0),
        "hist": style.method_look(5),
    }
    pairs = [tuple(look.values()) for look in looks.values()]
    assert len(set(pairs)) == len(pairs)
    few = style.method_looks({name: places[name] for name in ("own_a", "krr", "own_b", "hist")})
    colors, markers = np.array([list(look.values()) for look in few.values()]).T
    assert len(set(colors)) == len(set(markers)) == 4
    assert style.method_looks({"own": None}) == {"own": style.method_look(None)}, "alone it looks as ever"
