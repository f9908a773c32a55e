"""Makes what is in this folder: the pictures, ask.json and the untrained model.

    python make.py              # with TensorFlow and Pillow
    python make.py --data-only  # the pictures and ask.json alone

The flowers are drawn from the numbers below, so they need no licence but that of this repository.
"""

import base64
import io
import json
import pathlib
import shutil
import sys

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {  # petals, how deep they are cut, their colour, the colour of the middle
    "buttercup": (5, 0.25, (240, 205, 40), (190, 150, 20)),
    "cornflower": (9, 0.7, (70, 90, 225), (90, 40, 140)),
    "daisy": (13, 0.35, (240, 240, 235), (235, 190, 40)),
    "poppy": (4, 0.2, (215, 45, 35), (40, 25, 35)),
}


def picture(draw, kind):
    petals, cut, colour, middle = KINDS[kind]
    height, width = draw.integers(40, 57, 2)
    y, x = np.mgrid[0:height, 0:width].astype(float)
    out = np.array([60, 120, 50]) + draw.normal(0, 18, [height, width, 1]) + draw.normal(0, 6, [height, width, 3])
    radius = draw.uniform(0.3, 0.45) * min(height, width)
    centre = np.array([height, width]) * draw.uniform(0.4, 0.6, 2)
    distance, angle = np.hypot(y - centre[0], x - centre[1]), np.arctan2(y - centre[0], x - centre[1])
    edge = radius * (1 - cut * (0.5 + 0.5 * np.cos(petals * angle + draw.uniform(0, 6.3))))
    shade = (0.75 + 0.25 * distance / radius)[:, :, None]
    out = np.where((distance < edge)[:, :, None], np.array(colour) * shade, out)
    out = np.where((distance < 0.25 * radius)[:, :, None], np.array(middle), out)
    light = draw.uniform(0.75, 1.15)
    return Image.fromarray(np.clip(out * light, 0, 255).astype(np.uint8))


def write(name, seed, each):
    draw = np.random.default_rng(seed)
    shutil.rmtree(HERE / name, ignore_errors=True)
    for kind in KINDS:
        (HERE / name / kind).mkdir(parents=True)
        for i in range(each):
            picture(draw, kind).save(HERE / name / kind / f"{i:02d}.jpg", quality=75)


def model():
    import tensorflow as tf

    class Flowers(tf.Module):
        def __init__(self):
            draw = tf.random.Generator.from_seed(7)
            normal = lambda *shape: draw.normal(shape, 0, (2 / np.prod(shape[:-1])) ** 0.5)
            self.first = tf.Variable(normal(3, 3, 3, 8), name="first")
            self.second = tf.Variable(normal(3, 3, 8, 16), name="second")
            self.kernel = tf.Variable(normal(16, 4), name="kernel")
            self.bias = tf.Variable(tf.zeros([4]), name="bias")

        @tf.function(input_signature=[tf.TensorSpec([None, 32, 32, 3], tf.float32, name="image")])
        def serve(self, image):
            x = tf.nn.relu(tf.nn.conv2d(image, self.first, 2, "SAME"))
            x = tf.nn.relu(tf.nn.conv2d(x, self.second, 2, "SAME"))
            logits = tf.matmul(tf.reduce_mean(x, [1, 2]), self.kernel) + self.bias
            return {"logits": logits, "probabilities": tf.nn.softmax(logits)}

    m = Flowers()
    tf.saved_model.save(m, str(HERE / "untrained"), signatures={"serving_default": m.serve})


write("pictures", 1, 24)
write("heldback", 2, 8)
draw, instances = np.random.default_rng(3), []
for kind in ("daisy", "poppy"):
    data = io.BytesIO()
    picture(draw, kind).save(data, "JPEG", quality=75)
    instances.append({"b64": base64.b64encode(data.getvalue()).decode()})
(HERE / "ask.json").write_text(json.dumps({"instances": instances}) + "\n")
if "--data-only" not in sys.argv:
    model()
