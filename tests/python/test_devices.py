"""`hakobi doctor` on devices."""

from __future__ import annotations

from hakobi.measuring import devices
from hakobi.measuring.devices import Answer


def test_without_a_driver_the_doctor_has_one_line_and_no_warning() -> None:
    facts = devices.found(lambda flavour: None)
    assert [(fact.verdict, fact.finding) for fact in facts] == [("good", "none: no driver of CUDA or HIP")]


def test_the_doctor_says_what_each_driver_and_mpi_library_can_do() -> None:
    answers = {
        "openmpi": Answer(("CUDA device 0 (T)", "CUDA device 1 (T)"), ("HIP 4.0: 5.0 is needed",), True),
        "mpich": Answer(("CUDA device 0 (T)", "CUDA device 1 (T)"), (), False),
    }
    facts = devices.found(answers.__getitem__)
    assert [fact.finding for fact in facts if fact.topic == "device"] == ["CUDA device 0 (T)", "CUDA device 1 (T)"]
    assert [fact.verdict for fact in facts if fact.topic == "device driver"] == ["note"]
    assert {fact.topic: fact.verdict for fact in facts if fact.topic.startswith("devices")} == {
        "devices (openmpi)": "good",
        "devices (mpich)": "note",
    }


def test_a_driver_that_gives_no_device_and_a_library_that_fails_are_said() -> None:
    assert "no device" in devices.found(lambda flavour: Answer())[0].finding
    failed = devices.found(lambda flavour: Answer(failure="cannot load"))
    assert [(fact.verdict, fact.why) for fact in failed] == [("note", "cannot load")]
