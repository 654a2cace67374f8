"""The keeper of records: runs an author's method and devices in other processes, where no private record is.

Three places. At the *method*'s are public values and what users answered; at the *device*'s the records and question of
one request, which nothing outlives, while the method is stopped; here, at the keeper's, records and scores, and none of
the author's code. A device is its mechanism, one of this library's, and the inputs of each record: the keeper holds
them to the domain and to what they are among others, draws, charges and reports.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import numpy as np

from lpbench import errors
from lpbench.audit.accounting import more_than_stated
from lpbench.audit.author_process import Pipe
from lpbench.audit.codec import decode, encode, library_object, no_object
from lpbench.audit.isolation import HELD, ONE_THREAD
from lpbench.audit.recording import RecordedUsers, Recording
from lpbench.audit.samples import planted_densely
from lpbench.errors import DataError, LpbenchError, PrivacyError
from lpbench.paths import PROJECT, ROOT, own_folders
from lpbench.privacy import Device, Guarantee, Mechanism, Records, Release, SimulatedUsers, Users
from lpbench.privacy.device import of_the_library
from lpbench.privacy.spending import numeric_bits

#: Seconds of one request.
CALL_SECONDS = 600.0
#: Random parts of those asked, in each of which a record's input is computed again.
COHORTS = 8
#: Memory in huge pages, of which a fork copies few: a request takes half as long.
HUGE_PAGES = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class Refused(PrivacyError):
    """End of a run whose reason the method must not learn, since it may depend on a private value."""


@dataclass(frozen=True, eq=False)
class OwnQuestion:
    """Question of a class of the method's author, as plain data: the harness runs none of the class's code."""

    content: bytes
    in_parts: bool  # whether each user has a part of it
    users: np.ndarray | None = None  # positions of the users whose part it is; None: of all

    @property
    def broadcast_bits(self) -> float:
        """Bits of the numbers in the question."""
        return numeric_bits(decode(self.content, lambda name, attributes: attributes))

    def take(self, users: Any) -> OwnQuestion:
        """Return the question for some of the users asked, if it has a part for each user."""
        if not self.in_parts:
            return self
        return replace(self, users=np.asarray(users) if self.users is None else self.users[users])


@dataclass(frozen=True)
class OwnDevice(Device[OwnQuestion]):
    """Device of a class of the method's author; his isolated process computes inputs, the harness draws the reports.

    ``own`` is the mechanism and ``length`` the report length that the author's method stated with the question;
    ``content`` is the device as data, ``serving`` the run.
    """

    content: bytes
    own: Mechanism
    length: int
    serving: ClassVar[Serving]

    def mechanism(self, question: OwnQuestion) -> Mechanism:
        """Return the mechanism that the author's method named."""
        return self.own

    def inputs(self, records: Records, question: OwnQuestion) -> np.ndarray:
        """Have the author's process compute the inputs of records."""
        return self.serving.inputs(self, records, question)

    def columns(self, question: OwnQuestion) -> int:
        """Return the stated length of a report."""
        return self.length


@cache
def _own_device(name: str, serving: Serving) -> type[OwnDevice]:
    """Make the subclass of OwnDevice for an author's device class of that name, so that complaints can name it."""
    return type(name, (OwnDevice,), {"serving": serving})


@dataclass(eq=False)
class Serving:
    """Harness's side of one run: it holds the users and answers the requests of the author's isolated process."""

    users: Users
    places: Places
    uses_mask: bool = True  # else the method and its devices have a mask by which everything is protected
    uses_public: bool = True  # else the method has no public sample
    _taken: list[Users] = field(default_factory=list)
    #: By device, question and records: their inputs, which an equal request has, too.
    _given: dict[bytes, np.ndarray] = field(default_factory=dict)
    #: By device and question, what all further inputs are checked beside: those of before, of single numbers the ends.
    _beside: dict[tuple[bytes, bytes], np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._taken.append(self.users)

    def view(self) -> dict[str, Any]:
        """Return the public facts that a method starts with."""
        users = self.users
        return {
            "handle": 0,
            "n": users.n,
            "n_features": users.n_features,
            "mask": self._mask(users.mask),
            "y_range": users.y_range,
            "classes": users.classes,
            "public": tuple(users.public) if self.uses_public and users.public is not None else None,
        }

    def answer(self, request: dict[str, Any]) -> bytes:
        """Answer one request; an error that depends on the question alone is sent back, any other ends the run."""
        verbs: dict[str, Callable[..., Any]] = {
            "public_features": self._public_features,
            "spent": lambda users: vars(users.spent),
            "ask": self._ask,
            "sums": self._sums,
            "release": self._release,
            "take": self._take,
            "note": Users.note,
        }
        try:
            verb, users = verbs[request.pop("verb")], self._taken[request.pop("on")]
            return encode({"answer": verb(users, **request)})
        except (Refused, DataError) as error:
            raise Refused(str(error)) from error
        except LpbenchError as error:
            return encode({"error": type(error).__name__, "text": str(error)})
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Refused(f"the method asks what users do not answer: {error!r}") from error

    def inputs(self, device: OwnDevice, records: Records, question: OwnQuestion) -> np.ndarray:
        """Return the mechanism inputs of records; each must depend on its own record, whoever else is asked."""
        request = {"device": device.content, "question": question.content, "users": question.users}
        key = hashlib.blake2b(encode({**request, "X": records.X, "y": records.y, "mask": records.mask})).digest()
        if key not in self._given:
            rows = self._rows(device, records, question)
            self._hold_to_domain(device, records, question, rows)
            order = np.random.default_rng(secrets.randbits(128)).permutation(len(records))
            for cohort in np.array_split(order, min(COHORTS, len(order))) if len(order) > 1 else ():
                again, given = self._rows(device, records.take(cohort), question.take(cohort)), rows[cohort]
                near = 1e-9 * float(np.ptp(rows)) if rows.size and rows.dtype.kind == "f" else 0.0
                if again.shape != given.shape or not (np.abs(np.subtract(again, given, dtype=float)) <= near).all():
                    raise Refused(f"inputs of {type(device).__name__} change with who else is asked, or their order")
            self._given[key] = rows
        return self._given[key]

    def _hold_to_domain(self, device: OwnDevice, records: Records, question: OwnQuestion, rows: np.ndarray) -> None:
        """End the run if inputs ``rows`` leave the mechanism's domain, also jointly with earlier answers' inputs.

        Inputs of densely planted records are computed beside those of the users; Refused tells the harness alone.
        """
        about, name = (device.content, question.content), type(device).__name__
        if about not in self._beside:
            self._beside[about] = rows[:0]
            if len(rows) and (hasattr(device.own, "sensitivity") or rows.ndim > 1):  # other domains are absolute
                n_classes = 0 if self.users.classes is None else self.users.classes.size
                dense = planted_densely(records, self.users.y_range, n_classes)
                self._beside[about] = self._rows(device, dense, question.take(np.zeros(len(dense), dtype=int)))
        before = self._beside[about]
        if before.shape[1:] != rows.shape[1:]:
            raise Refused(f"{name}.inputs are not as long for every record")
        joined = np.concatenate([before, rows])
        try:
            device.own.check_inputs(joined)
        except LpbenchError as error:
            raise Refused(f"{name}, with some value that a user may hold: {error}") from error
        ends = joined.size and joined.size == len(joined)
        self._beside[about] = joined[[joined.argmin(), joined.argmax()]] if ends else joined

    def _rows(self, device: OwnDevice, records: Records, question: OwnQuestion) -> np.ndarray:
        """Inputs of records (n, ...), computed by a new isolated process that ends afterwards."""
        request = {"device": device.content, "question": question.content, "users": question.users}
        mask = None if records.mask is None else self._mask(records.mask)
        try:
            computed = self.places.call("inputs", **request, X=records.X, y=records.y, mask=mask)["inputs"]
        except LpbenchError as error:  # whether it fails may depend on a record: the method does not hear of it
            raise Refused(f"{type(device).__name__}.inputs: {error}") from error
        if np.ndim(computed) < 1 or len(computed) != len(records) or computed.dtype.kind not in "biuf":
            shape = np.shape(computed)
            raise Refused(f"{type(device).__name__}.inputs returns shape {shape} for {len(records)} records")
        return computed  # type: ignore[no-any-return]

    def _mask(self, mask: np.ndarray) -> np.ndarray:
        """Return the mask as the method may see it: everything protected where it says that it uses none."""
        return mask | (not self.uses_mask)

    def _public_features(self, users: Users) -> np.ndarray:
        return users.public_features if self.uses_mask else np.full((users.n, users.n_features), np.nan)

    def _take(self, users: Users, who: np.ndarray) -> int:
        self._taken.append(users.take(who))
        return len(self._taken) - 1

    def _ask(self, users: SimulatedUsers, who: np.ndarray | None, **description: Any) -> np.ndarray:
        device, question = self._understood(**description)
        self._check(device, question, users, who)
        return users.ask(device, question, who)

    def _check(self, device: Any, question: Any, users: SimulatedUsers, who: np.ndarray | None = None) -> None:
        """Refuse a question of the author's to a library device if it would lose more than the device states.

        ``who`` are the users asked, None: all. PrivacyError names the excess.
        """
        if not isinstance(device, OwnDevice) and (who is None or len(who)):
            entry = RecordedUsers(users, Recording()).entry("ask", device, question, None, who)
            for what in more_than_stated(entry, users.y_range, 0 if users.classes is None else users.classes.size):
                raise PrivacyError(what)

    def _sums(self, users: SimulatedUsers, by: np.ndarray | None, **description: Any) -> np.ndarray | None:
        understood = self._understood(**description)
        self._check(*understood, users)
        return None if isinstance(understood[0], OwnDevice) else users.sums(*understood, by)

    def _release(self, users: SimulatedUsers, device: bytes, question: bytes) -> np.ndarray:
        """Release a statistic of the users by one of the library's trusted curators; PrivacyError for any other."""
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
        """Rebuild device and question from data: the library's own objects, else stand-ins for the author's classes.

        ``mechanism``, ``name``, ``replaced`` (statements that the class overrides), ``columns`` and ``in_parts`` are
        what the author's process stated. PrivacyError for an overridden statement or a mechanism that is not the
        library's.
        """
        try:
            pair = decode(device, library_object), decode(question, library_object)
            if isinstance(pair[0], Device) and not isinstance(pair[0], Release):
                return pair
        except PrivacyError:
            pass
        if replaced:
            raise PrivacyError(
                f"{name} states {', '.join(replaced)} of its own; a device states its mechanism and the inputs of a "
                "record, and the harness draws, reports and charges"
            )
        stated = decode(mechanism, library_object)
        if not (isinstance(stated, Mechanism) and of_the_library(stated)):
            raise PrivacyError(f"{name}.mechanism returns a {type(stated).__name__}, no mechanism of this library")
        if not stated.discrete:
            raise PrivacyError(
                f"{type(stated).__name__} sends doubles, whose rounding gives values away: for simulations"
            )
        return _own_device(name, self)(device, stated, int(columns)), OwnQuestion(question, bool(in_parts))


def modules_of(folder: Path) -> list[Path]:
    """Return the modules and YAML below a folder, but for hidden folders, environments and this library."""
    listed = []
    for where, below, names in os.walk(folder):
        within = [name for name in below if not (name.startswith(".") or Path(where, name) == PROJECT[0])]
        below[:] = sorted(name for name in within if not Path(where, name, "pyvenv.cfg").exists())
        listed += [Path(where, name) for name in sorted(names) if name.endswith((".py", ".yaml"))]
    return [path for path in listed if path.is_file()]


@dataclass(frozen=True)
class Foreign:
    """Facts about somebody else's method, as its isolated process describes them; no object of its author is here.

    ``estimator`` is the class's dotted path, ``params`` its parameters, ``protects`` the part of a record that it
    protects, and ``replaced`` lists methods of the base that it overrides though it should not.
    """

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


@dataclass(eq=False)
class Places:
    """Isolated processes for an author's code: one for each request, shut in as far as this machine allows.

    The server that forks them starts before any record is at hand, and meets neither code nor requests.
    """

    seconds: float = CALL_SECONDS
    path: Sequence[str | Path] = ()  # folders of the author's modules and their YAML; default: those of plug-ins
    copies: dict[Path, Path] = field(init=False)  # of those folders, that somebody with fewer rights than ours can read
    seconds_of_fits: list[float] = field(default_factory=list, init=False)  # as the method's processes say
    held: dict[str, bool] = field(init=False)  # what the isolation holds, tried from inside
    by: str = field(init=False, default="none")

    def __enter__(self) -> Self:
        """Start the server of the author's processes, in namespaces if those hold here; record which barriers do."""
        self._open = ExitStack()
        code, folder = (self._folder(f"lpbench-{name}-") for name in ("code", "root"))
        self.copies = {
            Path(p).resolve(): self._copied(Path(p), code / str(k)) for k, p in enumerate(self.path or own_folders())
        }
        for self.by in ("namespaces", "none"):
            try:
                self._server = self._open.enter_context(self._started(folder))
                tried = {"outside": str(code), "folders": [str(folder), str(code), str(ROOT)]}
                one, several = self.call("held", **tried), self.call("held", None, True, **tried)
                self.held = {what: had and several[what] for what, had in one.items()}
            except (OSError, LpbenchError):
                self.held = dict.fromkeys(HELD, False)
            if all(self.held.values()):
                break
        return self

    @property
    def there(self) -> list[str]:
        """Paths of the author's folders as seen from inside the isolated processes."""
        return [str(folder if self.by != "none" else copy) for folder, copy in self.copies.items()]

    @property
    def words(self) -> str:
        """Describe the barriers that hold, for reports; or say that none does."""
        if all(self.held.values()):
            return self.by
        return "none: the code is held back by its own process alone, against mistakes and not against its author"

    def _folder(self, prefix: str) -> Path:
        return Path(self._open.enter_context(TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True))).resolve()

    @contextmanager
    def _started(self, folder: Path) -> Iterator[socket.socket]:
        """Start the author's server process with an empty environment and yield our end of its socket."""
        ours, theirs = socket.socketpair()
        paths = [str(PROJECT[0].parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        command = [sys.executable, "-B", "-P", "-m", "lpbench.audit.author_process"]
        environment = (
            {"PATH": os.defpath, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(paths)}
            | HUGE_PAGES
            | ONE_THREAD
            | dict.fromkeys(("HOME", "TMPDIR"), "/dev/shm")
        )
        with theirs:
            server = subprocess.Popen(
                [*command, str(theirs.fileno()), str(folder), str(self.seconds)],
                env=environment,
                cwd=folder,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        with server, ours:  # whose end is the server's
            readable = {str(path): str(copy) for path, copy in self.copies.items()}
            Pipe(ours.fileno()).send(encode({"apart": self.by != "none", "readable": readable}))
            if not ours.recv(1):
                raise PrivacyError("no process can be shut in here")
            yield ours

    def _copied(self, folder: Path, copy: Path) -> Path:
        """Copy an author's modules and YAML to ``copy``, where the isolated processes may read; return that path."""
        copy.mkdir()
        for module in modules_of(folder):
            (copy / module.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(module, copy / module.relative_to(folder))
        for path in (copy.parent, copy, *copy.rglob("*")):
            path.chmod(0o755)
        return copy

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # processes cannot be copied

    def call(self, do: str, users: Serving | None = None, several: bool = False, /, **arguments: Any) -> dict[str, Any]:
        """Make a request in a new isolated process, and answer its questions to users; it is stopped while they answer.

        With ``several`` it may start processes of its own, which end with it.
        """
        ours, theirs = socket.socketpair()
        warden, orders = socket.socketpair()
        with ours, warden:
            with theirs, orders:
                socket.send_fds(self._server, [b"n" if several else b"1"], [theirs.fileno(), orders.fileno()])
            try:
                result = self._converse(encode({"do": do, "path": self.there, **arguments}), users, ours, warden)
            except TimeoutError:
                raise Refused(f"the author's code took over {self.seconds:g} s") from None
            except OSError as error:
                raise Refused("the author's code ended") from error
            finally:
                warden.shutdown(socket.SHUT_WR)
                warden.recv(1)  # its end, with all processes
        if "failed" in result:
            raise getattr(errors, result["failed"], PrivacyError)(result["text"])
        return result["result"]  # type: ignore[no-any-return]

    def _converse(
        self, request: bytes, users: Serving | None, ours: socket.socket, warden: socket.socket
    ) -> dict[str, Any]:
        """Send a request and answer the process's questions about users until its result arrives, which is returned.

        ``ours`` is the socket to the process, ``warden`` the one that stops it while an answer is computed, so that it
        cannot time the harness. Refused if it ends, or asks where there are no users.
        """
        ours.setblocking(False)
        pipe = Pipe(ours.fileno())
        pipe.end = time.monotonic() + self.seconds
        pipe.send(request)
        while (message := pipe.receive()) is not None:
            content: dict[str, Any] = decode(bytes(message), no_object)
            if "verb" not in content:
                return content
            if users is None:
                raise Refused("the author's code asks users where there are none")
            for order in (b"s", b"c"):
                answer = users.answer(content) if order == b"c" else b""
                warden.send(order)
                if warden.recv(1) != order:
                    raise Refused("the author's code ended")
            pipe.send(answer)
        raise Refused("the author's code ended its process")

    def describe(self, estimator: str, params: Mapping[str, Any]) -> Foreign:
        """Return the facts about a method that the harness needs, from the author's process."""
        return Foreign(estimator, **self.call("describe", estimator=estimator, params=dict(params)))

    def learn(
        self,
        estimator: str,
        users: Users,
        params: Mapping[str, Any],
        uses_mask: bool = True,
        uses_public: bool = True,
    ) -> bytes:
        """Let a method learn from ``users`` in an isolated process; return the fitted model as its author's pickle."""
        serving = Serving(users, self, uses_mask, uses_public)
        learned = self.call("learn", serving, estimator=estimator, params=dict(params), view=serving.view())
        self.seconds_of_fits.append(float(learned["seconds"]))
        return learned["model"]  # type: ignore[no-any-return]

    def predict(self, fitted: bytes, X: np.ndarray, by: str = "predict") -> tuple[np.ndarray, Guarantee | None]:
        """Predict by a fitted model in an isolated process without users; return predictions and its ``guarantee_``."""
        reply = self.call("predict", model=fitted, X=X, by=by)
        stated = reply["guarantee"]
        return reply["predictions"], None if stated is None else Guarantee(**stated)
