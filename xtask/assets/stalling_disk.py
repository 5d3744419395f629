# An nbdkit plugin: a disk in memory that can fall silent for a while, and that writes down when each read came and
# when it was answered. What a benchmark says of its latencies can be held against that log.
#
# Parameters: size=BYTES, log=FILE, control=FILE.
#
# The log has a line per read: arrival, answer (both CLOCK_MONOTONIC, ns), offset and length in bytes. Truncating it
# starts a new one.
#
# The control file holds JSON and is replaced by renaming: {"after_ns": A, "for_ns": F} lets every read that is there
# between A and A + F after the first read behind the replacement wait until the end of that time.
import json
import os
import threading
import time

import nbdkit

API_VERSION = 2

settings = {"size": "64M", "log": None, "control": None}
size_bytes = 0
log_descriptor = -1
lock = threading.Lock()
seen_change = None
stall = (0, 0)


def thread_model():
    return nbdkit.THREAD_MODEL_PARALLEL


def config(key, value):
    if key not in settings:
        raise RuntimeError("unknown parameter " + key)
    settings[key] = value


def config_complete():
    global size_bytes
    size_bytes = nbdkit.parse_size(settings["size"])
    for key in ("log", "control"):
        if settings[key] is None:
            raise RuntimeError(key + "= is missing")


def after_fork():
    global log_descriptor
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    log_descriptor = os.open(settings["log"], flags, 0o600)


def open(readonly):
    return 1


def get_size(handle):
    return size_bytes


def can_multi_conn(handle):
    return True


def read_order():
    descriptor = os.open(settings["control"], os.O_RDONLY)
    try:
        return json.loads(os.read(descriptor, 4096))
    finally:
        os.close(descriptor)


def answer_from(now_ns):
    """From when on a read that came now may be answered."""
    global seen_change, stall
    try:
        facts = os.stat(settings["control"])
    except FileNotFoundError:
        return now_ns
    change = (facts.st_ino, facts.st_mtime_ns)
    with lock:
        if change != seen_change:
            order = read_order()
            seen_change = change
            start_ns = now_ns + order["after_ns"]
            stall = (start_ns, start_ns + order["for_ns"])
        start_ns, end_ns = stall
    return end_ns if start_ns <= now_ns < end_ns else now_ns


def pread(handle, buffer, offset, flags):
    arrived_ns = time.monotonic_ns()
    rest_ns = answer_from(arrived_ns) - arrived_ns
    while rest_ns > 0:
        time.sleep(rest_ns / 1e9)
        rest_ns = answer_from(arrived_ns) - time.monotonic_ns()
    buffer[:] = bytes(len(buffer))
    line = b"%d %d %d %d\n" % (arrived_ns, time.monotonic_ns(), offset, len(buffer))
    os.write(log_descriptor, line)
