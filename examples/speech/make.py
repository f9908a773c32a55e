"""Makes what is in this folder: the sounds, ask.json and the untrained model.

    python make.py              # with TensorFlow
    python make.py --data-only  # the sounds and ask.json alone

The sounds are vowels, put together from the resonances of a mouth by the numbers below, so they need no
licence but that of this repository.
"""

import json
import pathlib
import shutil
import sys
import wave

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
RATE = 8000
VOWELS = {"ah": (730, 1090, 2440), "ee": (270, 2290, 3010), "oo": (300, 870, 2240)}  # formants in Hz


def sound(draw, vowel):
    n = 1440
    pitch = draw.uniform(90, 230) * (1 + draw.uniform(-0.2, 0.2) * np.linspace(0, 1, n))
    phase = np.cumsum(pitch / RATE)
    source = np.diff(np.floor(phase), prepend=0) + draw.normal(0, 0.01, n)
    size = draw.uniform(0.9, 1.12)  # a small mouth has higher formants
    out = source
    for formant in VOWELS[vowel]:
        frequency, width = min(formant * size, 3700), 60 + 0.05 * formant
        radius = np.exp(-np.pi * width / RATE)
        a, b, before, last = 2 * radius * np.cos(2 * np.pi * frequency / RATE), -radius * radius, 0.0, 0.0
        filtered = np.empty(n)
        for i, x in enumerate(out):
            before, last = last, (1 - radius) * x + a * last + b * before
            filtered[i] = last
        out = filtered
    out = out / np.abs(out).max() * draw.uniform(0.3, 0.9) * np.minimum(1, np.arange(n) / 200) * np.minimum(1, np.arange(n, 0, -1) / 200)
    return np.round(32767 * out).astype("<i2")


def write(name, seed, each):
    draw = np.random.default_rng(seed)
    shutil.rmtree(HERE / name, ignore_errors=True)
    for vowel in VOWELS:
        (HERE / name / vowel).mkdir(parents=True)
        for i in range(each):
            with wave.open(str(HERE / name / vowel / f"{i:02d}.wav"), "wb") as out:
                out.setparams((1, 2, RATE, 0, "NONE", "NONE"))
                out.writeframes(sound(draw, vowel).tobytes())


def model():
    import tensorflow as tf

    class Speech(tf.Module):
        def __init__(self):
            draw = tf.random.Generator.from_seed(7)
            normal = lambda *shape: draw.normal(shape, 0, (2 / np.prod(shape[:-1])) ** 0.5)
            self.filters = tf.Variable(normal(1, 3, 24, 16), name="filters")
            self.kernel = tf.Variable(normal(16, 3), name="kernel")
            self.bias = tf.Variable(tf.zeros([3]), name="bias")

        @tf.function(input_signature=[tf.TensorSpec([None, None, 24], tf.float32, name="mel")])
        def serve(self, mel):
            x = tf.nn.relu(tf.nn.conv2d(mel[:, None], self.filters, 1, "SAME"))
            logits = tf.matmul(tf.reduce_mean(x, [1, 2]), self.kernel) + self.bias
            return {"logits": logits, "probabilities": tf.nn.softmax(logits)}

    m = Speech()
    tf.saved_model.save(m, str(HERE / "untrained"), signatures={"serving_default": m.serve})


write("sounds", 1, 14)
write("heldback", 2, 5)
draw = np.random.default_rng(3)
(HERE / "ask.json").write_text(json.dumps({"instances": [(sound(draw, v)[:, None] / 32768).round(5).tolist() for v in ("ee", "ah")]}) + "\n")
if "--data-only" not in sys.argv:
    model()
