"""What `nvir tune` found: tables and JSON, advice tried by nvcc, times on a GPU."""
