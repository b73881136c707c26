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
        parts = [part for part in (self.file, self.where) if part]
        if self.value is not None:
            text = " ".join(str(self.value).split())
            parts.append(text if len(text) <= 120 else text[:117] + "...")
        return ": ".join([*parts, self.expected])


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
