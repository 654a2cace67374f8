"""The keeper of records: runs an author's method and devices in other processes, where no private record is.

Three places. At the *method*'s are public values and what users answered; at the *device*'s the records and question of
one request, which nothing outlives; here, at the keeper's, records and scores, and none of the author's code. A device
is its mechanism, one of this library's, and the inputs of each record: the keeper draws, charges and reports.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import ClassifierTags, Tags, TargetTags

from lpbench import errors
from lpbench.audit.accounting import more_than_stated
from lpbench.audit.author_process import Pipe
from lpbench.audit.codec import decode, encode, library_object, no_object
from lpbench.audit.isolation import Isolation, isolation
from lpbench.audit.recording import RecordedUsers, Recording
from lpbench.errors import DataError, LpbenchError, PrivacyError
from lpbench.paths import own_folders
from lpbench.privacy import Device, Guarantee, Mechanism, Records, Release, SimulatedUsers, Users
from lpbench.privacy.device import of_the_library
from lpbench.privacy.spending import numeric_bits

#: Seconds of one request.
SECONDS = 600.0
#: Memory in huge pages, of which a fork copies few: a request takes half as long.
HUGE_PAGES = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class Refused(PrivacyError):
    """The run is over: the method is not told why, since the reason may depend on a private value."""


@dataclass(eq=False)
class Place:
    """A process for an author's code, started before any record is at hand."""

    isolation: Isolation
    seconds: float = SECONDS
    path: Sequence[str] = ()  # folders of the author's modules
    #: By device and question, then by what was asked: the inputs of the records.
    given: dict[tuple[bytes, bytes], dict[bytes, np.ndarray]] = field(default_factory=dict)
    #: Likewise, what a further request is checked beside: all inputs, of single numbers the least and largest.
    beside: dict[tuple[bytes, bytes], np.ndarray] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # with the first process of its namespace, which ends all others
        self._process.__exit__(None, None, None)  # waits for its end, not for who else holds its pipes

    def _start(self) -> None:
        paths = os.pathsep.join(str(Path(folder or ".").resolve()) for folder in sys.path)
        self._process = self.isolation.start(
            [sys.executable, "-B", "-P", "-m", "lpbench.audit.author_process"],
            {"PYTHONHASHSEED": "0", "PYTHONPATH": paths} | HUGE_PAGES,
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin and self._process.stdout
        self._pipe = Pipe(self._process.stdout.fileno(), self._process.stdin.fileno())
        os.set_blocking(self._pipe.write_to, False)
        self._secret = secrets.token_bytes(32)
        self._pipe.send(self._secret)

    def call(self, do: str, users: Serving | None = None, /, **asked: Any) -> dict[str, Any]:
        """Make a request, and answer what it asks users meanwhile."""
        try:
            result = self._converse(encode({"do": do, "path": list(self.path), **asked}), users)
        except BaseException as error:  # the process is still in the middle of it
            self.__exit__()
            self._start()
            if isinstance(error, TimeoutError):
                raise Refused(f"the author's code took over {self.seconds:g} s") from None
            raise
        if "failed" in result:
            raise getattr(errors, result["failed"], PrivacyError)(result["text"])
        return result["result"]  # type: ignore[no-any-return]

    def _converse(self, request: bytes, users: Serving | None) -> dict[str, Any]:
        self._pipe.end, result = time.monotonic() + self.seconds, None
        self._pipe.send(request)
        while (message := self._pipe.receive()) != self._secret:
            if message is None:
                raise Refused("the author's code ended")
            found = decode(bytes(message), no_object)
            if result is not None or ("verb" in found and users is None):
                raise Refused("the author's code answers what was not asked")
            if "verb" in found:
                assert users is not None
                self._pipe.send(users.answer(found))
            else:
                result = found
        if result is None:
            raise Refused("the author's code ended its process")
        return result  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class OwnQuestion:
    """A question of the author's own class, as data."""

    content: bytes
    in_parts: bool  # whether each user has a part of it
    users: np.ndarray | None = None  # positions of the users whose part it is; None: of all

    @property
    def broadcast_bits(self) -> float:
        return numeric_bits(decode(self.content, lambda name, attributes: attributes))

    def take(self, users: Any) -> OwnQuestion:
        if not self.in_parts:
            return self
        return replace(self, users=np.asarray(users) if self.users is None else self.users[users])


@dataclass(frozen=True)
class OwnDevice(Device[OwnQuestion]):
    """A device of the author's own: inputs come from its place, mechanism and length from what its method says."""

    content: bytes
    own: Mechanism
    length: int
    place: ClassVar[Place]

    def mechanism(self, question: OwnQuestion) -> Mechanism:
        return self.own

    def inputs(self, records: Records, question: OwnQuestion) -> np.ndarray:
        asked = {"device": self.content, "question": question.content, "users": question.users}
        asked |= {"X": records.X, "y": records.y, "mask": records.mask}
        about = self.content, question.content
        given = self.place.given.setdefault(about, {})
        key = hashlib.blake2b(encode(asked)).digest()
        if key not in given:
            rows = self._rows(asked, len(records))
            before = self.place.beside.get(about, rows[:0])
            if before.shape[1:] != rows.shape[1:]:
                raise Refused(f"{type(self).__name__}.inputs are not as long for every record")
            joined = np.concatenate([before, rows])
            self.own.check_inputs(joined)  # also of users who are asked alone
            ends = joined.size and joined.size == len(joined)
            self.place.beside[about] = joined[[joined.argmin(), joined.argmax()]] if ends else joined
            given[key] = rows
        return given[key]

    def _rows(self, asked: dict[str, Any], n: int) -> np.ndarray:
        try:
            found = self.place.call("inputs", **asked)["inputs"]
        except LpbenchError as error:  # whether it fails may depend on a record: the method does not hear of it
            raise Refused(f"{type(self).__name__}.inputs: {error}") from error
        if np.ndim(found) < 1 or len(found) != n or found.dtype.kind not in "biuf":
            raise Refused(f"{type(self).__name__}.inputs returns shape {np.shape(found)} for {n} records")
        return found  # type: ignore[no-any-return]

    def columns(self, question: OwnQuestion) -> int:
        return self.length


@cache
def _own_device(name: str, place: Place) -> type[OwnDevice]:
    """The class of the devices of that name at a place, so that complaints have the author's word."""
    return type(name, (OwnDevice,), {"place": place})


@dataclass(eq=False)
class Serving:
    """The users of one run, asked from another process by the verbs below and by nothing else."""

    users: Users
    devices: Place
    _taken: list[Users] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._taken.append(self.users)

    def view(self) -> dict[str, Any]:
        users = self.users
        return {
            "handle": 0,
            "n": users.n,
            "n_features": users.n_features,
            "mask": users.mask,
            "y_range": users.y_range,
            "classes": users.classes,
            "public": None if users.public is None else tuple(users.public),
        }

    def answer(self, asked: dict[str, Any]) -> bytes:
        """Answer a verb; errors that depend on questions alone reach the method, others end the run."""
        verbs: dict[str, Callable[..., Any]] = {
            "public_features": lambda users: users.public_features,
            "spent": lambda users: vars(users.spent),
            "ask": self._ask,
            "sums": self._sums,
            "release": self._release,
            "take": self._take,
            "note": Users.note,
        }
        try:
            verb, users = verbs[asked.pop("verb")], self._taken[asked.pop("on")]
            return encode({"answer": verb(users, **asked)})
        except (Refused, DataError) as error:
            raise Refused(str(error)) from error
        except LpbenchError as error:
            return encode({"error": type(error).__name__, "text": str(error)})
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Refused(f"the method asks what users do not answer: {error!r}") from error

    def _take(self, users: Users, who: np.ndarray) -> int:
        self._taken.append(users.take(who))
        return len(self._taken) - 1

    def _ask(self, users: SimulatedUsers, who: np.ndarray | None, **told: Any) -> np.ndarray:
        device, question = self._understood(**told)
        self._check(device, question, users, who)
        return users.ask(device, question, who)

    def _check(self, device: Any, question: Any, users: SimulatedUsers, who: np.ndarray | None = None) -> None:
        """Refuse a device of the library that a question of the author's makes lose more than it states."""
        if not isinstance(device, OwnDevice) and (who is None or len(who)):
            asked = RecordedUsers(users, Recording()).entry("ask", device, question, None, who)
            for what in more_than_stated(asked, users.y_range, 0 if users.classes is None else users.classes.size):
                raise PrivacyError(what)

    def _sums(self, users: SimulatedUsers, by: np.ndarray | None, **told: Any) -> np.ndarray | None:
        understood = self._understood(**told)
        self._check(*understood, users)
        return None if isinstance(understood[0], OwnDevice) else users.sums(*understood, by)

    def _release(self, users: SimulatedUsers, device: bytes, question: bytes) -> np.ndarray:
        try:
            release, about = decode(device, library_object), decode(question, library_object)
        except PrivacyError as error:
            raise PrivacyError(f"a release is one of this library's statistics; {error}") from error
        self._check(release, about, users)
        return users.release(release, about)

    def _understood(
        self,
        device: bytes,
        question: bytes,
        mechanism: bytes,
        name: str,
        replaced: Sequence[str],
        columns: int,
        in_parts: bool,
    ) -> tuple[Any, Any]:
        """The library's device and question, or the author's at their own place."""
        try:
            found = decode(device, library_object), decode(question, library_object)
            if isinstance(found[0], Device) and not isinstance(found[0], Release):
                return found
        except PrivacyError:
            pass
        if replaced:
            raise PrivacyError(
                f"{name} states {', '.join(replaced)} of its own; a device states its mechanism and the inputs of a "
                "record, and the harness draws, reports and charges"
            )
        own = decode(mechanism, library_object)
        if not (isinstance(own, Mechanism) and of_the_library(own)):
            raise PrivacyError(f"{name}.mechanism returns a {type(own).__name__}, no mechanism of this library")
        return _own_device(name, self.devices)(device, own, int(columns)), OwnQuestion(question, bool(in_parts))


@dataclass(frozen=True)
class Foreign:
    """A method of somebody's own, described by its place; no object of its author is here."""

    estimator: str  # dotted path of the class
    params: dict[str, Any]
    classifier: bool
    multi_class: bool
    replaced: list[str]  # ways in that its class defines anew
    uses_mask: bool
    uses_epsilon: bool
    uses_public: bool
    exceeds_budget: bool
    protects: str

    @property
    def epsilon(self) -> float:
        return float(self.params.get("epsilon", math.inf))

    def __sklearn_tags__(self) -> Tags:
        kind = "classifier" if self.classifier else "regressor"
        own = ClassifierTags(multi_class=self.multi_class) if self.classifier else None
        return Tags(estimator_type=kind, target_tags=TargetTags(required=True), classifier_tags=own)

    def with_params(self, **params: Any) -> Foreign:
        """The same with other values of parameters that it has."""
        return replace(self, params={**self.params, **{k: v for k, v in params.items() if k in self.params}})


@dataclass(eq=False)
class Places:
    """The two places of one author's code, each shut in by the operating system as far as that can be had here."""

    seconds: float = SECONDS
    method: Place = field(init=False)
    device: Place = field(init=False)
    held: dict[str, bool] = field(init=False)  # what the isolation holds, tried from inside
    by: str = field(init=False, default="none")
    path: Sequence[str | Path] = ()  # folders of the author's modules; default: those of plug-ins

    def __enter__(self) -> Self:
        self._open = ExitStack()
        path = [self._copied(Path(p)) for p in self.path or own_folders()]
        for name in ("method", "device"):
            folder = Path(self._open.enter_context(TemporaryDirectory(prefix="lpbench-place-"))).resolve()
            how, self.held = isolation(folder, self.seconds, folder.parent, readable=path)
            place = Place(how, self.seconds, [str(folder) for folder in path])
            setattr(self, name, self._open.enter_context(place))
        self.by = how.by
        return self

    def _copied(self, folder: Path) -> Path:
        """A copy of an author's modules that somebody with fewer rights than ours can read."""
        copy = Path(self._open.enter_context(TemporaryDirectory(prefix="lpbench-code-"))).resolve()
        for module in folder.rglob("*.py"):
            (copy / module.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(module, copy / module.relative_to(folder))
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)
        return copy

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # processes cannot be copied

    def describe(self, estimator: str, params: Mapping[str, Any]) -> Foreign:
        """What the harness must know of a method."""
        return Foreign(estimator, **self.method.call("describe", estimator=estimator, params=dict(params)))

    def learn(self, model: Foreign, users: Users, random_state: Any) -> bytes:
        """Let the method learn from users here; returns the fitted model, which only its place can read."""
        self.device.given.clear()
        self.device.beside.clear()
        serving = Serving(users, self.device)
        params = {**model.params, "random_state": random_state}
        asked = {"estimator": model.estimator, "params": params, "view": serving.view()}
        return self.method.call("learn", serving, **asked)["model"]  # type: ignore[no-any-return]

    def predict(self, fitted: bytes, X: np.ndarray, by: str = "predict") -> tuple[np.ndarray, Guarantee | None]:
        """Predictions of a fitted model in a process without users, and what it says was spent."""
        found = self.method.call("predict", model=fitted, X=X, by=by)
        told = found["guarantee"]
        return found["predictions"], None if told is None else Guarantee(**told)
