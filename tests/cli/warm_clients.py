"""Forks ``flwr-clientapp`` processes, whose arguments come as lines of a named pipe, from one that has imported Flower.

Flower starts one for each message, with a token that ends after a minute. On a busy machine the imports alone take longer.
"""

import os
import signal
import sys
import traceback

import flwr.app
import flwr.clientapp
from flwr.supernode.cli import flwr_clientapp

import hedgerow.cli.relay

PRELOADED = (flwr.app, flwr.clientapp, hedgerow.cli.relay)

if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with open(sys.argv[1], "r+b", buffering=0) as pipe:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for line in iter(pipe.readline, b""):
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                sys.argv = ["flwr-clientapp", *line.decode().split()]
                try:
                    flwr_clientapp()
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(0)
