"""Experiments behind `hakobi study …`: a folder each, with a pure plan, a runner, a summary and a report."""
