"""A wrong Python type is a TypeError that says what was expected."""

import pytest

import nvir

CALLS = {
    "print_ptx": lambda x: nvir.print_ptx(x),
    "print_ir": lambda x: nvir.print_ir(x),
    "read_ptx": lambda x: nvir.read_ptx(x),
    "run_passes": lambda x: nvir.run_passes(x, "dce"),
    "verify": lambda x: nvir.verify(x),
    "cfg_dot": lambda x: nvir.cfg_dot(x),
    "to_networkx": lambda x: nvir.to_networkx(x),
    "launch": lambda x: nvir.launch(x, "k", 1, 1, []),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [3, None, ["dce"]])
def test_wrong_type(name, wrong):
    with pytest.raises(TypeError, match=type(wrong).__name__):
        CALLS[name](wrong)
