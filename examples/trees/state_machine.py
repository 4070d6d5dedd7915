"""A switch in a loop: which of some shapes of number a text holds."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

text, out, n, i, state, c, start = names("text out n i state c start")
TEXTS = ["12", "-7", "3.5", "abc", "+1e9", "1e", ".5", "-.25e-3", "", "9x", "1.2.3", "00"]

CUDA = r"""
enum State { START, SIGN, WHOLE, DOT, FRACTION, E, ESIGN, EXPONENT, BAD };
extern "C" __global__ void state_machine(const char *text, int *out, int n) {
    int start = threadIdx.x * n;
    int state = START;
    for (int i = 0; i < n && text[start + i]; i++) {
        char c = text[start + i];
        switch (state) {
        case START: case SIGN:
            if (c == '+' || c == '-') { state = state == START ? SIGN : BAD; break; }
            state = c >= '0' && c <= '9' ? WHOLE : c == '.' ? DOT : BAD;
            break;
        case WHOLE:
            if (c == '.') { state = FRACTION; break; }
        case FRACTION:
            if (c == 'e') state = E;
            else if (c < '0' || c > '9') state = BAD;
            break;
        case DOT: state = c >= '0' && c <= '9' ? FRACTION : BAD; break;
        case E: if (c == '+' || c == '-') { state = ESIGN; break; }
        case ESIGN: case EXPONENT: state = c >= '0' && c <= '9' ? EXPONENT : BAD; break;
        default: goto done;
        }
    }
done:
    out[threadIdx.x] = state;
}
"""
START, SIGN, WHOLE, DOT, FRACTION, E_, ESIGN, EXPONENT, BAD = range(9)


def tree():
    digit = lambda: land(c >= ord("0"), c <= ord("9"))  # noqa: E731
    sign = lambda: lor(c == ord("+"), c == ord("-"))  # noqa: E731
    go = lambda to: assign(state, to)  # noqa: E731
    return unit(kernel(
        "state_machine", "const char *text, int *out, int n",
        let("int start", threadIdx.x * n), let("int state", START),
        for_(let("int i", 0), land(i < n, text[start + i]), inc(i),
             let("char c", text[start + i]),
             switch(
                 state,
                 case_(START), case_(SIGN),
                 if_(sign(), go(cond(state == START, SIGN, BAD)), break_()),
                 go(cond(digit(), WHOLE, cond(c == ord("."), DOT, BAD))), break_(),
                 case_(WHOLE), if_(c == ord("."), go(FRACTION), break_()),
                 case_(FRACTION),
                 if_(c == ord("e"), go(E_), otherwise=if_(lnot(digit()), go(BAD))), break_(),
                 case_(DOT), go(cond(digit(), FRACTION, BAD)), break_(),
                 case_(E_), if_(sign(), go(ESIGN), break_()),
                 case_(ESIGN), case_(EXPONENT), go(cond(digit(), EXPONENT, BAD)), break_(),
                 default(goto("done")))),
        label("done", assign(out[threadIdx.x], state)),
    ))


def case_(value):
    from nvir.frontend.build import case as case_of

    return case_of(value)


def reference(s):
    import re

    shapes = [(r"", START), (r"[+-]", SIGN), (r"[+-]?\d+", WHOLE), (r"[+-]?\.", DOT),
              (r"[+-]?(\d+\.\d*|\.\d+)", FRACTION), (r"[+-]?(\d+\.?\d*|\.\d+)e", E_),
              (r"[+-]?(\d+\.?\d*|\.\d+)e[+-]", ESIGN),
              (r"[+-]?(\d+\.?\d*|\.\d+)e[+-]?\d+", EXPONENT)]
    return next((k for shape, k in shapes if re.fullmatch(shape, s)), BAD)


def case():
    data = np.zeros((len(TEXTS), 8), np.int8)
    for k, s in enumerate(TEXTS):
        data[k, : len(s)] = np.frombuffer(s.encode(), np.int8)
    out_ = np.zeros(len(TEXTS), np.int32)
    want = np.array([reference(s) for s in TEXTS], np.int32)
    return "state_machine", 1, len(TEXTS), [data, out_, np.int32(8)], 1, want
