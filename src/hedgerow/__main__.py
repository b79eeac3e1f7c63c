"""The command ``hedgerow``, and ``python -m hedgerow``: Ctrl-C ends it with one sentence from its first import on."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, and exit."""
    try:
        from hedgerow.cli import main as command

        command(prog_name="hedgerow")
    except KeyboardInterrupt:  # before the command line listens, or after it stopped: nothing was begun, or all is done
        sys.stderr.write("Error: interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
