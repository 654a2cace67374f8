"""Checks of a contract, made one after the other and printed; ``lpbench check method FILE:Class``."""

import time
from collections.abc import Callable, Mapping, Sequence

import click

from lpbench.errors import LpbenchError, MissingDataError, NotRunError, check_known

ONLY = click.option("--only", multiple=True, metavar="CHECK", help="One of them; repeat for more.")


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="FILE:CLASS...")
@ONLY
def method(names: Sequence[str], only: Sequence[str]) -> int:
    """Check a method's class: scikit-learn's rules, sweep, determinism, workers, guarantee, audit.

    The class is imported and run in this process.
    """
    from lpbench.audit.contract import CHECKS, method_of

    methods = {name: method_of(name) for name in names}
    return run("method", names, CHECKS, only, lambda check, name: CHECKS[check](methods[name]))


def run(
    kind: str,
    names: Sequence[str],
    checks: Mapping[str, Callable[..., None]],
    only: Sequence[str],
    make: Callable[[str, str], None] | None = None,
) -> int:
    """Run checks of each name, by ``make(check, name)`` or here; print them and return the exit code."""
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
                is_ours = isinstance(error, (AssertionError, LpbenchError))
                verdict = f"FAILED\n    {'' if is_ours else f'{type(error).__name__}: '}{error}"
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
