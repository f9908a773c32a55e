"""Writes the OpList of a runtime: python3 dump.py RUNTIME_DIR > ops.pb

Needs nothing but Python itself; package opspec reads the result.
"""

import ctypes
import os
import sys


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t),
                ("deallocator", ctypes.c_void_p)]


def load(name):
    return ctypes.CDLL(os.path.join(sys.argv[1], name), ctypes.RTLD_GLOBAL)


load("libtensorflow_framework.so.2")
lib = load("libtensorflow_cc.so.2")
lib.TF_GetAllOpList.restype = ctypes.POINTER(Buffer)
ops = lib.TF_GetAllOpList().contents
sys.stdout.buffer.write(ctypes.string_at(ops.data, ops.length))
