"""Checks of arrays at about the speed of memory: checksums of files, and the largest codes."""

from __future__ import annotations

import numpy as np

from hedgerow.compiled import compiled


@compiled
def block_sums(words, keys, out):
    """Write the multilinear hash of each block of words: the upper half of sum(keys[i] * words[i]) modulo 2**64.

    With secret keys, two different blocks have the same hash with probability 2**-32 (Lemire and Kaser, "Strongly
    universal string hashing is fast", The Computer Journal 57(11), 2014, multilinear hashing without its constant).
    IN words (words,) uint32, keys (words of a block,) uint64.  OUT out (blocks,) uint32.
    """
    size = len(keys)
    for block in range(len(out)):
        part = words[block * size : (block + 1) * size]
        total = np.uint64(0)
        for i in range(len(part)):
            total += keys[i] * np.uint64(part[i])
        out[block] = np.uint32(total >> np.uint64(32))


@compiled
def largest(codes, out):
    """Write the largest code of each feature.

    IN codes (records, features).  OUT out (features,), which must be zero before.
    """
    for record in range(codes.shape[0]):
        for feature in range(codes.shape[1]):
            out[feature] = max(out[feature], codes[record, feature])
