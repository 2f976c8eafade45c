"""How close does the field store on an object store come to plain puts of as many bytes?

    python -m hakobi_lab.object_servers rados -- python -m hakobi_lab.bench_object_store
    python -m hakobi_lab.object_servers s3 -- python -m hakobi_lab.bench_object_store

In each round, in turn: writers, processes of their own, archive fields, flush and close; as many processes put the same
fields as objects, one each, with four puts under way in every process: on Ceph by librados' rados_write_full, on S3 by
curl --parallel from files in memory. Opening and closing count, starting a process does not (curl's does: it is the
command that a user has). What was archived is listed and every 97th field compared. At the end a new reader lists small
fields.

Prints seconds of every round, medians, and their ratio: above 1 the store is the faster.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hakobi

PUTS_EACH = 4


def _bytes_of(number: int, size: int, base: bytes) -> bytes:
    """A field's bytes: none is another's."""
    return number.to_bytes(8, "little") + base[8:size]


def _archive(path: str, writer: int, count: int, size: int, start: Any) -> None:
    base = os.urandom(size)
    start.wait()
    store = hakobi.open_store(path, writer=f"w{writer}")
    for number in range(count):
        key = {"case": "bench", "run": "1", "variable": f"v{writer}", "step": str(number), "block": "0"}
        store.archive(key, _bytes_of(number, size, base))
    store.flush()
    store.close()


def _put_rados(pool: str, writer: int, count: int, size: int, start: Any) -> None:
    rados = ctypes.CDLL("librados.so.2")
    base = os.urandom(size)
    start.wait()
    cluster, context = ctypes.c_void_p(), ctypes.c_void_p()
    made = rados.rados_create(ctypes.byref(cluster), None)
    made = made or rados.rados_conf_read_file(cluster, os.environ["CEPH_CONF"].encode())
    made = made or rados.rados_connect(cluster)
    made = made or rados.rados_ioctx_create(cluster, pool.encode(), ctypes.byref(context))
    if made != 0:
        raise OSError(-made, "librados")
    rados.rados_ioctx_set_namespace(context, b"plain")

    def put(number: int) -> None:
        name, content = f"{writer}.{number}".encode(), _bytes_of(number, size, base)
        if rados.rados_write_full(context, name, content, ctypes.c_size_t(size)) != 0:
            raise OSError("rados_write_full failed")

    with ThreadPoolExecutor(PUTS_EACH) as threads:
        list(threads.map(put, range(count)))


def _timed(work: Callable[..., None], place: str, writers: int, count: int, size: int) -> float:
    # Started anew: librados does not outlive a fork.
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(writers + 1)
    running = [context.Process(target=work, args=(place, number, count, size, start)) for number in range(writers)]
    for process in running:
        process.start()
    start.wait()
    begin_s = time.monotonic()
    for process in running:
        process.join()
    seconds = time.monotonic() - begin_s
    if any(process.exitcode != 0 for process in running):
        raise SystemExit("a writer failed")
    return seconds


def _put_s3(bucket: str, files: list[list[Path]]) -> float:
    """By one curl for each list."""
    server, key = os.environ["AWS_ENDPOINT_URL_S3"], os.environ["AWS_ACCESS_KEY_ID"]
    words = ["curl", "--silent", "--fail", "--parallel", "--parallel-max", str(PUTS_EACH), "--output", "/dev/null"]
    words += ["--no-progress-meter", "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
    words += ["--aws-sigv4", "aws:amz:us-east-1:s3", "--config", "-"]
    secret = f'user = "{key}:{os.environ["AWS_SECRET_ACCESS_KEY"]}"\n'
    begin_s = time.monotonic()
    running = []
    for number, some in enumerate(files):
        lines = [f'upload-file = "{path}"\nurl = "{server}/{bucket}/plain/{number}.{path.name}"\n' for path in some]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)
        assert process.stdin is not None
        process.stdin.write(secret + "".join(lines))
        process.stdin.close()
        running.append(process)
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit(f"curl failed: {codes}")
    return time.monotonic() - begin_s


def _verify(path: str, writers: int, count: int, size: int) -> None:
    fields = hakobi.open_store(path).list()
    if len(fields) != writers * count:
        raise SystemExit(f"{len(fields)} fields of {writers * count}")
    for index in range(0, len(fields), 97):
        content = bytes(fields.read(index))
        number = int(fields[index].keys["step"])
        if len(content) != size or int.from_bytes(content[:8], "little") != number:
            raise SystemExit(f"other bytes than were archived: {fields[index]}")


def _drop(path: str) -> None:
    """Removes a store, or what plain puts have left."""
    if path.startswith("rados:"):
        pool, _, space = path.removeprefix("rados:").partition("/")
        words = ["rados", "-p", pool, "-N", space.split("/")[0], "ls"]
        names = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        words[-1] = "rm"
        for begin in range(0, len(names), 500):
            subprocess.run([*words, *names[begin : begin + 500]], check=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--fields", type=int, default=2000, help="of all writers together")
    arguments.add_argument("--bytes", type=int, default=1_000_000, help="of each")
    arguments.add_argument("--writers", type=int, default=4)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--listed", type=int, default=10_000, help="small fields that are listed at the end")
    given = arguments.parse_args()
    count = given.fields // given.writers
    base = os.environ.get("HAKOBI_TEST_RADOS") or os.environ.get("HAKOBI_TEST_S3")
    if base is None:
        raise SystemExit("no server: see python -m hakobi_lab.object_servers")
    is_rados = base.startswith("rados:")
    stores: list[float] = []
    plain: list[float] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        files: list[list[Path]] = []
        if not is_rados:
            content = os.urandom(given.bytes)
            files = [[Path(folder) / f"{w}.{n}" for n in range(count)] for w in range(given.writers)]
            for file in (file for some in files for file in some):
                file.write_bytes(content)
        for number in range(given.rounds):
            path = f"{base}/bench{number}"
            hakobi.open_store(path, schema="flow").close()
            stores.append(_timed(_archive, path, given.writers, count, given.bytes))
            _verify(path, given.writers, count, given.bytes)
            _drop(path)
            if is_rados:
                pool = base.removeprefix("rados:")
                plain.append(_timed(_put_rados, pool, given.writers, count, given.bytes))
                _drop(f"{base}/plain")
            else:
                plain.append(_put_s3(base.removeprefix("s3://"), files))
            print(f"round {number + 1}: store {stores[-1]:.2f} s, plain puts {plain[-1]:.2f} s", flush=True)
    ratios = sorted(theirs / ours for theirs, ours in zip(plain, stores, strict=True))
    print(f"median: store {statistics.median(stores):.2f} s, plain puts {statistics.median(plain):.2f} s")
    print(f"plain / store: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    path = f"{base}/listed"
    hakobi.open_store(path, schema="flow").close()
    _timed(_archive, path, given.writers, given.listed // given.writers, 1000)
    times = []
    for _ in range(given.rounds):
        begin_s = time.monotonic()
        found = len(hakobi.open_store(path).list())
        times.append(time.monotonic() - begin_s)
    spread = f"{min(times) * 1e3:.1f} to {max(times) * 1e3:.1f}"
    print(f"list of {found} fields: {statistics.median(times) * 1e3:.1f} ms ({spread})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
