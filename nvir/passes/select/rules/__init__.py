"""What each family of `nvvm` instructions and intrinsics becomes: one file a family."""
