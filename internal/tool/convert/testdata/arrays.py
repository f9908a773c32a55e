"""Writes arrays.npz: one array of each kind that NumPy saves and convert reads."""

import numpy as np

np.savez_compressed(
    "arrays.npz",
    half=np.array([0.5, -2, 65504], np.float16),
    x=np.array([0.1, -np.inf, 3], np.float64),
    big_endian=np.array([1, -2, 3], ">i4"),
    unsigned=np.array([0, 2**64 - 1, 7], np.uint64),
    small=np.array([-128, 0, 127], np.int8),
    flag=np.array([True, False, True]),
    grid=np.arange(18, dtype=np.int64).reshape(3, 2, 3),
    columns=np.asfortranarray(np.arange(18, dtype=np.float32).reshape(3, 2, 3)),
    text=np.array(["süß", "", "abc"]),
    raw=np.array([b"ab", b"\xff", b""]),
    day=np.array(["1970-01-02", "1969-12-31", "2000-01-01"], "M8[D]"),
    none=np.zeros((3, 0), np.int32),
)
