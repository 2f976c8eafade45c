"""GRIB messages of many centres in a store: archived by their own keywords, listed, as xarray, and drawn."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import xarray
from PIL import Image, ImageChops

from hakobi import open_store, programs
from hakobi.cli import run
from hakobi.errors import InputError
from hakobi.post.answers import checked, read_point
from hakobi.post.catalogue import Catalogue, Steps
from hakobi.post.picture import picture
from hakobi.post.tiles import Plane, read_plane
from hakobi.store import Store
from hakobi.store.parameters import grib_values

SAMPLES = Path("/usr/share/eccodes/samples")
#: Files of NOAA, CMC, KNMI, ECMWF and others: Debian's package python-grib-doc.
EXAMPLES = Path("/usr/share/doc/python-grib-doc/examples")
ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.programs,
    pytest.mark.once,
    pytest.mark.skipif(not SAMPLES.is_dir(), reason="ecCodes' samples are not installed"),
]
if not (ROOT / "build" / programs.flavour() / "bin" / "hakobi-store").is_file():
    pytest.skip("hakobi-store is not built", allow_module_level=True)
needs_examples = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="python-grib-doc is not installed")


def message(name: str = "reduced_gg_pl_32_grib2") -> bytes:
    return (SAMPLES / f"{name}.tmpl").read_bytes()


def with_level(level_pa: int, data: bytes) -> bytes:
    """A message of edition 2 on another pressure level."""
    at = section_of(data, 4)[0]
    return data[: at + 24] + level_pa.to_bytes(4, "big") + data[at + 28 :]


def section_of(data: bytes, number: int) -> tuple[int, int]:
    """Where a section of edition 2 begins and ends."""
    at = 16
    while data[at + 4] != number:
        at += int.from_bytes(data[at : at + 4], "big")
    return at, at + int.from_bytes(data[at : at + 4], "big")


def joined(first: bytes, *others: bytes) -> bytes:
    """One message with the fields of several on one grid."""
    fields = b"".join(data[section_of(data, 4)[0] : -4] for data in others)
    whole = first[:-4] + fields + b"7777"
    return whole[:8] + len(whole).to_bytes(8, "big") + whole[16:]


def archive(store: Path, *files: Path) -> int:
    return run(["store", "archive", str(store), *map(str, files)])


def test_messages_of_several_fields_are_archived_as_messages_of_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    levels = [with_level(level, message()) for level in (100_000, 85_000, 50_000)]
    (tmp_path / "several.grib2").write_bytes(joined(*levels) + levels[0])
    assert archive(tmp_path / "s", tmp_path / "several.grib2") == 0
    assert "3 fields of 2 messages archived" in (said := capfd.readouterr().out)
    assert "1 more are there already" in said
    store = open_store(tmp_path / "s")
    assert [data for _, data in store.retrieve("levtype=pl")] == [levels[2], levels[1], levels[0]]
    with open_store(tmp_path / "t", "weather") as other:
        other.archive_grib(joined(*levels))
    assert [data for _, data in other.retrieve()] == [levels[2], levels[1], levels[0]]


def test_a_damaged_message_is_named_and_the_others_are_archived(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    levels = [with_level(level, message()) for level in (100_000, 85_000, 50_000)]
    size = len(levels[0])
    damaged = levels[1][:30] + bytes(20) + levels[1][50:]
    file = tmp_path / "damaged.grib2"
    file.write_bytes(levels[0] + damaged + levels[2])
    assert archive(tmp_path / "s", file) == 2
    told = capfd.readouterr()
    [line] = told.err.splitlines()
    assert f"damaged.grib2, message 2 at byte {size}: not a whole GRIB message" in line
    assert f"{size} bytes are passed over" in line
    assert "2 fields of 2 messages archived" in told.out
    assert [field.keys["levelist"] for field in open_store(tmp_path / "s").list()] == ["500", "1000"]
    file.write_bytes(b"nothing of the kind")
    assert archive(tmp_path / "s", file) == 2
    assert capfd.readouterr().err.endswith(": it has no GRIB message\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "good.grib2").write_bytes(levels[0])
    assert archive(tmp_path / "empty", tmp_path, tmp_path / "good.grib2") == 2, "a folder is no file"
    assert len(open_store(tmp_path / "empty").list()) == 1
    assert archive(tmp_path / "none", tmp_path / "missing.grib2") == 2
    assert not (tmp_path / "none").exists()


@needs_examples
def test_damaged_values_are_found_by_unpacking_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = bytearray((EXAMPLES / "safrica.grib2").read_bytes())
    del data[int.from_bytes(data[8:16], "big") :]
    values = section_of(bytes(data), 7)[0] + 5
    data[values : values + 100] = bytes(100)  # the head of a JPEG 2000
    (tmp_path / "a").write_bytes(data)
    assert archive(tmp_path / "s", tmp_path / "a") == 0
    assert run(["store", "archive", str(tmp_path / "t"), str(tmp_path / "a"), "--deep"]) == 2
    assert "/a, message 1 at byte 0: values: " in capfd.readouterr().err
    assert len(open_store(tmp_path / "t").list()) == 0


def test_fields_of_the_same_key_do_not_replace_each_other_silently(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = message()
    place = section_of(first, 5)[0] + 14  # in the reference value
    second = first[:place] + bytes([first[place] ^ 1]) + first[place + 1 :]
    (tmp_path / "a").write_bytes(first)
    (tmp_path / "b").write_bytes(second)
    assert archive(tmp_path / "s", tmp_path / "a", tmp_path / "b") == 2
    [line] = capfd.readouterr().err.splitlines()
    assert f"{tmp_path}/b, message 1 at byte 0: another field than that of {tmp_path}/a, message 1 at byte 0" in line
    store = open_store(tmp_path / "s")
    assert [data for _, data in store.retrieve()] == [first]
    # A later command replaces what an earlier one has archived, and says so.
    assert archive(tmp_path / "s", tmp_path / "b") == 0
    assert "1 replace earlier ones" in capfd.readouterr().out
    assert [data for _, data in store.retrieve()] == [second]


def test_put_refuses_a_key_that_contradicts_its_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.grib2"
    file.write_bytes(with_level(50_000, message()))
    path = str(tmp_path / "s")
    assert run(["store", "create", path, "--schema", "weather"]) == 0
    assert archive(tmp_path / "other", file) == 0
    keys = open_store(tmp_path / "other").list()[0].keys
    key = ",".join(f"{keyword}={value}" for keyword, value in keys.items())
    assert keys["levelist"] == "500"
    wrong = key.replace("levelist=500", "levelist=850")
    assert run(["store", "put", path, wrong, str(file)]) == 2
    told = capfd.readouterr().err
    assert told.endswith("the key says levelist=850, and the GRIB message has levelist=500\n")
    assert run(["store", "put", path, key.replace("levelist=500", "levelist=500.0"), str(file)]) == 0
    assert open_store(path).list()[0].form == "grib"
    file.write_bytes(joined(message(), with_level(85_000, message())))
    assert run(["store", "put", path, key, str(file)]) == 2
    assert "has 2 fields" in capfd.readouterr().err
    file.write_bytes(b"GRIB of another kind")
    assert run(["store", "put", path, key, str(file)]) == 0


def test_schemas_are_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "schema", "grib"]) == 0
    text = capfd.readouterr().out
    assert "class?xx, expver?0001, stream?oper" in text
    (tmp_path / "own").write_text(text)
    assert run(["store", "create", str(tmp_path / "s"), "--schema", str(tmp_path / "own")]) == 0
    assert run(["store", "schema", str(tmp_path / "s")]) == 0
    assert capfd.readouterr().out == text
    assert run(["store", "schema", "weather", "--table"]) == 0
    table = capfd.readouterr().out.splitlines()
    assert [line.split() for line in table][:3] == [
        ["rule", "1"],
        ["level", "keyword", "type", "value"],
        ["dataset", "class", "String", "required"],
    ]
    assert ["field", "levelist", "Double", "may", "be", "missing"] in [line.split() for line in table]
    assert run(["store", "schema", "grip"]) == 2
    assert "did you mean 'grib'?" in capfd.readouterr().err


@needs_examples
def test_other_centres_messages_have_keywords_and_defaults(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = ("CMC_reg_WIND_ISBL_300_ps60km_2010052400_P012.grib", "ngm.grb", "ds.maxt.bin", "dspr.temp.bin")
    files = [EXAMPLES / name for name in (*names, "rotated_ll.grib1", "rap.wrfnat.grib2", "ecmwf_tigge.grb")]
    assert archive(tmp_path / "s", *files) == 0
    assert "made the store" in capfd.readouterr().out
    store = open_store(tmp_path / "s")
    assert Counter(field.keys["origin"] for field in store.list()) == {
        "kwbc": 6, "8": 8, "cwao": 1, "ekmi": 1, "ecmf": 25,
    }  # fmt: skip
    [wind] = store.list("origin=cwao,levtype=pl,levelist=300,param=ws")
    assert wind.keys["class"] == "xx"
    assert wind.keys["type"] == "fc"
    assert wind.keys["step"] == "12"
    [wet] = store.list("process=39,levtype=sigmaLayer")
    assert wet.keys["levelist"] == "0-1"
    # The same product on two grids.
    assert [f.keys["grid"] for f in store.list("param=tmax,step=2-14")] == ["lambert-1073x689", "mercator-339x224"]
    assert {f.keys["class"] for f in store.list("origin=ecmf")} == {"ti"}
    with Store(tmp_path / "w", schema="weather"):
        pass
    assert archive(tmp_path / "w", files[0]) == 2
    assert (
        "message 1 at byte 0: it is not labelled for MARS: a store of the schema grib takes it"
        in capfd.readouterr().err
    )


@needs_examples
def test_arrays_have_places_times_names_and_units(tmp_path: Path) -> None:
    names = ("ngm.grb", "safrica.grib2", "flux.grb", "reduced_latlon_surface.grib2")
    assert archive(tmp_path / "s", *(EXAMPLES / name for name in names)) == 2  # one of flux.grb is damaged
    store = open_store(tmp_path / "s")
    rain = store.sel(param="prate", process=254, step=[0, 6])
    assert rain.dims == ("step", "y", "x")
    assert rain.latitude.dims == ("y", "x")
    assert float(rain.latitude[0, 0]) == pytest.approx(-33.184501)
    assert rain.attrs["units"] == "kg m**-2 s**-1"
    assert rain.valid_time.values.tolist() == np.array(["2010-03-08T12", "2010-03-08T18"], "M8[ns]").tolist()
    assert (rain.forecast_period.dtype.kind, str(rain.forecast_reference_time.values)[:16]) == ("m", "2010-03-08T12:00")
    flux = store.sel(param="sp", levtype="sfc", grid="regular_gg-192x94")
    assert flux.dims == ("latitude", "longitude")
    assert flux.name == "sp"
    assert flux.attrs["long_name"] == "Surface pressure"
    assert float(flux.latitude[-1]) == pytest.approx(88.54195, abs=1e-4)
    waves = store.sel(param="swh")
    assert waves.dims == ("point",)
    assert int(waves.isnull().sum()) == 98701
    assert float(waves.latitude[0]) == pytest.approx(81)
    dataset = xarray.open_dataset(store.path, engine="hakobi", request="process=254")
    assert set(dataset.data_vars) == {"btmp", "pwat", "prate"}
    assert dataset.valid_time.dims == ("step",)
    assert dataset.btmp.attrs["levtype"] == "cloudTop"  # the others' is another
    assert not dataset.attrs
    with pytest.raises(InputError, match="select one of grid="):
        store.sel(param="pwat")


def test_a_picture_shows_the_last_step_that_can_be_drawn(tmp_path: Path) -> None:
    with open_store(tmp_path / "s", "grib") as store:
        store.archive_grib(message())
        spectral = message("sh_ml_grib2")
        store.archive_grib(spectral[:28] + (2030).to_bytes(2, "big") + spectral[30:])
    [series] = Catalogue(tmp_path / "s").series.values()
    steps = [Steps(tmp_path / "s").get(series, int(number)).step for number in series.numbers]
    assert [len(step.fields) for step in steps] == [1, 0], "the last one is spectral"
    assert picture(tmp_path / "s", tmp_path / "a.png", width=200).stat().st_size > 1000
    with pytest.raises(InputError, match="sh"):
        picture(tmp_path / "s", tmp_path / "b.png", step=str(series.numbers[-1]))


@needs_examples
def test_intervals_are_shown_beside_the_instants_at_their_end_and_nothing_is_cut(tmp_path: Path) -> None:
    assert archive(tmp_path / "s", EXAMPLES / "ngm.grb") == 0
    [series] = Catalogue(tmp_path / "s").series.values()
    [number] = series.numbers
    step = Steps(tmp_path / "s").get(series, int(number)).step
    assert step.found.label == "date 20041208, time 1200, step 48"
    rain = "acpcp levtype=sfc step=36-48 steptype=accum"
    assert len(step.fields) == 5
    assert rain in step.fields
    assert "sp levtype=sfc" in step.fields
    picture(tmp_path / "s", tmp_path / "a.png", field=rain)
    image = Image.open(tmp_path / "a.png").convert("RGB")
    left, top, right, bottom = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox() or [0] * 4
    assert min(left, top, image.width - right, image.height - bottom) > 3


@needs_examples
def test_grids_on_projections_are_drawn_as_maps(tmp_path: Path) -> None:
    """Values at places are those that ecCodes says to be there."""
    assert archive(tmp_path / "s", EXAMPLES / "ds.maxt.bin", EXAMPLES / "dspr.temp.bin") == 0
    store = open_store(tmp_path / "s")
    [field] = store.list("step=2-14,grid=mercator-339x224")
    [series] = Catalogue(tmp_path / "s").series.values()
    opened = Steps(tmp_path / "s").get(series, int(series.numbers[0]))
    drawn = next(f for f in opened.step.fields.values() if "mercator" in f.name)
    assert [axis.kind for axis in drawn.axes] == ["lat", "lon"]
    assert drawn.long_name.startswith("Maximum temperature")
    assert drawn.units == "K"
    assert opened.step.times == (np.datetime64("2011-09-30T00:00", "s").astype(int),)
    # Rows of this producer turn: every second one goes from east to west.
    rows = grib_values(b"".join(data for _, data in store.retrieve(field.line))).reshape(224, 339)
    rows[1::2] = rows[1::2, ::-1]
    array = store.sel(step="2-14", grid="mercator-339x224")
    np.testing.assert_array_equal(array.values, np.where(rows == 9999, np.nan, rows))
    latitude, longitude = (np.asarray(axis.coordinates) for axis in drawn.axes)
    for at in itertools.product((60, 61, 150), (100, 200)):
        north, east = float(array.latitude[at]), float(array.longitude[at])
        row, column = abs(latitude - north).argmin(), abs(longitude - east).argmin()
        value = read_point(opened, checked(drawn), 0, [int(row), int(column)])
        assert value == pytest.approx(float(array[at]), nan_ok=True)


@needs_examples
@pytest.mark.long
@pytest.mark.timeout(900)
def test_every_message_is_archived_listed_and_drawn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """1,035 of the 1,036 fields that ecCodes finds; the other one is the field of another file in edition 2."""
    assert archive(tmp_path / "s", *sorted(path for path in EXAMPLES.iterdir() if path.is_file())) == 2
    told = capfd.readouterr()
    assert "1035 fields of 937 messages archived" in told.out
    assert ["regular_latlon_surface.grib2, message 1" in line for line in told.err.splitlines()] == [False, True]
    store = open_store(tmp_path / "s")
    listed = [field for field in store.list() if len(store.list(str(field))) == 1]
    assert len(listed) == 1035
    counts: Counter[str] = Counter()
    grids: dict[str, tuple[str, str]] = {}
    [series] = Catalogue(tmp_path / "s").series.values()
    for number in series.numbers:
        opened = Steps(tmp_path / "s").get(series, int(number))
        counts["left out"] += len(opened.step.left_out)
        for field in opened.step.fields.values():
            rows, columns = field.shape
            values, _, _ = read_plane(opened, Plane(checked(field), 0, 0, 0, 0), ((0, rows), (0, columns)))
            counts["drawn"] += bool(np.isfinite(values.astype(np.float64)).any())
            counts["named"] += bool(field.long_name)
            counts["with a unit"] += bool(field.units)
            counts["with a time"] += bool(opened.step.times)
            grids.setdefault(f"{rows} {columns}", (field.name, str(number)))
    assert counts["drawn"] == 1034
    assert counts["left out"] == 1
    assert counts["with a time"] == 1034
    assert counts["named"] == counts["with a unit"] == 1018  # 16 are of parameters that ecCodes 2.28 does not know
    for field_name, step in grids.values():
        assert picture(tmp_path / "s", tmp_path / "a.png", field=field_name, step=step).stat().st_size > 10_000
