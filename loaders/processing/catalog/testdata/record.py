"""Records what TensorFlow gives for processing steps: python record.py writes cases/*.json.

A case has a step as in a config, the tensors that it reads, and the tensor that it gives;
without one Python raised an error. Numbers are the bytes of the tensor in base64.
"""

import base64
import json
import os
import zlib

import numpy as np
import tensorflow as tf

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")


def encode(x):
    x = np.asarray(x)
    if x.dtype == object or x.dtype.kind in "SU":
        flat = [v if isinstance(v, bytes) else str(v).encode() for v in x.ravel().tolist()]
        return {"dtype": "string", "shape": list(x.shape), "strings": [base64.b64encode(v).decode() for v in flat]}
    data = np.ascontiguousarray(x).tobytes()
    name = str(tf.as_dtype(x.dtype).name)
    out = {"dtype": name, "shape": list(x.shape)}
    packed = zlib.compress(data, 9)
    if len(packed) + 16 < len(data):
        out["zlib"] = base64.b64encode(packed).decode()
    else:
        out["data"] = base64.b64encode(data).decode()
    return out


class Cases:
    def __init__(self, family):
        self.family, self.list = family, []

    def add(self, name, kind, fn, *inputs, seed=None, **args):
        case = {"name": name, "step": {"type": kind, "args": args}, "in": [encode(x) for x in inputs]}
        if len(inputs) > 1:
            case["step"]["tensors"] = ["x"] * len(inputs)
        if seed is not None:
            case["seed"] = [str(int(s)) for s in seed]
        try:
            out = fn(*[tf.constant(x) for x in inputs])
            case["want"] = encode(out.numpy() if hasattr(out, "numpy") else out)
        except (tf.errors.InvalidArgumentError, ValueError) as e:
            case["fails"] = type(e).__name__
        self.list.append(case)

    def write(self):
        with open(os.path.join(HERE, self.family + ".json"), "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(c) for c in self.list) + "\n]\n")


def rand_augment(v, seed, operations=2, magnitude=9):
    """RandAugment of an image of bytes, in TensorFlow's operations."""
    level = magnitude / 10
    f = lambda x: tf.cast(x, tf.float32)
    to_bytes = lambda x: tf.cast(tf.clip_by_value(x, 0.0, 255.0), tf.uint8)

    def one(v, which, sign):
        height, width = f(tf.shape(v)[0]), f(tf.shape(v)[1])
        blend = lambda base: to_bytes(base + (f(v) - base) * (sign * np.float32(0.9 * level) + 1))

        def project(**t):
            row = [t.get("t%d" % i, tf.constant(np.float32(i in (0, 4)))) for i in range(8)]
            return tf.raw_ops.ImageProjectiveTransformV3(
                images=v[None], transforms=tf.stack(row)[None], output_shape=tf.shape(v)[:2], fill_value=128.0, interpolation="NEAREST", fill_mode="CONSTANT")[0]

        def autocontrast():
            low, high = tf.reduce_min(f(v), [0, 1], keepdims=True), tf.reduce_max(f(v), [0, 1], keepdims=True)
            return tf.where(high > low, to_bytes((f(v) - low) * tf.math.divide_no_nan(255.0, high - low)), v)

        def equalize():
            out = []
            for k in range(3):
                x = tf.cast(v[:, :, k], tf.int32)
                counts = tf.histogram_fixed_width(x, [0, 256], 256)
                step = (tf.reduce_sum(counts) - counts[tf.reduce_max(x)]) // 255
                if step == 0:
                    out.append(x)
                    continue
                table = (tf.cumsum(counts) + step // 2) // step
                out.append(tf.gather(tf.clip_by_value(tf.concat([[step // 2 // step], table[:-1]], 0), 0, 255), x))
            return tf.cast(tf.stack(out, 2), tf.uint8)

        def rotate():
            angle = level * np.pi / 6
            cos, sin = tf.constant(np.float32(np.cos(angle))), sign * np.float32(np.sin(angle))
            h, w = height - 1, width - 1
            return project(t0=cos, t1=-sin, t2=(w - (cos * w - sin * h)) / 2, t3=sin, t4=cos, t5=(h - (sin * w + cos * h)) / 2)

        def contrast():
            gray = tf.image.rgb_to_grayscale(v)
            return blend(f(tf.reduce_sum(tf.cast(gray, tf.int64))) / f(tf.size(gray)))

        def sharpness():
            x = tf.pad(tf.cast(v, tf.int32), [[1, 1], [1, 1], [0, 0]])
            h, w = v.shape[:2]
            total = 4 * x[1:-1, 1:-1] + sum(x[i:i + h, k:k + w] for i in range(3) for k in range(3))
            inner = np.zeros([h, w, 1], bool)
            inner[1:-1, 1:-1] = True
            return blend(tf.where(inner, tf.floor(f(total) / 13), f(v)))

        shift = tf.constant(np.uint8(round(4 * level)))
        return [
            lambda: v, autocontrast, equalize, rotate,
            lambda: tf.where(tf.cast(v, tf.int32) < 256 - round(256 * level), v, 255 - v),
            lambda: blend(f(tf.image.rgb_to_grayscale(v))),
            lambda: tf.bitwise.left_shift(tf.bitwise.right_shift(v, shift), shift),
            contrast, lambda: blend(tf.constant(0.0)), sharpness,
            lambda: project(t1=sign * np.float32(0.3 * level)), lambda: project(t3=sign * np.float32(0.3 * level)),
            lambda: project(t2=width * (sign * np.float32(0.45 * level))), lambda: project(t5=height * (sign * np.float32(0.45 * level))),
        ][which]()

    for first, second in tf.random.stateless_uniform([operations, 2], seed):
        v = one(v, int(first * 14), tf.constant(-1.0 if second < 0.5 else 1.0))
    return v


def f32(*x):
    return np.array(x, np.float32)


odd = np.array([0.0, -0.0, 1.5, -2.5, np.nan, np.inf, -np.inf, 300.7, -1e10, 1e-40], np.float32)


def tensors():
    c = Cases("tensors")
    m = np.arange(12, dtype=np.int32).reshape(3, 4)
    for to in ["int32", "uint8", "int64", "float16", "float64", "bool"]:
        x = odd if to in ("float16", "float64", "bool") else np.array([0, 1.9, -1.9, 100.5], np.float32)
        c.add("cast to " + to, "cast", lambda v, to=to: tf.cast(v, to), x, dtype=to)
    c.add("cast empty", "cast", lambda v: tf.cast(v, "int32"), np.zeros([0, 3], np.float32), dtype="int32")
    c.add("cast wraps", "cast", lambda v: tf.cast(v, "uint8"), np.array([256, -1, 511], np.int32), dtype="uint8")
    c.add("saturate", "cast", lambda v: tf.saturate_cast(v, "uint8"), f32(-5, 0.5, 254.9, 300), dtype="uint8", saturate=True)
    c.add("saturate ints", "cast", lambda v: tf.saturate_cast(v, "int8"), np.array([-1000, 5, 1000], np.int32), dtype="int8", saturate=True)
    c.add("reshape", "reshape", lambda v: tf.reshape(v, [2, -1]), m, shape=[2, -1])
    c.add("reshape scalar", "reshape", lambda v: tf.reshape(v, []), f32(7), shape=[])
    c.add("reshape empty", "reshape", lambda v: tf.reshape(v, [3, 0]), np.zeros([0, 2], np.float32), shape=[3, 0])
    c.add("reshape strings", "reshape", lambda v: tf.reshape(v, [2, 2]), np.array([b"a", b"\xff", b"", b"d"], object), shape=[2, 2])
    c.add("transpose", "transpose", lambda v: tf.transpose(v, [1, 0]), m, perm=[1, 0])
    c.add("transpose 3", "transpose", lambda v: tf.transpose(v, [2, 0, 1]), np.arange(24, dtype=np.int16).reshape(2, 3, 4), perm=[2, 0, 1])
    c.add("transpose scalar", "transpose", lambda v: tf.transpose(v, []), np.float32(2), perm=[])
    c.add("transpose empty", "transpose", lambda v: tf.transpose(v, [1, 0]), np.zeros([0, 2], np.float32), perm=[1, 0])
    for axis in (0, 1, -1, 2):
        c.add("expand_dims %d" % axis, "expand_dims", lambda v, a=axis: tf.expand_dims(v, a), m, axis=axis)
    for axis, shape in ((0, [1, 4]), (1, [3, 1, 2]), (-1, [2, 1]), (0, [1])):
        c.add("squeeze %d of %s" % (axis, shape), "squeeze", lambda v, a=axis: tf.squeeze(v, [a]), np.zeros(shape, np.uint8), axis=axis)
    c.add("gather", "gather", lambda v: tf.gather(v, [2, 0, 2], axis=0), m, indices=[2, 0, 2])
    c.add("gather columns", "gather", lambda v: tf.gather(v, [3], axis=-1), m, indices=[3], axis=-1)
    c.add("gather none", "gather", lambda v: tf.gather(v, np.zeros([0], np.int64), axis=1), m, indices=[], axis=1)
    c.add("gather strings", "gather", lambda v: tf.gather(v, [1], axis=0), np.array([b"x", b"y"], object), indices=[1])
    c.add("pad", "pad", lambda v: tf.pad(v, [[1, 0], [0, 2]], constant_values=7), m, paddings=[[1, 0], [0, 2]], value=7)
    c.add("pad none", "pad", lambda v: tf.pad(v, [[0, 0]]), f32(1, 2), paddings=[[0, 0]])
    c.add("pad empty", "pad", lambda v: tf.pad(v, [[2, 1]], constant_values=-0.5), np.zeros([0], np.float32), paddings=[[2, 1]], value=-0.5)
    c.add("pad strings", "pad", lambda v: tf.pad(v, [[0, 1]], constant_values="-"), np.array([b"x"], object), paddings=[[0, 1]], value="-")
    c.add("concat", "concat", lambda a, b: tf.concat([a, b], 0), m, m[:1])
    c.add("concat columns", "concat", lambda a, b: tf.concat([a, b], -1), m, m[:, :1], axis=-1)
    c.add("concat one", "concat", lambda a: tf.concat([a], 0), m)
    c.add("concat empty", "concat", lambda a, b: tf.concat([a, b], 0), m, m[:0])
    c.add("stack", "stack", lambda a, b: tf.stack([a, b]), m, m + 1)
    c.add("stack last", "stack", lambda a, b: tf.stack([a, b], -1), m, m + 1, axis=-1)
    c.add("stack scalars", "stack", lambda a, b: tf.stack([a, b]), np.float32(1), np.float32(2))
    c.add("stack one", "stack", lambda a: tf.stack([a], 1), m, axis=1)
    none = np.zeros([0, 1], np.float32)
    c.add("expand_dims of nothing", "expand_dims", lambda v: tf.expand_dims(v, 1), none, axis=1)
    c.add("squeeze of nothing", "squeeze", lambda v: tf.squeeze(v, [1]), none, axis=1)
    c.add("gather of nothing", "gather", lambda v: tf.gather(v, [0, 0], axis=1), none, indices=[0, 0], axis=1)
    c.add("stack of nothing", "stack", lambda a, b: tf.stack([a, b]), none, none)
    c.add("cast of one", "cast", lambda v: tf.cast(v, "int8"), np.float32(-7.9), dtype="int8")
    c.add("constant", "constant", lambda: tf.fill([2, 1], np.float32(1.5)), dtype="float32", shape=[2, 1], value=1.5)
    c.add("constant scalar", "constant", lambda: tf.constant(-3, tf.int8), dtype="int8", value=-3)
    c.add("constant empty", "constant", lambda: tf.fill([0, 2], ""), dtype="string", shape=[0, 2])
    c.add("constant bool", "constant", lambda: tf.fill([2], True), dtype="bool", shape=[2], value=True)
    c.add("rename", "rename", tf.identity, m)
    c.add("rename of nothing", "rename", tf.identity, np.zeros([3, 0, 2], np.float32))
    c.add("rename of one bool", "rename", tf.identity, np.array(True))
    c.add("rename of invalid UTF-8", "rename", tf.identity, np.array([b"\xff\xfe", b"", b"a\x00b"], object))
    c.add("rename of NaN", "rename", tf.identity, np.array([[np.nan], [-0.0], [np.inf]], np.float16))
    c.write()


def numbers():
    c = Cases("numbers")
    ints = np.array([3, -4, 0, 127], np.int8)
    halfs = odd.astype(np.float16)
    for name, x in (("floats", odd), ("halfs", halfs), ("empty", odd[:0]), ("scalar", np.float64(0.1))):
        t = x.dtype.type
        c.add("scale " + name, "scale", lambda v, t=t: v * t(1 / 3) + t(0.1), x, factor=1 / 3, offset=0.1)
        c.add("clip " + name, "clip", lambda v, t=t: tf.clip_by_value(v, t(-1), t(2.5)), x, min=-1, max=2.5)
        c.add("abs " + name, "abs", tf.abs, x)
        c.add("log " + name, "log", tf.math.log, x)
        c.add("log offset " + name, "log", lambda v, t=t: tf.math.log(v + t(1e-3)), x, offset=1e-3)
        c.add("log1p " + name, "log1p", tf.math.log1p, x)
        c.add("exp " + name, "exp", tf.math.exp, x)
        c.add("sqrt " + name, "sqrt", tf.math.sqrt, x)
        c.add("normalize " + name, "normalize", lambda v, t=t: (v - t(0.5)) / t(0.3), x, mean=0.5, std=0.3)
    c.add("scale ints", "scale", lambda v: v * np.int8(2) + np.int8(1), ints, factor=2, offset=1)
    c.add("scale unsigned", "scale", lambda v: v * np.uint8(2), np.array([200, 3], np.uint8), factor=2)
    c.add("clip ints", "clip", lambda v: tf.clip_by_value(v, np.int8(-3), np.int8(5)), ints, min=-3, max=5)
    c.add("abs ints", "abs", tf.abs, ints)
    c.add("abs unsigned", "abs", tf.identity, np.array([200, 3], np.uint8))
    image = (np.arange(24, dtype=np.float32) / 7).reshape(2, 4, 3)
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    c.add("normalize channels", "normalize", lambda v: (v - np.float32(mean)) / np.float32(std), image, mean=mean, std=std)
    c.add("normalize one std", "normalize", lambda v: (v - np.float32(mean)) / np.float32(2), image, mean=mean, std=2)
    edges = [-10.0, 0.5, 10]
    for name, x in (("floats", odd), ("ints", np.array([-20, 0, 10, 11], np.int64)), ("scalar", np.float32(0.5)), ("empty", odd[:0])):
        c.add("bucketize " + name, "bucketize", lambda v: tf.raw_ops.Bucketize(input=v, boundaries=edges), x, boundaries=edges)
    labels = np.array([2, 0, -1, 5], np.int64)
    c.add("one_hot", "one_hot", lambda v: tf.one_hot(v, 3), labels, depth=3)
    c.add("one_hot scalar", "one_hot", lambda v: tf.one_hot(v, 4, 5, -1, dtype=tf.int32), np.int32(1), depth=4, on_value=5, off_value=-1, dtype="int32")
    c.add("one_hot empty", "one_hot", lambda v: tf.one_hot(v, 2), labels[:0], depth=2)
    c.add("one_hot bool", "one_hot", lambda v: tf.one_hot(v, 2, True, False), np.array([[0], [1]], np.uint8), depth=2, dtype="bool")
    many = lambda v, d: tf.reduce_max(tf.one_hot(v, d), -2)
    c.add("multi_hot", "multi_hot", lambda v: many(v, 4), labels, depth=4)
    c.add("multi_hot rows", "multi_hot", lambda v: many(v, 3), np.array([[0, 0], [2, 1]], np.int32), depth=3)
    c.add("multi_hot one", "multi_hot", lambda v: many(v, 1), np.array([0], np.int32), depth=1)
    c.add("multi_hot none", "multi_hot", lambda v: tf.zeros([2]), labels[:0], depth=2)
    for op, fn in (("eq", tf.equal), ("ne", tf.not_equal), ("lt", tf.less), ("le", tf.less_equal), ("gt", tf.greater), ("ge", tf.greater_equal)):
        c.add("compare " + op, "compare", lambda v, fn=fn: fn(v, 1.5), odd, op=op, value=1.5)
    c.add("compare text", "compare", lambda v: tf.equal(v, "b"), np.array([b"a", b"b"], object), op="eq", value="b")
    c.add("compare empty", "compare", lambda v: tf.less(v, 0), np.zeros([0], np.int32), op="lt", value=0)
    for op, fn in (("add", tf.add), ("subtract", tf.subtract), ("multiply", tf.multiply), ("divide", tf.divide)):
        c.add("arithmetic " + op, "arithmetic", fn, odd, odd[::-1], op=op)
    c.add("arithmetic broadcast", "arithmetic", tf.add, image, f32(1, 2, 3), op="add")
    c.add("arithmetic empty", "arithmetic", tf.subtract, odd[:0], odd[:0], op="subtract")
    c.add("arithmetic scalars", "arithmetic", tf.divide, np.float32(1), np.float32(3), op="divide")
    c.add("compare one", "compare", lambda v: tf.greater(v, 2), np.array([3], np.uint16), op="gt", value=2)
    c.add("arithmetic ints", "arithmetic", tf.multiply, ints, ints, op="multiply")
    c.write()


def text():
    c = Cases("text")
    words = np.array([b"Hello World", b"", b"  \tA b\n ", b"\xffBAD\xfe", "ÄÖ ß Straße".encode(), b"x\x00Y"], object)
    one = lambda s: np.array(s, object)
    for kind, fn in (("lower", tf.strings.lower), ("upper", tf.strings.upper), ("strip", tf.strings.strip)):
        c.add(kind, kind, fn, words)
        c.add(kind + " scalar", kind, fn, one(b" Mixed Case "))
        c.add(kind + " empty", kind, fn, words[:0])
        c.add(kind + " matrix", kind, fn, words[:4].reshape(2, 2))
    c.add("regex", "regex_replace", lambda v: tf.strings.regex_replace(v, r"[^a-zA-Z ]+", "#"), words, pattern=r"[^a-zA-Z ]+", rewrite="#")
    c.add("regex first", "regex_replace", lambda v: tf.strings.regex_replace(v, "l", "L", replace_global=False), words, pattern="l", rewrite="L", **{"global": False})
    c.add("regex groups", "regex_replace", lambda v: tf.strings.regex_replace(v, r"(\w)(\w)", r"\2\1"), words, pattern=r"(\w)(\w)", rewrite=r"\2\1")
    c.add("regex empty match", "regex_replace", lambda v: tf.strings.regex_replace(v, "x*", "-"), one(b"axb"), pattern="x*", rewrite="-")
    c.add("regex of nothing", "regex_replace", lambda v: tf.strings.regex_replace(v, "a", "b"), words[:0], pattern="a", rewrite="b")
    c.add("substr of nothing", "substr", lambda v: tf.strings.substr(v, 0, 1), words[:0], position=0, length=1)
    c.add("substr of invalid UTF-8", "substr", lambda v: tf.strings.substr(v, 0, 2), words[3:4], position=0, length=2)
    c.add("hash of one", "hash", lambda v: tf.strings.to_hash_bucket_fast(v, 9), one(b"\xff"), buckets=9)
    for i, s in enumerate([b"a b  c", b"", b"   ", b"one", b"\xff a\xfe", "ä ß".encode()]):
        c.add("split %d" % i, "split", lambda v: tf.strings.split(v), one(s))
        c.add("split bytes %d" % i, "split_bytes", lambda v: tf.strings.bytes_split(v), one(s))
        c.add("decode %d" % i, "unicode_decode", lambda v: tf.strings.unicode_decode(v, "UTF-8"), one(s))
    c.add("split comma", "split", lambda v: tf.strings.split(v, ","), one(b",a,,b,"), sep=",")
    c.add("split long", "split", lambda v: tf.strings.split(v, "<>"), one(b"a<>b<>"), sep="<>")
    c.add("decode utf16", "unicode_decode", lambda v: tf.strings.unicode_decode(v, "UTF-16-BE"), one(b"\x00a\x20"), encoding="UTF-16-BE")
    c.add("join", "join", lambda v: tf.strings.reduce_join(v, -1, separator=" "), words, separator=" ")
    c.add("join rows", "join", lambda v: tf.strings.reduce_join(v, -1), words.reshape(2, 3))
    c.add("join none", "join", lambda v: tf.strings.reduce_join(v, -1, separator=","), words[:0], separator=",")
    c.add("join tensors", "join", lambda a, b: tf.strings.join([a, b], "-"), words, words[::-1], separator="-")
    c.add("substr", "substr", lambda v: tf.strings.substr(v, 1, 3), np.array([b"abcdef", b"xy"], object), position=1, length=3)
    c.add("substr from the end", "substr", lambda v: tf.strings.substr(v, -2, 5), np.array([b"abcdef", b"xy"], object), position=-2, length=5)
    c.add("substr outside", "substr", lambda v: tf.strings.substr(v, 3, 1), np.array([b"ab"], object), position=3, length=1)
    c.add("substr nothing", "substr", lambda v: tf.strings.substr(v, 0, 0), np.array([b"ab", b"c"], object), position=0, length=0)
    c.add("number", "to_number", tf.strings.to_number, np.array([b"1.5", b" -2e3 ", b"nan"], object))
    c.add("number int", "to_number", lambda v: tf.strings.to_number(v, tf.int32), np.array([b"12", b"-7"], object), dtype="int32")
    c.add("number double", "to_number", lambda v: tf.strings.to_number(v, tf.float64), one(b"0.1"), dtype="float64")
    c.add("number bad", "to_number", tf.strings.to_number, np.array([b"1.5x"], object))
    c.add("number none", "to_number", tf.strings.to_number, words[:0])
    for n, w in ((2, 4), (1, 3), (3, 2), (2, 0)):
        c.add("ngrams %d of %d" % (n, w), "ngrams", lambda v, n=n: tf.strings.ngrams(v, n), words[:w], width=n)
    c.add("ngrams separator", "ngrams", lambda v: tf.strings.ngrams(v, 2, separator="__"), words[:3], width=2, separator="__")
    def table(v, vocab, oov, start):
        init = tf.lookup.KeyValueTensorInitializer(vocab, np.arange(len(vocab), dtype=np.int64))
        return tf.lookup.StaticVocabularyTable(init, oov).lookup(v) + start
    vocab = ["Hello World", "", "the", "ÄÖ ß Straße"]
    c.add("lookup", "lookup", lambda v: table(v, vocab, 1, 0), words, vocabulary=vocab)
    c.add("lookup buckets", "lookup", lambda v: table(v, vocab, 5, 10), words, vocabulary=vocab, oov=5, start=10)
    c.add("lookup scalar", "lookup", lambda v: table(v, vocab, 1, 0), one(b"the"), vocabulary=vocab)
    c.add("lookup empty", "lookup", lambda v: table(v, vocab, 1, 0), words[:0], vocabulary=vocab)
    for b in (1, 7, 2**40):
        c.add("hash %d" % b, "hash", lambda v, b=b: tf.strings.to_hash_bucket_fast(v, b), words, buckets=b)
    c.add("hash empty", "hash", lambda v: tf.strings.to_hash_bucket_fast(v, 3), words[:0], buckets=3)
    c.write()


def pictures():
    """Small images of many kinds, as bytes."""
    from PIL import Image
    import io

    def save(image, **options):
        out = io.BytesIO()
        image.save(out, **options)
        return out.getvalue()

    rng = np.random.default_rng(7)
    pixels = rng.integers(0, 256, [7, 9, 3], np.uint8)
    smooth = np.add.outer(np.arange(16) * 9, np.arange(12) * 7).astype(np.uint8)
    rgb = Image.fromarray(np.stack([smooth, smooth.T[:16, :12] if smooth.T.shape == smooth.shape else 255 - smooth, smooth // 2], -1))
    frames = [Image.fromarray(rng.integers(0, 256, [4, 5], np.uint8)) for _ in range(3)]
    return {
        "jpeg": save(rgb, format="JPEG", quality=80),
        "progressive jpeg": save(rgb, format="JPEG", progressive=True),
        "CMYK jpeg": save(rgb.convert("CMYK"), format="JPEG"),
        "gray jpeg": save(rgb.convert("L"), format="JPEG"),
        "png": save(Image.fromarray(pixels), format="PNG"),
        "16-bit png": tf.io.encode_png(rng.integers(0, 65536, [3, 4, 1], np.uint16)).numpy(),
        "RGBA png": save(Image.fromarray(rng.integers(0, 256, [3, 2, 4], np.uint8)), format="PNG"),
        "palette png": save(Image.fromarray(pixels).quantize(8), format="PNG"),
        "animated gif": save(frames[0], format="GIF", save_all=True, append_images=frames[1:]),
        "bmp": save(Image.fromarray(pixels), format="BMP"),
        "one pixel": save(Image.fromarray(pixels[:1, :1]), format="PNG"),
        "nothing": b"",
        "no image": b"hello",
        "half a png": save(Image.fromarray(pixels), format="PNG")[:60],
    }


def images():
    c = Cases("images")
    for name, data in pictures().items():
        for channels, dtype in ((3, "uint8"), (0, "uint8"), (1, "uint16"), (4, "float32")):
            if (channels, dtype) != (3, "uint8") and name in ("nothing", "no image", "half a png", "palette png", "progressive jpeg"):
                continue
            fn = lambda v, ch=channels, d=dtype: tf.io.decode_image(v, ch, tf.as_dtype(d), expand_animations=False)
            c.add("%s, %d of %s" % (name, channels, dtype), "decode_image", fn, np.array(data, object), channels=channels, dtype=dtype)
    rng = np.random.default_rng(3)
    bytes_ = rng.integers(0, 256, [5, 7, 3], np.uint8)
    floats = rng.random([6, 4, 3], np.float32)
    gray = rng.integers(0, 256, [4, 4, 1], np.uint8)
    one = np.array([[[9, 200, 31]]], np.uint8)
    few = {"bytes": bytes_, "floats": floats, "gray": gray, "one pixel": one}
    for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
        for smooth in (False, True):
            c.add("%s %s" % (method, smooth), "resize", lambda v: tf.image.resize(v, [3, 8], method, antialias=smooth), bytes_, size=[3, 8], method=method, antialias=smooth)
    for name, x in few.items():
        c.add("resize " + name, "resize", lambda v: tf.image.resize(v, [5, 6]), x, size=[5, 6])
        c.add("keep ratio " + name, "resize", lambda v: tf.image.resize(v, [9, 4], preserve_aspect_ratio=True, antialias=True), x, size=[9, 4], preserve_aspect_ratio=True, antialias=True)
        c.add("pad_or_crop " + name, "pad_or_crop", lambda v: tf.image.resize_with_crop_or_pad(v, 5, 6), x, size=[5, 6])
        c.add("pad_or_crop odd " + name, "pad_or_crop", lambda v: tf.image.resize_with_crop_or_pad(v, 2, 9), x, size=[2, 9])
        middle = lambda v, h, w: v[(v.shape[0] - h) // 2:(v.shape[0] - h) // 2 + h, (v.shape[1] - w) // 2:(v.shape[1] - w) // 2 + w]
        c.add("center_crop " + name, "center_crop", lambda v: middle(v, 1, 1), x, size=[1, 1])
        c.add("standardize " + name, "per_image_standardization", tf.image.per_image_standardization, x)
        c.add("flip " + name, "random_flip_left_right", lambda v: tf.image.stateless_random_flip_left_right(v, [3, 4]), x, seed=[3, 4])
        c.add("brightness " + name, "random_brightness", lambda v: tf.image.stateless_random_brightness(v, 0.4, [1, 2]), x, seed=[1, 2], max_delta=0.4)
        c.add("contrast " + name, "random_contrast", lambda v: tf.image.stateless_random_contrast(v, 0.2, 1.7, [5, -6]), x, seed=[5, -6], lower=0.2, upper=1.7)
    c.add("center_crop", "center_crop", lambda v: middle(v, 2, 3), bytes_, size=[2, 3])
    for name, x in (("bytes", bytes_), ("floats", floats), ("one pixel", one), ("words", (bytes_.astype(np.uint16) * 257)), ("halfs", floats.astype(np.float16))):
        c.add("grayscale " + name, "grayscale", tf.image.rgb_to_grayscale, x)
    turns = {}
    for n in range(40):  # a seed for each number of turns
        turns.setdefault(int(tf.random.stateless_uniform([], [n, 3], 0, 4, tf.int32)), n)
    for k, n in sorted(turns.items()):
        c.add("rotate by %d" % k, "random_rotate90", lambda v: tf.image.rot90(v, k), bytes_, seed=[n, 3])
    for i, seed in enumerate([[0, 0], [1, -2], [2**62, 5], [-(2**63), 2**63 - 1], [77, 10**12]]):
        pair = tf.constant(seed, tf.int64)
        c.add("random_crop %d" % i, "random_crop", lambda v: tf.image.stateless_random_crop(v, [2, 3, 3], pair), bytes_, seed=seed, size=[2, 3])
        c.add("flips %d" % i, "random_flip_left_right", lambda v: tf.image.stateless_random_flip_left_right(v, pair), bytes_, seed=seed)
        c.add("turns %d" % i, "random_flip_up_down", lambda v: tf.image.stateless_random_flip_up_down(v, pair), bytes_, seed=seed)
        c.add("saturation %d" % i, "random_saturation", lambda v: tf.image.stateless_random_saturation(v, 0.5, 1.5, pair), floats if i % 2 else bytes_, seed=seed, lower=0.5, upper=1.5)
        c.add("hue %d" % i, "random_hue", lambda v: tf.image.stateless_random_hue(v, 0.3, pair), floats if i % 2 else bytes_, seed=seed, max_delta=0.3)
        turn = lambda v: tf.image.rot90(v, tf.random.stateless_uniform([], pair, 0, 4, tf.int32))
        c.add("rotate %d" % i, "random_rotate90", turn, bytes_, seed=seed)
        def part(v, scale=(0.08, 1.0), ratio=(0.75, 4 / 3)):
            begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
                tf.shape(v), tf.constant([[[0.0, 0.0, 1.0, 1.0]]]), pair, min_object_covered=0.0, aspect_ratio_range=ratio, area_range=scale, max_attempts=100,
                use_image_if_no_bounding_boxes=True)
            return tf.image.resize(tf.slice(v, begin, size), [3, 4])
        c.add("random_resized_crop %d" % i, "random_resized_crop", part, bytes_, seed=seed, size=[3, 4])
        c.add("random_resized_crop narrow %d" % i, "random_resized_crop", lambda v: part(v, (0.3, 0.5), (0.5, 2)), floats, seed=seed, size=[3, 4], scale=[0.3, 0.5], ratio=[0.5, 2])
    y, x = np.mgrid[0:11, 0:9]
    scene = np.stack([x * 20 + y, 200 - y * 12, (x * y * 3) % 90 + 30], 2).astype(np.uint8)
    c.add("rand_augment none", "rand_augment", lambda v: rand_augment(v, [1, 2], 1, 0), scene[:1], seed=[1, 2], operations=1, magnitude=0)
    for i, strength in enumerate((9, 10, 3.5, 7)):
        seed = [i * 1009 + 272, 5 - i]  # with these seeds each operation is drawn
        c.add("rand_augment %d" % i, "rand_augment", lambda v: rand_augment(v, seed, 5, strength), scene, seed=seed, operations=5, magnitude=strength)
    c.write()


def wav(bits, channels, samples, rate=8000):
    import io
    import struct
    data = b"".join(int(s).to_bytes(bits // 8, "little", signed=True) for s in samples)
    block = channels * bits // 8
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, channels, rate, rate * block, block, bits, b"data", len(data))
    return head + data


def audio():
    c = Cases("audio")
    rng = np.random.default_rng(5)
    tone = [int(20000 * np.sin(i / 3)) for i in range(60)]
    sounds = {
        "mono": wav(16, 1, tone), "stereo": wav(16, 2, tone), "one sample": wav(16, 1, [-32768]), "24 bit": wav(24, 1, tone), "8 bit": wav(8, 1, [1, 2, 3]),
        "no samples": wav(16, 1, []), "nothing": b"", "half": wav(16, 1, tone)[:70],
    }
    for name, data in sounds.items():
        c.add("wav " + name, "decode_wav", lambda v: tf.audio.decode_wav(v)[0], np.array(data, object))
    c.add("wav two channels", "decode_wav", lambda v: tf.audio.decode_wav(v, 2)[0], np.array(sounds["mono"], object), channels=2)
    signal = rng.normal(size=50).astype(np.float32)
    many = rng.normal(size=(2, 40)).astype(np.float32)
    spectrogram = lambda v, *a, **k: tf.abs(tf.signal.stft(v, *a, **k))
    c.add("stft", "stft", lambda v: spectrogram(v, 16, 8), signal, frame_length=16, frame_step=8)
    c.add("stft odd", "stft", lambda v: spectrogram(v, 13, 5, 32), signal, frame_length=13, frame_step=5, fft_length=32)
    c.add("stft padded", "stft", lambda v: spectrogram(v, 20, 7, pad_end=True), signal, frame_length=20, frame_step=7, pad_end=True)
    c.add("stft rows", "stft", lambda v: spectrogram(v, 8, 4), many, frame_length=8, frame_step=4)
    c.add("stft short", "stft", lambda v: spectrogram(v, 64, 8), signal, frame_length=64, frame_step=8)
    c.add("stft one", "stft", lambda v: spectrogram(v, 1, 3), signal, frame_length=1, frame_step=3)
    c.add("stft empty", "stft", lambda v: spectrogram(v, 8, 4), signal[:0], frame_length=8, frame_step=4)
    for bins, rate, lower, upper, spectrum in ((10, 8000, 125, 3800, 33), (40, 16000, 125, 3800, 129), (1, 8000, 0, 4000, 17), (5, 44100, 20, 20000.5, 65)):
        x = rng.random((6, spectrum), np.float32)
        fn = lambda v: tf.tensordot(v, tf.signal.linear_to_mel_weight_matrix(bins, spectrum, rate, lower, upper), 1)
        c.add("mel %d of %d" % (bins, spectrum), "mel", fn, x, bins=bins, sample_rate=rate, lower=lower, upper=upper)
    c.add("mel empty", "mel", lambda v: tf.tensordot(v, tf.signal.linear_to_mel_weight_matrix(4, 9, 8000), 1), np.zeros([0, 9], np.float32), bins=4, sample_rate=8000)
    for keep, shape in ((13, (6, 40)), (4, (1, 5)), (1, (7,)), (3, (2, 3, 8)), (2, (3, 4))):
        x = rng.normal(size=shape).astype(np.float32)
        c.add("mfcc %d of %s" % (keep, shape), "mfcc", lambda v: tf.signal.mfccs_from_log_mel_spectrograms(v)[..., :keep], x, coefficients=keep)
    def delta(v):
        at = lambda n: tf.gather(v, tf.clip_by_value(tf.range(tf.shape(v)[0]) + n, 0, tf.shape(v)[0] - 1))
        return ((at(1) - at(-1)) + (at(2) - at(-2)) * 2.0) * 0.1
    for n in (7, 1, 0, 3):
        c.add("delta %d" % n, "delta", delta, rng.normal(size=(n, 3)).astype(np.float32))
    x = rng.normal(size=(9, 6)).astype(np.float32)
    def mask(v, axis, masks, longest, pair):
        u = tf.random.stateless_uniform([masks, 2], pair)
        n = v.shape[axis]
        size = tf.minimum(tf.cast(tf.floor(u[:, 0] * (longest + 1)), tf.int32), n)
        begin = tf.cast(tf.floor(u[:, 1] * tf.cast(n - size + 1, tf.float32)), tf.int32)
        at = tf.range(n)[None]
        hidden = tf.reduce_any((at >= begin[:, None]) & (at < (begin + size)[:, None]), 0)
        return tf.where(hidden[:, None] if axis == 0 else hidden[None], tf.zeros([], v.dtype), v)
    for i, seed in enumerate([[0, 0], [1, -2], [2**62, 5], [-(2**63), 2**63 - 1]]):
        pair = tf.constant(seed, tf.int64)
        c.add("time_mask %d" % i, "time_mask", lambda v: mask(v, 0, 2, 3 + 10 * i, pair), x, seed=seed, masks=2, longest=3 + 10 * i)
        c.add("freq_mask %d" % i, "freq_mask", lambda v: mask(v, 1, 1 + i, 2, pair), x, seed=seed, masks=1 + i, longest=2)
        c.add("gain %d" % i, "random_gain", lambda v: v * tf.random.stateless_uniform([], pair, 0.5, 1.5), x[:i], seed=seed, lower=0.5, upper=1.5)
        c.add("noise %d" % i, "random_noise", lambda v: v + tf.random.stateless_normal(v.shape, pair, 0, 0.3), x[: 2 * i], seed=seed, stddev=0.3)
    c.write()


if __name__ == "__main__":
    for family in (tensors, numbers, text, images, audio):
        family()
