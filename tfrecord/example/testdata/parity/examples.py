"""Writes examples.ndjson: odd Examples, and what TensorFlow and protobuf make of them.

    python examples.py examples.ndjson 600

Needs tensorflow 2.21. The records are the same each time. Each line holds a record (hexadecimal) and the values of its
features i (integers), f (floats' bits) and s (hexadecimal) as tf.io.parse_example gives them and as protobuf does,
null where they refuse the record. Some records end TensorFlow's process, which takes a length of 2^31 or more for a
negative one: each is tried in a child first, and those lines say "died".
"""
import json
import os
import random
import struct
import sys

import tensorflow as tf

R = random.Random(1)


def odd(p=0.03):
    return R.random() < p


def varint(n, pad=0):
    b = bytearray()
    while True:
        c = n & 127
        n >>= 7
        if not n and pad <= 0:
            return bytes(b + bytes([c]))
        pad -= not n
        b.append(c | 128)


def field(tag, content):
    n = len(content)
    if odd(0.01):
        n = max(0, n + R.choice([1, 2, 50, -1, 1 << 20, 1 << 30, 1 << 31, 1 << 40]))
    tag = varint(tag, 1) if odd(0.005) else bytes([tag])
    return tag + varint(n, odd(0.01)) + content


def unknown(p=0.02):
    if not odd(p):
        return b''
    n = R.choice([3, 4, 9, 15, 16, 200]) << 3
    return R.choice([
        varint(n) + varint(R.getrandbits(R.choice([3, 20, 63]))),
        varint(n | 1) + bytes(8),
        varint(n | 2) + varint(3) + b'abc',
        varint(n | 3) + varint(n | 4),
        varint(n | 5) + bytes(4),
        varint(1 << 3) + varint(5),
        varint(2 << 3 | 2) + varint(2) + b'zz',
    ])


def feature(kind):
    if odd(0.05):
        return b''
    n = R.choice([0, 1, 1, 2, 3, 5])
    if kind == 's':
        tag, each, one = 10, [R.randbytes(R.choice([0, 1, 3])) for _ in range(n)], None
        content = b''.join(field(10, v) for v in each)
    elif kind == 'f':
        tag, each, one = 18, [struct.pack('<f', R.uniform(-5, 5)) for _ in range(n)], b'\x0d'
    else:
        tag, one = 26, b'\x08'
        each = [varint(R.getrandbits(R.choice([1, 7, 8, 30, 63, 64])), odd(0.02)) for _ in range(n)]
        if odd():
            each.append(b'\xff' * 9 + b'\x02')
    if one and R.random() < 0.6:
        content = field(10, b''.join(each) + (b'\0' if odd() else b'')) if n or odd(0.5) else b''
    elif one:
        content = b''.join(one + v for v in each)
    if odd():
        content += content[:R.randrange(len(content) + 1)]
    b = field(tag, content + unknown()) + unknown()
    return b + feature(R.choice('sfi')) if odd() else b


def entry():
    name = R.choice('ifs')
    kind = name if R.random() < 0.97 else R.choice('ifs')
    key = field(10, R.choice([b'other', b'', b'i2']) if odd(0.15) else name.encode())
    value = field(18, feature(kind))
    parts = [value, key] if odd() else [key, value]
    if odd(0.02):
        parts = R.choice([[key], [value], [key, value, value], [key, key, value], [key, key], [value, value], []])
    return field(10, b''.join(parts) + unknown())


def example():
    b = b''
    for _ in range(R.choice([1, 1, 1, 1, 0, 2])):
        entries = b''.join(entry() for _ in range(R.choice([0, 1, 2, 3, 4])))
        b += unknown(0.1) + field(10, entries + unknown())
    b += unknown(0.1)
    if b and odd(0.1):
        at = R.randrange(len(b))
        b = b[:at] + bytes([b[at] ^ 1 << R.randrange(8)]) + b[at + 1:]
    return b[:R.randrange(len(b) + 1)] if odd(0.05) else b


SPEC = {name: tf.io.FixedLenSequenceFeature([], dtype, allow_missing=True)
        for name, dtype in (('i', tf.int64), ('f', tf.float32), ('s', tf.string))}


def by_tensorflow(b):
    try:
        r = tf.io.parse_example([b], SPEC)
    except (tf.errors.InvalidArgumentError, UnicodeDecodeError):  # the message holds the record's bytes as they are
        return None
    return {'i': [int(v) for v in r['i'].numpy()[0]],
            'f': [int(v) for v in r['f'].numpy()[0].view('uint32')],
            's': [v.hex() for v in r['s'].numpy()[0]]}


def by_protobuf(b):
    try:
        features = tf.train.Example.FromString(b).features.feature
    except Exception:
        return None
    r = {}
    for name, kind in (('i', 'int64_list'), ('f', 'float_list'), ('s', 'bytes_list')):
        got = features[name].WhichOneof('kind') if name in features else None
        if got not in (None, kind):
            return {'kind': name}
        r[name] = list(getattr(features[name], kind).value) if got else []
    r['f'] = [struct.unpack('<I', struct.pack('<f', v))[0] for v in r['f']]
    r['s'] = [v.hex() for v in r['s']]
    return r


def main(path, count):
    with open(path, 'w') as out:
        for _ in range(count):
            b = example()
            case = {'record': b.hex(), 'proto': by_protobuf(b), 'tf': None}
            if os.fork() == 0:
                by_tensorflow(b)
                os._exit(0)
            if os.wait()[1] == 0:
                case['tf'] = by_tensorflow(b)
            else:
                case['died'] = True
            out.write(json.dumps(case, separators=(',', ':')) + '\n')


main(sys.argv[1], int(sys.argv[2]))
