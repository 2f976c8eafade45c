"""The workbench's subcommands of `hakobi`, one module each; hakobi/cli.py says what a module keeps to."""
