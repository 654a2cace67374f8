"""Whatever others wrote (plug-ins, tables, titles, names, arguments) works, or is one sentence with the way out."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from omegaconf import OmegaConf
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lpbench.audit.black_box import CallableSource, PrivacyClaim, WithFeatures, audit
from lpbench.checks import check_choice, check_flag, check_number, check_range, check_whole
from lpbench.cli import surroundings
from lpbench.cli.need import _names
from lpbench.errors import ClippingWarning, ConfigurationError, DataError
from lpbench.estimators import ResidualGP
from lpbench.estimators.public_scaler import PublicScaler
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.planning import need
from lpbench.planning.answer import wanted_error
from lpbench.reporting.figures import style

TEXT = "name: own_bad\ntitle: T\ntask: regression\nestimator: own_bad.Bad\n"
BROKEN = {
    "unknown key": TEXT + "gird: {slices: [1]}\n",
    "tab": TEXT.replace("task", "\ttask"),
    "doubled key": TEXT + "title: Again\n",
    "not YAML": "title: 'open\n",
    "empty": "",
    "a list": "- a\n- b\n",
    "another name": TEXT.replace("own_bad\n", "own_other\n", 1),
    "a number": "7\n",
    "bytes": TEXT.encode() + b"reference: \xf6\n",
    "wrong task": TEXT.replace("regression", "regresion"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plug_in_is_named_and_passed_over_until_it_is_asked_for(lpbench, home, kind):
    lpbench("new method own_good")
    text = BROKEN[kind]
    path = home / "lpbench_plugins" / "methods" / "own_bad.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, error = lpbench("list methods")
    assert code == 0 and "own_good" in out and error.count("warning: passed over") <= 1 and "own_bad" in error
    assert set(catalog.methods()) >= {"own_good", "hist"}
    assert lpbench("plan method=own_good dataset=diabetes_progression replications=1")[0] == 0
    code, _, error = lpbench("plan method=own_bad dataset=diabetes_progression replications=1")
    assert code == 2 and error.count("error: ") == 1 and "own_bad" in error and "Traceback" not in error


def test_a_registered_name_stays_the_projects(lpbench, home):
    lpbench("new method own_good")
    (home / "lpbench_plugins" / "methods" / "hist.yaml").write_text(TEXT.replace("own_bad", "hist", 1))
    code, _, error = lpbench("list methods")
    assert code == 0 and "rename" in error and "hist.yaml" in error
    assert catalog.method("hist").estimator.startswith("lpbench.")
    assert lpbench("plan method=hist dataset=diabetes_progression replications=1")[0] == 2


PLAIN = st.one_of(st.floats(-1e6, -1e-3), st.integers(-50, -1), st.booleans(), st.text("abc", min_size=1, max_size=3))


@settings(max_examples=200, deadline=None)
@given(PLAIN, st.sampled_from((np.float32, np.float64, np.int64, np.bool_, np.str_)))
def test_no_sentence_shows_a_scalar_of_numpy(value, kind):
    try:
        scalar = kind(value)
    except ValueError:
        return
    for check in (
        lambda: check_number("epsilon", scalar, above=0),
        lambda: check_whole("bins", scalar, least=1000),
        lambda: check_choice("task", scalar, ("regression",)),
        lambda: check_range("y_range", (scalar, scalar)),
        lambda: check_flag("clip", np.float64(3)),
    ):
        try:
            check()
        except ConfigurationError as refused:
            assert "np." not in str(refused)


NAMES = st.lists(st.text("ab ,", min_size=1, max_size=6).map(str.strip).filter(lambda n: n.strip(", ")), unique=True)


@settings(max_examples=200, deadline=None)
@given(NAMES.filter(lambda names: all(not n.startswith(",") and not n.endswith(",") for n in names)))
def test_a_column_is_named_whatever_commas_it_has(names):
    for name in names:
        assert _names(name, names) == [name]
    assert _names("x,y", ["x", "y", *names]) == ["x", "y"]
    assert _names('"weight, kg", age', ["weight, kg", "age", "kg"]) == ["weight, kg", "age"]
    assert _names("weight, kg,age", ["weight, kg", "age", "kg"]) == ["weight, kg", "age"]


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_tables_are_answered_with_the_transformers_option(make):
    X, y = np.eye(240)[:, :3], np.linspace(0, 1, 240)
    model = ResidualGP(1.0, y_range=(0, 1), random_state=0)
    for call in (
        lambda: model.fit(make(X), y),
        lambda: PublicScaler().fit(make(X)),
        lambda: need(make(X), y, y_range=(0, 1)),
        lambda: model.fit(X, y, mask=[0]).predict(make(X)),
    ):
        with pytest.raises(DataError, match=r"sparse_output=False.*sparse_threshold=0"):
            call()


@pytest.mark.parametrize("error", ["half", "80%", "0", "-1", "x", "0x", "nanx", "inf", 0, -2.0, float("nan")])
def test_a_wanted_error_is_refused_before_anything_runs(error):
    with pytest.raises(ConfigurationError, match=r"0\.8x"):
        wanted_error(error)


G = 4


def hashed(seed: int, value: int) -> int:
    x = (seed * 2654435761 + value * 40503 + 12345) & 0xFFFFFFFF
    x ^= x >> 16
    x = (x * 0x45D9F3B) & 0xFFFFFFFF
    return (x ^ x >> 16) % G


def local_hashing(epsilon):
    def report(value, rng):
        seed = int(rng.integers(2**31))
        keep = rng.random() < np.exp(epsilon) / (np.exp(epsilon) + G - 1)
        return {"seed": seed, "y": hashed(seed, value) if keep else (hashed(seed, value) + int(rng.integers(1, G))) % G}

    return report


def supported(columns):
    pairs = zip(columns["report.seed"].astype(int), columns["report.y"], strict=True)
    return [[int(hashed(int(s), v) == y) for v in (0, 1)] for s, y in pairs]


@pytest.mark.parametrize(("epsilon", "violated"), [pytest.param(1.0, False, marks=pytest.mark.slow), (2.0, True)])
def test_hash_functions_that_come_once_have_features(epsilon, violated):
    own = np.random.default_rng(1)
    without_rng = CallableSource(lambda value: local_hashing(epsilon)(value, own), [0, 1])
    blind = audit(without_rng, PrivacyClaim(1.0), 4000, 1e-6)
    assert not blind.violated and "report.seed: another in every report" in str(blind)
    assert audit(WithFeatures(without_rng, supported, "f"), PrivacyClaim(1.0), 16_000, 1e-6).violated == violated


def test_features_that_fail_are_one_sentence():
    source = CallableSource(lambda value, rng: float(rng.random() < 0.5), [0, 1])
    for wrong in (lambda columns: columns["nothing"], lambda columns: [1.0], lambda columns: 7):
        with pytest.raises(DataError, match="audit_me"):
            audit(WithFeatures(source, wrong, "audit_me"), PrivacyClaim(1.0), 1000)


@pytest.mark.parametrize("digits", [2, 4, 6])
def test_digits_that_rounded_noise_leaves_are_seen(digits):
    offset = 0.3 * 10.0**-digits

    def report(value, rng):
        return value * offset + round(float(rng.laplace(scale=100.0)), digits)

    assert audit(CallableSource(report, [0, 1]), PrivacyClaim(1.0), 16_000, 1e-6).violated


def test_numbers_of_single_precision_are_seen():
    def report(value, rng):
        noise = rng.laplace(scale=100.0)
        return float(np.float32(noise)) if value else float(noise)

    verdict = audit(CallableSource(report, [0, 1]), PrivacyClaim(1.0), 16_000, 1e-6)
    assert verdict.violated and "single precision" in verdict.rule


@pytest.mark.parametrize("name", [False, True])
def test_reports_that_are_all_the_same_are_called_so(name):
    kept: dict[int, int] = {}

    def report(value, rng):
        answer = kept.setdefault(value, value)
        return {"id": int(rng.integers(2**40)), "y": answer} if name else answer

    said = str(audit(CallableSource(report, [0, 1]), PrivacyClaim(1.0), 4000))
    assert re.search(r"all reports of value [01] are the same: is a seed or a memory inside\?", said)


GROUP = {"dataset": "[red_wine]", "mask": "[aligned]", "method": "[hist]", "epsilon": "[1]"}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(GROUP)), st.data())
def test_a_mistyped_key_is_answered_with_the_nearest_of_its_own(key, data):
    """One letter fewer or two in another order."""
    at = data.draw(st.integers(1, len(key) - 2))
    swapped = key[: at - 1] + key[at] + key[at - 1] + key[at + 1 :]
    wrong = data.draw(st.sampled_from([key[:at] + key[at + 1 :], swapped]))
    if wrong == key:
        return
    content = {wrong if k == key else k: [v.strip("[]")] for k, v in GROUP.items()}
    node = OmegaConf.create({"name": "own/x", "groups": [content]})
    with pytest.raises(ConfigurationError, match=rf"'{wrong}': did you mean .*{key}"):
        catalog._typed(node, Experiment, "own/x", Path("x.yaml"))


@pytest.mark.parametrize("key", GROUP)
def test_a_value_in_the_place_of_a_list_is_shown_as_one(lpbench, home, key):
    folder = home / "lpbench_plugins" / "experiments" / "own"
    folder.mkdir(parents=True)
    group = ", ".join(f"{k}: {v.strip('[]') if k == key else v}" for k, v in GROUP.items())
    (folder / "x.yaml").write_text(f"name: own/x\nkind: table\ntitle: T\ngroups:\n- {{{group}}}\n")
    for line in ("plan own/x", "experiment=own/x tracking=none"):
        code, _, error = lpbench(line)
        assert code == 2 and f"{key}: [" in error and "must be a list" in error and "AnyNode" not in error


def test_an_impossible_parameter_is_a_request_that_is_not_valid(lpbench):
    code, _, error = lpbench("dataset=diabetes_progression method=hist method.params.bins=-3 tracking=none epsilon=1")
    assert code == 2 and "bins=-3 must be a whole number" in error and "traceback" not in error


def test_formulas_of_drawings_stay_formulas():
    with style.look(mathematics=True):
        assert Figure().text(0, 0, "$x^1$").get_parse_math()


@pytest.mark.parametrize("kind", [ClippingWarning, ConvergenceWarning, RuntimeWarning])
def test_a_warning_on_the_screen_is_a_sentence(kind):
    with surroundings.fixed():
        said = warnings.formatwarning(kind("values were\n clipped"), kind, "a.py", 7)
    assert said == "warning: values were clipped\n"


#: Code of others -> a command that runs it; ``FAIL`` raises, or leaves Python as if all were well.
FOREIGN = {
    "import": ("FAIL\ndef f(value, rng): return 0", "audit code {file}:f --epsilon 1 --values 0 1"),
    "function": ("def f(value, rng): FAIL", "audit code {file}:f --epsilon 1 --values 0 1 --samples 1000"),
    "features": (
        "def g(columns): FAIL\ndef f(value, rng): return float(rng.random())",
        "audit code {file}:f --features {file}:g --epsilon 1 --values 0 1 --samples 1000",
    ),
    "learner": (
        "class L:\n def __init__(self): FAIL\n def fit(self, X, y): 0\n def predict(self, X): 0",
        "audit code --learner {file}:L",
    ),
    "fit": ("class L:\n def fit(self, X, y): FAIL\n def predict(self, X): 0", "audit code --learner {file}:L"),
    "predict": ("class L:\n def fit(self, X, y): 0\n def predict(self, X): FAIL", "audit code --learner {file}:L"),
    "method's import": ("FAIL", "rank {module}:M --quick"),
    "method": (
        "from lpbench.estimators.base import LocalRegressor\nclass M(LocalRegressor):\n def __init__(self): FAIL",
        "rank {module}:M --quick",
    ),
    "no method": ("class M: pass", "rank {module}:M --quick"),
}


@pytest.mark.parametrize("how", ["raise ValueError('no')", "raise SystemExit(0)"])
@pytest.mark.parametrize("place", FOREIGN)
def test_code_of_others_that_fails_or_leaves_is_one_sentence(lpbench, home, monkeypatch, place, how):
    code, line = FOREIGN[place]
    module = re.sub(r"\W", "_", f"own {place} {how}")
    (home / f"{module}.py").write_text(code.replace("FAIL", how))
    monkeypatch.syspath_prepend(home)
    exit_code, _, error = lpbench(line.format(file=f"{module}.py", module=module))
    assert exit_code == 2 and error.count("error: ") == 1 and "Traceback" not in error, (exit_code, error)
    assert place == "no method" or "ValueError: no" in error or "SystemExit" in error or ".M': no;" in error
