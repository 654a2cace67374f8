"""A single cell: its folder, row and run are those of everything that decides its numbers, and of nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.cli.hydra_app import compose
from lpbench.cli.main import main
from lpbench.cli.names import known_keys, values_of
from lpbench.experiments import catalog
from lpbench.experiments.config import Config, Runner
from lpbench.experiments.job import job_from
from lpbench.experiments.results import Artifact, Results
from lpbench.pipeline import run_jobs
from lpbench.selectors import Selector

HIST = ["method=hist"]
#: Key -> what is given besides, and two values that make other numbers.
DECIDE: dict[str, tuple[list[str], str, str]] = {
    "dataset": ([], "diabetes_progression", "sine_sum"),
    "dataset.params": ([], "private_fraction:0.5", "private_fraction:0.6"),
    "mask": ([], "aligned", "all_private"),
    "mask.params": ([], "n_protected:1", "n_protected:2"),
    "method": ([], "hist", "krr"),
    "method.estimator": (["method=private_mean"], "tests.experiments.fakes.Constant", "lpbench.estimators.DT"),
    "method.params": (HIST, "clip:true", "clip:false"),
    "method.grid": (HIST, "bins:[3]", "bins:[4]"),
    "method.grid_by_mask": (HIST, "aligned:{bins:[3]}", "aligned:{bins:[4]}"),
    "method.tuning_free": (HIST, "bins:3", "bins:5"),
    "method.variants": (
        [*HIST, "method.params.variant=clipped"], "clipped:{params:{clip:false}}", "clipped:{grid:{bins:[9]}}"
    ),
    "epsilon": ([], "1", "1.0000000001"),
    "replications": ([], "2", "3"),
    "seed": ([], "1", "2"),
    "experiment.replications": ([], "2", "3"),
    "experiment.scaling": ([], "rows", "bounds"),
}  # fmt: skip
#: Keys that decide no number of a cell, or are refused.
OTHERS = set(
    "dataset.name dataset.title mask.name mask.title method.name method.title method.task method.selection "
    "method.reference method.privacy method.audited results_dir selection audit dry_run experiment experiment.name "
    "experiment.paper experiment.kind experiment.title experiment.notes experiment.on_request experiment.groups "
    "experiment.settings experiment.work_limit experiment.left_out runner runner.backend runner.workers "
    "runner.address runner.order tracking tracking.backend tracking.uri apart sealed experiment.sealed".split()
)


def word(key: str, value: str) -> str:
    """An override; of mappings ``value`` is one entry."""
    entry, _, inner = value.partition(":")
    return f"++{key}.{entry}={inner}" if inner else f"{key}={value}"


def test_every_key_of_the_schema_is_known_to_decide_numbers_or_not():
    assert DECIDE.keys() | OTHERS == set(known_keys()[0]) and not DECIDE.keys() & OTHERS


@pytest.mark.parametrize("key", DECIDE)
def test_cells_with_other_numbers_have_other_folders(key):
    besides, *values = DECIDE[key]
    words = [[*besides, word(key, value)] for value in values]
    one, other = (job_from(compose(w), w) for w in words)
    assert {b.key for b in one.plan.blocks} != {b.key for b in other.plan.blocks}
    assert one.folder != other.folder


@pytest.mark.slow
@pytest.mark.parametrize("key", DECIDE)
def test_a_sweep_over_two_values_has_two_rows_two_folders_and_a_run_each_below_its_own(key, tmp_path, capsys):
    besides, one, other = DECIDE[key]
    besides = besides if "replications" in key else [*besides, "replications=2"]
    swept = f"{word(key, one)},{other.partition(':')[2] or other}"
    assert main(["-m", *besides, swept, "tracking=mlflow", f"results_dir={tmp_path}"]) == 0
    (path,) = tmp_path.glob("hydra/*/sweep.csv")
    rows = path.read_text(encoding="utf-8").splitlines()[1:]
    folders = {a.folder for a in Results(tmp_path).cells()}
    assert len(rows) == 2 and sorted(f.name.startswith("sweep-") for f in folders) == [False, False, True]
    assert "3 runs written to MLflow" in capsys.readouterr().out


@pytest.fixture(scope="module")
def config() -> Config:
    return compose(["method=hist"])


NUMBERS = st.one_of(st.integers(0, 10**6), st.floats(1e-6, 1e6), st.sampled_from(["a", "x/y", "..", "long" * 80]))
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "seed": st.integers(0, 3),
        "replications": st.integers(1, 3),
        "epsilon": st.floats(0.1, 10),
        "grid": st.fixed_dictionaries({"bins": st.lists(st.integers(1, 3), min_size=1, max_size=2)}),
        "params": st.fixed_dictionaries({"bins": NUMBERS}),
    },
)


def cell(config, changed):
    method = {key: changed[key] for key in ("grid", "params") if key in changed}
    top = {key: value for key, value in changed.items() if key not in method}
    return job_from(replace(config, method=replace(config.method, **method), **top))


@settings(max_examples=200)
@given(CHANGES, CHANGES)
def test_folders_are_equal_where_all_that_decides_is(config, one, other):
    jobs = [cell(config, changed) for changed in (one, other)]
    same = [(j.seed, j.experiment.replications, j.experiment.groups, j.methods) for j in jobs]
    assert (jobs[0].folder == jobs[1].folder) == (same[0] == same[1])
    for job in jobs:
        assert ".." not in job.folder.split("/") and max(len(part) for part in job.folder.split("/")) <= 255


def test_a_sweep_keeps_every_job_and_says_what_was_swept(tmp_path, capsys):
    words = ["method=private_mean", "epsilon=1", "seed=1,2", "experiment.scaling=rows,bounds", "replications=2"]
    assert main(["-m", *words, "tracking=mlflow", f"results_dir={tmp_path}"]) == 0
    out = capsys.readouterr().out
    assert "experiment.scaling" in out and "4 runs written to MLflow" in out
    assert main(["report", "--tracking", "mlflow", "--results", str(tmp_path)]) == 0
    assert "0 runs written" in capsys.readouterr().out
    assert len({a.folder for a in Results(tmp_path).cells()}) == 4
    import pandas as pd

    (path,) = tmp_path.glob("hydra/*/sweep.csv")
    table = pd.read_csv(path)
    assert len(table[["seed", "experiment.scaling"]].drop_duplicates()) == len(table) == 4
    numbers = table[["epsilon", "seed", "n", "oracle", "oracle_se", "tuning-free", "baseline"]]
    assert all(pd.api.types.is_numeric_dtype(numbers[column]) for column in numbers)
    # another call adds to what is there
    assert main(["method=private_mean", "epsilon=1", "seed=3", "replications=2", f"results_dir={tmp_path}"]) == 0
    assert len(list(Results(tmp_path).cells())) == 5


def test_one_replication_has_no_standard_error(tmp_path, capsys):
    words = ["method=private_mean", "epsilon=1", "replications=1", "tracking=none", f"results_dir={tmp_path}"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "(n=1)" in printed and "+-" not in printed


def test_parameters_of_a_selector_may_stand_in_any_order():
    methods = [catalog.method(f"lpct_max_edge[{two}]") for two in ("variant=text,depth=3", "depth=3,variant=text")]
    assert methods[0] == methods[1] and methods[0].tuning_free is not None


@pytest.mark.slow
def test_registered_methods_run_as_cells(tmp_path):
    sets = {"regression": ["dataset=diabetes_progression"], "classification": ["dataset=breast_cancer"]}
    bases = {task: compose([*words, "replications=1"]) for task, words in sets.items()}
    jobs = [job_from(replace(bases[m.task], method=m, epsilon=2.0)) for m in catalog.methods().values()]
    result = run_jobs(jobs, tmp_path, Runner(backend="serial"))
    assert result.exit_code == 0 and len(result.written) == len(jobs)
    assert [job.folder for job in jobs if not Artifact(tmp_path / job.folder, "single").was_run] == []


SELECTORS = st.builds(
    lambda name, params: str(Selector(name, params)),
    st.sampled_from(["hist", "krr", "dt"]),
    st.dictionaries(
        st.sampled_from(["bins", "clip", "variant"]),
        st.one_of(st.integers(-9, 9), st.booleans(), st.floats(0.01, 9), st.sampled_from(["a", "b.c"])),
    ),
)


@settings(max_examples=200)
@given(st.lists(SELECTORS, min_size=1, max_size=4), st.sampled_from(["", "'", '"']))
def test_commas_outside_brackets_and_quotes_separate_values(selectors, quote):
    assert values_of(",".join(f"{quote}{s}{quote}" for s in selectors)) == [f"{quote}{s}{quote}" for s in selectors]


@settings(max_examples=10)
@given(SELECTORS)
def test_a_name_with_parameters_is_the_method_with_them(selector):
    config, parsed = compose([f"method={selector}"]), Selector.parse(selector)
    known = catalog.method(parsed.name)
    assert (config.method.name, config.method.params) == (parsed.name, {**known.params, **parsed.params})
