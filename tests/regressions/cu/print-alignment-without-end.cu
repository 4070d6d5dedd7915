__shared__ __align__(1e999)float b_tile
