"""Winds: which two fields are the eastward and the northward component of one."""

from __future__ import annotations

from hakobi.post.source import Field, Step

#: By CF's standard name. Those along x and y are eastward and northward on axes of longitude and latitude.
_PARTS = {"eastward_wind": "u", "northward_wind": "v"}
_ALONG_AXES = {"x_wind": "u", "y_wind": "v"}


Pair = tuple[Field, Field]


def wind_over(pairs: list[Pair], this: Field) -> Pair | None:
    """The one of a step's winds to be drawn over a map of this field: that of which it is a component, else one with
    the same directions, levels too; None where there is none."""
    if not is_map(this):
        return None
    pairs = [pair for pair in pairs if pair[0].axes == this.axes]
    return min(pairs, key=lambda pair: this.name not in (pair[0].name, pair[1].name), default=None)


def is_map(this: Field) -> bool:
    """Whether its last two directions are latitude and longitude."""
    return [axis.kind for axis in this.axes[-2:]] == ["lat", "lon"]


def winds_of(step: Step) -> list[Pair]:
    """Eastward and northward: fields of equal directions and times whose names differ in nothing but the component, or
    that are the only two."""
    parts: dict[str, list[Field]] = {"u": [], "v": []}
    for this in step.fields.values():
        if part := _part(this):
            parts[part].append(this)
    pairs = []
    for east in parts["u"]:
        if not is_map(east):
            continue
        alike = [f for f in parts["v"] if f.axes == east.axes and f.num_times == east.num_times]
        named = [f for f in alike if _rest(f) == _rest(east)]
        rivals = [f for f in parts["u"] if f.axes == east.axes]
        found = named or (alike if len(alike) == len(rivals) == 1 and not east.wind_name else [])
        if found:
            pairs.append((east, found[0]))
    return pairs


def _part(this: Field) -> str:
    if this.wind_name is not None:
        return this.wind_name[:1]
    known = _PARTS if this.on_map is not None else _PARTS | _ALONG_AXES
    return known.get(this.standard_name, "")


def _rest(this: Field) -> str:
    """The name without the component's letter: u10 and v10 share "10"."""
    if this.wind_name:
        return this.wind_name[1:]
    name = this.name.lower()
    return name.replace(_part(this), "", 1)
