"""Software pipelining of loops: prologue, kernel, epilogue."""
