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


def test_parameters_of_a_selector_may_stand_in_any_order(tmp_path):
    group = "experiment.groups=[{dataset:[breast_cancer],method:['lpct_max_edge[%s]'],epsilon:[2]}]"
    found = []
    for order in ("variant=text,mechanism=rr", "mechanism=rr,variant=text"):
        folder = tmp_path / order.partition("=")[0]
        arguments = ["experiment=extensions/embedded_classification", group % order, "replications=2", "tracking=none"]
        assert main([*arguments, f"results_dir={folder}", "runner=serial"]) == 0
        (summary,) = folder.glob("runs/*/extensions/embedded_classification/summary.csv")
        found.append(summary.read_text(encoding="utf-8"))
    assert found[0] == found[1]
    assert ",tuning_free," in found[0]
