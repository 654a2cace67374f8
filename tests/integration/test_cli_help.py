import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from lpbench.cli.completion import VARIABLE
from lpbench.cli.main import COMMANDS, cli, main
from lpbench.paths import ROOT

KINDS = [f"{command} {kind}" for command in ("new", "check") for kind in ("method", "dataset")]


def lines_of(capsys, argv: list[str]) -> list[str]:
    assert main(argv) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"], ["dataset=abalone", "--help"]])
def test_first_screen_fits_and_says_what_to_do_next(capsys, argv):
    lines = lines_of(capsys, argv)
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for needed in ("Start here", "lpbench list", "lpbench new method", "--help", "Exit codes", "docs/tutorial.md"):
        assert needed in text


@pytest.mark.parametrize("command", [*COMMANDS, *KINDS])
def test_help_of_every_command_fits_a_screen(capsys, command):
    for argv in ([*command.split(), "--help"], ["help", *command.split()]):
        lines = lines_of(capsys, argv)
        assert lines[0].startswith(f"Usage: lpbench {command}")
        assert len(lines) <= 24 and max(map(len, lines)) <= 80


def test_every_command_is_on_the_first_screen_and_on_the_page(capsys):
    screen, page = "\n".join(lines_of(capsys, [])), (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert command in screen
        assert command in page


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("reprodcue", "lpbench reproduce"),
        ("lits methods", "lpbench list"),
        ("list method", "methods"),
        ("abalone", "dataset=abalone"),
        ("krr epsilon=2", "method=krr"),
        ("histoftree/table1", "experiment=histoftree/table1"),
        ("dataset abalone", "dataset=..."),
        ("epsilon = 2", "epsilon=..."),
        ("--multirn method=krr", "--multirun"),
        ("experiment=histoftree/table1 --resolve", "--cfg job --resolve"),
        ("reproduce --replicatons 3", "--replications"),
        ("reproduce --worker 2", "--workers"),
        ("reproduce --workers 0", "--workers"),
        ("reproduce --work-limit 0", "--work-limit"),
        ("list", "methods|datasets"),
        ("list methods twice", "twice"),
        ("report --results no_such_folder", "no_such_folder"),
        ("reproduce --order longest", "longest_first"),
        ("plan --worker 2", "'--worker'"),
        ("explain abalon krr 2", "abalone"),
        ("explain abalone krr 2 --results nowhere", "run it: lpbench dataset=abalone method=krr epsilon=2"),
        ("explain abalone kr 2", "krr"),
        ("new metod x", "method?"),
        ("new", "method|dataset"),
        ("check method kr", "krr"),
        ("audit private_maen", "private_mean"),
        ("check method krr --only audt", "audit"),
        ("check dataset abalon", "abalone"),
        ("verify bitwse", "bitwise"),
        ("completion tcsh", "zsh"),
        ("method=histoftree_kart", "histoftree_cart"),
        ("dataset=abalon", "abalone"),
        ("epsilom=2", "epsilon"),
        ("mask=personalised", "personalized"),
        ("runner=loki", "loky"),
        ("epsilon=0", "epsilon=0"),
        ("epsilon=nan", "epsilon=nan"),
        ("epsilon=two", "two"),
        ("seed=-1", "seed=-1"),
        ("replications=0", "replications=0"),
        ("runner.workers=many", "many"),
        ("runner.wrkers=2", "runner.workers"),
        ("method.parms.depth=2", "method.params"),
        ("mask.params.n_protecte=1", "mask.params.n_protected"),
        ("dataset.params.splitt=random tracking=none", "split"),
        ("method.params.lable_share=1 tracking=none", "label_share"),
        ("method=histt[bins=1]", "hist"),
        ("method=hist[bin=1]", "bins"),
        ("method=hist[bins", "bins"),
        ("mask=aligned[n_protectd=1]", "n_protected"),
        ("dataset=sine_summ[n=20]", "sine_sum"),
        ("method=hist[bins=1],krr", "-m"),
    ],
)
def test_a_typo_is_answered_in_one_sentence_with_what_was_meant(capsys, tmp_path, monkeypatch, line, meant):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LPBENCH_RESULTS", str(tmp_path))
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ") and meant in said.err and said.err.count("\n") == 1
    assert said.out == "" and not list(tmp_path.iterdir()), "a refused command printed or wrote something"


def test_version(capsys):
    assert lines_of(capsys, ["--version"])[0].startswith("lpbench ")


def test_an_interrupted_command_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(*args) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lpbench.cli.main.cli.make_context", interrupted)
    for command, goes_on in (("reproduce", True), ("list", False)):
        assert main([command]) == 130
        assert ("run the same command again" in capsys.readouterr().err) == goes_on


def test_a_closed_pipe_is_no_error():
    script = f"set -o pipefail; {sys.executable} -m lpbench list methods | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")


def candidates(line: str) -> list[str]:
    """Words that a shell is offered for the last one of a line."""
    *before, word = line.split(" ")[1:]
    shell = ShellComplete(cli, {}, "lpbench", VARIABLE)
    return [item.value for item in shell.get_completions([w for w in before if w], word)]


@pytest.mark.parametrize(
    ("line", "found", "not_found"),
    [
        ("lpbench ", "reproduce", "histoftree/table1"),
        ("lpbench ", "dataset=", ""),
        ("lpbench rep", "report", "list"),
        ("lpbench dataset=aba", "dataset=abalone", "dataset=krr"),
        ("lpbench -m dataset=abalone,red", "dataset=abalone,red_wine", "dataset=red_wine"),
        ("lpbench dataset=abalone ep", "epsilon=", "reproduce"),
        ("lpbench runner.w", "runner.workers=", "reproduce"),
        ("lpbench reproduce histoftree/t", "histoftree/table2", "lpct/table2"),
        ("lpbench reproduce --wo", "--workers", "--order"),
        ("lpbench reproduce --backend ", "serial", "krr"),
        ("lpbench list ", "masks", "krr"),
        ("lpbench check method k", "krr", "karate"),
        ("lpbench explain abalone kr", "krr", "abalone"),
        ("lpbench explain aba", "abalone", "krr"),
        ("lpbench plan experiment=lpct/ta", "experiment=lpct/table2", "lpct/table2"),
    ],
)
def test_completion_knows_commands_options_and_names(line, found, not_found):
    given = candidates(line)
    assert found in given and not_found not in given


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid(capsys, tmp_path, shell):
    script = tmp_path / "script"
    script.write_text("\n".join(lines_of(capsys, ["completion", shell])) + "\n")
    assert VARIABLE in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"install {shell}")
    option = "--no-execute" if shell == "fish" else "-n"
    subprocess.run([shell, option, str(script)], check=True)


def test_completion_in_bash(tmp_path):
    """bash no longer breaks words at "=", so that whole words are replaced."""
    program = tmp_path / "lpbench"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m lpbench "$@"\n')
    program.chmod(0o755)
    script = f"""
eval "$({sys.executable} -m lpbench completion bash)"
ask() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _lpbench_completion {program}
         printf '%s\n' "${{COMPREPLY[@]}}"; }}
ask lpbench dataset=red
ask lpbench -m epsilon=1,2 dataset=abalone,red
ask lpbench list da
[[ $COMP_WORDBREAKS == *=* ]] || echo whole
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=Path(ROOT))
    assert done.stdout.split() == ["dataset=red_wine", "dataset=abalone,red_wine", "datasets", "whole"]


def test_help_typos_and_lists_import_nothing_heavy():
    heavy = ("numpy", "pandas", "sklearn", "scipy", "hydra", "mlflow", "matplotlib", "lpbench.audit")
    lines = ["--help", "verfy", "method=histoftree_kart", "plan epsilom=2", "reproduce --worker 2",
             *(f"list {what}" for what in ("methods", "experiments", "masks")),
             *(f"{c} --help" for c in (*COMMANDS, *KINDS))]  # fmt: skip
    code = f"""
import sys
from lpbench.cli.main import main
for line in {lines!r}:
    main(line.split())
    found = [m for m in {heavy!r} if m in sys.modules]
    assert not found, (line, found)
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
