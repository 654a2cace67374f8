"""Emulated processors: every method's scores when the libraries use the instructions of another processor.

OpenBLAS, numpy and the C library choose their instructions when they are loaded, by what the processor has, and each
can be told to choose as for an older one. What differs between two machines of one architecture is that choice.
``python -m scripts.machines [FOLDER]`` compares all methods, and exits with 1 where a method's promise is broken.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from lpbench.datasets import describe
from lpbench.errors import StoreError
from lpbench.experiments import catalog
from lpbench.experiments.config import Runner
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.method import Method, import_object
from lpbench.experiments.plan import Block, plan_experiment
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from lpbench.paths import ROOT, results_folder
from lpbench.selectors import parse_selector

#: Task -> data sets on which the methods are tried: first those without a download, then some with many ties.
DATASETS = {
    "classification": ("breast_cancer", "rough_classes[n=1024]", "landcover"),
    "regression": ("diabetes_progression", "rough_regression[n=1024]", "pyrimidines", "red_wine"),
}
#: Those of methods that read a public sample.
WITH_PUBLIC = {
    "classification": ("breast_cancer", "landcover"),
    "regression": ("diabetes_progression[public_share=0.2]", "sine_wave[n_private=1024,n_public=128]"),
}
MASKS = ("aligned", "personalized")
BUDGETS = (1.0, 4.0)
WORKERS = (1, 2)
#: Largest relative difference of a score where the same bits are not promised.
NUMERIC = 1e-9


@dataclass(frozen=True)
class Machine:
    """Instructions that the libraries are told to use."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)  # set before the libraries are loaded


@dataclass(frozen=True)
class Comparison:
    """Scores of one block on one machine beside those on this one."""

    machine: str
    workers: int
    block: Block
    largest: float  # largest relative difference of a score; inf where only one side has it

    @property
    def kept(self) -> bool:
        """Whether the promise of the method holds."""
        return self.largest <= promise(self.block.estimator)

    def __str__(self) -> str:
        text = f"{self.block.label}: {self.largest:.1e} of a score, promised {promise(self.block.estimator):.0e}"
        return f"{self.machine}, {self.workers} workers: {text}"


def promise(estimator: str) -> float:
    """Largest relative difference of scores between processors: 0.0 for the same bits."""
    return NUMERIC if import_object(estimator).rounding else 0.0


def machines() -> list[Machine]:
    """Machines that this processor can stand for."""
    found: list[str] = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])  # type: ignore[union-attr]
    wide = [name for name in found if name.startswith(("AVX512", "X86_V4"))]
    avx2 = "X86_V3" in found or "AVX2" in found
    if not avx2:
        return []
    cores = ["Prescott", "Nehalem", "Haswell", "Zen", *(["SkylakeX"] if wide else [])]
    result = [Machine(core, {"OPENBLAS_CORETYPE": core}) for core in cores]
    if wide:
        result.append(Machine("numpy without AVX512", {"NPY_DISABLE_CPU_FEATURES": " ".join(wide)}))
    result.append(Machine("numpy without AVX2", {"NPY_DISABLE_CPU_FEATURES": " ".join(found)}))
    if sys.platform == "linux":
        result.append(Machine("C library without FMA", {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"}))
    return result


def smallest(methods: Sequence[str], datasets: Mapping[str, Sequence[str]] | None = None) -> Experiment:
    """Two replications of methods on small data sets that are at hand."""
    groups = []
    for selector in methods:
        method = catalog.method(selector)
        names = datasets[method.task] if datasets else tried_on(method)
        available = tuple(d for d in names if describe(*_parts(d)).available)
        mask = MASKS if method.task == "regression" else Group.mask
        groups.append(Group(dataset=available, mask=mask, method=(selector,), epsilon=BUDGETS))
    return Experiment(
        name="extensions/machines", paper="extensions", title="Machines", replications=2, groups=tuple(groups)
    )


def tried_on(method: Method) -> tuple[str, ...]:
    """Data sets on which a method is tried."""
    return (WITH_PUBLIC if method.estimator_class.uses_public else DATASETS)[method.task]


def _parts(dataset: str) -> tuple[str, Mapping[str, object]]:
    name, params = parse_selector(dataset)
    return name, params


def compare(
    results: Path,
    methods: Sequence[str] | None = None,
    tried: Sequence[Machine] | None = None,
    workers: Sequence[int] = WORKERS,
    datasets: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Comparison]:
    """Run methods (default: all) on every machine, each in a process of its own, and compare with this one.

    Each machine keeps its scores in a folder in ``results``; finished ones are not computed again.
    """
    methods = list(methods or catalog.methods())
    blocks = plan_experiment(smallest(methods, datasets)).blocks
    here = Machine("this machine")
    _run(here, results, workers[0], methods, datasets)
    for machine in [here, *(machines() if tried is None else tried)]:
        for count in workers:
            if machine is here and count == workers[0]:
                continue
            _run(machine, results, count, methods, datasets)
            for block in blocks:
                sides = [_scores(m, results, n, block) for m, n in ((here, workers[0]), (machine, count))]
                yield Comparison(machine.name, count, block, _largest(*sides))


def _folder(machine: Machine, results: Path, workers: int) -> Path:
    return results / f"{machine.name.replace(' ', '_')}-{workers}"


def _run(
    machine: Machine, results: Path, workers: int, methods: list[str], datasets: Mapping[str, Sequence[str]] | None
) -> None:
    request = json.dumps([str(_folder(machine, results, workers)), workers, methods, datasets])
    command = [sys.executable, "-W", "ignore", "-m", "scripts.machines", "--run", request]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **machine.environment}, capture_output=True, text=True)
    if done.returncode:
        raise StoreError(
            f"the methods could not be run as on {machine.name} (exit code {done.returncode}): {done.stderr[-500:]}"
        )


def _scores(machine: Machine, results: Path, workers: int, block: Block) -> np.ndarray:
    table, _ = Store(_folder(machine, results, workers) / "store").read(block.key)
    return np.array(table["value"].to_pylist(), dtype=float)


def _largest(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Largest relative difference of two series of scores."""
    if ours.shape != theirs.shape or (np.isnan(ours) != np.isnan(theirs)).any():
        return np.inf
    differing = (ours != theirs) & ~np.isnan(ours)
    return float(np.max(np.abs(ours - theirs)[differing] / np.abs(ours)[differing], initial=0.0))


def verify(results: Path) -> int:
    """Print what each machine changes; returns the number of broken promises."""
    tried = machines()
    if not tried:
        print("note: this processor cannot stand for others (x86-64 with AVX2 is needed); only workers are compared")
    broken = 0
    lines: dict[tuple[str, int], list[Comparison]] = {}
    for comparison in track(compare(results, tried=tried), "machines", console=Console(stderr=True)):
        lines.setdefault((comparison.machine, comparison.workers), []).append(comparison)
    for (machine, workers), found in lines.items():
        same = sum(c.largest == 0.0 for c in found)
        rest = max((c.largest for c in found), default=0.0)
        print(
            f"{machine}, {workers} workers: {same} of {len(found)} blocks identical, else at most {rest:.1e} of a score"
        )
        for comparison in [c for c in found if not c.kept]:
            print(f"  {comparison}")
            broken += 1
    print("machines: " + ("every promise holds" if not broken else f"{broken} promises are broken"))
    return broken


def promises() -> str:
    """Table of the methods that do not promise the same bits, and why, in Markdown (docs/reproduction.md)."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name in sorted(catalog.methods()):
        method = catalog.method(name)
        if promise(method.estimator):
            sets = ", ".join(parse_selector(d)[0] for d in tried_on(method))
            rows.setdefault((method.estimator_class.rounding, sets), []).append(name)
    lines = [f"| relative difference up to {NUMERIC:.0e} | why bits differ | tried on |", "|---|---|---|"]
    lines += [f"| {', '.join(names)} | {' | '.join(row)} |" for row, names in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def run_here(request: str) -> int:
    """Run the methods in this process, which :func:`compare` started."""
    folder, workers, methods, datasets = json.loads(request)
    blocks = plan_experiment(smallest(methods, datasets)).blocks
    backend = "serial" if workers == 1 else "loky"
    report = run_blocks(blocks, Store(Path(folder) / "store"), Runner(backend, workers), progress=False)
    for outcome in report.failed:
        print(outcome.line(), file=sys.stderr)
    return int(bool(report.failed))


def main(argv: Sequence[str]) -> int:
    """Run what another process asks for, or compare all methods on all machines."""
    if argv[:1] == ["--run"]:
        return run_here(argv[1])
    folder = Path(argv[0]).resolve() if argv else results_folder() / "verify" / "machines"
    return int(verify(folder) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
