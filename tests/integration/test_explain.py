"""``lpbench explain``: every cell of a table or a figure's panel can be asked for, and only its replications answer."""

import re
import shutil

import pytest

from lpbench.cli.main import main
from tests.reporting.fake import experiment, scores_of
from tests.reporting.store import put

CELL = "explain range_known lpct_max_edge 8"
PUBLIC = [20, 40]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """L figure 8 with one budget, so that its panels differ by their names alone."""
    folder = tmp_path_factory.mktemp("results")
    figure = experiment("lpct/figure8")
    groups = [g for g in figure["groups"] if "range_known" in g["dataset"]]
    figure["groups"] = [g | {"dataset": ["range_known"], "epsilon": [8], "values": PUBLIC} for g in groups]
    scores = scores_of(figure, lambda k: 0.5 + k["x"] / 1000, replications=3, noise=0.0, metric="accuracy")
    scores.loc[scores["panel"] == "c", "value"] += 0.25
    put(folder, figure, scores)
    put(folder / "reproduced", figure, scores, with_scores=False)
    return folder


def explained(line, results, capsys):
    code = main([*line.split(), "--results", str(results)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_all_panels_are_shown_with_their_own_replications(results, capsys):
    code, out, _ = explained(CELL, results, capsys)
    assert code == 0
    found = re.findall(r"epsilon=8 panel=(\w) x=(\d+)\n.*\n.*\n  printed .*\n  replications (.*)", out)
    value = {(p, x): f"{0.5 + x / 1000 + (p == 'c') / 4:g}" for p in "bc" for x in PUBLIC}
    assert set(found) == {(p, str(x), " ".join([v] * 3)) for (p, x), v in value.items()}
    assert "not at hand" not in out, "what was published is not shown beside it"


def test_a_panel_and_a_place_on_the_axis_can_be_asked_for(results, capsys):
    out = explained(f"{CELL} --experiment lpct/figure8 --panel c --x 40", results, capsys)[1]
    heads = [line for line in out.splitlines() if line.startswith("lpct/")]
    assert set(heads) == {"lpct/figure8: range_known all_private lpct_max_edge epsilon=8 panel=c x=40"}
    assert "replications 0.79 0.79 0.79" in out and "spent: " in out


@pytest.mark.parametrize(
    ("option", "known"),
    [("--panel z", "'b', 'c'"), ("--x 3", "'20', '40'"), ("--experiment lpct/table2", "lpct/figure8")],
)
def test_what_is_not_there_is_answered_with_what_is(results, capsys, option, known):
    code, out, err = explained(f"{CELL} {option}", results, capsys)
    assert code == 2 and out == "" and option.split()[0] in err and known in err


def test_without_a_run_the_published_summary_answers_and_says_how_to_get_the_rest(results, tmp_path, capsys):
    shutil.copytree(results / "reproduced", tmp_path / "reproduced")
    code, out, _ = explained(CELL, tmp_path, capsys)
    assert code == 0 and "panel=c x=40" in out
    assert "replications are not at hand; to make them: lpbench experiment=lpct/figure8" in out


def test_the_p_value_of_one_method_against_another_by_hand(tmp_path, capsys):
    figure = experiment("lpct/figure8")
    groups = [g for g in figure["groups"] if "range_known" in g["dataset"]][:1]
    pair = "lpct_max_edge", "lpct_cart"
    figure["groups"] = [
        g | {"dataset": ["range_known"], "epsilon": [8], "values": [20], "method": [*pair]} for g in groups
    ]
    scores = scores_of(figure, lambda k: 0.5, replications=5, noise=0.0, metric="accuracy")
    # differences 1, 1, -2, 3, 0: ranks 1.5, 1.5, 3, 4; 5 of the 16 signs have a sum of at least 7
    first = (scores["method"] == pair[0]).to_numpy()
    scores.loc[first, "value"] += scores.loc[first, "replication"].map(dict(enumerate([0.01, 0.01, -0.02, 0.03, 0.0])))
    put(tmp_path, figure, scores)
    code, out, _ = explained(f"explain range_known {','.join(pair)} 8", tmp_path, capsys)
    assert code == 0 and "lpct_max_edge against lpct_cart epsilon=8" in out
    assert ", oracle: accuracy 0.506 against 0.5, difference 0.006 over 5 replications, p-value 0.625\n" in out
    assert "exact with ties, zero differences dropped" in out
    out = explained(f"explain range_known {','.join(pair[::-1])} 8", tmp_path, capsys)[1]
    assert "difference -0.006" in out and "p-value 0.625\n" in out
    code, _, err = explained("explain range_known lpct_max_edge,lpct_q 8", tmp_path, capsys)
    assert code == 2 and "no scores of lpct_max_edge and lpct_q in one cell" in err


def test_copies_and_inner_results_folders_are_passed_over(results, tmp_path, capsys):
    once = explained(CELL, results, capsys)[1]
    whole = shutil.copytree(results, tmp_path / "results")
    shutil.copytree(results / "lpct", whole / "mlartifacts" / "histoftree" / "run" / "artifacts")
    shutil.copytree(results, whole / "quick")
    (whole / "quick" / "store").mkdir(exist_ok=True)
    assert explained(CELL, whole, capsys)[1] == once


@pytest.mark.parametrize(
    ("method", "said"), [("dt", "as a reference"), ("histoftree_cart[variant=inferred]", "abalone histoftree_cart 2")]
)
def test_a_method_without_a_rank_is_told_why(few_committed, capsys, method, said):
    out = explained(f"explain abalone {method} 2 --experiment histoftree/table1", few_committed, capsys)[1]
    assert "nan" not in out and "; no rank: " in out and said in out


def test_a_report_of_nothing_is_refused(tmp_path, capsys):
    (tmp_path / "results" / "reproduced").mkdir(parents=True)
    code, _, err = explained("report", tmp_path / "results", capsys)
    assert code == 2 and "no finished experiment" in err
    assert not list((tmp_path / "results" / "reproduced").iterdir()), "something was written"
    code, _, err = explained("report", tmp_path / "resluts", capsys)
    assert code == 2 and "resluts" in err and not (tmp_path / "resluts").exists()


def test_show_falls_back_to_the_published_table_and_says_what_next(tmp_path, capsys):
    table = tmp_path / "reproduced" / "lpct" / "table2" / "summary.csv"
    table.parent.mkdir(parents=True)
    head = "panel,dataset,mask,method,epsilon,x,selection,mean,se,marked"
    table.write_text(f"{head}\n,email,all_private,lpdt,2.0,,oracle,0.75,0.01,true\n")
    assert main(["show", "lpct/table2", "--results", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ *lpdt +0.75 ±0.01\* *$", out, re.MULTILINE) and "lpbench explain" in out.splitlines()[-1]
    assert main(["show", "lpct/table3", "--results", str(tmp_path)]) == 0
    assert "Next: lpbench reproduce lpct/table3" in capsys.readouterr().out
