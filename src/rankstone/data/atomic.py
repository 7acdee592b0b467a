"""Files that are there whole, or not at all: the one writer of everything."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankstone.data.lines import CODECS
from rankstone.errors import DataError, InputError, unencodable

if TYPE_CHECKING:
    from rankstone.data.files import Path


@contextlib.contextmanager
def replacing(path: Path, form: str = "") -> Iterator[Any]:
    """A stream to a file that takes its place when all is written; `-` is standard output."""
    with encodable(path), _replacing(os.fspath(path), form) as stream:
        yield stream


@contextlib.contextmanager
def encodable(path: Path) -> Iterator[None]:
    """Show the text that a file cannot hold."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise DataError(f"{os.fspath(path)}: {unencodable(error)}", "id") from None


@contextlib.contextmanager
def _replacing(name: str, form: str) -> Iterator[Any]:
    ending = name.rpartition(".")[2].lower()
    codec = CODECS.get(ending)
    if codec is not None and form == "parquet":
        raise InputError(f"{name}: Parquet compresses by itself; leave .{ending} out")
    if name == "-":
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    final = os.path.realpath(name)  # a link stays a link
    if os.path.isdir(final):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not os.path.isdir(os.path.dirname(final)):
        raise FileNotFoundError(errno.ENOENT, "no such folder", os.path.dirname(final))
    if os.path.exists(final) and not os.path.isfile(final):  # a device or a pipe
        with open(final, "wb") as stream:
            yield stream
        return
    folder, base = os.path.split(final)
    mode = stat.S_IMODE(os.stat(final).st_mode) if os.path.exists(final) else None
    named = os.path.join(folder, f".{base[:100]}.{os.urandom(4).hex()}.tmp")
    handle = _open_nameless(folder, mode)
    if handle is None:
        os.close(os.open(named, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode))
    written = named if handle is None else f"/proc/self/fd/{handle}"
    try:
        with _stream(written, codec) as stream:
            yield stream
        if mode is not None:
            os.chmod(written, mode)
        _sync(written)
        if handle is not None:
            os.link(written, named, src_dir_fd=handle)  # without this argument, it would link the link
        os.replace(named, final)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(named)
        raise
    finally:
        if handle is not None:
            os.close(handle)
    with contextlib.suppress(OSError):
        _sync(folder)


def _open_nameless(folder: str, mode: int | None) -> int | None:
    """A file without a name, which a killed process does not leave behind; None where the system has none."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None:
        return None
    try:
        handle = os.open(folder, flag | os.O_RDWR, 0o666 if mode is None else mode | stat.S_IRUSR | stat.S_IWUSR)
    except OSError:
        return None
    if os.path.exists(f"/proc/self/fd/{handle}"):
        return handle
    os.close(handle)
    return None


def _stream(path: str, codec: str | None) -> Any:
    if codec == "xz":
        import lzma

        return lzma.open(path, "wb")
    import pyarrow

    return pyarrow.output_stream(path, compression=codec)


def _sync(path: str) -> None:
    """Wait until it is on the disk."""
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
