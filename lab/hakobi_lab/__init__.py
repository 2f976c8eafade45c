"""The workbench: benchmarks, studies and reports as commands of `hakobi`, and tools that tests use (lab/README.md)."""
