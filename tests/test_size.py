"""The ratchet: no folder grows beyond the lines that pyproject allows it."""

from __future__ import annotations

from scripts.check_size import too_long


def test_a_folder_above_its_ceiling_is_named_with_both_numbers(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.lpbench.most_lines]\nlpbench = 2\ntests = 1\n", encoding="utf-8")
    for folder, lines in (("lpbench", 3), ("tests", 1)):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep" / "module.py").write_text("x = 1\n" * lines, encoding="utf-8")
    (sentence,) = too_long(tmp_path)
    assert sentence.startswith("lpbench/ has 3 lines") and " 2:" in sentence
