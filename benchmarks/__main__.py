"""`python -m benchmarks run SUITE`, `plan`, `report`, `compare`; without one, the sections."""

import sys
from collections.abc import Sequence

from benchmarks import sections, suite_command
from benchmarks.command import run_app


def main(argv: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if argv is None else argv
    if given and given[0] in suite_command.COMMANDS:
        return run_app(suite_command.app, "python -m benchmarks", given)
    return sections.main(given)


if __name__ == "__main__":
    sys.exit(main())
