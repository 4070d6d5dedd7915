"""What of a loop may run before it: invariance, memory, speculation; changes nothing."""
