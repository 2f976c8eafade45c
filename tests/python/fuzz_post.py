"""Attacks a server of `hakobi post` with requests that nobody should send.

    python tests/python/fuzz_post.py --requests 100000 --seed 1

serves a small result of its own, sends the requests, and says how often each status came. A finding is a status that
the server should not give (500, say), a trace of Python in an answer, or a path of the machine in an error.
"""

from __future__ import annotations

import argparse
import random
import socket
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hakobi.post import indexing
from hakobi.post.catalogue import identifier
from mesh_files import block, write_mesh
from posting import Client, served, wave, write_step

_EXPECTED = {200, 206, 304, 400, 403, 404, 405, 410, 413, 414, 416, 421, 422, 431, 503}
_ODD = ["..", ".", "%2e%2e", "%2f", "\\", "%00", "-1", "0", "1e9", "9" * 30, "٣", "null", "<script>", "'", '"', "%ff",
        "${x}", "{}", "a" * 5000, "*", "~", ";", "0x10", "NaN", "+1", " ", "%0d%0aX: y", "[", "?"]  # fmt: skip


@dataclass
class Report:
    num_requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


class _Writer:
    """Makes requests from a few right ones, by changing parts of them."""

    def __init__(self, client: Client, seed: int) -> None:
        self.random = random.Random(seed)
        self.cookie = client.cookie or ""
        self.paths = ["/", "/api/series", "/static/main.js", "/static/style.css"]
        for series in client.json("/api/series")["series"]:
            step = f"{series['runs'][0][0]}.0"
            told = client.json(f"/api/{series['id']}/{step}")
            where = f"/api/{series['id']}/{step}"
            for this in told["fields"]:
                cell = ",".join(["1"] * len(this["shape"]))
                tail = f"{series['id']}/{step}/{told['version']}/{this['id']}"
                if "location" in this:
                    shape = f"/mesh/{series['id']}/{step}/{told['version']}"
                    for name in ("surface", "cut:0:1.5", f"iso:{this['id']}:2"):
                        self.paths += [f"{shape}/{name}/0", f"{shape}/{name}/0/{this['id']}"]
                    query = "shape=surface&detail=0&number=1"
                    self.paths += [f"{where}/{this['id']}/source?{query}", f"{where}/{this['id']}/point?at=1"]
                    continue
                self.paths += [where, f"{where}/{this['id']}/statistics", f"{where}/{this['id']}/point?at={cell}",
                               f"{where}/{this['id']}/line?from={cell}&to={cell}", f"/tile/{tail}/0/0/0/0/0",
                               f"/tile/{tail}/1/1/2/0/0", f"/volume/{tail}/2", f"/tile/{tail}/9/9/9/9/9",
                               f"/api/{series['id']}/times/{this['id']}?at={cell}",
                               f"/difference/{tail}/1/0/0/0/0/{series['id']}:{step}@{told['version']}"]  # fmt: skip

    def request(self) -> bytes:
        dice = self.random
        path = dice.choice(self.paths)
        for _ in range(dice.choice([0, 1, 1, 2])):
            parts = path.split("/")
            at = dice.randrange(len(parts))
            change = dice.randrange(4)
            if change == 0:
                parts[at] = dice.choice(_ODD)
            elif change == 1:
                parts[at] = str(dice.choice([-1, 0, 1, 3, 255, 10**6, 2**31, 2**63, 2**64, -(2**63)]))
            elif change == 2:
                parts.insert(at, dice.choice(_ODD))
            else:
                del parts[at]
            path = "/".join(parts)
        if dice.random() < 0.2:
            path += dice.choice(["?", "&", "?at="]) + ",".join(dice.choice(_ODD) for _ in range(3))
        path = "".join(c if 32 < ord(c) < 127 else "%3f" for c in path) if dice.random() < 0.9 else path
        method = dice.choices(["GET", "HEAD", "POST", "", "G\tT", "DELETE"], [20, 3, 1, 1, 1, 1])[0]
        headers = {"Host": "localhost", "Cookie": self.cookie, "Connection": "close"}
        if dice.random() < 0.3:
            name = dice.choice(["Host", "Cookie", "Origin", "Range", "If-None-Match", "Accept-Encoding", "If-Range",
                                "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Expect"])  # fmt: skip
            values = [*_ODD, "bytes=0-1,5-9", "bytes=-", "bytes=5-2", "chunked", "gzip", "identity", "close", "100"]
            headers[name] = dice.choice(values)
        text = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        data = text.encode("utf-8", "replace")
        if dice.random() < 0.05:
            mutable = bytearray(data)
            for _ in range(dice.randrange(1, 6)):
                mutable[dice.randrange(len(mutable))] = dice.randrange(256)
            data = bytes(mutable)
        return data


def attack(port: int, cookie: str, num_requests: int, seed: int) -> Report:
    """Sends requests one after the other, each over a connection of its own; a few are left without waiting."""
    client = Client(port, cookie)
    writer = _Writer(client, seed)
    report = Report()
    for _ in range(num_requests):
        data = writer.request()
        answer = _send(port, data, is_patient=writer.random.random() < 0.97)
        report.num_requests += 1
        if answer is None:
            continue
        status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") and answer[9:12].isdigit() else 0
        report.statuses[status] += 1
        if status not in _EXPECTED and answer:
            report.findings.append(f"seed {seed}: {data[:300]!r} -> {answer[:200]!r}")
        if b"Traceback" in answer or (status >= 400 and b"/tmp" in answer):
            report.findings.append(f"seed {seed}: {data[:300]!r} tells too much: {answer[:300]!r}")
    return report


def _send(port: int, data: bytes, is_patient: bool) -> bytes | None:
    """The beginning of the answer; empty where the server waits for more of the request or has closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        try:
            line.sendall(data)
            line.settimeout(5 if data.endswith(b"\r\n\r\n") else 0.1)
            if not is_patient:
                return None
            answer = b""
            while b"\r\n\r\n" not in answer and (piece := line.recv(65536)):
                answer += piece
            return answer
        except (ConnectionError, TimeoutError):
            return b""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        indexing.make_overview(write_step(folder / "flat_0.nc", {"eta": wave((300, 530))}))
        write_step(folder / "solid_0.nc", {"<b>'\"": wave((40, 50, 60))})
        write_mesh(folder / "mesh_0.hdf", [block("tetrahedra", (4, 3, 2))], {"p": lambda x: x[:, 0]})
        with served(folder) as client:
            assert identifier("flat_#.nc") in {s["id"] for s in client.json("/api/series")["series"]}
            report = attack(client.port, client.cookie or "", options.requests, options.seed)
            is_alive = client.get("/api/series")[0] == 200
    told = ", ".join(f"{status}: {count}" for status, count in sorted(report.statuses.items()))
    print(f"{report.num_requests} requests; {told}; {len(report.findings)} findings; alive: {is_alive}")
    for finding in report.findings[:20]:
        print(finding)
    return 1 if report.findings or not is_alive else 0


if __name__ == "__main__":
    sys.exit(main())
