"""The configuration: what to run and how, as dataclasses that are Hydra's schemas (imports nothing heavy)."""

from dataclasses import dataclass, field
from typing import Any

from lpbench.errors import ConfigurationError
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.frozen import MISSING, Frozen
from lpbench.experiments.method import Method

#: Ways to choose the grid point whose score is reported.
SELECTIONS = ("oracle", "tuning_free", "private")
#: Root seed of the committed results.
ROOT_SEED = 2025
#: Value of ``runner.backend`` -> module that it needs beyond lpbench's own requirements; the extra has the same name.
BACKENDS = {"loky": None, "serial": None, "dask": "distributed", "ray": "ray"}
#: Orders of execution.
ORDERS = ("plan", "longest_first", "shuffle")


@dataclass
class Named(Frozen):
    """A data set or a mask: name of its file without the ending, printed name, parameters."""

    name: str = MISSING
    title: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class Runner(Frozen):
    """Execution of blocks: on which engine, how many at once, in which order. No setting here changes a score."""

    backend: str = "loky"  # {"loky", "serial", "dask", "ray"}
    workers: int | None = None  # Number of blocks computed at once; None: one per core.
    address: str | None = None  # Address of a running cluster of Dask or Ray.
    order: str = "longest_first"  # {"plan", "longest_first", "shuffle"}: Order of blocks; scores do not depend on it.

    def __post_init__(self) -> None:
        """Check backend, workers, address and order."""
        super().__post_init__()
        if self.backend not in BACKENDS:
            raise ConfigurationError(f"runner.backend={self.backend!r} must be one of {', '.join(BACKENDS)}")
        from lpbench.checks import check_whole  # imports numpy, which lists and help do without

        check_whole("runner.workers", self.workers, least=1, none="one per core")
        if self.address is not None and BACKENDS[self.backend] is None:
            raise ConfigurationError(
                f"runner.address={self.address!r}: runner.backend={self.backend!r} has no cluster to connect to"
            )
        if self.order not in ORDERS:
            raise ConfigurationError(f"runner.order={self.order!r} must be {', '.join(ORDERS[:-1])} or {ORDERS[-1]}")


@dataclass
class Tracking(Frozen):
    """Logging of results in MLflow, beside the results folder."""

    #: {"none", "mlflow"}: Log of runs. The default of ``lpbench key=value`` and ``lpbench reproduce`` is ``mlflow``.
    backend: str = "none"
    uri: str | None = None  # Address of the MLflow store; None: an SQLite file in the results folder.

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.backend not in ("none", "mlflow"):
            raise ConfigurationError(f"tracking.backend={self.backend!r} must be none or mlflow")
        if self.uri is not None and self.backend == "none":
            raise ConfigurationError(
                f"tracking.uri={self.uri!r} needs tracking=mlflow: with tracking=none nothing is logged"
            )


@dataclass
class Config(Frozen):
    """Top level of the configuration; its keys are those of the command line."""

    #: A registered table or figure; or ``single``, the one cell that the next four keys describe.
    experiment: Experiment = field(default_factory=Experiment)
    dataset: Named = field(default_factory=Named)
    mask: Named = field(default_factory=Named)
    method: Method = field(default_factory=Method)
    epsilon: float = 1.0  # Privacy budget of ``experiment=single``; other experiments state their budgets.
    replications: int | None = None  # Number of replications, in place of the experiment's.
    seed: int = ROOT_SEED  # Root of every random stream.
    results_dir: str = MISSING
    runner: Runner = field(default_factory=Runner)
    tracking: Tracking = field(default_factory=Tracking)
    #: {"oracle", "tuning_free", "private"}: Rule that chooses the setting whose score ``experiment=single`` prints.
    selection: str = "oracle"
    sealed: bool | None = None  # ``+sealed=yes`` reads sealed data sets, on which each method runs only once.
    audit: bool = True  # Audit your own methods before their first scores, and after each change of their code.
    dry_run: bool = False  # Print the plan (blocks, fits, estimated time) and stop.
    #: For ``experiment=single``: run the method's code in processes without the records, and check every fit.
    apart: bool = False
