"""Joblib's backends that compute blocks: this process, worker processes, a Dask or a Ray cluster.

Functions and arguments are pickled. Workers must see the same files: the store is a folder, and a result is what a
worker has written into it.
"""

import gc
import importlib.util
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from lpbench.errors import ConfigurationError
from lpbench.experiments.config import BACKENDS
from lpbench.experiments.progress import Progress
from lpbench.files import discard_unfinished

#: Calls per worker that Ray gets at once: joblib cannot hand back its results one by one.
_WAVE = 8
#: Seconds between two looks of a worker for its parent.
_LOOK = 0.25
#: Of workers: glibc, which Arrow asks too, keeps what a scenario's arrays leave: given back, it is cleared each time.
_ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_TOP_PAD_": str(1 << 26),
              "ARROW_DEFAULT_MEMORY_POOL": "system"}  # fmt: skip

#: Yields ``function(*call)`` for every call, in any order; ends early, with a warning, when a worker dies.
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
    if backend in ("dask", "ray"):
        with {"dask": _dask, "ray": _ray}[backend](workers, address) as mapping:
            yield mapping
        return
    with joblib.parallel_config("sequential") if backend == "serial" else _processes(workers):
        yield lambda function, calls: _mapped(function, calls, (TerminatedWorkerError,))


def _mapped(
    function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], lost: tuple[type[Exception], ...], **options: Any
) -> Iterator[Any]:
    """``function(*call)`` of every call by joblib's active backend, until one of the exceptions of a lost worker."""
    tasks = (joblib.delayed(function)(*call) for call in calls)
    try:
        options = {"return_as": "generator_unordered", "pre_dispatch": "n_jobs", **options}
        yield from joblib.Parallel(batch_size=1, **options)(tasks)
    except lost:
        print("warning: a worker process died, and what it was on is lost", file=sys.stderr)


def _processes(count: int) -> AbstractContextManager[Any]:
    """Let joblib compute by worker processes that use one thread each and end with this process, however that ends."""
    os.environ.update(_ALLOCATOR | os.environ)
    return joblib.parallel_config(
        "loky", n_jobs=count, inner_max_num_threads=1, initializer=_watch, initargs=(os.getpid(),)
    )


def _watch(parent: int) -> None:
    """Freeze what this worker imports, and end it when its parent is no more: a killed parent tells nobody."""
    os.nice(5)

    def watch() -> None:
        known = 0
        while os.getppid() == parent:
            if known < (known := len(sys.modules)):
                gc.freeze()  # loky collects garbage every second: to search all that was imported takes 70 ms
            time.sleep(_LOOK)
        discard_unfinished()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def in_order(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], workers: int, title: str = ""
) -> list[Any]:
    """``function(*call)`` of every call, in their order, by processes of this machine that end with their parent."""
    with _processes(workers), Progress(bool(title)) as progress:
        tasks, results = (joblib.delayed(function)(*call) for call in calls), []
        progress.stage(f"{len(calls)} {title}")
        progress.expect(len(calls))
        for result in joblib.Parallel(batch_size=1, return_as="generator")(tasks):
            results.append(result)
            progress.advance(1)
        return results


@contextmanager
def _dask(workers: int, address: str | None) -> Iterator[MapUnordered]:
    import distributed
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        """joblib's backend, which would wait forever for a call whose worker died."""

        def effective_n_jobs(self, n_jobs: int) -> int:
            # with a single worker (the other may be restarting) joblib would run calls in this very process
            return max(2, int(super().effective_n_jobs(n_jobs)))

        def submit(self, func: Callable[..., Any], callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: callback(done.exception()) if done.exception() else None)
            return future

    joblib.register_parallel_backend("lpbench-dask", Backend)
    with ExitStack() as started:
        if address is None:
            options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": 0}
            cluster = distributed.LocalCluster(**options, host="127.0.0.1", dashboard_address=None)
            started.enter_context(cluster)
        try:
            started.enter_context(distributed.Client(address or cluster, timeout="10s"))
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"runner.address={address!r}: no Dask scheduler answers there ({error})"
            ) from error
        lost = (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError)
        with joblib.parallel_config("lpbench-dask"):
            yield lambda function, calls: _mapped(function, calls, lost, pre_dispatch=workers)


@contextmanager
def _ray(workers: int, address: str | None) -> Iterator[MapUnordered]:
    # joblib's backend would report its use to Ray's makers
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.util.joblib import register_ray

    register_ray()
    count = max(2, workers)

    def mapping(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        rest = iter(calls)
        while wave := list(itertools.islice(rest, _WAVE * workers)):
            with joblib.parallel_config("ray", n_jobs=count):
                yield from _mapped(function, wave, (ray.exceptions.RayError,), return_as="list", pre_dispatch=workers)

    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        # Ray's workers do not inherit the import path of this process
        path = {"env_vars": {"PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)}}
        options |= {"num_cpus": count, "include_dashboard": False, "_node_ip_address": "127.0.0.1", "runtime_env": path}
    try:
        ray.init(address=address or "local", **options)
    except (ConnectionError, ValueError) as error:
        raise ConfigurationError(f"runner.address={address!r}: no Ray cluster answers there ({error})") from error
    try:
        yield mapping
    finally:
        ray.shutdown()
