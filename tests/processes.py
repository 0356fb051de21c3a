"""Programs, given as Python, in processes of their own; and waiting for what others do."""

import subprocess
import sys
import textwrap
import time


def spawn(code, *args, flags=()):
    """Start a program, with pipes to and from it."""
    return subprocess.Popen(
        [sys.executable, *flags, "-c", textwrap.dedent(code), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def begin(*children):
    """Wait until all programs have said that they are ready, and let them go on together."""
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()


def output(child):
    """Return what a program printed once it has ended well, without a word on stderr."""
    stdout, stderr = child.communicate(timeout=120)
    assert child.returncode == 0, stderr
    assert not stderr
    return stdout


def python(code, *args):
    """Run a program with warnings as errors and return what it printed."""
    return output(spawn(code, *args, flags=("-W", "error")))


def eventually(condition, seconds=60.0):
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
