"""Audit of methods of somebody's own, once for each content of their code: what is said of it beside their scores."""

import json
import sys
from contextlib import suppress

from lpbench.analysis.summary import AUDITED, NO_AUDIT, REFUTED
from lpbench.audit.table import complaints_about
from lpbench.digest import hash_of
from lpbench.disk import locked, write_text
from lpbench.errors import LpbenchError
from lpbench.experiments.fits import own_sweep
from lpbench.experiments.method import Method, facts_of, is_own
from lpbench.experiments.time_limit import time_limit
from lpbench.paths import cache_folder
from lpbench.source import source_hash

#: Seconds that an audit may take before a first table.
AUDIT_SECONDS = 60.0
#: Audits of this process that came to no end, which another process tries again.
_unfinished: dict[str, str] = {}


def audit_of(method: Method, run: bool = True) -> str:
    """Say what the audit found: ``audited``, ``refuted: ...`` or ``not audited: ...``.

    Methods of the package are audited by its tests. The verdict about a method of somebody's own is
    kept by its setting and the code of its module and of what that imports of the same owner's; it is sought where
    there is none, unless ``run`` is False. What an audit could not finish is no verdict, and is not kept.
    """
    if not is_own(method.estimator):
        return AUDITED
    if not run:
        return f"{NO_AUDIT}: the run was asked to make none"
    if sweep := own_sweep(method.estimator_class):
        return f"{NO_AUDIT}: {sweep} of {method.name} scores a grid by itself, and fits are audited; leave it out"
    key, folder = _key(method), cache_folder() / "audits"
    with locked(folder / "lock"):
        with suppress(OSError, ValueError, KeyError):
            return str(json.loads((folder / f"{key}.json").read_text(encoding="utf-8"))["said"])
        if key not in _unfinished:
            verdict = _audited(method)
            if verdict.startswith(NO_AUDIT):
                _unfinished[key] = verdict
                return verdict
            write_text(json.dumps({"method": method.name, "said": verdict}), folder / f"{key}.json")
            return verdict
    return _unfinished[key]


def _key(method: Method) -> str:
    modules = {method.estimator.rpartition(".")[0], facts_of(method.estimator).module}
    sources = [source_hash(name) for name in (*sorted(modules), __name__)]
    return hash_of([method.estimator, method.params, method.tuning_free, sources])[:32]


def _audited(method: Method) -> str:
    """Audit a user's own method within the time allowed, and return the verdict as text with the first complaint."""
    print(f"auditing {method.name}, once for this code, at most {AUDIT_SECONDS:g} s ...", file=sys.stderr, flush=True)
    try:
        with time_limit(AUDIT_SECONDS):
            complaints = complaints_about(method)
    except (Exception, SystemExit) as error:  # what ends an audit is no verdict, whoever raised it
        kind = "" if isinstance(error, LpbenchError) else f"the audit ended with {type(error).__name__}: "
        return f"{NO_AUDIT}: {kind}{' '.join(str(error).split())}"
    more = f" (and {len(complaints) - 1} more: lpbench audit {method.name})" if len(complaints) > 1 else ""
    return f"{REFUTED}: {complaints[0]}{more}" if complaints else AUDITED
