"""nvir's own text: printing and parsing, lossless."""
