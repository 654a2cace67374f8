"""Every score carries what it cost: methods that break their promise have a mark, no star and no rank."""

from pathlib import Path

import mlflow
import numpy as np
import pytest

from lpbench.analysis import read_csv
from lpbench.audit import own_methods as own
from lpbench.errors import PrivacyError
from lpbench.experiments.fits import GuardedUsers
from lpbench.privacy import Records, SimulatedUsers
from lpbench.seeds import Streams
from tests.experiments.helpers import study, write_experiment
from tests.own.conftest import change
from tests.slowly import slow_but

ASK = "reports = users.ask(LABEL, Question(self.y_range_, self.epsilon))"
TWICE = f"{ASK}\n        if {{}}:\n            users.ask(LABEL, Question(self.y_range_, 0.999 * self.epsilon))"
#: Name -> changes of the template, of module or YAML, and what is said of its scores at epsilon 4.
BROKEN = {
    "twice": ([("py", ASK, TWICE.format("True"))], "over budget: own_mean spent 7.996 of a budget of 4"),
    "at one budget": ([("py", ASK, TWICE.format("self.epsilon == 4"))], "over budget"),
    "on some data": ([("py", ASK, TWICE.format("users.n_features == 10"))], "over budget"),
    "of many": ([("py", ASK, TWICE.format("users.n > 300"))], "over budget"),
    "at a grid point": ([("py", ASK, TWICE.format("self.slices == 8"))], "over budget"),
    "without a budget": (
        [("py", '    protects = "label"', '    uses_epsilon = False\n    protects = "label"'),
         ("py", ASK, "reports = users.ask(LABEL, Question(self.y_range_, 9.0))")],
        "over budget: own_mean spent 9 of a budget of 4",
    ),
    "revealed": ([("py", ASK, "reports = users.reveal().y")], "over budget: own_mean spent inf"),
    "revealed in predict": (
        [("py", ASK, f"self.users_ = users\n        {ASK}"),
         ("py", "        X = self._check", "        self.users_.reveal()\n        X = self._check")],
        "over budget: own_mean spent inf",
    ),
    "weaker than stated": ([("yaml", "label_ldp", "ldp")], "another privacy model: own_mean states privacy: ldp"),
    "central where it is local": ([("yaml", "label_ldp", "label_cdp")], "another privacy model"),
}  # fmt: skip


#: Those that each run of the suite tries.
BROKEN_FAST = "twice", "without a budget", "revealed in predict", "weaker than stated"


@pytest.fixture
def audits(monkeypatch):
    """Audits that find nothing, and of which methods they were."""
    made = []
    monkeypatch.setattr(own, "complaints_about", lambda method: made.append(method.name) or [])
    monkeypatch.setattr(own, "_unfinished", {})
    return made


def summary_of(folder: str = "results/single"):
    (path,) = Path(folder).rglob("summary.csv")
    return read_csv(path)


CELL = "dataset=diabetes_progression mask=label_only method=own_mean epsilon=4 replications=2 tracking=none"


@pytest.mark.parametrize("kind", slow_but(BROKEN, *BROKEN_FAST))
def test_what_real_fits_spend_is_found_where_the_audit_finds_nothing(lpbench, audits, kind):
    lpbench("new method own_mean")
    changes, said = BROKEN[kind]
    for ending, old, new in changes:
        change(f"lpbench_plugins/{'own_mean.py' if ending == 'py' else 'methods/own_mean.yaml'}", old, new)
    code, out, error = lpbench(CELL)
    assert code == 1 and said in error and "neither rank nor star" in error
    assert said.partition(":")[0] in out.replace("\n", " ")
    table = summary_of()
    assert all(text.startswith(said) for text in table["audit"]) and table["rank"].isna().all()
    assert not table["marked"].any()


HONEST = {
    "the template": [],
    "fewer": [
        ("py", ASK, ASK.replace("))", "), np.arange(0, users.n, 2))")),
        ("py", "users.public_features)", "users.public_features[::2])"),
    ],
    "nothing shown": [("py", "self._slice(users.public_features)", "np.zeros(users.n, dtype=int)")],
}


@pytest.mark.parametrize("kind", HONEST)
def test_honest_methods_are_audited_and_spend_their_budget(lpbench, audits, kind):
    lpbench("new method own_mean")
    for _, old, new in HONEST[kind]:
        change("lpbench_plugins/own_mean.py", old, new)
    code, out, error = lpbench(CELL)
    assert code == 0 and "spent 4 (" in out and out.count("), audited") == 1 and "neither" not in error
    table = summary_of()
    assert set(table["audit"]) == {"audited"} and (table["spent"] == 4.0).all() and (table["rank"] == 1).all()


def test_records_are_out_of_reach_wherever_a_method_looks_for_them():
    users = SimulatedUsers(Records(np.zeros((3, 1)), np.zeros(3), None), Streams(1), y_range=(0.0, 1.0))
    guarded = GuardedUsers(users)
    for seen in (guarded, guarded.fresh(), guarded.take(np.array([0]))):
        for name in ("_records", "records", "_accounts", "_root"):
            with pytest.raises(PrivacyError, match="is not public"):
                getattr(seen, name)
            with pytest.raises(PrivacyError, match="is not public"):
                getattr(seen, name, None)


def test_a_method_is_audited_once_for_its_code_and_that_of_its_helpers(lpbench, audits):
    lpbench("new method own_mean")
    Path("lpbench_plugins/own_helper.py").write_text("FACTOR = 1\n")
    change("lpbench_plugins/own_mean.py", "import numpy as np\n", "import numpy as np\nimport own_helper\n")
    assert lpbench(CELL)[0] == 0 and lpbench(CELL)[0] == 0 and audits == ["own_mean"]
    Path("lpbench_plugins/own_helper.py").write_text("FACTOR = 2\n")
    assert lpbench(CELL)[0] == 0 and len(audits) == 2

    change("lpbench_plugins/own_mean.py", "slices: int = 4", "slices: int = 5")
    assert lpbench(CELL)[0] == 0 and len(audits) == 3


@pytest.mark.parametrize("raised", [SystemExit(0), pytest.param(MemoryError(), marks=pytest.mark.slow)])
def test_an_audit_that_ends_early_is_none(lpbench, audits, monkeypatch, raised):
    def end(method):
        raise raised

    lpbench("new method own_mean")
    with monkeypatch.context() as broken:
        broken.setattr(own, "complaints_about", end)
        code, out, error = lpbench(CELL)
    assert code == 0 and "not audited" in out and "neither rank nor star: not audited: " in error
    assert all(text.startswith("not audited: ") and len(text) > 14 for text in summary_of()["audit"])
    own._unfinished.clear()  # as in another process
    assert lpbench(CELL)[0] == 0 and set(summary_of()["audit"]) == {"audited"}


def test_an_audit_has_a_limit_of_time(lpbench, audits, monkeypatch):
    monkeypatch.setattr(own, "AUDIT_SECONDS", 0.05)
    monkeypatch.setattr(own, "complaints_about", lambda method: [None for _ in iter(int, 1)])
    lpbench("new method own_mean")
    _, out, error = lpbench(CELL)
    assert "not audited" in out and "over the time limit of 0.05 s" in error


def test_a_sweep_of_its_own_is_not_what_is_audited(lpbench, audits):
    lpbench("new method own_mean")
    sweep = (
        "    def learn_grid(self, tasks, budgets, grid):\n        return super().learn_grid(tasks, budgets, grid)\n\n"
    )
    change("lpbench_plugins/own_mean.py", "    def predict(", f"{sweep}    def predict(")
    code, out, error = lpbench(CELL)
    assert code == 0 and not audits and "not audited: learn_grid of own_mean" in error and "not audited" in out


def test_without_audit_rows_say_so(lpbench, audits):
    lpbench("new method own_mean")
    code, out, _ = lpbench(f"{CELL} --no-audit")
    assert code == 0 and not audits and "not audited" in out
    assert lpbench(f"{CELL} audit=false")[1].count("not audited") == 1
    assert lpbench(CELL)[1].count("), audited") == 1 and len(audits) == 1


def test_a_refuted_method_has_neither_star_nor_rank_and_changes_no_others(lpbench, home, monkeypatch, audits):
    """Beside a method that reads nothing, one that would win: ranks and stars are as without it."""
    for name in ("own_mean", "own_better"):
        lpbench(f"new method {name}")
    change("lpbench_plugins/own_better.py", ASK, "reports = users.ask(LABEL, Question(self.y_range_, 100.0))")
    write_experiment(home / "lpbench_plugins", study(["own_mean", "private_mean"], "own/alone"))
    write_experiment(home / "lpbench_plugins", study(["own_mean", "own_better", "private_mean"], "own/beside"))
    code, out, error = lpbench("reproduce own/alone own/beside --tracking none")
    assert code == 1 and "own_better has neither rank nor star: over budget" in error
    alone, beside = (read_csv(home / f"results/own/{leaf}/summary.csv") for leaf in ("alone", "beside"))
    kept = beside[beside["method"] != "own_better"].reset_index(drop=True)
    shown = ["method", "epsilon", "mean", "rank", "best", "marked", "spent", "audit"]
    assert kept[shown].equals(alone[shown])
    lost = beside[beside["method"] == "own_better"]
    assert lost["rank"].isna().all() and not lost["best"].any() and not lost["marked"].any()
    page = (home / "results/own/index.html").read_text() + "".join(
        path.read_text() for path in (home / "results/own").rglob("*.html")
    )
    assert "Own better (over budget)" in page and "have no rank and no star:</p><ul><li>over budget: " in page
    code, out, _ = lpbench("reproduce own/beside --tracking none")
    assert code == 1 and "own_better (over budget)" in out


def test_released_code_over_its_budget_has_no_rank_and_is_no_failure(lpbench, home):
    """The papers' tables hold it, its class says that it spends more, and `make reproduce` succeeds."""
    methods = ["phist[variant=released]", "private_majority"]
    write_experiment(home / "lpbench_plugins", study(methods, "own/released", dataset=["breast_cancer"]))
    code, _, error = lpbench("reproduce own/released --tracking none")
    assert code == 0 and "note: phist[variant=released] has neither rank nor star: over budget as published" in error
    table = read_csv(home / "results/own/released/summary.csv")
    lost = table[table["method"] != "private_majority"]
    assert lost["rank"].isna().all() and not lost["marked"].any()


def test_a_failed_cell_is_failed_everywhere(lpbench, home, audits):
    lpbench("new method own_mean")
    change("lpbench_plugins/own_mean.py", ASK, "raise RuntimeError('no luck today')")
    code, out, _ = lpbench(
        "-m dataset=diabetes_progression method=own_mean,private_mean epsilon=1 replications=2 tracking=mlflow"
    )
    assert code == 1 and "–" in out and "no luck today" in " ".join(out.split())
    (path,) = home.glob("results/hydra/*/sweep.csv")
    table = read_csv(path)
    assert list(table["method"]) == ["own_mean", "private_mean"]
    assert "no luck today" in table["reason"][0] and table["reason"][1] == "" and table["oracle"][0] == ""
    assert (table["spent"].isna() == [True, False]).all() and table["audit"][1] == "audited"
    client = mlflow.MlflowClient(f"sqlite:///{home / 'results/mlflow.db'}")
    (experiment,) = client.search_experiments(filter_string="name = 'single'")
    cells = client.search_runs([experiment.experiment_id], "tags.`lpbench.kind` = 'cell'")
    runs = {run.data.params["method"]: run for run in cells}
    assert runs["own_mean"].info.status == "FAILED" and "no luck" in runs["own_mean"].data.tags["lpbench.reason"]
    assert runs["private_mean"].info.status == "FINISHED" and runs["private_mean"].data.metrics["spent"] == 1.0
    before = {run.info.run_id for run in client.search_runs([experiment.experiment_id])}
    assert len(before) > len(runs)  # the sweep's own run, too
    assert lpbench("report --tracking mlflow")[0] == 0
    assert {run.info.run_id for run in client.search_runs([experiment.experiment_id])} == before
