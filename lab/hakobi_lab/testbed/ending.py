"""How a command of the testbed ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

from hakobi.errors import HakobiError
from hakobi_lab.testbed.bed import UnavailableError


def end_with(main: Callable[[], int]) -> NoReturn:
    """Ends the process with the status of `main`; 77 where no testbed can be made, 2 after an error, after a line."""
    try:
        sys.exit(main())
    except UnavailableError as error:
        sys.stdout.write(f"skipped: {error}\n")
        sys.exit(77)
    except HakobiError as error:
        sys.stderr.write(f"testbed: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
