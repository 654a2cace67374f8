"""``lpbench check``: hold methods, data sets and mechanisms to :mod:`lpbench.testing`, and print each verdict."""

from collections.abc import Sequence

import click

from lpbench.cli import options
from lpbench.cli.checking import ONLY, run


@click.group(cls=options.Kinds)
def command() -> None:
    """Hold a method, a data set or a mechanism to the contract."""


@command.command()
@click.argument("names", nargs=-1, required=True, type=options.NameOf("method"), metavar="NAME...")
@ONLY
def method(names: Sequence[str], only: Sequence[str]) -> int:
    """Check scikit-learn's rules, grid, sweep, determinism, workers, guarantee, audit.

    A sweep equals the loop of learn_from on the same streams. The audit seals the users: nothing but reports decides
    what is learned. A method of your own is checked where its code runs apart: none of it is imported here; FILE:CLASS,
    which is not registered, is checked in this process.
    """
    from lpbench.experiments.method import facts_of
    from lpbench.testing import METHOD_CHECKS, check_promise, named

    for name in names:
        facts_of(named(name).estimator)
    return run("method", names, METHOD_CHECKS, only, check_promise)


@command.command()
@click.argument("names", nargs=-1, required=True, type=options.NameOf("dataset"), metavar="NAME...")
@ONLY
def dataset(names: Sequence[str], only: Sequence[str]) -> int:
    """Check fingerprint, splits, scaling, label range, determinism."""
    from lpbench.datasets import load_manifest
    from lpbench.testing import DATASET_CHECKS

    for name in names:
        load_manifest(name)
    return run("dataset", names, DATASET_CHECKS, only)


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@ONLY
def mechanism(names: Sequence[str], only: Sequence[str]) -> int:
    """Check domain, exact loss, influence, sampled loss of a registered mechanism, or MODULE.CLASS of your own."""
    from lpbench.testing import MECHANISM_CHECKS, mechanism_of

    for name in names:
        mechanism_of(name)
    return run("mechanism", names, MECHANISM_CHECKS, only)
