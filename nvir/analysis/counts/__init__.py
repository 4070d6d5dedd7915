"""How often loops run, where no formula tells."""
