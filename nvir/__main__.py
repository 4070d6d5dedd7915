"""`python -m nvir` is the command `nvir`."""

from nvir.cli import main

main(prog_name="nvir")
