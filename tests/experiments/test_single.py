from lpbench.cli.main import main


def test_one_replication_has_no_standard_error(tmp_path, capsys):
    arguments = [
        "dataset=diabetes_progression",
        "mask=aligned",
        "method=private_mean",
        "epsilon=1",
        "replications=1",
        "tracking=none",
        f"results_dir={tmp_path}",
    ]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "(n=1)" in printed and "+-" not in printed
