"""`python -m gim` is the command `gim`."""

import sys

from gim.cli import main

if __name__ == "__main__":
    sys.exit(main())
