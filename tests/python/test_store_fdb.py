"""Copies between a store and ECMWF's FDB 5, and the weather application's output to it: what FDB's own programs
read and write is compared bit for bit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hakobi import ecmwf, programs
from hakobi.cli import run

pytestmark = [pytest.mark.programs, pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / programs.flavour() / "bin"
if not (BUILD / "hakobi-store-fdb").is_file():
    pytest.skip("hakobi-store-fdb is not built", allow_module_level=True)
if not ecmwf.library_folders():
    pytest.skip("ECMWF's FDB is not installed (pip install 'hakobi[fdb]')", allow_module_level=True)

SCHEMA = """param: Param; step: Step; date: Date; levelist: Double; expver: Expver; time: Time;
[ class, expver, stream=oper/dcda/scda, date, time, domain?
  [ type, levtype [ step, levelist?, param ]]]
"""
SMALL = ["--resolution", "T63", "--levels", "2", "--pressure-levels", "3", "--grid-pressure-levels", "2"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "fdb").mkdir()
    (tmp_path / "fdb-schema").write_text(SCHEMA)
    path = tmp_path / "config.yaml"
    path.write_text(
        f"type: local\nengine: toc\nschema: {tmp_path}/fdb-schema\n"
        f"spaces: [{{handler: Default, roots: [{{path: {tmp_path}/fdb}}]}}]\n"
    )
    return path


def fdb_program(config: Path, name: str, *arguments: object) -> str:
    """Runs one of FDB's own programs; returns its standard output."""
    program = ecmwf.library_folders()[0].parent / "bin" / name
    environment = {**os.environ, **ecmwf.environment(), "FDB5_CONFIG_FILE": str(config)}
    done = subprocess.run([program, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def weather(config: Path, output: str, hours: int = 1) -> None:
    environment = {**os.environ, **ecmwf.environment(), "FDB5_CONFIG_FILE": str(config)}
    command = [BUILD / "hakobi-weather", *SMALL, "--hours", str(hours), "--output", output]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def messages(data: bytes) -> list[bytes]:
    """The GRIB 2 messages of a file, in an order of their own."""
    found = []
    while data:
        length = int.from_bytes(data[8:16], "big")
        assert data[:4] == b"GRIB"
        assert data[length - 4 : length] == b"7777"
        found.append(data[:length])
        data = data[length:]
    return sorted(found)


def read_by_fdb(config: Path, folder: Path, levtypes: dict[str, str]) -> list[bytes]:
    found = []
    for levtype, levels in levtypes.items():
        request, output = folder / "request", folder / "read.grib"
        request.write_text(
            "retrieve,class=rd,expver=hako,stream=oper,date=20110115,time=1200,type=fc,"
            f"levtype={levtype},step=1,levelist={levels},param=1/2/10/129/131/132/138/155\n"
        )
        fdb_program(config, "fdb-read", request, output)
        found += messages(output.read_bytes())
    return sorted(found)


def test_exported_fields_are_read_by_fdb_itself(config: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    weather(config, f"store:{store}")
    assert run(["store", "export", str(store), "--fdb", str(config)]) == 0
    assert run(["store", "get", str(store), "-o", str(tmp_path / "all.grib")]) == 0
    expected = messages((tmp_path / "all.grib").read_bytes())
    assert len(expected) == 33
    assert read_by_fdb(config, tmp_path, {"ml": "1/2", "pl": "10/505/1000"}) == expected


def test_the_model_writes_to_fdb_what_it_writes_to_files(config: Path, tmp_path: Path) -> None:
    weather(config, "fdb")
    weather(config, f"files:{tmp_path}/files/f")
    expected = messages(b"".join(path.read_bytes() for path in (tmp_path / "files").iterdir()))
    assert len(expected) == 33
    assert read_by_fdb(config, tmp_path, {"ml": "1/2", "pl": "10/505/1000"}) == expected


def test_what_fdb_wrote_itself_is_imported(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    weather(config, f"files:{tmp_path}/files/f", hours=2)
    files = sorted((tmp_path / "files").iterdir())
    fdb_program(config, "fdb-write", *files)
    everything, some = str(tmp_path / "all"), str(tmp_path / "some")
    assert run(["store", "import", everything, "--fdb", str(config)]) == 0
    assert run(["store", "get", everything, "-o", str(tmp_path / "all.grib")]) == 0
    assert messages((tmp_path / "all.grib").read_bytes()) == messages(b"".join(path.read_bytes() for path in files))
    assert run(["store", "import", some, "step=2,levelist=1/to/2,param=138/155", "--fdb", str(config)]) == 0
    capfd.readouterr()
    assert run(["store", "list", some]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 4


def test_what_cannot_be_copied_is_told(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "store")
    weather(config, f"store:{store}")

    def refused(*arguments: str) -> str:
        assert run(["store", *arguments]) == 2
        return capfd.readouterr().err

    assert "FDB has no field" in refused("import", str(tmp_path / "new"), "--fdb", str(config))
    assert not (tmp_path / "new").exists()
    assert "did you mean 'class'" in refused("import", store, "clas=rd", "--fdb", str(config))
    assert "did you mean rd" in refused("export", store, "class=rx", "--fdb", str(config))
    assert "no such file" in refused("export", store, "--fdb", str(tmp_path / "none.yaml"))
    (tmp_path / "bad.yaml").write_text("type: [")
    assert "FDB's configuration" in refused("export", store, "--fdb", str(tmp_path / "bad.yaml"))


def test_the_message_of_a_missing_fdb_is_enough(tmp_path: Path) -> None:
    """As a user follows it: no configuration, no library in the loader's path; then what each message says."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("FDB", "HAKOBI_FDB"))}
    for name in ("LD_LIBRARY_PATH", "VIRTUAL_ENV"):
        bare.pop(name, None)

    def run_weather(**environment: str) -> subprocess.CompletedProcess[str]:
        command = [BUILD / "hakobi-weather", *SMALL, "--hours", "1", "--output", "fdb"]
        variables = bare | environment
        return subprocess.run(
            command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )

    told = run_weather(HAKOBI_FDB_LIBRARY=str(tmp_path / "libfdb5.so")).stderr
    command = re.search(r'export (HAKOBI_FDB_LIBRARY=".*")$', told, re.MULTILINE)
    assert command, told
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    printed = subprocess.run(
        ["sh", "-c", f'{command.group(1)}; echo "$HAKOBI_FDB_LIBRARY"'],
        env=bare | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    library = printed.stdout.strip()
    told = run_weather(HAKOBI_FDB_LIBRARY=library).stderr
    assert "name it in FDB5_CONFIG_FILE" in told
    assert "docs/weather.md has both" in told
    wrong = run_weather(HAKOBI_FDB_LIBRARY=library, FDB5_CONFIG_FILE="none.yaml").stderr
    assert "FDB5_CONFIG_FILE=none.yaml: there is no such file" in wrong
    page = (ROOT / "docs" / "weather.md").read_text()
    lines = page[page.index("mkdir -p fdb/root") : page.index("pip install fdb5lib\nexport")]
    subprocess.run(["sh", "-ec", lines], cwd=tmp_path, check=True)
    done = run_weather(HAKOBI_FDB_LIBRARY=library, FDB5_CONFIG_FILE=str(tmp_path / "fdb" / "config.yaml"))
    assert done.returncode == 0, done.stderr
    assert any(path.suffix == ".data" for path in (tmp_path / "fdb" / "root").rglob("*"))
    # The wheel of the active environment needs no name.
    found = run_weather(VIRTUAL_ENV=str(Path(sys.prefix)), FDB5_CONFIG_FILE=str(tmp_path / "fdb" / "config.yaml"))
    assert found.returncode == 0, found.stderr
