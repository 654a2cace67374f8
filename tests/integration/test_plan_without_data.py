"""``lpbench show`` takes what ``reproduce`` takes, and adds up what a run costs without the data too."""

import re

from lpbench.cli.main import main


def test_the_total_is_known_without_data(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LPBENCH_DATA_MIRROR", str(tmp_path / "nothing"))
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))
    assert main(["plan", "histoftree/table*", f"results_dir={tmp_path}"]) == 0
    said = capsys.readouterr().out
    here, whole = (re.search(rf"{words}: (\d+) blocks", said) for words in ("counted once", "with the missing data"))
    assert "data set(s) not at hand" in said and int(here[1]) == 0 and int(whole[1]) == 200
