"""One script for each figure or table of a paper; see README.md."""
