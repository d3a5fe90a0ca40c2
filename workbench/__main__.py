"""`python -m workbench`: the command line."""

import sys

if __name__ == "__main__":
    try:
        from workbench.cli import main

        sys.exit(main())
    except KeyboardInterrupt:  # before the command line was there to hear it
        sys.exit(130)
