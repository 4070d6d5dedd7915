"""What ptxas refuses of PTX that can be read: of declarations, of spellings, of operands."""
