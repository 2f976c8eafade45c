"""Tools that developers of Hakobi measure and test with, and users do not get (lab/README.md)."""
