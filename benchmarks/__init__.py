"""The long jobs. A package, for xdsl installs one of this name, which would hide a mere folder."""
