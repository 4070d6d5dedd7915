"""One loop on a page: every decision and its reasons."""
