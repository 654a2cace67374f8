"""The package names its public classes, imports each when it is asked for, and tells type checkers the same names."""

import ast
import random
import subprocess
import sys
from importlib import import_module

import pytest

import lpbench
from lpbench import paths

STUB = ast.parse((paths.ROOT / "lpbench" / "__init__.pyi").read_text(encoding="utf-8"))
#: Public name -> the module that the stub says it is from.
TYPED = {alias.asname: node.module for node in STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names}
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "mlflow", "hydra", "matplotlib", "click")


def test_the_stub_and_the_package_name_the_same_objects():
    public = {name for name in dir(lpbench) if not name.startswith("_")} - set(sys.modules["lpbench"].__dict__)
    assert public <= TYPED.keys() <= set(dir(lpbench))
    for name, module in TYPED.items():
        assert getattr(lpbench, name) is getattr(import_module(module), name), name


def test_methods_mechanisms_masks_and_the_ledger_are_public():
    assert set(import_module("lpbench.estimators").__all__) <= TYPED.keys()
    assert {"GRR", "Laplace", "PrivacyLedger", "ResidualGP", "as_mask", "through"} <= TYPED.keys()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'lpbench' has no attribute 'Nothing'"):
        _ = lpbench.Nothing
    with pytest.raises(ImportError, match="Nothing"):
        from lpbench import Nothing  # noqa: F401


def test_the_package_and_its_names_are_there_before_anything_heavy_is_imported():
    asked = f"import lpbench, sys; dir(lpbench); print(*[m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=paths.ROOT)
    assert done.stdout.split() == []


def test_a_mechanism_brings_no_method_and_leaves_the_callers_random_numbers_alone():
    asked = (
        "import random, sys; random.seed(1); from lpbench import Laplace, PrivacyLedger, ResidualGP, apart;"
        "print(random.random(), 'lpbench.estimators.lpct' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=paths.ROOT)
    random.seed(1)
    assert done.stdout.split() == [str(random.random()), "False"]
