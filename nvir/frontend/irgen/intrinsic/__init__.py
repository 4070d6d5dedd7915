"""What the compiler knows by name: builtins, printf, special variables, inline assembly."""
