"""`python -m bitlex` is the command `bitlex`."""

from .cli import run

if __name__ == "__main__":
    run()
