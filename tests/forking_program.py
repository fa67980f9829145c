"""Children of a process that encodes in other threads encode, too: `python forking_program.py`, an error if one does not end or differs."""

import os
import signal
import threading
import time

import bitlex

PATIENCE = 10  # seconds for what takes milliseconds
TEXTS = ["the thing and another " * 50] * 64


def main() -> None:
    tokenizer = bitlex.train(TEXTS, 266)
    expected = tokenizer.encode_batch(TEXTS)

    def work() -> None:
        while True:
            tokenizer.encode_batch_to_numpy(TEXTS, threads=8)

    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(40):
        time.sleep(0.01)  # so that they are at work
        child = os.fork()
        if child == 0:
            same = tokenizer.encode_batch(TEXTS, threads=1) == expected and tokenizer.encode_batch(TEXTS, threads=2) == expected
            os._exit(0 if same else 1)
        deadline = time.monotonic() + PATIENCE
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
            time.sleep(0.001)
        if ended == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert ended == (child, 0), "a child waits for ever" if ended == (0, 0) else "a child has other ids"


main()
