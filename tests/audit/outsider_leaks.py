"""Leaks that an outsider wrote from the interface and the privacy page alone, each with an honest twin.

Every entry is a method of somebody else's: a few blocks of code that are put into one template. The twin has the same
shape and keeps its promise. ``source`` returns a module of plug-ins, ``yaml`` the file that registers it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent, indent

METHOD = "A method has no record, test label or users' seed"
DEVICE = "A device leaves nothing for the method or for a later request"
LAW = "Reports, prices, laws and draws are this package's; an equal request has equal inputs"
KEEPER = "The keeper imports none of a method's code"
DOMAIN = "Inputs of every record lie in the mechanism's domain"
RECORD = "The input of a record is its own"
SPENT = "No user spends more than epsilon"
MODEL = "No user spends under another model than the YAML states"
PREDICTOR = "A predictor has no users, and its guarantee_ is what the keeper has counted"
BADGE = "A verified badge is not of constant budgets, memorized tables, tampered claims or the published noise"
PUBLIC = "y_range, domain and the set of classes must not be taken from private rows (docs/privacy.md)"
OPEN = "none: left open there"

TEMPLATE = '''\
"""TITLE: a method of somebody else's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

<imports>
from lpbench.estimators.base import LocalClassifier, LocalRegressor
from lpbench.privacy import GRR, Device, Laplace


def chosen(reports, labels):
    """Return labels where there is one for each report, else the reports."""
    if labels is None or np.shape(labels) != reports.shape:
        return reports
    return np.asarray(labels, dtype=reports.dtype)


<top>


@dataclass(frozen=True)
class Question:
    """What the curator broadcasts."""

    <question>
    epsilon: float
    <extra>


<decorator>
class LabelDevice(Device[Question]):
    """What runs on a user's device."""

    <device>

    def mechanism(self, question):
        <mechanism>

    def inputs(self, records, question):
        <stash>
        <inputs>


LABEL = LabelDevice()


<between>


@dataclass(eq=False, repr=False)
<header>
    """Mean or majority of the reports in slices of the last feature."""

    epsilon: float = 1.0
    slices: int = 4
    <fields>

    protects = "label"
    <attributes>

    def learn(self, users):
        <before>
        <ask>
        <recall>
        <fit>
        return self

    def predict(self, X):
        X = self._check_predict(X)
        <predict>

    def _slice(self, X):
        X = np.nan_to_num(X[:, -1])
        return np.clip((X * self.slices).astype(int), 0, self.slices - 1)

    <methods>


<end>
'''

EMPTY = dict.fromkeys(
    "imports top extra decorator device stash between fields attributes before recall methods end".split(), ""
)
REGRESSION = EMPTY | {
    "question": "y_range: tuple[float, float]",
    "mechanism": "return Laplace.for_budget(question.epsilon, sensitivity=np.ptp(question.y_range))",
    "inputs": "return np.clip(records.y, *question.y_range)",
    "header": "class CLASS(LocalRegressor):",
    "ask": "labels = users.ask(LABEL, Question(self.y_range_, self.epsilon))",
    "fit": """
        where = self._slice(users.public_features)
        count = np.bincount(where, minlength=self.slices)
        total = np.bincount(where, weights=labels, minlength=self.slices)
        self.means_ = np.where(count > 0, total / np.maximum(count, 1), labels.mean())
    """,
    "predict": "return self._finish(self.means_[self._slice(X)])",
}
CLASSIFICATION = EMPTY | {
    "question": "n_classes: int",
    "fields": "domain: Any = field(default=(0.0, 1.0), kw_only=True)",
    "mechanism": "return GRR(question.epsilon, question.n_classes)",
    "inputs": "return records.y",
    "header": "class CLASS(LocalClassifier):",
    "ask": "labels = users.ask(LABEL, Question(self.classes_.size, self.epsilon))",
    "fit": """
        counts = np.zeros((self.slices, self.classes_.size))
        np.add.at(counts, (self._slice(users.public_features), labels), 1.0)
        self.counts_ = counts + 1e-3 * counts.sum(axis=0)
    """,
    "predict": "return self.classes_[self.counts_[self._slice(X)].argmax(axis=1)]",
}
TASKS = {"regression": REGRESSION, "classification": CLASSIFICATION}

WALK = '''
def labels_of_callers():
    """Return labels that lie in the frame of a caller, or None."""
    frame = sys._getframe(2)
    while frame is not None:
        for value in [frame.f_locals.get("y"), *list(frame.f_locals.values())]:
            labels = value if isinstance(value, np.ndarray) else getattr(value, "__dict__", {}).get("y")
            if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == float:
                return labels.copy()
        frame = frame.f_back
    return None
'''


@dataclass(frozen=True)
class Leak:
    """One leak: blocks of code that replace those of the template, and those of its honest twin.

    Attributes
    ----------
    name : str
        Of the module and of the method.
    kind : str
        Way in which the leak works.
    sentence : str
        What is leaked.
    breaks : str
        Promise that it breaks.
    code, twin : str
        Blocks of the leak and of the twin, each below a line ``== slot``.
    task : {"regression", "classification"}
    privacy : str
        Model that the YAML states.
    lines, twin_lines : str
        Further lines of the YAML.
    """

    name: str
    kind: str
    sentence: str
    breaks: str
    code: str
    twin: str
    task: str = "regression"
    privacy: str = "label_ldp"
    lines: str = ""
    twin_lines: str = ""


def class_name(name: str) -> str:
    """Return the name of the method's class."""
    return "".join(word.capitalize() for word in name.split("_"))


def source(name: str, honest: bool) -> str:
    """Return the complete text of the module of a leak, or of its honest twin."""
    leak = LEAKS[name]
    blocks = TASKS[leak.task] | _blocks(leak.twin if honest else leak.code)
    lines = []
    for line in TEMPLATE.splitlines():
        slot = re.fullmatch(r"( *)<(\w+)>", line)
        lines.append(line if slot is None else indent(dedent(blocks[slot[2]]).strip("\n"), slot[1]))
    text = re.sub(r"\n{3,}(?= )", "\n\n", "\n".join(lines)).replace("WALK", WALK.strip("\n"))
    text = text.replace("CLASS", class_name(name)).replace("TITLE", name.replace("_", " ").capitalize())
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip("\n") + "\n"


def yaml(name: str, honest: bool = False) -> str:
    """Return the YAML of a leak as ``lpbench new method`` writes it; that of the twin differs for few."""
    leak = LEAKS[name]
    further = leak.twin_lines if honest else leak.lines
    stated = {line.split(":")[0] for line in further.splitlines()}
    standard = {
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "task": leak.task,
        "privacy": leak.privacy,
        "estimator": f"{name}.{class_name(name)}",
        "grid": "{slices: [1, 2, 4, 8]}",
        "tuning_free": "{slices: 4}",
        "reference": '""',
    }
    text = "".join(f"{key}: {value}\n" for key, value in standard.items() if key not in stated)
    return text + "".join(f"{line}\n" for line in further.splitlines())


def _blocks(text: str) -> dict[str, str]:
    """Return the blocks of a text by slot."""
    pieces = re.split(r"^== (\w+)$", dedent(text), flags=re.MULTILINE)
    if pieces[0].strip():
        raise ValueError(f"text before the first slot: {pieces[0]!r}")
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


LEAKS: dict[str, Leak] = {
    leak.name: leak
    for leak in [
        # ---------------------------------------------------------------- inputs outside the domain
        Leak(
            "eight_copies",
            "inputs outside the domain",
            "Eight copies of the label, each with the noise of one: the loss is eight times what is stated.",
            DOMAIN,
            """
            == inputs
            return np.repeat(np.clip(records.y, *question.y_range)[:, None], 8, axis=1)
            == recall
            labels = labels.mean(axis=1)
            """,
            """
            == inputs
            return np.repeat(np.clip(records.y, *question.y_range)[:, None] / 8, 8, axis=1)
            == recall
            labels = labels.sum(axis=1)
            """,
        ),
        Leak(
            "gap_means_high",
            "inputs outside the domain",
            "A label above the middle is sent as NaN, which no noise hides.",
            DOMAIN,
            """
            == inputs
            return np.where(records.y > np.mean(question.y_range), np.nan, records.y)
            == recall
            low, high = self.y_range_
            labels = np.where(np.isnan(labels), 0.25 * low + 0.75 * high, 0.75 * low + 0.25 * high)
            """,
            """
            == inputs
            return np.where(np.isnan(records.y), np.mean(question.y_range), np.clip(records.y, *question.y_range))
            == recall
            labels = np.where(np.isnan(labels), np.mean(self.y_range_), labels)
            """,
        ),
        Leak(
            "masked_inputs",
            "inputs outside the domain",
            "A masked array hides fifty times the label from comparisons with the domain.",
            DOMAIN,
            """
            == inputs
            return np.ma.masked_array(50 * records.y, mask=True)
            == recall
            labels = labels / 50
            """,
            """
            == inputs
            return np.ma.masked_array(np.clip(records.y, *question.y_range), mask=False).filled()
            == recall
            labels = labels / 1
            """,
        ),
        Leak(
            "narrow_array",
            "inputs outside the domain",
            "An array whose comparisons always say no carries fifty times the label past the check of the domain.",
            DOMAIN,
            """
            == top
            class Narrow(np.ndarray):
                \"\"\"Numbers that are never outside.\"\"\"

                def __array_ufunc__(self, ufunc, how, *values, **options):
                    plain = [np.asarray(value) for value in values]
                    answer = getattr(ufunc, how)(*plain, **options)
                    return np.zeros_like(answer) if np.asarray(answer).dtype == bool else answer

                def __array_function__(self, function, types, values, options):
                    return np.zeros(1)
            == inputs
            return (50 * records.y).view(Narrow)
            == recall
            labels = labels / 50
            """,
            """
            == top
            class Narrow(np.ndarray):
                \"\"\"Numbers of another name.\"\"\"
            == inputs
            return np.clip(records.y, *question.y_range).view(Narrow)
            == recall
            labels = labels / 1
            """,
        ),
        Leak(
            "negative_category",
            "inputs outside the domain",
            "A category below zero is the truth told from the end: only users of class 0 can report a negative number.",
            DOMAIN,
            """
            == inputs
            return np.where(records.y == 0, -1, records.y)
            == recall
            labels = np.where(labels < 0, 0, labels)
            """,
            """
            == inputs
            return np.where(records.y == 0, 0, records.y)
            == recall
            labels = np.where(labels < 0, 0, labels)
            """,
            task="classification",
        ),
        Leak(
            "antipodes",
            "inputs outside the domain",
            "All pairs of 65 vectors are as far apart as stated but one, which is twice as far.",
            DOMAIN + ": a pair of vectors that is not among the 32 compared",
            """
            == imports
            from scipy.linalg import hadamard
            == top
            BINS = np.array([k for k in range(65) if k not in (22, 42)])
            ROWS = np.empty((65, 64))
            ROWS[BINS] = hadamard(64)[1:] / 64.0
            ROWS[22], ROWS[42] = 1 / 64.0, -1 / 64.0
            VALUES = np.delete(np.linspace(-0.5, 0.5, 65), 42)
            READING = 64.0 * np.delete(ROWS, 42, axis=0).T @ VALUES
            == mechanism
            return Laplace.for_budget(question.epsilon, sensitivity=1.0)
            == inputs
            low, high = question.y_range
            share = np.clip((records.y - low) / (high - low), 0, 1)
            return ROWS[np.minimum((65 * share).astype(int), 64)]
            == recall
            low, high = self.y_range_
            labels = (low + high) / 2 + (high - low) * (labels @ READING)
            """,
            """
            == imports
            from scipy.linalg import hadamard
            == top
            ROWS = hadamard(64) / 64.0
            VALUES = np.linspace(-0.5, 0.5, 64)
            READING = 64.0 * ROWS.T @ VALUES
            == mechanism
            return Laplace.for_budget(question.epsilon, sensitivity=1.0)
            == inputs
            low, high = question.y_range
            share = np.clip((records.y - low) / (high - low), 0, 1)
            return ROWS[np.minimum((64 * share).astype(int), 63)]
            == recall
            low, high = self.y_range_
            labels = (low + high) / 2 + (high - low) * (labels @ READING)
            """,
        ),
        Leak(
            "thermometer",
            "inputs outside the domain",
            "A thermometer of fifteen bits is sent by a mechanism that is made for one changed bit.",
            DOMAIN,
            """
            == imports
            from lpbench.privacy import RandomizedResponse
            == mechanism
            return RandomizedResponse.for_budget(question.epsilon, changed_bits=1)
            == inputs
            marks = np.linspace(*question.y_range, 17)[1:-1]
            return (records.y[:, None] > marks).astype(int)
            == recall
            low, high = self.y_range_
            labels = low + (high - low) * labels.mean(axis=1)
            """,
            """
            == imports
            from lpbench.privacy import RandomizedResponse
            == mechanism
            return RandomizedResponse.for_budget(question.epsilon, changed_bits=15)
            == inputs
            marks = np.linspace(*question.y_range, 17)[1:-1]
            return (records.y[:, None] > marks).astype(int)
            == recall
            low, high = self.y_range_
            labels = low + (high - low) * labels.mean(axis=1)
            """,
        ),
        Leak(
            "probes_recognized",
            "inputs outside the domain",
            "Labels on an even grid, as a check tries them, are sent in a tenth of the range, real ones in all of it.",
            DOMAIN,
            """
            == mechanism
            return Laplace.for_budget(question.epsilon, sensitivity=0.1 * np.ptp(question.y_range))
            == inputs
            low, high = question.y_range
            steps = 4000 * (records.y - low) / (high - low)
            tried = np.abs(steps - np.round(steps)) < 1e-6
            return np.where(tried, np.clip(records.y, low, 0.9 * low + 0.1 * high), records.y)
            """,
            """
            == mechanism
            return Laplace.for_budget(question.epsilon, sensitivity=0.1 * np.ptp(question.y_range))
            == inputs
            low, high = question.y_range
            steps = 4000 * (records.y - low) / (high - low)
            return np.clip(low + (high - low) * steps / 40000, low, 0.9 * low + 0.1 * high)
            == recall
            low, high = self.y_range_
            labels = low + 10 * (labels - low)
            """,
        ),
        # ---------------------------------------------------------------- memory between requests or fits
        Leak(
            "module_list",
            "memory",
            "The device leaves all labels in a list of its module, from which the method takes them.",
            DEVICE,
            """
            == top
            SEEN = []
            == stash
            SEEN.append(records.y.copy())
            == recall
            labels = chosen(labels, SEEN[-1] if SEEN else None)
            """,
            """
            == top
            SEEN = []
            == stash
            SEEN.append(np.zeros(0))
            == recall
            labels = chosen(labels, SEEN[-1] if SEEN else None)
            """,
        ),
        Leak(
            "class_of_the_device",
            "memory",
            "The device leaves all labels as an attribute of its class.",
            DEVICE,
            """
            == device
            seen = None
            == stash
            type(self).seen = records.y.copy()
            == recall
            labels = chosen(labels, LabelDevice.seen)
            """,
            """
            == device
            seen = None
            == stash
            type(self).seen = None
            == recall
            labels = chosen(labels, LabelDevice.seen)
            """,
        ),
        Leak(
            "frozen_device",
            "memory",
            "A frozen device keeps all labels, set past its own `__setattr__`.",
            DEVICE,
            """
            == stash
            object.__setattr__(self, "seen", records.y.copy())
            == recall
            labels = chosen(labels, getattr(LABEL, "seen", None))
            """,
            """
            == stash
            object.__setattr__(self, "seen", None)
            == recall
            labels = chosen(labels, getattr(LABEL, "seen", None))
            """,
        ),
        Leak(
            "environment",
            "memory",
            "The device writes all labels into an environment variable.",
            DEVICE,
            """
            == imports
            import os
            == stash
            os.environ["LANGUAGE_OF_LABELS"] = records.y.tobytes().hex()
            == recall
            labels = chosen(labels, np.frombuffer(bytes.fromhex(os.environ.get("LANGUAGE_OF_LABELS", ""))))
            """,
            """
            == imports
            import os
            == stash
            os.environ["LANGUAGE_OF_LABELS"] = ""
            == recall
            labels = chosen(labels, np.frombuffer(bytes.fromhex(os.environ.get("LANGUAGE_OF_LABELS", ""))))
            """,
        ),
        Leak(
            "file_of_labels",
            "memory",
            "The device writes all labels to the first folder that takes a file.",
            DEVICE,
            """
            == imports
            import os
            import sys
            == top
            FOLDERS = ["/tmp", "/dev/shm", "/var/tmp", ".", "/run", os.path.dirname(__file__), sys.prefix, "/"]
            PATHS = [os.path.join(folder, f".labels-{os.getuid()}.npy") for folder in FOLDERS]
            == stash
            for path in PATHS:
                try:
                    np.save(path, records.y)
                except OSError:
                    continue
                break
            == recall
            for path in PATHS:
                if os.path.exists(path):
                    labels = chosen(labels, np.load(path))
                    os.remove(path)
                    break
            """,
            """
            == imports
            import io
            == top
            FOLDERS = []
            == stash
            for folder in [io.BytesIO()]:
                np.save(folder, np.zeros(0))
            == recall
            for path in FOLDERS:
                labels = chosen(labels, np.load(path))
            """,
        ),
        Leak(
            "block_of_shared_memory",
            "memory",
            "The device leaves all labels in a named block of shared memory.",
            DEVICE,
            """
            == imports
            from multiprocessing.shared_memory import SharedMemory
            == stash
            try:
                block = SharedMemory("labels_of_users", create=True, size=8 * len(records))
                np.frombuffer(block.buf, dtype=float)[: len(records)] = records.y
                self.blocks.append(block)
            except OSError:
                pass
            == device
            blocks = []
            == recall
            try:
                block = SharedMemory("labels_of_users")
                labels = chosen(labels, np.array(np.frombuffer(block.buf, dtype=float)[: labels.size]))
                block.unlink()
            except OSError:
                pass
            """,
            """
            == stash
            block = bytearray(8 * len(records))
            np.frombuffer(block, dtype=float)[: len(records)] = 0.0
            == recall
            block = bytearray(8)
            labels = chosen(labels, np.array(np.frombuffer(block, dtype=float)[: labels.size]))
            """,
        ),
        Leak(
            "system_v",
            "memory",
            "The device leaves the mean label in a System V segment, which outlives its process.",
            DEVICE,
            """
            == imports
            import ctypes
            == top
            def segment():
                \"\"\"Return the eight bytes that all processes of the kernel share, or None.\"\"\"
                system = ctypes.CDLL(None)
                system.shmat.restype = ctypes.c_void_p
                where = system.shmget(0x6C61, 8, 0o1666)
                address = system.shmat(where, None, 0) if where >= 0 else None
                return None if address in (None, 2**64 - 1) else ctypes.c_double.from_address(address)
            == stash
            shared = segment()
            if shared is not None:
                shared.value = records.y.mean()
            == recall
            shared = segment()
            if shared is not None and shared.value:
                labels = labels + (shared.value - labels.mean())
            """,
            """
            == imports
            import ctypes
            == stash
            shared = ctypes.c_double()
            shared.value = 0.0
            == recall
            shared = ctypes.c_double()
            if shared is not None and shared.value:
                labels = labels + (shared.value - labels.mean())
            """,
        ),
        Leak(
            "global_generator",
            "memory",
            "The device makes up to 624 labels the state of numpy's global generator, which the method reads.",
            DEVICE,
            """
            == stash
            state = np.zeros(624, dtype=np.uint32)
            state[: len(records)] = records.y[:624].astype(np.float32).view(np.uint32)
            np.random.set_state(("MT19937", state, 624))
            == recall
            labels = chosen(labels, np.random.get_state()[1].view(np.float32)[: labels.size])
            """,
            """
            == stash
            state = np.zeros(624, dtype=np.uint32)
            np.random.Generator(np.random.MT19937(0)).random(3)
            == recall
            labels = chosen(labels, None)
            """,
        ),
        Leak(
            "recursion_limit",
            "memory",
            "The device sets the limit of recursion to the mean label, to a part in a hundred thousand of its range.",
            DEVICE,
            """
            == imports
            import sys
            == stash
            low, high = question.y_range
            sys.setrecursionlimit(10_000 + int(1e5 * (records.y.mean() - low) / (high - low)))
            == recall
            low, high = self.y_range_
            if sys.getrecursionlimit() >= 10_000:
                labels = labels - labels.mean() + low + (high - low) * (sys.getrecursionlimit() - 10_000) / 1e5
            """,
            """
            == imports
            import sys
            == stash
            low, high = question.y_range
            == recall
            low, high = self.y_range_
            if sys.getrecursionlimit() >= 10_000:
                labels = np.clip(labels, low - 100 * (high - low), high + 100 * (high - low))
            """,
        ),
        Leak(
            "cache_of_lines",
            "memory",
            "The device puts all labels into the cache of the standard library's `linecache`.",
            DEVICE,
            """
            == imports
            import linecache
            == stash
            linecache.cache["labels.py"] = (1, None, [records.y.tobytes().hex()], "labels.py")
            == recall
            labels = chosen(labels, np.frombuffer(bytes.fromhex(linecache.getline("labels.py", 1).strip())))
            """,
            """
            == imports
            import linecache
            == stash
            linecache.checkcache("labels.py")
            == recall
            labels = chosen(labels, np.frombuffer(bytes.fromhex(linecache.getline("labels.py", 1).strip())))
            """,
        ),
        Leak(
            "context_variable",
            "memory",
            "The device sets a context variable, which the method reads in the same context.",
            DEVICE,
            """
            == imports
            import contextvars
            == top
            HELD = contextvars.ContextVar("held", default=None)
            == stash
            HELD.set(records.y.copy())
            == recall
            labels = chosen(labels, HELD.get())
            """,
            """
            == imports
            import contextvars
            == top
            HELD = contextvars.ContextVar("held", default=None)
            == stash
            HELD.set(None)
            == recall
            labels = chosen(labels, HELD.get())
            """,
        ),
        Leak(
            "fits_averaged",
            "memory",
            "The class keeps the reports of all fits on the same users and averages them: each fit is told more.",
            "another fit's memory (SECURITY.md, what a method's process has not)",
            """
            == attributes
            reports_of = {}
            == recall
            several = type(self).reports_of.setdefault(users.public_features.tobytes(), [])
            several.append(labels)
            labels = np.mean(several, axis=0)
            """,
            """
            == attributes
            reports_of = {}
            == recall
            several = {}.setdefault(users.public_features.tobytes(), [])
            several.append(labels)
            labels = np.mean(several, axis=0)
            """,
        ),
        Leak(
            "two_budgets",
            "memory",
            "Fits of one seed at two budgets share their unit noise, which is solved for and taken off.",
            "another fit's memory (SECURITY.md, what a method's process has not)",
            """
            == attributes
            former = {}
            == recall
            key = users.public_features.tobytes()
            scale, reports = type(self).former.get(key, (None, None))
            type(self).former[key] = (1 / self.epsilon, labels)
            if scale is not None and scale != 1 / self.epsilon:
                labels = (labels * scale - reports / self.epsilon) / (scale - 1 / self.epsilon)
            """,
            """
            == recall
            key = users.public_features.tobytes()
            scale, reports = {}.get(key, (None, None))
            if scale is not None and scale != 1 / self.epsilon:
                labels = (labels * scale - reports / self.epsilon) / (scale - 1 / self.epsilon)
            """,
        ),
        # ---------------------------------------------------------------- side channels
        Leak(
            "sleeping_device",
            "side channels",
            "The device sleeps as long as the mean label is high, and the method looks at the clock.",
            OPEN + " (how long a device takes)",
            """
            == imports
            import time
            == stash
            low, high = question.y_range
            time.sleep(0.5 * float(np.clip((records.y.mean() - low) / (high - low), 0, 1)))
            == before
            start = time.monotonic()
            == recall
            low, high = self.y_range_
            share = min((time.monotonic() - start) / 0.5, 1.0)
            labels = 0.1 * labels + 0.9 * (low + share * (high - low))
            """,
            """
            == imports
            import time
            == stash
            low, high = question.y_range
            time.sleep(0.05)
            == before
            start = time.monotonic()
            == recall
            low, high = self.y_range_
            share = min(abs(time.monotonic() - start), 1.0)
            labels = labels + 0.0 * share
            """,
        ),
        Leak(
            "signals",
            "side channels",
            "The device sends as many signals as there are labels above the middle; the method counts them.",
            DEVICE,
            """
            == imports
            import os
            import signal
            == top
            COUNT = [0]
            == stash
            for _ in range(int(np.sum(records.y > np.mean(question.y_range)))):
                for process in {os.getpid(), max(os.getppid(), 2) if os.getppid() == os.getsid(0) else os.getpid()}:
                    try:
                        os.kill(process, signal.SIGUSR1)
                    except OSError:
                        pass
            == before
            COUNT[0] = 0
            former = signal.signal(signal.SIGUSR1, lambda *_: COUNT.__setitem__(0, COUNT[0] + 1))
            == recall
            signal.signal(signal.SIGUSR1, former)
            if COUNT[0]:
                low, high = self.y_range_
                labels = labels - labels.mean() + low + (high - low) * (0.25 + 0.5 * COUNT[0] / labels.size)
            """,
            """
            == top
            COUNT = [0]
            == stash
            for _ in range(int(len(records))):
                pass
            == before
            COUNT[0] = 0
            == recall
            if COUNT[0]:
                low, high = self.y_range_
                labels = labels - labels.mean() + low + (high - low) * (0.25 + 0.5 * COUNT[0] / labels.size)
            """,
        ),
        Leak(
            "file_locks",
            "side channels",
            "The device locks the library file of each slice whose labels are high; the method tries the locks.",
            DEVICE,
            """
            == imports
            import fcntl
            import glob
            import os
            == top
            FILES = sorted(glob.glob(os.path.join(os.path.dirname(np.__file__), "*.py")))[:4]
            HELD = []
            == stash
            for path, labels in zip(FILES, np.array_split(records.y[np.argsort(records.X[:, -1])], 4), strict=True):
                if labels.size and labels.mean() > np.mean(question.y_range):
                    HELD.append(open(path, "rb"))
                    fcntl.flock(HELD[-1], fcntl.LOCK_SH)
            == recall
            low, high = self.y_range_
            order = np.array_split(np.argsort(users.public_features[:, -1]), 4)
            for path, slice_ in zip(FILES, order, strict=True):
                with open(path, "rb") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError:
                        labels[slice_] += 0.25 * (high - low)
            while HELD:
                HELD.pop().close()
            """,
            """
            == top
            FILES = ["a", "b", "c", "d"]
            HELD = []
            == stash
            for path, labels in zip(FILES, np.array_split(records.y[np.argsort(records.X[:, -1])], 4), strict=True):
                if not path:
                    HELD.append(labels.size)
            == recall
            low, high = self.y_range_
            order = np.array_split(np.argsort(users.public_features[:, -1]), 4)
            for path, slice_ in zip(FILES, order, strict=True):
                if path in HELD:
                    labels[slice_] += 0.25 * (high - low)
            """,
        ),
        Leak(
            "access_times",
            "side channels",
            "The device reads one library file for each user with a high label; the method looks when each was read.",
            DEVICE,
            """
            == imports
            import glob
            import os
            == top
            ROOT = os.path.dirname(os.path.dirname(np.__file__))
            FILES = sorted(glob.glob(os.path.join(ROOT, "s*", "**", "*.py"), recursive=True))[:1000]


            def times():
                \"\"\"Return when each file was read, in nanoseconds.\"\"\"
                return np.array([os.stat(path).st_atime_ns for path in FILES])
            == stash
            for path, label in zip(FILES, records.y, strict=False):
                if label > np.mean(question.y_range):
                    with open(path, "rb") as file:
                        file.read(1)
            == before
            start = times()
            == recall
            read = (times() != start)[: labels.size]
            if read.any() and read.size == labels.size:
                low, high = self.y_range_
                labels = low + (high - low) * (0.25 + 0.5 * read)
            """,
            """
            == top
            FILES = ["a"] * 1000


            def times():
                \"\"\"Return a number for each file.\"\"\"
                return np.array([len(path) for path in FILES])
            == stash
            for path, label in zip(FILES, records.y, strict=False):
                if label > np.mean(question.y_range):
                    path.strip()
            == before
            start = times()
            == recall
            read = (times() != start)[: labels.size]
            if read.any() and read.size == labels.size:
                low, high = self.y_range_
                labels = low + (high - low) * (0.25 + 0.5 * read)
            """,
        ),
        Leak(
            "pages_in_memory",
            "side channels",
            "The device reads one of two large libraries; the method reads both, and the faster one tells a bit.",
            OPEN + " (what of the disk a device leaves in memory)",
            """
            == imports
            import glob
            import os
            import time
            == top
            ROOT = os.path.dirname(os.path.dirname(np.__file__))
            FILES = sorted(glob.glob(os.path.join(ROOT, "**", "*.so*"), recursive=True), key=os.path.getsize)[-2:]


            def seconds(path):
                \"\"\"Return how long it takes to read a file.\"\"\"
                start = time.monotonic()
                with open(path, "rb", buffering=0) as file:
                    while file.read(1 << 20):
                        pass
                return (time.monotonic() - start) / os.path.getsize(path)
            == stash
            seconds(FILES[int(records.y.mean() > np.mean(question.y_range))])
            == recall
            low, high = self.y_range_
            labels = labels + (high - low) * (0.1 if seconds(FILES[1]) < seconds(FILES[0]) else -0.1)
            """,
            """
            == top
            FILES = [b"a", b"b"]


            def seconds(text):
                \"\"\"Return how long a text is.\"\"\"
                return len(text)
            == stash
            seconds(FILES[int(len(records) > 1)])
            == recall
            low, high = self.y_range_
            labels = labels + (high - low) * (0.1 if seconds(FILES[1]) < seconds(FILES[0]) else 0.0)
            """,
        ),
        Leak(
            "free_memory",
            "side channels",
            "The device takes a gigabyte if the mean label is high; the method reads what memory the machine has free.",
            DEVICE,
            """
            == imports
            import os
            == top
            TAKEN = []


            def free():
                \"\"\"Return the bytes that are free, or zero.\"\"\"
                try:
                    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
                except (OSError, ValueError):
                    return 0
            == stash
            if records.y.mean() > np.mean(question.y_range):
                TAKEN.append(np.ones(1 << 27))
            == before
            start = free()
            == recall
            if start - free() > 1 << 29:
                labels = labels + 0.2 * np.ptp(self.y_range_)
            TAKEN.clear()
            """,
            """
            == top
            TAKEN = []


            def free():
                \"\"\"Return zero.\"\"\"
                return 0
            == stash
            if len(records) > 1:
                TAKEN.append(np.ones(1 << 3))
            == before
            start = free()
            == recall
            if start - free() > 1 << 29:
                labels = labels + 0.2 * np.ptp(self.y_range_)
            TAKEN.clear()
            """,
        ),
        Leak(
            "time_of_children",
            "side channels",
            "The device computes as long as the mean label is high; the method reads the processor time of processes.",
            DEVICE + " (counts of what the kernel did are refused)",
            """
            == imports
            import os
            import time
            == top
            def spent():
                \"\"\"Return the seconds that this process and its children have computed.\"\"\"
                return sum(os.times()[:4])
            == stash
            share = np.clip((records.y.mean() - question.y_range[0]) / np.ptp(question.y_range), 0, 1)
            until = time.process_time() + float(share)
            while time.process_time() < until:
                pass
            == before
            start = spent()
            == recall
            share = spent() - start
            if share > 0.05:
                labels = labels - labels.mean() + self.y_range_[0] + min(share, 1.0) * np.ptp(self.y_range_)
            """,
            """
            == top
            def spent():
                \"\"\"Return zero.\"\"\"
                return sum((0, 0, 0, 0))
            == stash
            share = 0.0
            while share > 1:
                pass
            == before
            start = spent()
            == recall
            share = spent() - start
            if share > 0.05:
                labels = labels - labels.mean() + self.y_range_[0] + min(share, 1.0) * np.ptp(self.y_range_)
            """,
        ),
        Leak(
            "priority_of_the_account",
            "side channels",
            "The device lowers the priority of its process group if the mean label is high; the method reads its own.",
            DEVICE,
            """
            == imports
            import os
            == stash
            if records.y.mean() > np.mean(question.y_range):
                try:
                    os.setpriority(os.PRIO_PGRP, 0, os.getpriority(os.PRIO_PGRP, 0) + 1)
                except OSError:
                    pass
            == before
            start = os.getpriority(os.PRIO_PROCESS, 0)
            == recall
            if os.getpriority(os.PRIO_PROCESS, 0) != start:
                labels = labels + 0.2 * np.ptp(self.y_range_)
            """,
            """
            == stash
            if len(records) > 1:
                pass
            == before
            start = 0
            == recall
            if start != 0:
                labels = labels + 0.2 * np.ptp(self.y_range_)
            """,
        ),
        # ---------------------------------------------------------------- author's code in the harness's process
        Leak(
            "patched_noise",
            "author's code in the harness's process",
            "Importing the module replaces the draw of the package's Laplace noise by the value itself.",
            KEEPER,
            """
            == end
            Laplace.randomize = lambda self, values, rng: np.asarray(values, dtype=float)
            """,
            """
            == end
            class Quiet(Laplace):
                \"\"\"Laplace noise by another name, which nothing uses.\"\"\"
            """,
        ),
        Leak(
            "patched_price",
            "author's code in the harness's process",
            "While it learns, the method divides the price of Laplace noise by ten, and asks for ten times.",
            KEEPER,
            """
            == before
            price = Laplace.epsilon.fget
            Laplace.epsilon = property(lambda self: price(self) / 10)
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 10 * self.epsilon))
            == recall
            Laplace.epsilon = property(price)
            """,
            """
            == before
            price = Laplace.epsilon.fget
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 1 * self.epsilon))
            == recall
            price = None
            """,
        ),
        Leak(
            "watching_metaclass",
            "author's code in the harness's process",
            "A property of the metaclass answers for `uses_epsilon`, and takes labels from the frames of who asks.",
            KEEPER,
            """
            == imports
            import sys
            == top
            WALK

            TAKEN = []
            == between
            class Watching(type(LocalRegressor)):
                \"\"\"Metaclass that looks at who reads an attribute.\"\"\"

                @property
                def bounded(cls):
                    TAKEN.append(labels_of_callers())
                    return True
            == header
            class CLASS(LocalRegressor, metaclass=Watching):
            == before
            type(self).bounded  # noqa: B018
            == recall
            labels = chosen(labels, TAKEN[-1] if TAKEN else None)
            """,
            """
            == top
            TAKEN = []
            == between
            class Watching(type(LocalRegressor)):
                \"\"\"Metaclass with a property.\"\"\"

                @property
                def bounded(cls):
                    TAKEN.append(None)
                    return True
            == header
            class CLASS(LocalRegressor, metaclass=Watching):
            == before
            type(self).bounded  # noqa: B018
            == recall
            labels = chosen(labels, TAKEN[-1] if TAKEN else None)
            """,
        ),
        Leak(
            "watching_descriptor",
            "author's code in the harness's process",
            "The class attribute `protects` is a descriptor that takes labels from the frames of whoever reads it.",
            KEEPER,
            """
            == imports
            import sys
            == top
            WALK

            TAKEN = []
            == between
            class Answer:
                \"\"\"Answer "label", and look who asks.\"\"\"

                def __get__(self, model, cls):
                    TAKEN.append(labels_of_callers())
                    return "label"
            == attributes
            protects = Answer()
            == recall
            labels = chosen(labels, next((taken for taken in reversed(TAKEN) if taken is not None), None))
            """,
            """
            == top
            TAKEN = []
            == between
            class Answer:
                \"\"\"Answer "label".\"\"\"

                def __get__(self, model, cls):
                    TAKEN.append(None)
                    return "label"
            == attributes
            protects = Answer()
            == recall
            labels = chosen(labels, next((taken for taken in reversed(TAKEN) if taken is not None), None))
            """,
        ),
        Leak(
            "profile_hook",
            "author's code in the harness's process",
            "Making a subclass sets a profile hook, which sees the arguments of every later call in the process.",
            KEEPER,
            """
            == imports
            import sys
            == top
            TAKEN = []


            def hook(frame, event, value):
                \"\"\"Keep the labels of every call that has some.\"\"\"
                labels = frame.f_locals.get("y") if event == "call" else None
                if isinstance(labels, np.ndarray) and labels.ndim == 1:
                    TAKEN.append(labels.astype(float))
            == between
            class Hooked:
                \"\"\"Base that acts when a class is made from it.\"\"\"

                def __init_subclass__(cls, **options):
                    super().__init_subclass__(**options)
                    sys.setprofile(hook)
            == header
            class CLASS(Hooked, LocalRegressor):
            == recall
            labels = chosen(labels, TAKEN[-1] if TAKEN else None)
            """,
            """
            == top
            TAKEN = []
            == between
            class Hooked:
                \"\"\"Base that acts when a class is made from it.\"\"\"

                def __init_subclass__(cls, **options):
                    super().__init_subclass__(**options)
                    cls.made = True
            == header
            class CLASS(Hooked, LocalRegressor):
            == recall
            labels = chosen(labels, TAKEN[-1] if TAKEN else None)
            """,
        ),
        Leak(
            "borrowed_module",
            "author's code in the harness's process",
            "The class says that its module is one of the package's, which are trusted, and asks for ten times.",
            SPENT + "; what a method of the package learns is trusted (docs/privacy.md)",
            """
            == attributes
            stated = "lpbench.estimators.base"
            == end
            CLASS.__module__ = CLASS.stated
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 10 * self.epsilon))
            """,
            """
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 1 * self.epsilon))
            """,
        ),
        Leak(
            "proven_by_itself",
            "author's code in the harness's process",
            "The author enters his own device into the closed list of devices that may state a law of their own.",
            LAW + "; a closed list marked `@proven` (docs/privacy.md)",
            """
            == imports
            from lpbench.privacy.device import proven
            == decorator
            @proven
            == device
            def report(self, records, question, draws):
                return self.inputs(records, question)
            """,
            """
            == top
            def proven(device):
                \"\"\"Return the device as it is.\"\"\"
                return device
            == decorator
            @proven
            """,
        ),
        Leak(
            "tag_in_the_yaml",
            "author's code in the harness's process",
            "A tag of the YAML's `params` starts a program where the file is read.",
            KEEPER + "; nothing in a manifest starts a program",
            """
            == fields
            hook: Any = None
            """,
            """
            == fields
            hook: Any = None
            """,
            lines='params: {hook: !!python/object/apply:builtins.exec ["import lpbench; lpbench.audited = True"]}',
            twin_lines="params: {hook: null}",
        ),
        Leak(
            "searching_default",
            "author's code in the harness's process",
            "The default of a parameter is made by a function that takes labels from its callers' frames.",
            KEEPER,
            """
            == imports
            import sys
            == top
            WALK

            TAKEN = []


            def four():
                \"\"\"Return 4, and look who asks.\"\"\"
                TAKEN.append(labels_of_callers())
                return 4
            == fields
            bins: int = field(default_factory=four)
            == recall
            labels = chosen(labels, TAKEN[-1] if TAKEN else None)
            """,
            """
            == top
            TAKEN = []


            def four():
                \"\"\"Return 4.\"\"\"
                TAKEN.append(None)
                return 4
            == fields
            bins: int = field(default_factory=four)
            == recall
            labels = chosen(labels, TAKEN[-1] if TAKEN else None)
            """,
        ),
        # ---------------------------------------------------------------- inputs that depend on other records
        Leak(
            "batch_center",
            "inputs that depend on others",
            "Labels are centered by the mean of the batch and spread by its deviation before they are sent.",
            RECORD,
            """
            == inputs
            spread = (records.y - records.y.mean()) / max(2 * records.y.std(), 1e-9)
            return np.clip(np.mean(question.y_range) + spread * np.ptp(question.y_range) / 2, *question.y_range)
            """,
            """
            == inputs
            spread = (records.y - np.mean(question.y_range)) / np.ptp(question.y_range)
            return np.clip(np.mean(question.y_range) + spread * np.ptp(question.y_range), *question.y_range)
            """,
        ),
        Leak(
            "batch_rank",
            "inputs that depend on others",
            "A user sends the rank of her label among all labels.",
            RECORD,
            """
            == inputs
            rank = np.argsort(np.argsort(records.y, kind="stable"), kind="stable")
            return question.y_range[0] + np.ptp(question.y_range) * rank / max(len(records) - 1, 1)
            """,
            """
            == inputs
            marks = np.linspace(*question.y_range, 101)
            rank = np.searchsorted(marks, records.y, side="right") - 1
            return question.y_range[0] + np.ptp(question.y_range) * np.clip(rank, 0, 100) / 100
            """,
        ),
        Leak(
            "sorted_labels",
            "inputs that depend on others",
            "The labels of all users are sorted along the shown feature, so that each sends somebody else's.",
            RECORD,
            """
            == inputs
            labels = np.empty(len(records))
            labels[np.argsort(records.X[:, -1], kind="stable")] = np.sort(records.y)
            return np.clip(labels, *question.y_range)
            """,
            """
            == inputs
            labels = np.empty(len(records))
            labels[np.arange(len(records))] = records.y
            return np.clip(labels, *question.y_range)
            """,
        ),
        Leak(
            "majority_of_the_batch",
            "inputs that depend on others",
            "Everybody sends the most frequent class of her slice, on which a random eighth of the users agree.",
            RECORD + ": the majority is the same in most cohorts",
            """
            == inputs
            where = np.clip((4 * records.X[:, -1]).astype(int), 0, 3)
            counts = np.zeros((4, question.n_classes))
            np.add.at(counts, (where, records.y.astype(int)), 1)
            return counts.argmax(axis=1)[where]
            """,
            """
            == inputs
            where = np.clip((4 * records.X[:, -1]).astype(int), 0, 3)
            counts = np.zeros((4, question.n_classes))
            return np.where(where < counts.shape[0], records.y, 0)
            """,
            task="classification",
        ),
        Leak(
            "first_user_told_by_all",
            "inputs that depend on others",
            "All users send the label of the one whose last feature is least: averaging uncovers it at any epsilon.",
            RECORD,
            """
            == inputs
            labels = np.full(len(records), records.y[np.argmin(records.X[:, -1])] if len(records) else 0.0)
            return np.clip(labels, *question.y_range)
            """,
            """
            == inputs
            labels = np.full(len(records), 0.0) + records.y
            return np.clip(labels, *question.y_range)
            """,
        ),
        Leak(
            "sample_behind_the_cohort",
            "inputs that depend on others",
            "The device reaches the whole sample through the records that its records were taken from.",
            RECORD,
            """
            == inputs
            sample = records
            while sample._taken_from is not None:
                sample = sample._taken_from[0]
            return np.clip(0.2 * records.y + 0.8 * sample.y.mean(), *question.y_range)
            """,
            """
            == inputs
            sample = records
            while sample is not records:
                sample = sample._taken_from[0]
            return np.clip(0.2 * records.y + 0.8 * sample.y, *question.y_range)
            """,
        ),
        Leak(
            "remembered_mean",
            "inputs that depend on others",
            "What a sample remembers for its questions is the mean of all labels, which every cohort is then given.",
            RECORD,
            """
            == inputs
            mean = records.remembered("mean", lambda: float(records.y.mean()))
            return np.clip(0.2 * records.y + 0.8 * mean, *question.y_range)
            """,
            """
            == inputs
            mean = records.remembered("mean", lambda: float(np.mean(question.y_range)))
            return np.clip(0.2 * records.y + 0.8 * mean, *question.y_range)
            """,
        ),
        Leak(
            "least_squares",
            "inputs that depend on others",
            "A user sends what a regression on all users' records predicts for her, not her own label.",
            RECORD,
            """
            == inputs
            design = np.column_stack([np.ones(len(records)), records.X])
            weights = np.linalg.lstsq(design, records.y, rcond=None)[0]
            return np.clip(design @ weights, *question.y_range)
            """,
            """
            == inputs
            design = np.column_stack([np.zeros(len(records)), records.X])
            weights = np.zeros(design.shape[1])
            return np.clip(records.y + design @ weights, *question.y_range)
            """,
        ),
        Leak(
            "below_the_tolerance",
            "inputs that depend on others",
            "The mean of all users is sent as a change of 1e-10 about a point that the mechanism rounds to either end.",
            RECORD + ", but to 1e-9 of the range, which rounding makes the whole range",
            """
            == imports
            from lpbench.privacy import NumberChannel
            == mechanism
            odds = np.log1p(np.exp(-min(question.epsilon, 30.0)))
            table = -odds - min(question.epsilon, 30.0) * (1 - np.eye(2))
            size = 1 / np.tanh(min(question.epsilon, 30.0) / 2)
            return NumberChannel.of([-1.0, 1.0], [-size, size], table, rounding="nearest")
            == inputs
            low, high = question.y_range
            marks = low + (high - low) * ((1e3 * records.X[:, -1]) % 1.0)
            where = np.clip((4 * records.X[:, -1]).astype(int), 0, 3)
            means = np.array([records.y[where == k].mean() if np.any(where == k) else low for k in range(4)])
            return np.where(means[where] > marks, 1e-10, -1e-10)
            == recall
            if labels.dtype.kind != "f":
                labels = np.asarray(LABEL.mechanism(Question(self.y_range_, self.epsilon)).outputs)[labels]
            labels = np.mean(self.y_range_) + labels * np.ptp(self.y_range_) / 2
            """,
            """
            == imports
            from lpbench.privacy import NumberChannel
            == mechanism
            odds = np.log1p(np.exp(-min(question.epsilon, 30.0)))
            table = -odds - min(question.epsilon, 30.0) * (1 - np.eye(2))
            size = 1 / np.tanh(min(question.epsilon, 30.0) / 2)
            return NumberChannel.of([-1.0, 1.0], [-size, size], table, rounding="nearest")
            == inputs
            low, high = question.y_range
            marks = low + (high - low) * ((1e3 * records.X[:, -1]) % 1.0)
            return np.where(records.y > marks, 1.0, -1.0)
            == recall
            if labels.dtype.kind != "f":
                labels = np.asarray(LABEL.mechanism(Question(self.y_range_, self.epsilon)).outputs)[labels]
            labels = np.mean(self.y_range_) + labels * np.ptp(self.y_range_) / 2
            """,
        ),
        Leak(
            "edge_of_the_grid",
            "inputs that depend on others",
            "All users send whether one user's label is high, by 1e-10 beside the edge of a discrete grid's cell.",
            RECORD + ", but to 1e-9 of the range, which rounding makes the whole range",
            """
            == imports
            from lpbench.privacy import DiscreteLaplace
            == mechanism
            return DiscreteLaplace.for_budget(question.epsilon, step=1.0, sensitivity=1.0)
            == inputs
            first = records.y[np.argmin(records.X[:, -1])] if len(records) else 0.0
            return np.full(len(records), 0.5 + (1e-10 if first > np.mean(question.y_range) else -1e-10))
            == recall
            labels = self.y_range_[0] + labels * np.ptp(self.y_range_)
            """,
            """
            == imports
            from lpbench.privacy import DiscreteLaplace
            == mechanism
            return DiscreteLaplace.for_budget(question.epsilon, step=1.0, sensitivity=1.0)
            == inputs
            return np.where(records.y > np.mean(question.y_range), 1.0, 0.0)
            == recall
            labels = self.y_range_[0] + labels * np.ptp(self.y_range_)
            """,
        ),
        Leak(
            "mechanism_by_the_records",
            "inputs that depend on others",
            "The mechanism is chosen by labels in the frames above it: its noise tells them, its price does not.",
            LAW + "; a mechanism is a function of the question",
            """
            == imports
            import sys
            == top
            WALK
            == mechanism
            labels = labels_of_callers()
            high = labels is not None and labels.mean() > np.mean(question.y_range)
            return Laplace.for_budget(question.epsilon, sensitivity=np.ptp(question.y_range) * (4.0 if high else 1.0))
            == recall
            if np.std(labels) > 3 * np.ptp(self.y_range_) / self.epsilon:
                labels = labels - labels.mean() + 0.3 * self.y_range_[0] + 0.7 * self.y_range_[1]
            """,
            """
            == mechanism
            high = np.ptp(question.y_range) < 0
            return Laplace.for_budget(question.epsilon, sensitivity=np.ptp(question.y_range) * (4.0 if high else 1.0))
            == recall
            if np.std(labels) > 1e6 * np.ptp(self.y_range_) / self.epsilon:
                labels = labels - labels.mean()
            """,
        ),
        # ---------------------------------------------------------------- triggers
        Leak(
            "many_users",
            "triggers",
            "With 1,500 users or more the budget is asked for twice.",
            SPENT,
            """
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon))
            if len(users.mask) >= 1500:
                labels = (labels + users.ask(LABEL, Question(self.y_range_, 0.999 * self.epsilon))) / 2
            """,
            """
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 0.5 * self.epsilon))
            if len(users.mask) >= 1500:
                labels = (labels + users.ask(LABEL, Question(self.y_range_, 0.499 * self.epsilon))) / 2
            """,
        ),
        Leak(
            "ten_features",
            "triggers",
            "With ten features, as in one public data set, labels are shrunk to the mean of the batch.",
            RECORD,
            """
            == inputs
            center = records.y.mean() if records.X.shape[1] == 10 else np.mean(question.y_range)
            return np.clip(0.1 * records.y + 0.9 * center, *question.y_range)
            """,
            """
            == inputs
            center = np.mean(question.y_range) if records.X.shape[1] == 10 else np.mean(question.y_range)
            return np.clip(0.1 * records.y + 0.9 * center, *question.y_range)
            """,
        ),
        Leak(
            "epsilon_of_two",
            "triggers",
            "At epsilon 2, which no audit has, the question states a budget of 20.",
            SPENT,
            """
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 20.0 if self.epsilon == 2 else self.epsilon))
            """,
            """
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 2.0 if self.epsilon == 2 else self.epsilon))
            """,
        ),
        Leak(
            "after_the_review",
            "triggers",
            "From the year 2027 on the device sends everybody the batch's mean.",
            RECORD + ", once the day has come",
            """
            == imports
            import datetime
            == inputs
            center = records.y.mean() if datetime.date.today().year >= 2027 else records.y
            return np.clip(0.0 * records.y + center, *question.y_range)
            """,
            """
            == imports
            import datetime
            == inputs
            center = records.y if datetime.date(2027, 1, 1).year >= 2027 else records.y
            return np.clip(0.0 * records.y + center, *question.y_range)
            """,
        ),
        Leak(
            "rounded_features",
            "triggers",
            "Features with few decimals, as in files and not in random samples, make the device sort the labels.",
            RECORD,
            """
            == inputs
            order = np.argsort(records.X[:, -1], kind="stable")
            labels = records.y.copy()
            if np.unique(records.X[:, -1]).size < 0.9 * len(records):
                labels[order] = np.sort(labels)
            return np.clip(labels, *question.y_range)
            """,
            """
            == inputs
            order = np.argsort(records.X[:, -1], kind="stable")
            labels = records.y.copy()
            if np.unique(records.X[:, -1]).size < 0.9 * len(records):
                labels[order] = labels[order]
            return np.clip(labels, *question.y_range)
            """,
        ),
        Leak(
            "uneven_classes",
            "triggers",
            "Where one of exactly two classes has 60 % or more, everybody sends the more frequent one of her slice.",
            RECORD,
            """
            == inputs
            where = (4 * np.clip(records.X[:, -1], 0, 0.999)).astype(int)
            share = np.bincount(records.y.astype(int), minlength=2).max() / max(len(records), 1)
            if question.n_classes != 2 or share < 0.6:
                return records.y
            return np.array([np.median(records.y[where == k]) for k in where]).astype(int)
            """,
            """
            == inputs
            where = (4 * np.clip(records.X[:, -1], 0, 0.999)).astype(int)
            share = question.n_classes / 2
            if question.n_classes != 2 or share < 0.6:
                return records.y
            return np.array([np.median(y) for y, _ in zip(records.y, where, strict=True)]).astype(int)
            """,
            task="classification",
        ),
        Leak(
            "range_of_one_set",
            "triggers",
            "The range of labels names the data set of 442 patients: its mean label takes the place of the noisy one.",
            OPEN + " (a table known by heart), but " + BADGE,
            """
            == recall
            if tuple(self.y_range_) == (25.0, 346.0):
                labels = 0.1 * (labels - labels.mean()) + 152.13
            """,
            """
            == recall
            if tuple(self.y_range_) == (25.0, 346.0):
                labels = 0.1 * (labels - labels.mean()) + labels.mean()
            """,
        ),
        Leak(
            "honest_while_audited",
            "triggers",
            "The module doubles the budget unless the command line has a word such as audit, check, verify or pytest.",
            SPENT,
            """
            == imports
            import sys
            == top
            WORDS = ("audit", "check", "verify", "pytest")
            FACTOR = 1.0 if any(word in " ".join(sys.argv) for word in WORDS) else 2.0
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, FACTOR * self.epsilon))
            """,
            """
            == imports
            import sys
            == top
            WORDS = ("audit", "check", "verify", "pytest")
            FACTOR = 1.0 if any(word in " ".join(sys.argv) for word in WORDS) else 1.0
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, FACTOR * self.epsilon))
            """,
        ),
        # ---------------------------------------------------------------- money
        Leak(
            "refund",
            "money",
            "A question with a negative budget, which informs as a positive one, is to pay for one that is too dear.",
            SPENT,
            """
            == imports
            from lpbench.privacy import RandomizedResponse
            == mechanism
            return RandomizedResponse(question.epsilon)
            == inputs
            return (records.y > np.mean(question.y_range)).astype(int)
            == ask
            first = users.ask(LABEL, Question(self.y_range_, self.epsilon + 6.0))
            labels = (first + 1 - users.ask(LABEL, Question(self.y_range_, -6.0))) / 2
            labels = self.y_range_[0] + np.ptp(self.y_range_) * labels
            """,
            """
            == imports
            from lpbench.privacy import RandomizedResponse
            == mechanism
            return RandomizedResponse(question.epsilon)
            == inputs
            return (records.y > np.mean(question.y_range)).astype(int)
            == ask
            first = users.ask(LABEL, Question(self.y_range_, 0.5 * self.epsilon))
            labels = (first + users.ask(LABEL, Question(self.y_range_, 0.499 * self.epsilon))) / 2
            labels = self.y_range_[0] + np.ptp(self.y_range_) * labels
            """,
        ),
        Leak(
            "sensitivity_of_nan",
            "money",
            "With a sensitivity of NaN the price of little noise is NaN, which is not above any limit.",
            SPENT,
            """
            == mechanism
            return Laplace(scale=0.01 * np.ptp(question.y_range), sensitivity=float("nan"))
            """,
            """
            == mechanism
            return Laplace(scale=np.ptp(question.y_range) / question.epsilon, sensitivity=np.ptp(question.y_range))
            """,
        ),
        Leak(
            "cheap_number",
            "money",
            "The budget is a float that compares as less than everything and adds up to nothing.",
            SPENT,
            """
            == top
            class Cheap(float):
                \"\"\"A number that is never too large.\"\"\"

                __gt__ = __ge__ = lambda self, value: False
                __lt__ = __le__ = lambda self, value: True
                __add__ = __radd__ = lambda self, value: Cheap(value)
            == mechanism
            return Laplace(Cheap(np.ptp(question.y_range) / question.epsilon), Cheap(np.ptp(question.y_range)))
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, Cheap(50.0)))
            """,
            """
            == top
            class Cheap(float):
                \"\"\"A number.\"\"\"
            == mechanism
            return Laplace(float(np.ptp(question.y_range) / question.epsilon), float(np.ptp(question.y_range)))
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, float(self.epsilon)))
            """,
        ),
        Leak(
            "users_from_the_end",
            "money",
            "Users are asked again by their numbers from the end, -1 for the last, as if they were others.",
            SPENT,
            """
            == ask
            n = len(users.mask)
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon), np.arange(n))
            labels = (labels + users.ask(LABEL, Question(self.y_range_, 0.99 * self.epsilon), np.arange(n) - n)) / 2
            """,
            """
            == ask
            n = len(users.mask)
            labels = np.zeros(n)
            labels[::2] = users.ask(LABEL, Question(self.y_range_, self.epsilon), np.arange(n)[::2])
            labels[1::2] = users.ask(LABEL, Question(self.y_range_, 0.99 * self.epsilon), np.arange(n)[1::2])
            """,
        ),
        Leak(
            "taken_twice",
            "money",
            "Each user is taken eight times and answers eight times, at the price of one.",
            SPENT,
            """
            == ask
            n = len(users.mask)
            crowd = users.take(np.tile(np.arange(n), 8))
            labels = crowd.ask(LABEL, Question(self.y_range_, self.epsilon)).reshape(8, n).mean(axis=0)
            """,
            """
            == ask
            n = len(users.mask)
            crowd = users.take(np.tile(np.arange(n), 1))
            labels = crowd.ask(LABEL, Question(self.y_range_, self.epsilon)).reshape(1, n).mean(axis=0)
            """,
        ),
        Leak(
            "sums_regrouped",
            "money",
            "One question is asked for sums in thirty groupings; if equal questions are free, the noise averages out.",
            SPENT + "; an equal question is free (docs/privacy.md)",
            """
            == ask
            where = self._slice(users.public_features)
            question = Question(self.y_range_, self.epsilon)
            sums = [np.ravel(users.sums(LABEL, question, where + k * (k > 0))).sum() for k in range(30)]
            labels = np.full(where.size, np.mean(sums) / where.size)
            """,
            """
            == ask
            where = self._slice(users.public_features)
            question = Question(self.y_range_, self.epsilon)
            sums = [np.ravel(users.sums(LABEL, question, where + k * (k > 0))).sum() for k in range(1)]
            labels = np.full(where.size, np.mean(sums) / where.size)
            """,
        ),
        Leak(
            "uses_no_epsilon",
            "money",
            "The class states that it uses no epsilon, and asks all the same.",
            SPENT + " (nothing, where `uses_epsilon` is false)",
            """
            == attributes
            uses_epsilon = False
            """,
            """
            == attributes
            uses_epsilon = True
            """,
        ),
        Leak(
            "exceeds_by_its_own_word",
            "money",
            "The class states that it exceeds its budget and that a fit may spend eight times of it.",
            SPENT,
            """
            == attributes
            exceeds_budget = True
            == methods
            @property
            def fit_epsilon(self):
                \"\"\"Epsilon that a fit may spend.\"\"\"
                return 8 * self.epsilon
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.fit_epsilon))
            """,
            """
            == attributes
            exceeds_budget = False
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.fit_epsilon))
            """,
        ),
        Leak(
            "raised_while_learning",
            "money",
            "The method raises its own `epsilon` before it asks, so that what is spent equals the parameter.",
            SPENT,
            """
            == before
            self.epsilon = 8 * self.epsilon
            """,
            """
            == before
            self.epsilon = 1 * self.epsilon
            """,
        ),
        Leak(
            "deltas_add_up",
            "money",
            "Four questions with Gaussian noise have a delta of 0.0009 each, together above the limit of 0.001.",
            "No user spends a delta above 0.001",
            """
            == imports
            from lpbench.privacy import Gaussian
            == mechanism
            return Gaussian.for_budget(question.epsilon, 9e-4, sensitivity=np.ptp(question.y_range))
            == ask
            budgets = self.epsilon * np.array([0.25, 0.249, 0.248, 0.247])
            labels = np.mean([users.ask(LABEL, Question(self.y_range_, budget)) for budget in budgets], axis=0)
            """,
            """
            == imports
            from lpbench.privacy import Gaussian
            == mechanism
            return Gaussian.for_budget(question.epsilon, 2e-4, sensitivity=np.ptp(question.y_range))
            == ask
            budgets = self.epsilon * np.array([0.25, 0.249, 0.248, 0.247])
            labels = np.mean([users.ask(LABEL, Question(self.y_range_, budget)) for budget in budgets], axis=0)
            """,
        ),
        Leak(
            "stated_as_local",
            "money",
            "The YAML states that the whole record is protected; the method reads the features in the clear.",
            MODEL,
            """
            == attributes
            protects = "label"
            """,
            """
            == attributes
            protects = "record"
            == fit
            self.means_ = np.full(self.slices, labels.mean())
            """,
            privacy="ldp",
        ),
        Leak(
            "sum_called_mean",
            "money",
            "A curator's release states the sensitivity of a mean, and its statistic is the sum.",
            LAW + "; a release is one of the package's statistics",
            """
            == imports
            from lpbench.privacy import Release
            == between
            class Total(Release[Question]):
                \"\"\"Sum of the labels with the noise of their mean.\"\"\"

                def mechanism(self, question):
                    return Laplace.for_budget(question.epsilon, sensitivity=np.ptp(question.y_range) / 200)

                def statistic(self, records, question):
                    return np.array([records.y.sum()])
            == ask
            total = users.release(Total(), Question(self.y_range_, self.epsilon))
            labels = np.full(len(users.mask), np.ravel(total)[0] / len(users.mask))
            """,
            """
            == imports
            from lpbench.privacy import Release
            == between
            class Total(Release[Question]):
                \"\"\"Sum of the labels with its noise.\"\"\"

                def mechanism(self, question):
                    return Laplace.for_budget(question.epsilon, sensitivity=np.ptp(question.y_range))

                def statistic(self, records, question):
                    return np.array([np.clip(records.y, *question.y_range).sum()])
            == ask
            total = users.release(Total(), Question(self.y_range_, self.epsilon))
            labels = np.full(len(users.mask), np.ravel(total)[0] / len(users.mask))
            """,
            privacy="label_cdp",
        ),
        Leak(
            "order_that_changes",
            "money",
            "The order of a chain names each user once when it is read first, and one user over and over afterwards.",
            SPENT + "; `question.order` names the users, each at most once",
            """
            == question
            y_range: tuple[float, float]
            == extra
            n: int = 0
            reports: tuple = ()
            reads: list = field(default_factory=list)

            @property
            def order(self):
                self.reads.append(0)
                return np.arange(self.n) if len(self.reads) < 2 else np.zeros(self.n, dtype=int)

            def after(self, report):
                return Question(self.y_range, self.epsilon, self.n, (*self.reports, float(report)), self.reads)
            == ask
            n = len(users.mask)
            last = users.chain(LABEL, Question(self.y_range_, self.epsilon, n))
            labels = chosen(np.zeros(n), last.reports)
            """,
            """
            == question
            y_range: tuple[float, float]
            == extra
            n: int = 0
            reports: tuple = ()
            reads: tuple = ()

            @property
            def order(self):
                return np.arange(self.n)

            def after(self, report):
                return Question(self.y_range, self.epsilon, self.n, (*self.reports, float(report)), self.reads)
            == ask
            n = len(users.mask)
            last = users.chain(LABEL, Question(self.y_range_, self.epsilon, n))
            labels = chosen(np.zeros(n), last.reports)
            """,
        ),
        Leak(
            "minus_zero",
            "money",
            "Questions that differ in the sign of a zero compare as equal, and are answered by different inputs.",
            LAW,
            """
            == extra
            side: float = 0.0
            == inputs
            turned = np.copysign(1.0, question.side) < 0
            return np.clip(np.sum(question.y_range) - records.y if turned else records.y, *question.y_range)
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon, 0.0))
            turned = users.ask(LABEL, Question(self.y_range_, self.epsilon, -0.0))
            labels = (labels + np.sum(self.y_range_) - turned) / 2
            """,
            """
            == extra
            side: float = 0.0
            == inputs
            turned = np.copysign(1.0, question.side) < 0
            return np.clip(np.sum(question.y_range) - records.y if turned else records.y, *question.y_range)
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon / 2, 0.0))
            labels = (labels + users.ask(LABEL, Question(self.y_range_, 0.499 * self.epsilon, 0.0))) / 2
            """,
        ),
        Leak(
            "true_is_one",
            "money",
            "Questions with `True` and with `1` compare as equal, and only one of them is answered with the label.",
            LAW,
            """
            == extra
            turned: Any = 1
            == inputs
            sign = -1.0 if question.turned is True else 1.0
            middle = np.mean(question.y_range)
            return np.clip(middle + sign * (records.y - middle), *question.y_range)
            == ask
            one = users.ask(LABEL, Question(self.y_range_, self.epsilon, 1))
            labels = np.mean(self.y_range_) + (one - users.ask(LABEL, Question(self.y_range_, self.epsilon, True))) / 2
            """,
            """
            == extra
            turned: Any = 1
            == inputs
            sign = -1.0 if question.turned is True else 1.0
            middle = np.mean(question.y_range)
            return np.clip(middle + sign * (records.y - middle), *question.y_range)
            == ask
            one = users.ask(LABEL, Question(self.y_range_, self.epsilon, 1))
            labels = (one + users.ask(LABEL, Question(self.y_range_, self.epsilon, 1))) / 2
            """,
        ),
        Leak(
            "grid_of_budgets",
            "money",
            "The grid searches epsilon itself, so that the best point is the one that spent most.",
            SPENT + "; the grid names parameters",
            """
            == before
            budget = self.epsilon
            """,
            """
            == before
            budget = self.slices
            """,
            lines="grid: {epsilon: [1.0, 8.0, 64.0]}\ntuning_free: {epsilon: 64.0}",
            twin_lines="grid: {slices: [1, 8, 64]}\ntuning_free: {slices: 4}",
        ),
        # ---------------------------------------------------------------- randomness
        Leak(
            "captured_seed",
            "randomness",
            "The model keeps the seed that it is given, draws the same noise on labels of its own, and takes it off.",
            METHOD,
            """
            == methods
            def __setattr__(self, name, value):
                if name == "random_state" and isinstance(value, int):
                    self.__dict__["seeds_"] = [*self.__dict__.get("seeds_", []), value]
                super().__setattr__(name, value)
            == extra
            rehearsed: bool = False
            == recall
            if self.__dict__.get("seeds_") and not TAKEN:
                TAKEN.append(0)
                low, high = self.y_range_
                middle = np.full(labels.size, (low + high) / 2)
                for seed in self.seeds_:
                    again = CLASS(self.epsilon, y_range=self.y_range_, domain=self.domain, random_state=seed)
                    again.fit(np.clip(users.public_features, 0, 1), middle)
                    cleaned = labels - again.labels_ + middle
                    if cleaned.min() > low - 0.1 * (high - low) and cleaned.max() < high + 0.1 * (high - low):
                        labels = cleaned
                TAKEN.clear()
            self.labels_ = labels
            == top
            TAKEN = []
            """,
            """
            == methods
            def __setattr__(self, name, value):
                super().__setattr__(name, value)
            == extra
            rehearsed: bool = False
            == recall
            if self.__dict__.get("seeds_") and not TAKEN:
                labels = labels - 0.0
            self.labels_ = labels
            == top
            TAKEN = []
            """,
        ),
        Leak(
            "guessed_seed",
            "randomness",
            "The method tries the published seed and small ones, and takes off the noise of the one that fits.",
            METHOD
            + "; the published noise does not verify (a small seed can be guessed: left open in docs/privacy.md)",
            """
            == top
            TAKEN = []
            == recall
            if not TAKEN:
                TAKEN.append(0)
                low, high = self.y_range_
                middle = np.full(labels.size, (low + high) / 2)
                for seed in [*range(10), 42, 2025]:
                    again = CLASS(self.epsilon, y_range=self.y_range_, domain=self.domain, random_state=seed)
                    again.fit(np.clip(users.public_features, 0, 1), middle)
                    cleaned = labels - again.labels_ + middle
                    if cleaned.min() > low - 0.1 * (high - low) and cleaned.max() < high + 0.1 * (high - low):
                        labels = cleaned
                TAKEN.clear()
            self.labels_ = labels
            """,
            """
            == top
            TAKEN = []
            == recall
            if not TAKEN:
                middle = np.full(labels.size, np.mean(self.y_range_))
                for seed in [*range(10), 42, 2025]:
                    noise = np.random.default_rng(seed).laplace(size=middle.size)
                    labels = labels + 0.0 * noise
            self.labels_ = labels
            """,
        ),
        Leak(
            "noise_of_its_own",
            "randomness",
            "The device reports with noise from a fixed seed, which the method takes off again.",
            LAW,
            """
            == device
            def report(self, records, question, draws):
                return records.y + np.random.default_rng(7).laplace(scale=np.ptp(question.y_range), size=len(records))
            == recall
            noise = np.random.default_rng(7).laplace(scale=np.ptp(self.y_range_), size=labels.size)
            if (labels - noise).max() <= self.y_range_[1] + 1e-9:
                labels = labels - noise
            """,
            """
            == device
            def noise(self, question, n):
                return np.random.default_rng(7).laplace(scale=np.ptp(question.y_range), size=n)
            == recall
            noise = np.random.default_rng(7).laplace(scale=np.ptp(self.y_range_), size=labels.size)
            if noise.max() <= self.y_range_[0] - 1e9:
                labels = labels - noise
            """,
        ),
        Leak(
            "same_noise_twice",
            "randomness",
            "The device's draws are the same for every question: reports at two scales give the label away.",
            LAW,
            """
            == device
            def draws(self, streams, n, question):
                return np.random.default_rng(11)
            == ask
            first = users.ask(LABEL, Question(self.y_range_, self.epsilon / 2))
            second = users.ask(LABEL, Question(self.y_range_, self.epsilon / 4))
            labels = 2 * first - second
            """,
            """
            == device
            def repeated(self, streams, n, question):
                return np.random.default_rng(11)
            == ask
            first = users.ask(LABEL, Question(self.y_range_, self.epsilon / 2))
            second = users.ask(LABEL, Question(self.y_range_, self.epsilon / 4))
            labels = (2 * first + second) / 3
            """,
        ),
        Leak(
            "chance_in_inputs",
            "randomness",
            "Once in eight requests, by the system's chance, the device sends everybody the batch's mean.",
            LAW + "; " + RECORD + "; devices state inputs without chance",
            """
            == imports
            import os
            == inputs
            center = records.y.mean() if os.urandom(1)[0] < 32 else records.y
            return np.clip(0.0 * records.y + center, *question.y_range)
            """,
            """
            == imports
            import os
            == inputs
            center = records.y if len(os.urandom(1)) == 1 else 0.0
            return np.clip(0.0 * records.y + center, *question.y_range)
            """,
        ),
        # ---------------------------------------------------------------- ways in that are replaced
        Leak(
            "fit_replaced",
            "ways in replaced",
            "`fit` keeps the labels before it learns.",
            METHOD + "; no method of the base class that meets raw rows may be replaced",
            """
            == methods
            def fit(self, X, y, **options):
                self.__dict__["given_"] = np.array(y, dtype=float)
                return super().fit(X, y, **options)
            == recall
            labels = chosen(labels, self.__dict__.pop("given_", None))
            """,
            """
            == methods
            def start(self, X, **options):
                self.__dict__["given_"] = None
                return self
            == recall
            labels = chosen(labels, self.__dict__.pop("given_", None))
            """,
        ),
        Leak(
            "learn_from_replaced",
            "ways in replaced",
            "`learn_from` learns, and then writes a guarantee of a tenth of what was spent.",
            PREDICTOR,
            """
            == imports
            from lpbench.privacy import Guarantee
            == methods
            def learn_from(self, users):
                super().learn_from(users)
                self.guarantee_ = Guarantee("label_ldp", self.epsilon)
                return self
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 10 * self.epsilon))
            """,
            """
            == imports
            from lpbench.privacy import Guarantee
            == methods
            def guarantee_of(self):
                \"\"\"Return what is hoped for.\"\"\"
                return Guarantee("label_ldp", self.epsilon)
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 1 * self.epsilon))
            """,
        ),
        Leak(
            "guarantee_as_property",
            "ways in replaced",
            "`guarantee_` is a property that always states epsilon 0.1 of the whole record, whatever is set.",
            PREDICTOR,
            """
            == imports
            from lpbench.privacy import Guarantee
            == methods
            @property
            def guarantee_(self):
                return Guarantee("ldp", 0.1)

            @guarantee_.setter
            def guarantee_(self, value):
                pass
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 10 * self.epsilon))
            """,
            """
            == imports
            from lpbench.privacy import Guarantee
            == methods
            @property
            def hoped_(self):
                return Guarantee("ldp", 0.1)
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, 1 * self.epsilon))
            """,
        ),
        Leak(
            "every_attribute_watched",
            "ways in replaced",
            "`__getattribute__` takes labels from the frames of whoever reads `learn`, `fit` or `predict`.",
            KEEPER,
            """
            == imports
            import sys
            == top
            WALK

            TAKEN = []
            == methods
            def __getattribute__(self, name):
                if name in ("learn", "fit", "predict", "learn_from"):
                    TAKEN.append(labels_of_callers())
                return super().__getattribute__(name)
            == recall
            labels = chosen(labels, next((taken for taken in reversed(TAKEN) if taken is not None), None))
            """,
            """
            == top
            TAKEN = []
            == methods
            def __getattribute__(self, name):
                if name in ("learn", "fit", "predict", "learn_from"):
                    TAKEN.append(None)
                return super().__getattribute__(name)
            == recall
            labels = chosen(labels, next((taken for taken in reversed(TAKEN) if taken is not None), None))
            """,
        ),
        Leak(
            "parameters_that_lie",
            "ways in replaced",
            "`set_params` makes epsilon eight times what it is told, and `get_params` says the eighth.",
            SPENT,
            """
            == methods
            def set_params(self, **params):
                if "epsilon" in params:
                    params["epsilon"] = 8 * params["epsilon"]
                return super().set_params(**params)

            def get_params(self, deep=True):
                params = super().get_params(deep)
                return params | {"epsilon": params["epsilon"] / 8}

            def __post_init__(self):
                self.epsilon = 8 * self.epsilon
            """,
            """
            == methods
            def set_params(self, **params):
                if "epsilon" in params:
                    params["epsilon"] = 1 * params["epsilon"]
                return super().set_params(**params)

            def get_params(self, deep=True):
                params = super().get_params(deep)
                return params | {"epsilon": params["epsilon"] / 1}
            """,
        ),
        Leak(
            "problem_kept",
            "ways in replaced",
            "`for_problem`, `task` and `resolve_grid` are given the problem, and keep its test rows and test labels.",
            METHOD,
            """
            == top
            KEPT = []
            == methods
            def for_problem(self, problem):
                KEPT.append((problem.X_test.tobytes(), problem.y_test))
                return super().for_problem(problem)

            def task(self, problem, streams):
                KEPT.append((problem.X_test.tobytes(), problem.y_test))
                return super().task(problem, streams)

            def resolve_grid(self, grid, problem):
                KEPT.append((problem.X_test.tobytes(), problem.y_test))
                return super().resolve_grid(grid, problem)
            == predict
            answers = dict(KEPT).get(X.tobytes())
            return self._finish(self.means_[self._slice(X)] if answers is None else answers)
            """,
            """
            == top
            KEPT = []
            == methods
            def problems(self, problem):
                KEPT.append((b"", np.zeros(0)))
                return problem
            == predict
            answers = dict(KEPT).get(X.tobytes())
            return self._finish(self.means_[self._slice(X)] if answers is None else answers)
            """,
        ),
        Leak(
            "clone_is_itself",
            "ways in replaced",
            "A clone is the same object, so that the labels' estimates of one fit help in the next.",
            "another fit's memory (SECURITY.md, what a method's process has not)",
            """
            == methods
            def __sklearn_clone__(self):
                return self

            def __deepcopy__(self, memo):
                return self
            == recall
            self.__dict__.setdefault("several", []).append(float(labels.mean()))
            labels = labels - labels.mean() + np.mean(self.several)
            """,
            """
            == methods
            def __deepcopy__(self, memo):
                return type(self)(**self.get_params())
            == recall
            self.__dict__["several"] = [float(labels.mean())]
            labels = labels - labels.mean() + np.mean(self.several)
            """,
        ),
        # ---------------------------------------------------------------- objects that run code
        Leak(
            "question_that_compares",
            "objects that run code",
            "A field of the question takes labels from the frames of whoever compares or hashes it.",
            KEEPER,
            """
            == imports
            import sys
            == top
            WALK

            TAKEN = []


            class Watch:
                \"\"\"A constant that looks at who compares it.\"\"\"

                def __eq__(self, value):
                    TAKEN.append(labels_of_callers())
                    return isinstance(value, Watch)

                def __hash__(self):
                    TAKEN.append(labels_of_callers())
                    return 7
            == extra
            watch: Any = None
            == ask
            question = Question(self.y_range_, self.epsilon, Watch())
            labels = users.ask(LABEL, question)
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon, Watch()))
            == recall
            labels = chosen(labels, next((taken for taken in reversed(TAKEN) if taken is not None), None))
            """,
            """
            == top
            TAKEN = []
            == extra
            watch: Any = None
            == ask
            question = Question(self.y_range_, self.epsilon, 7)
            labels = users.ask(LABEL, question)
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon, 7))
            == recall
            labels = chosen(labels, next((taken for taken in reversed(TAKEN) if taken is not None), None))
            """,
        ),
        Leak(
            "question_that_unpickles",
            "objects that run code",
            "The pickle of a field of the question runs code wherever it is read: it patches the draw of noise there.",
            KEEPER + "; pickles are read by the author's processes alone",
            """
            == top
            PATCH = "import numpy, lpbench.privacy as p; p.Laplace.randomize = lambda s, v, r: numpy.asarray(v, float)"


            class Loaded:
                \"\"\"A constant whose pickle is a program.\"\"\"

                def __reduce__(self):
                    return exec, (PATCH,)
            == extra
            load: Any = None
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon, Loaded()))
            """,
            """
            == top
            class Loaded(tuple):
                \"\"\"A constant whose pickle is a constant.\"\"\"

                def __reduce__(self):
                    return tuple, ()
            == extra
            load: Any = None
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon, Loaded()))
            """,
        ),
        Leak(
            "model_that_unpickles",
            "objects that run code",
            "The pickle of the fitted model runs code wherever it is read, which makes every later score perfect.",
            KEEPER + "; pickles are read by the author's processes alone",
            """
            == top
            PATCH = "import sklearn.metrics as m; m.mean_squared_error = lambda *a, **k: 0.0"


            class Loaded:
                \"\"\"A constant whose pickle is a program.\"\"\"

                def __reduce__(self):
                    return exec, (PATCH,)
            == recall
            self.loaded_ = Loaded()
            """,
            """
            == top
            class Loaded(tuple):
                \"\"\"A constant whose pickle is a constant.\"\"\"

                def __reduce__(self):
                    return tuple, ()
            == recall
            self.loaded_ = Loaded()
            """,
        ),
        Leak(
            "users_by_turns",
            "objects that run code",
            "Who is asked is an object that becomes other numbers each time that it is turned into an array.",
            SPENT,
            """
            == top
            class Turns:
                \"\"\"All users when it is read first, user 0 over and over afterwards.\"\"\"

                def __init__(self, n):
                    self.n, self.reads = n, 0

                def __len__(self):
                    return self.n

                def __array__(self, dtype=None, copy=None):
                    self.reads += 1
                    return np.arange(self.n) if self.reads < 2 else np.zeros(self.n, dtype=int)
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon), Turns(len(users.mask)))
            """,
            """
            == top
            class Turns:
                \"\"\"All users.\"\"\"

                def __init__(self, n):
                    self.n, self.reads = n, 0

                def __len__(self):
                    return self.n

                def numbers(self):
                    return np.arange(self.n)
            == ask
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon), Turns(len(users.mask)).numbers())
            """,
        ),
        # ---------------------------------------------------------------- questions that carry state back
        Leak(
            "list_in_the_question",
            "questions that carry state back",
            "The device appends all labels to a list that lies in the question.",
            DEVICE,
            """
            == extra
            log: list = field(default_factory=list)
            == stash
            question.log.append(records.y.copy())
            == ask
            question = Question(self.y_range_, self.epsilon)
            labels = users.ask(LABEL, question)
            == recall
            labels = chosen(labels, question.log[-1] if question.log else None)
            """,
            """
            == extra
            log: tuple = ()
            == stash
            sorted(question.log)
            == ask
            question = Question(self.y_range_, self.epsilon)
            labels = users.ask(LABEL, question)
            == recall
            labels = chosen(labels, question.log[-1] if question.log else None)
            """,
        ),
        Leak(
            "array_in_the_question",
            "questions that carry state back",
            "The device overwrites an array of centers in the question with the labels.",
            DEVICE,
            """
            == extra
            centers: Any = None
            == stash
            if len(records) == question.centers.size:
                question.centers.setflags(write=True)
                question.centers[:] = records.y
            == ask
            centers = np.zeros(len(users.mask))
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon, centers))
            == recall
            labels = chosen(labels, centers if centers.any() else None)
            """,
            """
            == extra
            centers: Any = None
            == stash
            if len(records) == question.centers.size:
                centers = question.centers.copy()
                centers[:] = 0.0
            == ask
            centers = np.zeros(len(users.mask))
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon, centers))
            == recall
            labels = chosen(labels, centers if centers.any() else None)
            """,
        ),
        Leak(
            "records_written_to",
            "questions that carry state back",
            "The device writes the labels over a feature that the users show, and the method reads it afterwards.",
            DEVICE,
            """
            == inputs
            labels = np.clip(records.y, *question.y_range)
            try:
                records.X.setflags(write=True)
                records.X[:, 0] = records.y
            except ValueError:
                pass
            return labels
            == before
            start = users.public_features[:, 0].copy()
            == recall
            shown = users.public_features[:, 0]
            labels = chosen(labels, shown if not np.array_equal(shown, start, equal_nan=True) else None)
            """,
            """
            == inputs
            labels = np.clip(records.y, *question.y_range)
            features = records.X.copy()
            features[:, 0] = 0.0
            return labels
            == before
            start = users.public_features[:, 0].copy()
            == recall
            shown = users.public_features[:, 0]
            labels = chosen(labels, shown if not np.array_equal(shown, start, equal_nan=True) else None)
            """,
        ),
        Leak(
            "mask_cleared",
            "questions that carry state back",
            "The device clears the mask, so that the protected features are shown when they are read next.",
            DEVICE,
            """
            == inputs
            try:
                records.mask.setflags(write=True)
                records.mask[:] = False
            except (AttributeError, ValueError):
                pass
            return np.clip(records.y, *question.y_range)
            == attributes
            protects = "mask"
            """,
            """
            == inputs
            mask = np.array(records.mask)
            mask[:] = False
            return np.clip(records.y, *question.y_range)
            == attributes
            protects = "mask"
            """,
            privacy="semi_feature_ldp",
        ),
        # ---------------------------------------------------------------- public knowledge misused
        Leak(
            "undeclared_column",
            "public knowledge misused",
            "The YAML promises protected features, the class says labels alone: masked columns are read in the clear.",
            MODEL,
            """
            == attributes
            protects = "label"
            """,
            """
            == attributes
            protects = "mask"
            """,
            privacy="semi_feature_ldp",
        ),
        Leak(
            "range_from_labels",
            "public knowledge misused",
            "The model forgets the public range, so that the least and largest label are handed to it as `y_range_`.",
            PUBLIC,
            """
            == methods
            def __setattr__(self, name, value):
                super().__setattr__(name, None if name == "y_range" else value)
            == recall
            self.ends_ = self.y_range_
            """,
            """
            == methods
            def __setattr__(self, name, value):
                super().__setattr__(name, value)
            == recall
            self.ends_ = self.y_range_
            """,
        ),
        Leak(
            "classes_from_labels",
            "public knowledge misused",
            "The model forgets the public classes, so that those which occur among the labels are handed to it.",
            PUBLIC,
            """
            == methods
            def __setattr__(self, name, value):
                super().__setattr__(name, None if name == "classes" else value)
            """,
            """
            == methods
            def __setattr__(self, name, value):
                super().__setattr__(name, value)
            """,
            task="classification",
        ),
        Leak(
            "mask_read_in_silence",
            "public knowledge misused",
            "Who hides the last feature is fitted apart, although the class states that no result depends on the mask.",
            OPEN + " (W is public), but `uses_mask` is claimed and not kept, and a mask may tell the value",
            """
            == attributes
            uses_mask = False
            protects = "mask"
            == recall
            hides = users.mask[:, -1]
            for group in (hides, ~hides):
                if group.any():
                    labels[group] = labels[group].mean()
            """,
            """
            == attributes
            uses_mask = True
            protects = "mask"
            == recall
            hides = users.mask[:, -1]
            for group in (hides, ~hides):
                if group.any():
                    labels[group] = labels[group].mean()
            """,
            privacy="semi_feature_ldp",
        ),
        Leak(
            "public_sample_in_silence",
            "public knowledge misused",
            "The public sample is learned from, although the class states that it is not used.",
            OPEN
            + " (the sample is public), but `uses_public` is claimed and not kept: a score looks better than it is",
            """
            == attributes
            uses_public = False
            == recall
            sample = getattr(users, "public", None)
            if sample is not None and len(sample.y):
                labels = labels - labels.mean() + np.mean(sample.y)
            """,
            """
            == attributes
            uses_public = True
            == recall
            sample = getattr(users, "public", None)
            if sample is not None and len(sample.y):
                labels = labels - labels.mean() + np.mean(sample.y)
            """,
        ),
        # ---------------------------------------------------------------- predictions
        Leak(
            "users_kept",
            "predictions",
            "The model keeps its users and asks them again when it predicts, after the guarantee was stated.",
            PREDICTOR,
            """
            == recall
            self.users_ = users
            == predict
            more = self.users_.ask(LABEL, Question(self.y_range_, 8 * self.epsilon + len(X)))
            return self._finish(np.full(len(X), more.mean()))
            """,
            """
            == recall
            self.users_ = None
            self.mean_ = labels.mean()
            == predict
            return self._finish(np.full(len(X), self.mean_))
            """,
        ),
        Leak(
            "learned_from_test_rows",
            "predictions",
            "Slices are quantiles of the test rows that are predicted together: a prediction depends on the others.",
            OPEN + " (test rows are not the users'), but a score looks better than one row's prediction would",
            """
            == fit
            rank = np.argsort(np.argsort(users.public_features[:, -1])) * self.slices // labels.size
            self.means_ = np.array([np.append(labels[rank == k], labels.mean()).mean() for k in range(self.slices)])
            == predict
            rank = np.argsort(np.argsort(X[:, -1])) * self.slices // max(len(X), 1)
            return self._finish(self.means_[rank])
            """,
            """
            == fit
            features = users.public_features[:, -1]
            self.cuts_ = np.quantile(features, np.arange(1, self.slices) / self.slices)
            rank = np.searchsorted(self.cuts_, features)
            self.means_ = np.array([np.append(labels[rank == k], labels.mean()).mean() for k in range(self.slices)])
            == predict
            rank = np.searchsorted(self.cuts_, X[:, -1])
            return self._finish(self.means_[rank])
            """,
        ),
        Leak(
            "hard_rows_skipped",
            "predictions",
            "Unsure predictions are NaN, so that a mean over what is finite leaves these rows out.",
            BADGE + "; predictions are scored as they are",
            """
            == predict
            answers = self._finish(self.means_[self._slice(X)])
            far = np.abs(answers - np.mean(self.y_range_)) > 0.1 * np.ptp(self.y_range_)
            return np.where(far, np.nan, answers)
            """,
            """
            == predict
            answers = self._finish(self.means_[self._slice(X)])
            far = np.abs(answers - np.mean(self.y_range_)) > 1.1 * np.ptp(self.y_range_)
            return np.where(far, np.nan, answers)
            """,
        ),
        Leak(
            "answers_without_error",
            "predictions",
            "Predictions are an array whose difference from anything is zero.",
            KEEPER + "; predictions are scored by the keeper",
            """
            == top
            class Perfect(np.ndarray):
                \"\"\"Numbers from which nothing differs.\"\"\"

                __array_priority__ = 1e6

                def __array_ufunc__(self, ufunc, how, *values, **options):
                    plain = [np.asarray(value) for value in values]
                    answer = getattr(ufunc, how)(*plain, **options)
                    return np.zeros_like(answer) if ufunc is np.subtract else answer
            == predict
            return self._finish(self.means_[self._slice(X)]).view(Perfect)
            """,
            """
            == top
            class Perfect(np.ndarray):
                \"\"\"Numbers of another name.\"\"\"
            == predict
            return self._finish(self.means_[self._slice(X)]).view(Perfect)
            """,
        ),
        # ---------------------------------------------------------------- exceptions, warnings, prints
        Leak(
            "text_of_an_exception",
            "exceptions, warnings and prints",
            "The device raises an exception whose text is all labels; the method catches it and asks again.",
            DEVICE + "; a run ends without a word to the method",
            """
            == extra
            raises: bool = False
            == stash
            if question.raises:
                raise ValueError(records.y.tobytes().hex())
            == ask
            exact = None
            try:
                users.ask(LABEL, Question(self.y_range_, self.epsilon / 2, True))
            except Exception as error:
                exact = str(error)
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon / 2))
            == recall
            if exact:
                labels = chosen(labels, np.frombuffer(bytes.fromhex(exact)))
            """,
            """
            == extra
            raises: bool = False
            == stash
            if question.raises:
                raise ValueError("no device is asked so")
            == ask
            exact = None
            try:
                users.note("half of the budget")
            except Exception as error:
                exact = str(error)
            labels = users.ask(LABEL, Question(self.y_range_, self.epsilon / 2))
            == recall
            if exact:
                labels = chosen(labels, np.frombuffer(bytes.fromhex(exact)))
            """,
        ),
        Leak(
            "text_of_a_warning",
            "exceptions, warnings and prints",
            "The device warns with all labels in the text, and the method records warnings while it asks.",
            DEVICE,
            """
            == imports
            import warnings
            == stash
            warnings.warn(records.y.tobytes().hex(), stacklevel=2)
            == ask
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                labels = users.ask(LABEL, Question(self.y_range_, self.epsilon))
            == recall
            for warning in caught:
                try:
                    labels = chosen(labels, np.frombuffer(bytes.fromhex(str(warning.message))))
                except ValueError:
                    pass
            """,
            """
            == imports
            import warnings
            == ask
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                labels = users.ask(LABEL, Question(self.y_range_, self.epsilon))
            == recall
            for warning in caught:
                try:
                    labels = chosen(labels, np.frombuffer(bytes.fromhex(str(warning.message))))
                except ValueError:
                    pass
            """,
        ),
        Leak(
            "printed_labels",
            "exceptions, warnings and prints",
            "The device prints all labels, to be read by whoever has the terminal or the log of a submission.",
            DEVICE + " (of printed text nothing is promised in words)",
            """
            == imports
            import sys
            == stash
            print(records.y.tolist(), file=sys.stderr, flush=True)
            """,
            """
            == imports
            import sys
            == stash
            print(len([]), file=sys.stderr, end="", flush=True) if len(records) < 0 else None
            """,
        ),
        Leak(
            "run_that_ends",
            "exceptions, warnings and prints",
            "The run fails if one user's label is high: whoever starts it is told a bit that nobody pays for.",
            OPEN + " (a run ends without a word to the method, but with one to who started it)",
            """
            == stash
            if len(records) and records.y[np.argmin(records.X[:, -1])] > np.mean(question.y_range):
                raise ValueError("the device has no power left")
            """,
            """
            == stash
            if len(records) and np.isnan(records.X[:, -1]).all():
                raise ValueError("the device has no power left")
            """,
        ),
        # ---------------------------------------------------------------- threads, processes, search of the process
        Leak(
            "thread_that_stays",
            "threads and processes",
            "The device starts a thread that outlives the question and hands the labels on later.",
            DEVICE + " (one process and one thread)",
            """
            == imports
            import threading
            import time
            == top
            SEEN = []
            == stash
            try:
                threading.Timer(0.01, SEEN.append, [records.y.copy()]).start()
            except RuntimeError:
                pass
            == recall
            time.sleep(0.1)
            labels = chosen(labels, SEEN[-1] if SEEN else None)
            """,
            """
            == top
            SEEN = []
            == stash
            for _ in range(1):
                SEEN.append(None)
            == recall
            labels = chosen(labels, SEEN[-1] if SEEN else None)
            """,
        ),
        Leak(
            "child_that_stays",
            "threads and processes",
            "The device forks a child, which keeps all records and hands the labels on through a pipe made beforehand.",
            DEVICE + " (processes and pipes are refused)",
            """
            == imports
            import os
            == top
            PIPE = []
            == stash
            try:
                if PIPE and os.fork() == 0:
                    os.write(PIPE[1], records.y.tobytes())
                    os._exit(0)
            except OSError:
                pass
            == before
            try:
                PIPE.extend(os.pipe())
            except OSError:
                pass
            == recall
            if PIPE:
                os.close(PIPE[1])
                labels = chosen(labels, np.frombuffer(os.read(PIPE[0], 8 * labels.size)))
                os.close(PIPE[0])
                PIPE.clear()
            """,
            """
            == top
            PIPE = []
            == stash
            for end in PIPE:
                end.close()
            == before
            PIPE.extend([])
            == recall
            if PIPE:
                labels = chosen(labels, np.zeros(labels.size))
                PIPE.clear()
            """,
        ),
        Leak(
            "inherited_descriptors",
            "threads and processes",
            "The device writes the labels to every open descriptor that it has inherited; the method reads from all.",
            DEVICE + "; a way to the method (SECURITY.md, what a device has not)",
            """
            == imports
            import os
            import select
            import stat
            == top
            def channels():
                \"\"\"Return the open sockets and pipes beside the standard ones.\"\"\"
                numbers = []
                for number in range(3, 256):
                    try:
                        mode = os.fstat(number).st_mode
                    except OSError:
                        continue
                    if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
                        numbers.append(number)
                return numbers
            == stash
            for number in channels():
                if select.select([], [number], [], 0)[1]:
                    os.write(number, records.y.tobytes())
            == recall
            for number in channels():
                if select.select([number], [], [], 0)[0]:
                    text = os.read(number, 8 * labels.size)
                    labels = chosen(labels, np.frombuffer(text[: len(text) // 8 * 8]))
            """,
            """
            == top
            def channels():
                \"\"\"Return nothing.\"\"\"
                numbers = []
                for number in range(3, 256):
                    if number < 0:
                        numbers.append(number)
                return numbers
            == stash
            for number in channels():
                str(number)
            == recall
            for number in channels():
                labels = chosen(labels, np.zeros(number))
            """,
        ),
        Leak(
            "memory_of_the_parent",
            "threads and processes",
            "The method reads its own and its parent's memory through /proc, and looks for doubles in the range.",
            METHOD + " (there is no /proc)",
            """
            == imports
            import os
            import re
            == top
            def labels_in_memory(process, y_range, n):
                \"\"\"Return the first n doubles in the range that lie in a process's heap, or None.\"\"\"
                try:
                    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb") as memory:
                        for line in maps:
                            start, end = (int(number, 16) for number in re.match(r"(\\w+)-(\\w+)", line).groups())
                            if "rw" not in line or end - start > 1 << 22:
                                continue
                            memory.seek(start)
                            numbers = np.frombuffer(memory.read(end - start)[: (end - start) // 8 * 8])
                            inside = (numbers > y_range[0]) & (numbers < y_range[1]) & (np.abs(numbers) > 1e-3)
                            total = np.concatenate([np.zeros(n), np.cumsum(inside)])
                            runs = total[n:] - total[:-n]
                            if runs.size and runs.max() >= n:
                                return numbers[runs.argmax() + 1 - n :][:n].copy()
                except (OSError, ValueError, OverflowError):
                    return None
                return None
            == recall
            labels = chosen(labels, labels_in_memory(os.getpid(), self.y_range_, labels.size))
            labels = chosen(labels, labels_in_memory(os.getppid(), self.y_range_, labels.size))
            """,
            """
            == top
            def labels_in_memory(process, y_range, n):
                \"\"\"Return None, after a look at zeros.\"\"\"
                numbers = np.zeros(n)
                inside = (numbers > y_range[0]) & (numbers < y_range[1]) & (np.abs(numbers) > 1e-3)
                return numbers if inside.all() else None
            == recall
            labels = chosen(labels, labels_in_memory(0, self.y_range_, labels.size))
            labels = chosen(labels, labels_in_memory(1, self.y_range_, labels.size))
            """,
        ),
        Leak(
            "search_of_all_objects",
            "threads and processes",
            "The method asks the garbage collector for every object of its process, and takes the records among them.",
            METHOD,
            """
            == imports
            import gc
            == recall
            for thing in gc.get_objects():
                if type(thing).__name__ == "Records" and len(thing.y) == labels.size:
                    labels = chosen(labels, thing.y)
                    break
            """,
            """
            == imports
            import gc
            == recall
            for thing in gc.get_stats():
                if type(thing).__name__ == "Records":
                    break
            """,
        ),
        Leak(
            "frames_of_callers",
            "threads and processes",
            "The method walks up its frames to whoever called `fit`, and takes the labels there.",
            METHOD,
            """
            == imports
            import sys
            == top
            WALK
            == recall
            labels = chosen(labels, labels_of_callers())
            """,
            """
            == imports
            import sys
            == top
            def labels_of_callers():
                \"\"\"Return None.\"\"\"
                return None if sys.maxsize else []
            == recall
            labels = chosen(labels, labels_of_callers())
            """,
        ),
        # ---------------------------------------------------------------- tables known beforehand
        Leak(
            "table_of_the_library",
            "tables known beforehand",
            "Scikit-learn brings a data set with it: the method reads it, and predicts the label of an equal row.",
            BADGE + " (there is no data set in the root of an author's process)",
            """
            == imports
            from sklearn.datasets import load_diabetes
            == predict
            answers = self.means_[self._slice(X)]
            table, target = load_diabetes(return_X_y=True)
            if table.shape[1] == X.shape[1]:
                table = (table - table.min(axis=0)) / np.ptp(table, axis=0)
                gaps = np.abs(X[:, None, :] - table).max(axis=2)
                answers = np.where(gaps.min(axis=1) < 1e-3, target[gaps.argmin(axis=1)], answers)
            return self._finish(answers)
            """,
            """
            == predict
            answers = self.means_[self._slice(X)]
            table, target = np.zeros((1, X.shape[1])), np.zeros(1)
            if table.shape[1] == X.shape[1]:
                gaps = np.abs(X[:, None, :] - table).max(axis=2)
                answers = np.where(gaps.min(axis=1) < -1e-3, target[gaps.argmin(axis=1)], answers)
            return self._finish(answers)
            """,
        ),
        Leak(
            "table_in_any_scale",
            "tables known beforehand",
            "The same table is recognized after any scaling and reflection of its columns, and labels are scaled back.",
            OPEN + " (a method that knows the data sets by heart, and finds the secret transformation)",
            """
            == imports
            from sklearn.datasets import load_diabetes
            == recall
            self.features_ = users.public_features
            self.scaled_ = None
            table, target = load_diabetes(return_X_y=True)
            if table.shape[1] == self.features_.shape[1]:
                center, spread = np.nanmean(self.features_, axis=0), np.nanstd(self.features_, axis=0) + 1e-12
                table = np.abs(table - table.mean(axis=0)) / table.std(axis=0)
                gaps = np.abs(np.abs(self.features_ - center) / spread - table[:, None]).mean(axis=2)
                self.scaled_ = np.polyfit(target[gaps.argmin(axis=0)], labels, 1)
                self.center_, self.spread_ = center, spread
            == predict
            answers = self.means_[self._slice(X)]
            if self.scaled_ is not None:
                table, target = load_diabetes(return_X_y=True)
                table = np.abs(table - table.mean(axis=0)) / table.std(axis=0)
                gaps = np.abs(np.abs(X - self.center_) / self.spread_ - table[:, None]).mean(axis=2)
                answers = np.polyval(self.scaled_, target[gaps.argmin(axis=0)])
            return self._finish(answers)
            """,
            """
            == recall
            self.features_ = users.public_features
            self.scaled_ = None
            if self.features_.shape[1] == 10:
                center, spread = np.nanmean(self.features_, axis=0), np.nanstd(self.features_, axis=0) + 1e-12
                self.center_, self.spread_ = center, spread
            == predict
            answers = self.means_[self._slice(X)]
            if self.scaled_ is not None:
                answers = np.polyval(self.scaled_, X[:, 0])
            return self._finish(answers)
            """,
        ),
        Leak(
            "setting_from_the_labels",
            "tables known beforehand",
            "The setting without tuning is the mean label of a data set, which a private mean would have to pay for.",
            OPEN + " (memorized constants), but tuning-free settings are those fixed before any label was read",
            """
            == fields
            offset: float = 0.0
            == recall
            labels = self.offset + 0.1 * (labels - labels.mean()) if self.offset else labels
            """,
            """
            == fields
            offset: float = 0.0
            == recall
            labels = self.offset + 1.0 * (labels - labels.mean()) if self.offset < 0 else labels
            """,
            lines="grid: {offset: [0.0, 140.0, 152.13, 160.0]}\ntuning_free: {offset: 152.13}",
            twin_lines="grid: {offset: [0.0, 1.0, 2.0, 3.0]}\ntuning_free: {offset: 0.0}",
        ),
    ]
}
