"""`python -m linkwise` is the command line."""

from linkwise.cli import main

if __name__ == "__main__":
    main()
