"""hakobi.open_store: fields from Python, as xarray, by pyfdb's calls and by the command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

from hakobi import open_store, programs, pyfdb
from hakobi.cli import run
from hakobi.errors import FormatError, HakobiError, InputError, StorageError
from hakobi.store import Store

pytestmark = [pytest.mark.programs, pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / programs.flavour()
if not (BUILD / "bin" / "hakobi-store").is_file():
    pytest.skip("hakobi-store is not built", allow_module_level=True)

KEY = {"class": "od", "expver": "1", "stream": "oper", "date": 20260101, "time": 0, "type": "fc", "levtype": "pl"}


def values_of(step: int, level: int, param: int) -> np.ndarray:
    return np.arange(12, dtype=np.float64).reshape(3, 4) + 1000 * step + level + param / 1000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = open_store(tmp_path / "s", "weather", sync=False)
    for step in (0, 6, 12):
        for level in (500, 850):
            for param in (130, 131):
                store.archive(KEY | {"step": step, "levelist": level, "param": param}, values_of(step, level, param))
    store.flush()
    return store


def test_fields_come_back_with_their_keys_and_forms(store: Store) -> None:
    fields = store.list({"param": "t", "step": slice(0, 24, 6)})
    assert len(fields) == 6
    assert fields[0].keys["param"] == "130"
    assert fields[0].form == "float64[3,4]"
    assert [int(field.keys["step"]) for field in fields] == [0, 0, 6, 6, 12, 12]
    for field, data in store.retrieve("param=u,levelist=850"):
        expected = values_of(int(field.keys["step"]), 850, 131)
        assert np.array_equal(np.frombuffer(data).reshape(3, 4), expected)


def test_sel_gives_a_lazy_array_with_the_keywords_as_dimensions(store: Store) -> None:
    array = store.sel(param="t", step=slice(0, 24))
    assert array.dims == ("step", "levelist", "dim_0", "dim_1")
    assert array.shape == (3, 2, 3, 4)
    assert array.step.values.tolist() == [0, 6, 12]
    assert array.chunks is not None
    assert np.array_equal(array.sel(step=6, levelist=850).values, values_of(6, 850, 130))
    assert array[1, 0, 2, 1].values == values_of(6, 500, 130)[2, 1]
    assert np.array_equal(array[2, 1, ::-2, 1:3].values, values_of(12, 850, 130)[::-2, 1:3])
    assert float(array.mean()) == pytest.approx(np.mean([values_of(s, v, 130) for s in (0, 6, 12) for v in (500, 850)]))


def test_a_missing_field_is_nan(store: Store) -> None:
    store.archive(KEY | {"step": 18, "levelist": 500, "param": 130}, values_of(18, 500, 130))
    store.flush()
    array = store.sel(param="t")
    assert np.isnan(array.sel(step=18, levelist=850).values).all()
    assert np.array_equal(array.sel(step=18, levelist=500).values, values_of(18, 500, 130))


def test_xarray_opens_a_store_with_a_variable_for_each_parameter(store: Store) -> None:
    dataset = xarray.open_dataset(store.path, engine="hakobi", request="step=0/6")
    assert set(dataset.data_vars) == {"t", "u"}
    assert np.array_equal(dataset.u.sel(step=6, levelist=500).values, values_of(6, 500, 131))


def test_pyfdbs_calls(tmp_path: Path) -> None:
    fdb = pyfdb.FDB({"path": tmp_path / "s", "schema": "weather"})
    key = KEY | {"step": 0, "levelist": 500, "param": 130}
    fdb.archive(b"GRIB1", key)
    fdb.archive(b"GRIB22", key | {"step": 6})
    fdb.flush()
    entries = list(fdb.list({"param": ["t", "u"]}, keys=True))
    assert [entry["length"] for entry in entries] == [5, 6]
    assert entries[1]["keys"]["step"] == "6"
    assert fdb.retrieve({"step": [0, 6]}).read() == b"GRIB1GRIB22"
    with pytest.raises(HakobiError):
        fdb.archive(b"x")  # no GRIB message


def test_a_listed_line_is_a_request_for_its_field_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = open_store(tmp_path / "s", "flow", sync=False)
    key = {"case": "to", "run": "r 1", "variable": "p", "step": 1}
    store.archive(key, b"without a block")
    for block in (0, 1):
        store.archive(key | {"block": block}, b"block")
    with pytest.raises(InputError, match=r"no request could ask for case='\*'"):
        store.archive(key | {"case": "*"}, b"x")
    store.flush()
    store.close()
    fields = store.list()
    assert [str(store.list(field)[0]) for field in fields] == [str(field) for field in fields]
    assert [len(store.list(field)) for field in fields] == [1, 1, 1]
    assert fields[-1].keys == {word: str(value) for word, value in key.items()}
    assert run(["store", "list", store.path]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines == [str(field) for field in fields]
    assert run(["store", "wipe", store.path, lines[-1], "--remove", "--yes"]) == 0
    assert [str(field) for field in store.list()] == lines[:-1]


def test_errors_are_told_by_kind(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"did you mean 'param' \(field level\)"):
        store.list("parma=t")
    with pytest.raises(InputError, match="no field has levelist=501"):
        store.list("levelist=501")
    assert len(store.list("levelist=501", strict=False)) == 0
    with pytest.raises(InputError, match="missing"):
        store.archive({"class": "od"}, b"x")
    with pytest.raises(InputError, match="no field store"):
        open_store(tmp_path / "none")
    with pytest.raises(InputError, match="did you mean 'num_buffers'"):
        open_store(store.path, num_bufers=3)
    with pytest.raises(StorageError, match="another schema"):
        open_store(store.path, "flow")
    other = open_store(tmp_path / "bytes", "flow", sync=False)
    other.archive("case=a,run=1,variable=v,step=0", b"bytes")
    other.flush()
    with pytest.raises(InputError, match="cannot be made an array"):
        other.sel(step=0)
    index = next(Path(store.path).glob("*.data"))
    raw = bytearray(index.read_bytes())
    raw[5] ^= 1
    index.write_bytes(raw)
    assert store.list()  # the index is right
    store.close()
    with pytest.raises(FormatError):
        subprocess_get(store.path)


def subprocess_get(path: str) -> None:
    program = programs.find("hakobi-store").path
    done = subprocess.run([program, "get", path, "-o", "/dev/null"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not as it was written" in done.stderr
    raise FormatError(done.stderr)


def test_the_command_lists_wipes_and_checks(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    store.close()
    path = store.path
    assert run(["store", "list", path, "param=t,step=0/to/6"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 4
    assert run(["store", "list", path, "param=t,step=0", "--json"]) == 0
    listed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert {line["key"]["param"] for line in listed} == {"130"}
    assert run(["store", "list", path, "param=t,step=0"]) == 0
    whole = capfd.readouterr().out.splitlines()
    assert [line for line in whole if re.search("=(,|$)", line)] == []  # keywords that no field of the store has
    assert run(["store", "list", path, "param=t,step=0", "--short"]) == 0
    head, *short = capfd.readouterr().out.splitlines()
    assert head.startswith(f"all {len(whole)}: class=od,")
    assert all(words.startswith("levelist=") and words in line for words, line in zip(short, whole, strict=True))
    assert run(["store", "list", path, whole[0], "--short"]) == 0
    assert capfd.readouterr().out.splitlines() == whole[:1]
    assert run(["store", "check", path, "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {
        "in_order": True,
        "deep": False,
        "fields": 12,
        "lost": 0,
        "writers_at_work": 0,
        "damage": [],
        "orphans": [],
        "orphan_bytes": 0,
    }
    assert run(["store", "where", path, "param=t,step=0"]) == 0
    places = [f"{line['file']} {line['offset_bytes']} {line['length_bytes']}" for line in listed]
    assert [line.split(" ", 1)[1] for line in capfd.readouterr().out.splitlines()] == places
    assert run(["store", "wipe", path, "step=0"]) == 0
    assert run(["store", "list", path, "--count"]) == 0
    assert "12 fields" in capfd.readouterr().out
    assert run(["store", "consolidate", path]) == 0
    assert run(["store", "wipe", path, "step=0", "--remove", "--yes"]) == 0
    assert run(["store", "list", path, "--count"]) == 0
    assert "8 fields" in capfd.readouterr().out
    assert run(["store", "check", path, "--deep"]) == 0
    assert run(["store", "list", path, "stp=0"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert "did you mean 'step' (field level)?" in error


def test_follow_prints_a_field_within_a_second_of_its_flush(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s", "flow", sync=False)
    program = programs.find("hakobi-store").path
    with subprocess.Popen(
        [program, "follow", store.path, "--fields", "3", "--timeout", "60"], stdout=subprocess.PIPE, text=True
    ) as follow:
        assert follow.stdout is not None
        time.sleep(1)
        for step in range(3):
            store.archive(f"case=a,run=1,variable=v,step={step}", b"values")
            begin = time.monotonic()
            store.flush()
            assert f"step={step}" in follow.stdout.readline()
            # Beside a loaded machine's other work the second is not to be had.
            assert time.monotonic() - begin < 10
        assert follow.wait(30) == 0


def test_importing_hakobi_loads_neither_xarray_nor_numpy() -> None:
    code = "import sys, hakobi; sys.exit('xarray' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
