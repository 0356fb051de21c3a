"""A fork while another thread holds a lock, as it may at any moment."""

import os
import signal
import threading


def child_goes_on(lock, works):
    """Return whether a child, forked while a thread holds the lock, finds that all `works`."""
    held, release = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a deadlock ends the child, and the test fails
        os._exit(0 if works() else 1)
    release.set()
    thread.join()
    return os.waitpid(child, 0)[1] == 0
