"""Where blocks are computed: this process, worker processes, or a Dask or Ray cluster, all through joblib.

Functions and arguments are pickled. Workers must see the same files: the store is a folder, and a result is what a
worker has written into it.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError
from tqdm import tqdm

from lpbench.errors import ConfigurationError
from lpbench.experiments.config import BACKENDS
from lpbench.files import discard_unfinished

#: Calls per worker that Ray gets at once: joblib cannot hand back its results one by one.
_WAVE = 8

#: Seconds between two looks of a worker for its parent.
_LOOK = 0.25

#: Yields ``function(*call)`` for every call, in any order.
MapUnordered = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterator[Any]]


def check_backend(backend: str) -> None:
    """Raise ConfigurationError for a backend that is not installed."""
    module = BACKENDS[backend]
    if module is not None and importlib.util.find_spec(module) is None:
        raise ConfigurationError(
            f"runner.backend={backend!r} needs the package {module!r}, which is not installed; "
            f"install the extra: pip install 'lpbench[{backend}]' (in a checkout: make engines)"
        )


@contextmanager
def engine(backend: str, workers: int, address: str | None = None) -> Iterator[MapUnordered]:
    """Start what computes, yield a function that maps calls unordered, and stop what was started.

    If a worker dies, an iteration may end early with a warning: the caller knows which results it has. Calls whose
    worker died are not repeated here.

    Parameters
    ----------
    backend : {"loky", "serial", "dask", "ray"}
    workers : int
        Calls in flight at once.
    address : str, optional
        Of a running Dask scheduler or Ray cluster (whose workers see this machine's folders); None: processes on this
        machine.

    Raises
    ------
    ConfigurationError
        If the backend is unknown, not installed, or does not answer at the address.
    """
    check_backend(backend)
    if backend == "serial":
        yield lambda function, calls: (function(*call) for call in calls)
    elif backend == "loky":
        yield lambda function, calls: _loky(function, calls, workers)
    else:
        with _CLUSTERS[backend](workers, address) as mapping:
            yield mapping


def _loky(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], workers: int) -> Iterator[Any]:
    # two workers for a single call: with one, joblib would run it in this very process, which it may kill
    count = 2 if len(calls) == 1 else workers
    with _processes(count):
        yield from _parallel(function, calls, (TerminatedWorkerError,), return_as="generator_unordered")


def in_order(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], workers: int, title: str = ""
) -> list[Any]:
    """Return ``function(*call)`` of every call, in their order, computed by processes of this machine.

    They compute on one thread each and end with their parent.

    Parameters
    ----------
    function : callable
    calls : sequence of tuple
    workers : int
    title : str
        Of the progress bar, which a terminal shows.
    """
    with _processes(workers):
        tasks = (joblib.delayed(function)(*call) for call in calls)
        results = joblib.Parallel(batch_size=1, return_as="generator")(tasks)
        return list(tqdm(results, title, len(calls), smoothing=0, disable=None, dynamic_ncols=True))


def _processes(count: int) -> AbstractContextManager[Any]:
    """Let joblib compute by worker processes that use one thread each and end with this process, however that ends."""
    return joblib.parallel_config(
        "loky", n_jobs=count, inner_max_num_threads=1, initializer=_watch, initargs=(os.getpid(),)
    )


def _watch(parent: int) -> None:
    """End this worker process when its parent is no more."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent is no more.

    A killed parent tells nobody. (Linux could tell, but ends a worker with the *thread* that started it.)
    """
    while os.getppid() == parent:
        time.sleep(_LOOK)
    discard_unfinished()
    os._exit(1)


def _parallel(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    lost: tuple[type[Exception], ...],
    **options: Any,
) -> Iterator[Any]:
    tasks = (joblib.delayed(function)(*call) for call in calls)
    try:
        yield from joblib.Parallel(batch_size=1, **{"pre_dispatch": "n_jobs", **options})(tasks)
    except lost:
        print("warning: a worker process died; its blocks are tried again one by one", file=sys.stderr)


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

    def mapping(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        with joblib.parallel_config("lpbench-dask"):
            lost = (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError)
            yield from _parallel(function, calls, lost, return_as="generator_unordered", pre_dispatch=workers)

    if address is not None:
        try:
            client = distributed.Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"runner.address={address!r}: no Dask scheduler answers there ({error})"
            ) from error
        with client:
            yield mapping
        return
    options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": 0}
    with (
        distributed.LocalCluster(**options, host="127.0.0.1", dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        yield mapping


@contextmanager
def _ray(workers: int, address: str | None) -> Iterator[MapUnordered]:
    # joblib's backend would report its use to Ray's makers
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.util.joblib import register_ray

    register_ray()
    count = max(2, workers)

    def mapping(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        rest = iter(calls)
        while wave := list(itertools.islice(rest, _WAVE * workers)):
            with joblib.parallel_config("ray", n_jobs=count):
                yield from _parallel(function, wave, (ray.exceptions.RayError,), pre_dispatch=workers)

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


_CLUSTERS = {"dask": _dask, "ray": _ray}
