"""``python -m hedgerow`` is the command ``hedgerow``."""

from hedgerow.cli import main

if __name__ == "__main__":
    main()
