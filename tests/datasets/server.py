"""A local HTTP server that speaks just enough of OpenML and the UCI archive, and fails in every way on request."""

import hashlib
import io
import threading
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """One answer: a status, a body, and how it goes wrong."""

    body: bytes = b""
    status: int = 200
    send_bytes: int | None = None
    delay: float = 0.0


class FakeServer:
    """Answers per path, used up in order; the last one is repeated. ``requests`` counts what was asked."""

    def __init__(self):
        self.answers: dict[str, list[Answer]] = {}
        self.requests: dict[str, int] = defaultdict(int)
        self.url = ""

    def add(self, path: str, *answers: Answer) -> None:
        """Answer ``path`` with these, one after another."""
        self.answers[path] = list(answers)

    def add_uci(self, data_id: int, archive: str, *answers: Answer) -> str:
        """Answer the address of a UCI archive; return its path."""
        path = f"/static/public/{data_id}/{archive}"
        self.add(path, *answers)
        return path

    def add_openml(self, data_id: int, arff: str, *, md5: str | None = None, **wrong) -> str:
        """Serve a description and an ARFF file, whose answer ``wrong`` spoils; return the file's path."""
        body = arff.encode()
        path = f"/data/v1/download/{data_id}/data.arff"
        checksum = md5 or hashlib.md5(body).hexdigest()
        description = (
            '<oml:data_set_description xmlns:oml="http://openml.org/openml">'
            f"<oml:id>{data_id}</oml:id><oml:name>toy</oml:name><oml:version>1</oml:version>"
            f"<oml:description>toy</oml:description><oml:format>ARFF</oml:format>"
            f"<oml:url>{self.url}{path}</oml:url><oml:md5_checksum>{checksum}</oml:md5_checksum>"
            "</oml:data_set_description>"
        )
        self.add(f"/api/v1/xml/data/{data_id}", Answer(description.encode()))
        self.add(path, Answer(body, **wrong))
        return path

    def take(self, path: str) -> Answer:
        self.requests[path] += 1
        queue = self.answers.get(path, [Answer(b"nothing here", status=404)])
        return queue.pop(0) if len(queue) > 1 else queue[0]


def zipped(**members: bytes) -> bytes:
    """A zip archive; double underscores in names stand for dots."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


@contextmanager
def serve() -> Iterator[FakeServer]:
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer = fake.take(self.path.partition("?")[0])
            time.sleep(answer.delay)
            try:
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body[: answer.send_bytes])
            except ConnectionError:
                self.close_connection = True  # the client gave up waiting, which is what the test wants

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
