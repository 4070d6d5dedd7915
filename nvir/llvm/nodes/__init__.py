"""What LLVM says of the nodes of metadata: debug data, access tags and scopes."""
