"""The five errors that any file's content can cause, and nothing else.

`NvirError` is the root, so `except nvir.NvirError` catches all of them. The
command line turns them into `file:line:col: error: ...` and exit code 1.
"""

from __future__ import annotations

import attrs


class NvirError(Exception):
    """Root of every error that nvir raises on purpose."""


@attrs.frozen
class Diagnostic:
    """One thing to tell about a place in a text.

    `line` and `col` count from 1; `source` is that line as it stands in the
    file, without its first `cut` characters where it is very long; `severity` is "error" or
    "warning", that of `notes`, which say more, "note".
    """

    message: str
    file: str = "<text>"
    line: int = 0
    col: int = 0
    source: str = ""
    severity: str = "error"
    notes: tuple[Diagnostic, ...] = ()
    cut: int = 0

    def __str__(self) -> str:
        return "\n".join([self._alone(), *map(str, self.notes)])

    def _alone(self) -> str:
        where = f"{self.file}:{self.line}:{self.col}: " if self.line else f"{self.file}: "
        head = f"{where}{self.severity}: {_visible(_shortened(self.message))}"
        if not self.source:
            return head
        return f"{head}\n{_excerpt(self.source, self.col - self.cut)}"


NOTES = 3  # of an error that are told
_WIDTH = 160
_MESSAGE = 1000


def _shortened(message: str) -> str:
    """A message that quotes something of megabytes, without its middle."""
    if len(message) <= _MESSAGE:
        return message
    return f"{message[: _MESSAGE // 2]} … {message[-_MESSAGE // 2 :]}"


def _visible(text: str) -> str:
    """A text without what a terminal would obey: a file may hold anything."""
    return "".join(c if c.isprintable() or c in "\t\n" else "?" for c in text)


def _excerpt(source: str, col: int) -> str:
    """The source line with a caret under column `col`, cut to a readable width around it."""
    start = 0
    if len(source) > _WIDTH:  # a line may be megabytes long
        start = max(0, col - 1 - _WIDTH // 2)
        source = source[start : start + _WIDTH]
    shown = _visible(source)
    pad = "".join("\t" if c == "\t" else " " for c in shown[: max(0, col - 1 - start)])
    return f"    {shown}\n    {pad}^"


class ParseError(NvirError):
    """A text that cannot be read. `errors` lists every error of the file, in order.

    The attributes `file`, `line`, `column`, `source` are those of the first.
    """

    def __init__(self, errors: list[Diagnostic] | Diagnostic) -> None:
        self.errors = [errors] if isinstance(errors, Diagnostic) else list(errors)
        first = self.errors[0]
        self.file, self.line, self.column, self.source = (
            first.file,
            first.line,
            first.col,
            first.source,
        )
        super().__init__("\n".join(str(e) for e in self.errors))


class VerifyError(NvirError):
    """An IR invariant is broken: an error of whoever made the IR, not of a user's file.

    Names the function, the instruction as text, and the invariant; `place` is where that stands
    in the text that was read, if it is known.
    """

    def __init__(
        self, invariant: str, function: str = "", instruction: str = "",
        place: Diagnostic | None = None,
    ) -> None:
        self.invariant, self.function, self.instruction = invariant, function, instruction
        self.place = place
        text = f"in @{function}: {invariant}" if function else invariant
        if place is not None:
            text = str(attrs.evolve(place, message=text))
        elif instruction:
            text += f"\n    {instruction}"
        super().__init__(text)


class Unsupported(NvirError):
    """Something that nvir knows of but does not do: names it, the target and the place."""

    def __init__(
        self, what: str, target: str = "", where: str = "", place: Diagnostic | None = None
    ) -> None:
        self.what, self.target, self.where, self.place = what, target, where, place
        on = f" on {target}" if target else ""
        at = f" at {where}" if where else ""
        text = f"unsupported: {what}{on}{at}"
        if place is not None:
            text = str(attrs.evolve(place, message=text))
            self.where = where or f"{place.file}:{place.line}:{place.col}"
        super().__init__(text)


class PassError(NvirError):
    """A pass failed. `saved` is the file that holds the last good IR, if it could be written."""

    def __init__(self, name: str, function: str, reason: str, saved: str | None = None) -> None:
        self.pass_name, self.function, self.reason, self.saved = name, function, reason, saved
        kept = f"; last good IR in {saved}" if saved else ""
        super().__init__(f"pass '{name}' failed on @{function}: {reason}{kept}")


class LaunchError(NvirError):
    """A kernel did something wrong while running: names kernel, thread, instruction, address.

    `line` is that of the text that was read, `place` the file, line and column in what the user
    gave; the line 0 where nobody knows it.
    """

    def __init__(
        self,
        message: str,
        *,
        kernel: str = "",
        cta: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
        instruction: str = "",
        line: int | None = None,
        address: int | None = None,
        source: str = "",
        place: tuple[str, int, int] = ("", 0, 0),
    ) -> None:
        self.message, self.kernel, self.cta, self.thread = message, kernel, cta, thread
        self.instruction, self.line, self.address = instruction, line, address
        self.source, self.place = source, place
        parts = [message]
        if kernel:
            parts.append(f"kernel {kernel}")
        if cta is not None:
            parts.append(f"block {cta}")
        if thread is not None:
            parts.append(f"thread {thread}")
        if address is not None:
            parts.append(f"address {address:#x}")
        text = ", ".join(parts)
        if instruction:
            shown = f"line {line}: " if line else ""
            text += f"\n    {shown}{instruction}"
        if source:
            text += f"\n    {source}"
        super().__init__(text)


def expect(value: object, kind: type) -> None:
    """Raise TypeError unless `value` is of `kind`, for arguments of public functions."""
    if not isinstance(value, kind):
        wanted = kind.__name__.lower()
        article = "an" if wanted[0] in "aeiou" else "a"
        raise TypeError(f"expected {article} {wanted}, not {type(value).__name__}")
