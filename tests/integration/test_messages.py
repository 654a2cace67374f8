import re

import pytest

from lpbench.cli.main import main
from lpbench.privacy.guarantee import MODELS

QUIET = ["tracking=none", "runner=serial"]
MISSING = """\
1 data set(s) not at hand; their cells are skipped:
  abalone: run `make datasets` on a machine with network access; its place is ABA/original.csv under \
$LPBENCH_DATA_MIRROR or $LPBENCH_CACHE/files
"""
SET_IT = "Set LPBENCH_DATA_MIRROR to a folder with the files, or run `make datasets`; then the same command.\n"


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    monkeypatch.delenv("LPBENCH_DATA_MIRROR", raising=False)
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))


def test_a_plan_without_data_lists_them_first_and_counts_nothing(tmp_path, without_data, capsys):
    argv = ["plan", "dataset=abalone", "method=krr", "epsilon=2", "replications=3", f"results_dir={tmp_path}"]
    assert main([*argv, *QUIET]) == 0
    assert capsys.readouterr().out == (
        f"{MISSING}{SET_IT}nothing can be run without these data\n"
        "with the missing data: 1 blocks, 1 to do: 180 fits, not timed yet\n"
        "single: 3 replications, seed 2025; serial, 1 at once, plan, at most 36000 s per cell; results in "
        f"{tmp_path}/single/abalone/aligned/krr/epsilon=2,replications=3\n"
        f"Next: lpbench {' '.join(argv[1:])} {' '.join(QUIET)} (runs it)\n"
    )


def test_data_that_several_experiments_miss_are_counted_once_and_a_mirror_that_is_not_there_is_named(
    tmp_path, without_data, monkeypatch, capsys
):
    monkeypatch.setenv("LPBENCH_DATA_MIRROR", str(tmp_path / "nowhere"))
    assert main(["plan", "histoftree/table*", f"results_dir={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert f"LPBENCH_DATA_MIRROR={tmp_path / 'nowhere'}: the folder does not exist" in out
    assert "not at hand" in out.splitlines()[0] and "with the missing data: 200 blocks" in out


@pytest.mark.parametrize(
    "words",
    [["dataset=abalone"], ["experiment=histoftree/table2"], ["reproduce", "histoftree/table2", "--tracking", "none"]],
)
def test_a_run_without_any_data_writes_nothing_and_says_so(words, tmp_path, without_data, capsys):
    folder = tmp_path / "results"
    where = ["--results", str(folder)] if words[0] == "reproduce" else [f"results_dir={folder}", *QUIET]
    assert main([*words, *where]) == 2
    said = capsys.readouterr()
    first, second, *_, last = (said.out + said.err).splitlines()
    assert first.endswith(" data set(s) not at hand; their cells are skipped:")
    assert f"{second}\n" == MISSING.partition("\n")[2]
    assert last == "error: nothing can be run without these data"
    assert not list(folder.rglob("run.json")) and not (folder / "reproduced").exists()


def test_a_run_with_some_data_says_what_is_missing_before_it_begins(tmp_path, without_data, capsys):
    argv = ["-m", "dataset=abalone,diabetes_progression", "method=private_mean", "epsilon=2", "replications=2"]
    assert main([*argv, f"results_dir={tmp_path}", *QUIET]) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"{MISSING}{SET_IT}error: nothing can be run without these data\n")
    (row,) = (line.split() for line in said.out.splitlines() if line.split()[-3:-2] == ["±"] or " ±" in line)
    assert row[:6] == ["diabetes_progression", "aligned", "private_mean", "ldp", "2", "mse"]


def test_a_list_of_methods_gives_privacy_model_and_the_papers_names(capsys):
    assert main(["list", "methods"]) == 0
    lines = [re.split(r"  +", line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["METHOD", "TASK", "STATED PRIVACY", "TITLE", "REFERENCE"]
    assert ["krr", "regression", "semi_feature_ldp", "KRR", "HistOfTree sec. 5 (iv), App. C.1"] in lines
    assert not [line for line in lines if re.match(r"[HLZ]\d* ", line[-1])], "a paper goes by its name, not its letter"
    assert {line[2] for line in lines[1:]} <= set(MODELS)


def test_a_cell_of_a_fresh_clone_is_explained_from_the_committed_summary(few_committed, without_data, capsys):
    """No record twice, no "rank nan", no "spent: unknown" without a reason."""
    line = "explain abalone krr 2 --experiment histoftree/table1 --mask aligned"
    assert main([*line.split(), "--results", str(few_committed)]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    methods = [f"krr[variant={variant}]" for variant in ("inferred", "inferred", "text", "text")]
    assert heads == [f"histoftree/table1: abalone aligned {method} epsilon=2" for method in methods]
    selections = [line.split(":")[0] for line in lines if line.startswith("  selection ")]
    assert selections == ["  selection oracle", "  selection tuning_free"] * 2
    assert "nan" not in "\n".join(lines)
    assert lines.count("  its run: spent 2 (semi feature ldp), audited") == 4
    assert (
        lines[-1] == f"  spent: unknown, for data set abalone is not at hand: {MISSING.partition('abalone: ')[2][:-1]}"
    )


def test_an_experiment_ends_with_table_claims_and_its_page(tmp_path, capsys):
    argv = ["experiment=histoftree/figure2c", "replications=2", f"results_dir={tmp_path}", *QUIET]
    assert main(argv) == 0
    *answer, last = capsys.readouterr().out.splitlines()
    page = tmp_path / "runs" / "replications=2" / "histoftree-figure2c.html"
    assert last == f"page: {page}"
    assert "not as registered: replications: 50 → 2" in answer
    assert any(line.startswith("The paper's claims") for line in answer)
    text = page.read_text(encoding="utf-8")
    assert all((page.parent / link).is_file() for link in re.findall(r'(?:href|src)="([^"#:]+)"', text))
    assert "replications: 50 → 2" in text
    # a second call writes nothing: the summary is there, and the page is newer than its results
    files = (page, page.parent / "histoftree/figure2c/summary.csv")
    stamps = [path.stat().st_mtime_ns for path in files]
    assert main(argv) == 0
    assert capsys.readouterr().out.splitlines()[-1] == last
    assert [path.stat().st_mtime_ns for path in files] == stamps
