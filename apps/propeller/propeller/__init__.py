"""A screw of the Wageningen B-series: its geometry and its open-water coefficients."""
