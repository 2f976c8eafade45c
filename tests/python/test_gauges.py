from __future__ import annotations

from hakobi_lab.studies.output_methods.gauges import arrival_table, gauges_of

GAUGE = {"name": "DART 1", "observed_min": 60.0, "computed_min": 57.0, "crest_m": 0.5}


def test_observed_and_computed_stand_beside_each_other() -> None:
    crest = {"observed_crest_min": 66.0, "computed_crest_min": 69.3}
    table = arrival_table([GAUGE | crest])
    arrival = ["1 h 00 min", "0 h 57 min", "-5.0 %"]
    assert table.rows == [["DART 1", *arrival, "1 h 06 min", "1 h 09 min", "+5.0 %", "0.50 m"]]


def test_what_is_not_known_or_not_reached_is_said() -> None:
    table = arrival_table([{"name": "far", "observed_min": 300.0, "computed_min": None, "crest_m": None}])
    assert table.rows == [["far", "5 h 00 min", "not within the run", "", "", "not within the run", "", ""]]


def test_the_last_record_with_gauges_has_them() -> None:
    assert gauges_of([{"gauges": [GAUGE]}, {"gauges": []}, {"x": 1}]) == [GAUGE]
    assert gauges_of([{"gauges": "none"}, {}]) == []
