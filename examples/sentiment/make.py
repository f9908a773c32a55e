"""Makes what is in this folder: reviews.csv, heldback.csv and the untrained model.

    python make.py              # with TensorFlow
    python make.py --data-only  # the two files alone, byte for byte the same each time

The reviews are made of phrases below, so they need no licence but that of this repository.
"""

import csv
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORDS = 256  # rows of the embedding: 0 is padding, 1 to 254 are words, 255 stands for all others

THINGS = "film plot cast score dialogue ending camera script pacing lead villain story scenery editing humour".split()
GOOD = "wonderful moving clever brilliant charming gripping superb delightful fresh honest funny stunning".split()
BAD = "dull clumsy awful predictable tedious weak lifeless messy shallow annoying bland forgettable".split()
OPENINGS = [
    "I saw it on {day} and the {a} was {x}.", "My {kin} loves this kind of film, yet I found the {a} {x}.",
    "The {a} is {x}, and the {b} is {y}.", "What a {x} {a}!", "A {x} {a} with a {y} {b}.",
    "Everybody talks about the {a}. It is {x}.", "The {a}: {x}. The {b}: {y}.",
]
ENDINGS = {
    1: ["I would watch it again.", "Go and see it!", "It stays with you.", "Not a minute too long.", "Bring your {kin}."],
    0: ["I want my evening back.", "Stay at home.", "I left early.", "Far too long.", "Do not bring your {kin}."],
}


def review(draw, label):
    words = GOOD if label else BAD
    parts = [draw.choice(OPENINGS)]
    if draw.random() < 0.5:
        parts.append(draw.choice(OPENINGS))
    parts.append(draw.choice(ENDINGS[label]))
    a, b = draw.sample(THINGS, 2)
    x, y = draw.sample(words, 2)
    fill = {"a": a, "b": b, "x": x, "y": y, "day": draw.choice(["Monday", "Friday", "Sunday"]), "kin": draw.choice(["brother", "sister", "mother"])}
    return " ".join(parts).format(**fill)


def write(name, seed, n):
    draw = random.Random(seed)
    with open(HERE / name, "w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["text", "label"])
        for i in range(n):
            rows.writerow([review(draw, i % 2), i % 2])


def model():
    import tensorflow as tf

    class Sentiment(tf.Module):
        def __init__(self):
            draw = tf.random.Generator.from_seed(7)
            self.embedding = tf.Variable(draw.uniform([WORDS, 16], -0.05, 0.05), name="embedding")
            self.kernel = tf.Variable(draw.uniform([16, 2], -0.4, 0.4), name="kernel")
            self.bias = tf.Variable(tf.zeros([2]), name="bias")

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64, name="words")])
        def serve(self, words):
            there = tf.cast(words > 0, tf.float32)[:, :, None]
            mean = tf.reduce_sum(tf.gather(self.embedding, words) * there, 1) / tf.maximum(tf.reduce_sum(there, 1), 1)
            logits = tf.matmul(mean, self.kernel) + self.bias
            return {"logits": logits, "positive": tf.nn.softmax(logits)[:, 1]}

    m = Sentiment()
    tf.saved_model.save(m, str(HERE / "untrained"), signatures={"serving_default": m.serve})


write("reviews.csv", 1, 600)
write("heldback.csv", 2, 120)
if "--data-only" not in sys.argv:
    model()
