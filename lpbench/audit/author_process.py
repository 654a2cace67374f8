"""Server process for an author's untrusted code: for each request it forks a process that is shut in by itself.

The server is outside: it has neither the author's code nor requests, which go from the keeper to the process of each by
a socket of its own. So nothing is kept from one request to the next. What the author's code prints goes nowhere.
"""

import gc
import os
import pickle
import select
import signal
import socket
import struct
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import sklearn.ensemble  # noqa: F401 - what forks share
from sklearn.neighbors import NearestNeighbors

import lpbench.estimators  # noqa: F401
from lpbench import errors
from lpbench.audit.codec import any_object, decode, encode, no_object
from lpbench.audit.isolation import make_root, shut_in, tried
from lpbench.errors import LpbenchError, PrivacyError
from lpbench.estimators.base import LocalClassifier, LocalRegressor
from lpbench.experiments.method import checked, import_object
from lpbench.privacy import Device, Guarantee, PublicSample, Records, Release, Users
from lpbench.privacy.device import own_statements, question_of, summed

#: Longest frame, in bytes.
LONGEST = 1 << 29
#: Names of the base class that a method may define: none of them meets raw rows.
OF_A_METHOD = {
    "learn", "predict", "predict_proba", "learn_grid", "learn_grids", "resolve_grid", "replications_per_batch",
    "fit_epsilon", "_decide", "uses_mask", "uses_epsilon", "uses_public", "exceeds_budget", "protects", "costs",
    "rounding", "bounded", "clip", "y_range", "domain", "classes", "random_state",
}  # fmt: skip


#: What a class states beside its parameters.
FACTS = ("uses_mask", "uses_epsilon", "uses_public", "exceeds_budget", "protects")


class Pipe:
    """Messages over a socket, each with its length in front; ``end`` is the time after which waiting fails."""

    #: When to give up, with a TimeoutError, on the monotonic clock; what is written to does not block then.
    end: float | None = None

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def send(self, message: bytes) -> None:
        """Send a message with its length in front; wait while the other end does not read."""
        unsent = memoryview(struct.pack("<Q", len(message)) + message)
        while unsent:
            self._wait([], [self.descriptor])
            unsent = unsent[os.write(self.descriptor, unsent) :]

    def receive(self) -> bytearray | None:
        """Read one message; None when the other end is closed."""
        head = self._exactly(8)
        if head is None:
            return None
        (length,) = struct.unpack("<Q", head)
        if length > LONGEST:
            raise PrivacyError(f"a message of {length} bytes; at most {LONGEST} pass")
        return self._exactly(length)

    def _exactly(self, length: int) -> bytearray | None:
        """Read ``length`` bytes; None if the other side has closed."""
        message = bytearray(length)
        unread = memoryview(message)
        while unread:
            self._wait([self.descriptor], [])
            got = os.readv(self.descriptor, [unread])
            if got == 0:
                return None
            unread = unread[got:]
        return message

    def _wait(self, read: list[int], write: list[int]) -> None:
        if self.end is not None and not any(select.select(read, write, [], max(0.0, self.end - time.monotonic()))):
            raise TimeoutError


class PipeUsers(Users):
    """Users as the author's code meets them: public facts are local, every question goes to the harness by a pipe."""

    def __init__(self, pipe: Pipe, view: dict[str, Any]) -> None:
        self._pipe, self._handle, self._mask = pipe, view["handle"], view["mask"]
        self.n, self.n_features = view["n"], view["n_features"]
        self.y_range, self.classes = view["y_range"], view["classes"]
        self.public = None if view["public"] is None else PublicSample(*view["public"])

    def __reduce__(self) -> Any:
        raise PrivacyError("users cannot be pickled: a fitted model must keep reports only, not its users")

    @property
    def mask(self) -> np.ndarray:
        """Protection mask, bool ndarray of shape (n, d), as a copy."""
        return self._mask.copy()  # type: ignore[no-any-return]

    @property
    def public_features(self) -> np.ndarray:
        """Features of shape (n, d), NaN where protected, from the harness, which records that they were read."""
        return self._call("public_features")  # type: ignore[no-any-return]

    @property
    def spent(self) -> Guarantee:
        """Guarantee by the account that the harness keeps."""
        return Guarantee(**self._call("spent"))

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        """Send device and question to the harness as data, and return the users' reports that it draws."""
        return self._call("ask", **_told(device, question), who=who)  # type: ignore[no-any-return]

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Ask the harness for sums of reports; where it has no shortcut, ask for the reports and add them up here."""
        sums = self._call("sums", **_told(device, question), by=by)
        return summed(device, self.ask(device, question), question, by) if sums is None else sums

    def release(self, release: Release[Any], question: Any) -> np.ndarray:
        """Ask the harness for a trusted curator's release."""
        return self._call("release", **_asked(release, question))  # type: ignore[no-any-return]

    def _part(self, who: np.ndarray) -> Self:
        handle = self._call("take", who=who)
        taken = {**vars(self), "handle": handle, "mask": self._mask[who], "n": len(who)}
        return type(self)(self._pipe, taken)

    def note(self, text: str) -> None:
        """Ask the harness to add a caveat to the guarantee."""
        self._call("note", text=str(text))

    def _call(self, verb: str, **arguments: Any) -> Any:
        """Send a request to the harness (a verb and its arguments) and return its answer; raise its errors here."""
        self._pipe.send(encode({"verb": verb, "on": self._handle, **arguments}))
        answer = self._pipe.receive()
        if answer is None:
            os._exit(1)
        reply = decode(bytes(answer), no_object)
        if "error" in reply:
            raise getattr(errors, reply["error"])(reply["text"])
        return reply["answer"]


def _asked(device: Any, question: Any) -> dict[str, bytes]:
    return {"device": encode(device), "question": encode(question)}


def _told(device: Device[Any], question: Any) -> dict[str, Any]:
    """Return a question with its device's statements, as a request for answers.

    No record is in this process, so statements (mechanism, columns, overridden methods) cannot depend on one.
    """
    device.check(question)
    return _asked(device, question) | {
        "name": type(device).__name__,
        "replaced": own_statements(type(device)),
        "columns": device.columns(question),
        "mechanism": encode(device.mechanism(question)),
        "in_parts": hasattr(question, "take"),
    }


def _build(request: dict[str, Any]) -> Any:
    return import_object(request["estimator"])(**request["params"])


def describe(request: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """Return the facts about a method that the harness needs before a run: parameters, task, what it reads."""
    checked(import_object(request["estimator"]))
    model = _build(request)
    base = LocalClassifier if isinstance(model, LocalClassifier) else LocalRegressor
    libraries = ("lpbench", "sklearn", "builtins")
    author_kinds = [kind for kind in type(model).__mro__ if kind.__module__.split(".")[0] not in libraries]
    names = {
        name
        for kind in author_kinds
        for name in vars(kind)
        if hasattr(base, name) and not name.startswith(("__", "set_"))
    }
    params = {k: v for k, v in model.get_params().items() if k != "random_state"}
    return {
        "classifier": base is LocalClassifier,
        "multi_class": base is LocalClassifier and model.__sklearn_tags__().classifier_tags.multi_class,
        "params": params,
        "replaced": sorted(names - OF_A_METHOD - {"_abc_impl"}),
        **{name: getattr(model, name) for name in FACTS},
    }


def learn(request: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """Learn from users at the other end of the pipe; the fitted model is returned as its author's pickle."""
    model = _build(request)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.learn_from(PipeUsers(pipe, request["view"]))
    return {"model": pickle.dumps(model), "seconds": time.process_time()}


def predict(request: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """Predict by a fitted model, where no users are."""
    model = pickle.loads(request["model"])
    spent = getattr(model, "guarantee_", None)
    return {
        "predictions": np.asarray(getattr(model, request["by"])(request["X"])),
        "guarantee": vars(spent) if isinstance(spent, Guarantee) else None,
    }


def inputs(request: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """Compute the mechanism inputs of given records by the author's device, one row per record."""
    device, question = (decode(request[name], any_object) for name in ("device", "question"))
    question = question if request["users"] is None else question_of(question, request["users"])
    return {"inputs": np.asarray(device.inputs(Records(request["X"], request["y"], request["mask"]), question))}


def held(request: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """Try the isolation's promises from inside (network, files, limits) and return which of them hold."""
    return tried(request["outside"], *request["folders"])


def run(request: dict[str, Any], pipe: Pipe) -> dict[str, Any]:
    """Call a function of this package that runs the author's code itself, and return the items it yields."""
    return {"found": list(import_object(request["function"])(**request["words"]))}


ACTIONS = {action.__name__: action for action in (describe, learn, predict, inputs, held, run)}


def _answer(encoded: bytes, pipe: Pipe) -> None:
    """Run the action that an encoded request asks for, and send its result, or the error, by the pipe."""
    request = decode(encoded, no_object)
    sys.path.extend(folder for folder in request["path"] if folder not in sys.path)
    try:
        with joblib.parallel_config("sequential"):  # a second process or thread is refused
            message = encode({"result": ACTIONS[request["do"]](request, pipe)})
    except LpbenchError as error:
        message = encode({"failed": type(error).__name__, "text": " ".join(str(error).split())})
    except BaseException as error:  # whatever an author's code raises, sys.exit included
        message = encode({"failed": "PrivacyError", "text": f"it fails: {type(error).__name__}: {error}"})
    pipe.send(message)


def serve(listening: socket.socket, folder: Path, seconds: float) -> None:
    """Fork two processes for each pair of sockets that arrives: one answers, the other can stop and end it."""
    # neighbors by brute force look for libraries' threads in /proc, which a place has not, unless they once did
    NearestNeighbors(algorithm="brute").fit([[0.0]]).kneighbors([[0.0]], 1)
    if os.fork():  # the threads of libraries are left behind: who has several cannot leave namespaces
        listening.close()
        os.wait()
        return
    request = decode(bytes(Pipe(listening.fileno()).receive() or b""), no_object)
    root = None
    if request["apart"]:
        root = folder
        make_root(root, {Path(path): Path(source) for path, source in request["readable"].items()})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    listening.send(b"+")
    while True:
        kind, given, _, _ = socket.recv_fds(listening, 1, 2)
        if not given:
            return
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                shut_in(root, seconds, given[1], several=kind == b"n")
                pipe = Pipe(given[0])
                _answer(bytes(pipe.receive() or b""), pipe)
            finally:
                os._exit(0)
        for descriptor in given:
            os.close(descriptor)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]), float(sys.argv[3]))
