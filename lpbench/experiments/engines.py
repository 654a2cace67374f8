"""Engines that compute blocks: this process, worker processes, a Dask or a Ray cluster.

Functions and arguments are pickled. Workers must see the same files: the store is a folder, and a result is what a
worker has written into it.
"""

import gc
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import islice, starmap
from typing import Any

from joblib.executor import get_memmapping_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from lpbench.disk import discard_unfinished
from lpbench.errors import ConfigurationError
from lpbench.experiments.config import BACKENDS
from lpbench.experiments.progress import Progress

#: Seconds between two looks of a worker for its parent.
_LOOK = 0.25
#: Of workers: glibc, which Arrow asks too, keeps what a scenario's arrays leave: given back, it is cleared each time.
_ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_TOP_PAD_": str(1 << 26),
              "ARROW_DEFAULT_MEMORY_POOL": "system"}  # fmt: skip
#: Of workers, whatever the libraries: one thread each.
_ONE_THREAD = {f"{k}_THREADS": "1" for k in "OMP_NUM OPENBLAS_NUM MKL_NUM BLIS_NUM VECLIB_MAXIMUM NUMEXPR_NUM".split()}
Submit = Callable[..., Future[Any]]
#: Yields ``function(*call)`` in any order, until a worker dies; calls, if no list, are asked for as workers get free.
MapUnordered = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]


def check_backend(backend: str) -> None:
    """Raise ConfigurationError for a backend that is not installed."""
    module = BACKENDS[backend]
    if module is not None and importlib.util.find_spec(module) is None:
        raise ConfigurationError(
            f"runner.backend={backend!r} needs the package {module!r}, which is not installed; "
            f"in the checkout: pip install -e '.[{backend}]', or make engines"
        )


@contextmanager
def engine(backend: str, workers: int, address: str | None = None) -> Iterator[MapUnordered]:
    """Start what computes, yield a function that maps calls unordered, and stop what was started.

    ``workers`` calls are in flight at once. Without an ``address`` of a running Dask scheduler or Ray cluster (whose
    workers see this machine's folders) they are processes of this machine. A backend that is not installed, or does not
    answer at the address, is a ConfigurationError.
    """
    check_backend(backend)
    if backend == "serial":
        yield starmap
    elif backend == "loky":
        with _processes(workers) as pool:
            yield partial(_mapped, workers, lambda: pool().submit, (TerminatedWorkerError,))
    else:
        with {"dask": _dask, "ray": _ray}[backend](workers, address) as (submit, lost):
            yield partial(_mapped, workers, lambda: submit, lost)


def _mapped(*about: Any) -> Iterator[Any]:
    results = _results(*about)
    next(results, None)
    return results


def _results(
    workers: int, connect: Callable[[], Submit], lost: Any, function: Callable[..., Any], calls: Iterable[Any]
) -> Iterator[Any]:
    """Submit calls, yield None once, then ``function(*call)`` of each call until a worker is lost.

    ``connect`` returns the engine's submit function, and ``lost`` are the errors of a lost worker. Results come in the
    order in which they are finished.
    """
    most = len(calls) if isinstance(calls, list) else workers  # who reads results may take longer than a call
    queue, done, pending = iter(calls), set[Future[Any]](), set[Future[Any]]()
    try:
        submit = connect()
        pending = {submit(function, *call) for call in islice(queue, most)}
        yield
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (done.pop().result() for _ in range(len(done)))
            pending |= {submit(function, *call) for call in islice(queue, most - len(pending))}
    except lost:
        print("warning: a worker process died, and what it was on is lost", file=sys.stderr)
        yield from (f.result() for f in done | pending if f.done() and not f.cancelled() and not f.exception())


@contextmanager
def _processes(count: int) -> Iterator[Callable[[], Executor]]:
    """Context with a function that returns the pool of worker processes, a new one if a worker died.

    Workers use one thread each and end with this process, however that ends.
    """
    os.environ.update(_ALLOCATOR | os.environ)
    pool = partial(get_memmapping_executor, count, initializer=_watch, initargs=(os.getpid(),), env=_ONE_THREAD)
    try:
        yield pool
    except BaseException:
        pool().shutdown(kill_workers=True)
        raise


def _watch(parent: int) -> None:
    """Freeze what this worker imports, and end it when its parent (process id) is no more.

    A killed parent tells nobody.
    """
    os.nice(5)

    def watch() -> None:
        imported = 0
        while os.getppid() == parent:
            if imported < (imported := len(sys.modules)):
                gc.freeze()  # loky collects garbage every second: to search all that was imported takes 70 ms
            time.sleep(_LOOK)
        discard_unfinished()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def in_order(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], workers: int, title: str = ""
) -> list[Any]:
    """Return ``function(*call)`` of every call, in order, computed by worker processes that end with this one."""
    with _processes(workers) as pool, Progress(bool(title)) as progress:
        progress.stage(f"{len(calls)} {title}")
        progress.expect(len(calls))
        results, submit = list[Any](), pool().submit
        for future in [submit(function, *call) for call in calls]:
            results.append(future.result())
            progress.advance(1)
        return results


@contextmanager
def _dask(workers: int, address: str | None) -> Iterator[tuple[Submit, Any]]:
    """Yield submit function and worker-loss errors of a Dask cluster, started here if no address is given."""
    import distributed

    with ExitStack() as started:
        if address is None:
            options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": 0}
            cluster = distributed.LocalCluster(**options, host="127.0.0.1", dashboard_address=None)
            started.enter_context(cluster)
        try:
            client = started.enter_context(distributed.Client(address or cluster, timeout="10s"))
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"runner.address={address!r}: no Dask scheduler answers there ({error})"
            ) from error
        yield client.get_executor(pure=False).submit, (distributed.scheduler.KilledWorker, CancelledError)


@contextmanager
def _ray(workers: int, address: str | None) -> Iterator[tuple[Submit, Any]]:
    """Yield submit function and worker-loss errors of a Ray cluster, started here if no address is given."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # it would report its use to its makers
    import ray

    start: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        # Ray's workers do not inherit the import path of this process
        path = {"env_vars": {"PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)}}
        start |= {"num_cpus": workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1", "runtime_env": path}
    try:
        ray.init(address=address or "local", **start)
    except (ConnectionError, ValueError) as error:
        raise ConfigurationError(f"runner.address={address!r}: no Ray cluster answers there ({error})") from error
    remote, e = cache(ray.remote(max_retries=0)), ray.exceptions
    lost = (e.WorkerCrashedError, e.NodeDiedError, e.OutOfMemoryError, e.LocalRayletDiedError, e.ObjectLostError)
    try:
        yield lambda function, *call: remote(function).remote(*call).future(), lost
    finally:
        ray.shutdown()
