"""Examples in the docstrings of public estimators, mechanisms and masks run and print what they say."""

import doctest
import warnings

import pytest

import lpbench.estimators
import lpbench.privacy
from lpbench import masks
from lpbench.privacy.mechanism import REGISTERED

ESTIMATORS = [getattr(lpbench.estimators, name) for name in lpbench.estimators.__all__]
MECHANISMS = [getattr(lpbench.privacy, name) for name in REGISTERED if name in lpbench.privacy.__all__]


@pytest.mark.parametrize("member", [*ESTIMATORS, *MECHANISMS, masks.as_mask, masks.through], ids=lambda m: m.__name__)
def test_an_example_prints_what_it_says(member):
    [*tests] = doctest.DocTestFinder(recurse=False).find(member, member.__name__, globs={})
    assert [test for test in tests if test.examples], f"{member.__name__} has no example"
    runner = doctest.DocTestRunner(verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [runner.run(test) for test in tests]
    assert not any(result.failed for result in results)
