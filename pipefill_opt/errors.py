"""The one tree of exceptions; each class knows the exit code that the command line gives it."""

from __future__ import annotations


class PipefillError(Exception):
    """Base of everything that pipefill_opt raises on purpose."""

    exit_code = 2


class InputError(PipefillError):
    """Something that came from outside cannot be used.

    One line: which file, which path inside it, which value, what was expected.
    """

    exit_code = 2

    def __init__(self, expected: str, *, value: object = None, where: str = "", file: str = "") -> None:
        self.expected = expected
        self.value = value
        self.where = where
        self.file = file
        super().__init__(expected)

    def located(self, *, where: str = "", file: str = "") -> InputError:
        """The same error, with an outer path (prefixed) and a file name (if none is known yet)."""
        if where:
            joint = "" if not self.where or self.where.startswith("[") else "."
            self.where = f"{where}{joint}{self.where}" if self.where else where
        if file and not self.file:
            self.file = file
        return self

    def __str__(self) -> str:
        parts = [_short(self.file, 400), _short(self.where, 200)]
        if self.value is not None:
            parts.append(_short(str(self.value), 120))
        return ": ".join(part for part in [*parts, _short(self.expected, 1000)] if part)


def _short(text: str, longest: int) -> str:
    """`text` on one line, cut in its middle where it is too long."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    return f"{line[: longest // 2]}...{line[-longest // 2 :]}"


class ScheduleError(InputError):
    """A schedule that breaks the rules: a missing, doubled or misplaced action, or a deadlock.

    `code` is one of `grammar`, `missing`, `doubled`, `misplaced`, `unknown`, `deadlock`, `size`.
    `cycle` holds the texts of the actions of a deadlock, in order, each waiting for the one before it.
    """

    def __init__(
        self,
        expected: str,
        *,
        code: str,
        value: object = None,
        where: str = "",
        file: str = "",
        rank: int | None = None,
        position: int | None = None,
        cycle: tuple[str, ...] = (),
    ) -> None:
        super().__init__(expected, value=value, where=where, file=file)
        self.code = code
        self.rank = rank
        self.position = position
        self.cycle = cycle


class InfeasibleError(PipefillError):
    """The problem has no solution, proved."""

    exit_code = 1


class LimitError(PipefillError):
    """A limit ended the search before any plan was found."""

    exit_code = 3


class CertificateError(PipefillError):
    """A plan failed its certificate. From a solver of ours this is a bug."""

    exit_code = 4
