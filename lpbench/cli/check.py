"""``lpbench check``: hold methods, data sets and mechanisms to :mod:`lpbench.testing`, and print each verdict."""

import time
from collections.abc import Callable, Mapping, Sequence

import click

from lpbench.cli import options
from lpbench.errors import LpbenchError, MissingDataError, NotRunError, check_known

_ONLY = click.option("--only", multiple=True, metavar="CHECK", help="One of them; repeat for more.")


@click.group(cls=options.Kinds)
def command() -> None:
    """Hold a method, a data set or a mechanism to the contract."""


@command.command()
@click.argument("names", nargs=-1, required=True, type=options.NameOf("method"), metavar="NAME...")
@_ONLY
def method(names: Sequence[str], only: Sequence[str]) -> int:
    """Check scikit-learn's rules, grid, sweep, determinism, workers, guarantee, audit.

    A sweep equals the loop of learn_from on the same streams. The audit seals the users: nothing but reports decides
    what is learned. A method of your own is checked where its code runs apart: none of it is imported here.
    """
    from lpbench.experiments import catalogue
    from lpbench.experiments.method import facts_of
    from lpbench.testing import METHOD_CHECKS, check_promise

    for name in names:
        facts_of(catalogue.guarded_method(name).estimator)
    return _run("method", names, METHOD_CHECKS, only, check_promise)


@command.command()
@click.argument("names", nargs=-1, required=True, type=options.NameOf("dataset"), metavar="NAME...")
@_ONLY
def dataset(names: Sequence[str], only: Sequence[str]) -> int:
    """Check fingerprint, splits, scaling, label range, determinism."""
    from lpbench.datasets import load_manifest
    from lpbench.testing import DATASET_CHECKS

    for name in names:
        load_manifest(name)
    return _run("dataset", names, DATASET_CHECKS, only)


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_ONLY
def mechanism(names: Sequence[str], only: Sequence[str]) -> int:
    """Check domain, exact loss, influence, sampled loss of a registered mechanism, or MODULE.CLASS of your own."""
    from lpbench.testing import MECHANISM_CHECKS, mechanism_of

    for name in names:
        mechanism_of(name)
    return _run("mechanism", names, MECHANISM_CHECKS, only)


def _run(
    kind: str,
    names: Sequence[str],
    checks: Mapping[str, Callable[[str], None]],
    only: Sequence[str],
    make: Callable[[str, str], None] | None = None,
) -> int:
    """Make checks of each name, by ``make(check, name)`` where they are not called here."""
    check_known("unknown check", only, checks)
    chosen = {title: check for title, check in checks.items() if not only or title in only}
    broken = made = 0
    for name in names:
        for title, check in chosen.items():
            start = time.perf_counter()
            try:
                check(name) if make is None else make(title, name)
                verdict = "ok"
            except MissingDataError as error:
                print(f"{name} {title:13s} not made: {error}", flush=True)
                continue
            except (Exception, SystemExit) as error:  # the method's own code may raise anything
                own = isinstance(error, (AssertionError, LpbenchError))
                verdict = f"FAILED\n    {'' if own else f'{type(error).__name__}: '}{error}"
            made += 1
            broken += verdict != "ok"
            print(f"{name} {title:13s}{time.perf_counter() - start:6.1f} s  {verdict}", flush=True)
            if verdict != "ok":
                print(f"    promised: {(check.__doc__ or '').splitlines()[0]}")
    if not made:
        raise NotRunError(f"no check of {', '.join(names)} could be made, for the reasons above")
    missing = len(names) * len(chosen) - made
    print(f"{len(names)} {kind}(s), {made} checks, {broken} broken" + (f", {missing} not made" if missing else ""))
    return int(broken > 0)
