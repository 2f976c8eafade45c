"""Every call of the C interface that can fail has a row in tests/faults, where calls to the system fail in it."""

from __future__ import annotations

import re

from building import ROOT

#: Calls without a row, and why.
WITHOUT_A_ROW = {
    r".*_on": "of a GPU's stream: device_broken_test.cpp",
    r"hakobi_mpi_.*": "MPI's beginning and end",
    r".*refuse.*": "it returns an error",
    r"hakobi_comm_duplicate_(f|world)": "hakobi_comm_duplicate, which calls it",
    r"hakobi_comm_(node|num_nodes|handle_f)|hakobi_error_rank": "it cannot fail",
    r"hakobi_(dims_of_ranks|topology_(node|socket)_of)": "it cannot fail but by its arguments",
    r"hakobi_buffer_array_append_memory": "hakobi_buffer_array_append",
    r"hakobi_output_(get_times|put_points)": "like put, it moves nothing",
    r"hakobi_(grib_.*|store_archive_grib)": "ecCodes, which is not everywhere",
    r"hakobi_listing_column": "like hakobi_listing_keywords",
}


def test_every_call_that_can_fail_has_a_row() -> None:
    headers = ("hakobi.h", "hakobi_exchange.h", "hakobi_store.h", "hakobi/bindings.h")
    texts = [(ROOT / "include" / header).read_text() for header in headers]
    code = "\n".join(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) for text in texts)
    names = set(re.findall(r"HAKOBI_API int (hakobi_\w+)\(", code))
    assert len(names) > 70
    rows = "\n".join(path.read_text() for path in (ROOT / "tests" / "faults").glob("*_operations.cpp"))
    missing = {name for name in names if not re.search(rf"\b{name}\b", rows)}
    unexplained = {name for name in missing if not any(re.fullmatch(rule, name) for rule in WITHOUT_A_ROW)}
    assert not unexplained
    assert all(any(re.fullmatch(rule, name) for name in missing) for rule in WITHOUT_A_ROW)
