"""Folders of plug-ins: the working folder's and those that are named, if nobody else can write there."""

import os
import stat

import pytest

from lpbench import paths
from lpbench.errors import ConfigurationError

YAML = "name: {0}\ntitle: T\ntask: regression\nestimator: {0}.{0}\n"


def plug_in(folder, name="own_planted"):
    """A folder of plug-ins with one method, which leaves a file when it is imported."""
    (folder / "methods").mkdir(parents=True)
    (folder / "methods" / f"{name}.yaml").write_text(YAML.format(name))
    (folder / f"{name}.py").write_text(
        f"from pathlib import Path\nPath({str(folder / 'ran')!r}).touch()\n{name} = dict\n"
    )
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o022)
    return folder


def listed(lpbench) -> bool:
    return "own_planted" in lpbench("list methods")[1]


def test_folders_above_are_not_looked_into(lpbench, home, monkeypatch):
    """Neither listed nor imported by an audit of another method, though it lies right above."""
    planted = plug_in(home / "lpbench_plugins")
    (home / "below").mkdir()
    monkeypatch.chdir(home / "below")
    assert not listed(lpbench)
    lpbench("check method private_mean --only grid")
    assert not (planted / "ran").exists()
    monkeypatch.chdir(home)
    assert listed(lpbench)


def test_the_first_line_of_a_list_names_what_was_found_or_a_few_of_it(lpbench, home):
    _, _, error = lpbench("list methods")
    assert error == ""
    folder = plug_in(home / "lpbench_plugins")
    _, out, error = lpbench("list methods")
    assert error.splitlines()[0] == f"plug-ins: {folder} (methods own_planted)"
    assert "plug-ins:" not in out
    assert "plug-ins:" not in "".join(map(str, lpbench("show own_planted")))
    for k in range(39):
        (folder / "methods" / f"own_{k}.yaml").write_text(YAML.format(f"own_{k}"))
    line = lpbench("list masks")[2].splitlines()[0]
    assert line.count("own_") == 6 and line.endswith("and 34 more)")


@pytest.mark.parametrize("inside", [".", "methods", "methods/own_planted.yaml", "own_planted.py"])
@pytest.mark.parametrize("mode", [stat.S_IWOTH, stat.S_IWGRP])
@pytest.mark.parametrize("named", [False, True])
def test_folders_that_others_can_write_are_refused(lpbench, home, monkeypatch, inside, mode, named):
    folder = plug_in(home / ("elsewhere" if named else "lpbench_plugins"))
    if named:
        monkeypatch.setenv(paths.OWN_VARIABLE, str(folder))
    target = folder / inside
    target.chmod(target.stat().st_mode | mode)
    # of a group that is not the user's own
    if mode == stat.S_IWGRP:
        shared = os.getuid() + 1
        try:
            os.chown(target, -1, shared)
        except PermissionError:
            pytest.skip("only root gives a file to a group that it is not in")
    code, _, error = lpbench("list methods")
    assert code == 2 and "others can write there" in error and not (folder / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_working_folders_plug_ins_of_somebody_else_are_refused(lpbench, home, monkeypatch):
    folder = plug_in(home / "lpbench_plugins")
    os.chown(folder / "own_planted.py", 12345, -1)
    code, _, error = lpbench("list methods")
    assert code == 2 and "others can write there" in error
    paths._refuse_others.cache_clear()
    os.chown(folder, 12345, -1)
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigurationError, match="others can write there"):
        paths.own_folders()
    # named by the user, whose owner is trusted
    monkeypatch.chdir(home.parent)
    monkeypatch.setenv(paths.OWN_VARIABLE, str(folder))
    paths._refuse_others.cache_clear()
    assert folder in paths.own_folders()
