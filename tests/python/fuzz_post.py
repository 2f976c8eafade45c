"""Attacks a server of `hakobi post` with requests that nobody should send, and with damaged files.

    python tests/python/fuzz_post.py --requests 100000 --files 1000 --seed 1

serves a small result of its own, sends the requests, damages the files and asks for what is in them, and says how often
each status came. A finding is a status that the server should not give (500, say), a trace of Python in an answer, or a
path of the machine in an error. Damaged files may end the process that reads them (HDF5 has faults of its own): that is
counted, and the server must go on.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hakobi.post import indexing
from hakobi.post.catalogue import identifier
from hakobi.post.pool import Bounds
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
    ended: int = 0  # processes that a file brought down
    late: int = 0  # requests that were given up


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
                other = f"{series['id']}:{step}@{told['version']}"
                if "location" in this:
                    shape = f"/mesh/{series['id']}/{step}/{told['version']}"
                    for name in ("surface", "cut:0:1.5", f"iso:{this['id']}:2"):
                        self.paths += [f"{shape}/{name}/0", f"{shape}/{name}/0/{this['id']}"]
                    query = "shape=surface&detail=0&number=1"
                    self.paths += [f"{where}/{this['id']}/source?{query}", f"{where}/{this['id']}/point?at=1"]
                    continue
                self.paths += [where, f"{where}/{this['id']}/statistics", f"{where}/{this['id']}/point?at={cell}",
                               f"{where}/{this['id']}/line?from={cell}&to={cell}", f"/tile/{tail}/0/0/0/0/0",
                               f"/tile/{tail}/1/1/2/0/0", f"/exact-tile/{tail}/2/0/0/0/0",
                               f"/volume/{tail}/2", f"/tile/{tail}/9/9/9/9/9",
                               f"/api/{series['id']}/times/{this['id']}?at={cell}",
                               f"/difference/{tail}/1/0/0/0/0/{other}",
                               f"/exact-difference/{tail}/0/0/0/0/0/{other}"]  # fmt: skip

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


def write_classic(path: Path) -> None:
    """A field in NetCDF's oldest format."""
    import netCDF4

    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        for name, size in (("time", None), ("lat", 30), ("lon", 50)):
            file.createDimension(name, size)
            file.createVariable(name, "f8", (name,))[:] = np.arange(size or 2)
        file.createVariable("eta", "f4", ("time", "lat", "lon"))[:] = np.stack([wave((30, 50))] * 2)


def damaged(data: bytes, dice: random.Random) -> bytes:
    """The file with a few bytes changed, cut, or moved."""
    if dice.random() < 0.1:
        return data[: dice.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 4, 16])):
        # Most of what says something is at the beginning, or at the end of an overview.
        reach = dice.choice([512, 4096, len(data)])
        at = dice.randrange(min(reach, len(data)))
        at = len(data) - 1 - at if dice.random() < 0.3 else at
        width = dice.choice([1, 1, 2, 4, 8])
        odd = [0, 1, 0xFF, 0x7F, 0xFFFFFFFF, 1 << 31, (1 << 63) - 1, dice.getrandbits(64)]
        value = dice.choice(odd) & ((1 << 8 * width) - 1)
        changed[at : at + width] = value.to_bytes(width, dice.choice(["little", "big"]))[: len(changed) - at]
    return bytes(changed)


def attack_files(client: Client, folder: Path, num_files: int, seed: int) -> Report:
    """Damages a file at a time and asks for what is said to be in it."""
    dice, report = random.Random(seed), Report()
    originals = {path: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    series = {s["name"]: s for s in client.json("/api/series")["series"]}
    for _ in range(num_files):
        path = dice.choice(list(originals))
        part = path.with_name("being-written")
        part.write_bytes(damaged(originals[path], dice))
        part.rename(path)
        name = path.name.removesuffix(".overview.zip").replace("_0.", "_#.")
        where = f"/api/{series[name]['id']}/0.0"
        _note(report, seed, path, where, client.get(where))
        status, _, body = client.get(where)
        told = json.loads(body) if status == 200 else {"fields": []}
        for this in told["fields"][:3]:
            tail = f"{series[name]['id']}/0.0/{told['version']}"
            paths = [
                f"{where}/{this['id']}/statistics",
                f"{where}/{this['id']}/point?at=" + ",".join(["1"] * len(this["shape"])),
            ]
            if "location" in this:
                paths += [f"/mesh/{tail}/surface/0", f"/mesh/{tail}/surface/0/{this['id']}", f"/mesh/{tail}/cut:0:1/0"]
            else:
                paths += [f"/tile/{tail}/{this['id']}/{level}/0/0/0/0" for level in (0, 1, 2)]
                paths += [f"/exact-tile/{tail}/{this['id']}/1/0/0/0/0", f"/volume/{tail}/{this['id']}/2"]
            for asked in paths:
                _note(report, seed, path, asked, client.get(asked))
        path.write_bytes(originals[path])
    return report


def _note(report: Report, seed: int, path: Path, asked: str, answer: tuple[int, dict[str, str], bytes]) -> None:
    status, _, body = answer
    report.num_requests += 1
    report.statuses[status] += 1
    report.ended += b"ended the process" in body
    report.late += b"took longer" in body
    if status not in _EXPECTED or b"Traceback" in body[:1000] or (status >= 400 and b"/tmp" in body):
        kept = Path(tempfile.mkdtemp(prefix="fuzz-post-")) / path.name
        kept.write_bytes(path.read_bytes())
        report.findings.append(f"seed {seed}: {asked} of {kept} -> {status} {body[:300]!r}")


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
    parser.add_argument("--files", type=int, default=1000)
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
        write_classic(folder / "old_0.nc")
        write_step(folder / "packed_0.nc", {"eta": wave((40, 90))}, chunks=(1, 16, 16), compression="gzip")
        with served(folder, Bounds(limit_s=5, refused_s=0)) as client:
            files = attack_files(client, folder, options.files, options.seed)
            is_alive = is_alive and client.get("/api/series")[0] == 200
    report.num_requests += files.num_requests
    report.statuses += files.statuses
    report.findings += files.findings
    print(f"{options.files} damaged files ended {files.ended} processes, {files.late} requests were given up")
    told = ", ".join(f"{status}: {count}" for status, count in sorted(report.statuses.items()))
    print(f"{report.num_requests} requests; {told}; {len(report.findings)} findings; alive: {is_alive}")
    for finding in report.findings[:20]:
        print(finding)
    return 1 if report.findings or not is_alive else 0


if __name__ == "__main__":
    sys.exit(main())
