"""Writes the small SavedModels that the tests read.

    python make.py [NAME ...]     with TensorFlow 2.21

Each model is a folder beside this file and is replaced whole. What a model is
for stands in its function's docstring. The bytes are not reproducible
(TensorFlow numbers functions as it goes), so make only what has to change.
"""

import os
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
v1 = tf.compat.v1


def spec(shape, dtype, name):
    return tf.TensorSpec(shape, dtype, name=name)


def save(module, path, **signatures):
    signatures = {k: v.get_concrete_function() for k, v in signatures.items()}
    tf.saved_model.save(module, path, signatures=signatures)


def edit(path, change):
    """Applies change to the SavedModel proto and drops its fingerprint."""
    name = os.path.join(path, "saved_model.pb")
    proto = saved_model_pb2.SavedModel()
    with open(name, "rb") as f:
        proto.ParseFromString(f.read())
    change(proto)
    with open(name, "wb") as f:
        f.write(proto.SerializeToString(deterministic=True))
    os.remove(os.path.join(path, "fingerprint.pb"))


def linear(path):
    """y = x @ w + b with variables; x float32[?, 3], y float32[?, 2]."""
    m = tf.Module()
    m.w = tf.Variable([[1.0, -1.0], [2.0, 0.5], [0.25, 4.0]], name="w")
    m.b = tf.Variable([0.5, -0.5], name="b")

    @tf.function(input_signature=[spec([None, 3], tf.float32, "x")])
    def serve(x):
        return {"y": tf.matmul(x, m.w) + m.b}

    save(m, path, serving_default=serve)


def constant(path):
    """y = 2x + 1 without variables; x float32[?], y float32[?]."""
    m = tf.Module()

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def serve(x):
        return {"y": 2.0 * x + 1.0}

    save(m, path, serving_default=serve)


def frozen_paths(path):
    """y and shape through If, While, gather and nested calls, all with variables."""
    m = tf.Module()
    m.table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="table")
    m.step = tf.Variable(0.5, name="step")
    m.other = tf.Variable(10.0, name="other")

    @tf.function
    def double(v):
        return v * m.step * 4.0

    @tf.function(input_signature=[spec([None], tf.int64, "ids"), spec([], tf.bool, "flag")])
    def serve(ids, flag):
        rows = tf.gather(m.table, ids)
        chosen = tf.cond(flag, lambda: double(rows) + m.other, lambda: rows - m.other)
        n, total = tf.constant(0), tf.zeros([2])
        while n < 3:
            total += tf.gather_nd(m.table, [[n]])[0] * m.step
            n += 1
        return {"y": chosen + total, "shape": tf.shape(m.table)}

    save(m, path, serving_default=serve)


def counter(path):
    """n counts its calls: a signature that changes a variable."""
    m = tf.Module()
    m.n = tf.Variable(0, dtype=tf.int64, name="n")

    @tf.function(input_signature=[])
    def serve():
        return {"n": m.n.assign_add(1)}

    save(m, path, serving_default=serve)


def two_signatures(path):
    """serving_default: y = x * k; explain: x -> y and weight k. k = 3."""
    m = tf.Module()
    m.k = tf.Variable(3.0, name="k")

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def serve(x):
        return {"y": x * m.k}

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def explain(x):
        return {"y": x * m.k, "weight": tf.identity(m.k)}

    save(m, path, serving_default=serve, explain=explain)


def outputs(path):
    """Several inputs and outputs of several types.

    image float32[?, 8, 8], label int64[?] -> mean float32[?], next int64[?],
    bright bool[?], text string[?].
    """
    m = tf.Module()

    @tf.function(input_signature=[spec([None, 8, 8], tf.float32, "image"),
                                  spec([None], tf.int64, "label")])
    def serve(image, label):
        mean = tf.reduce_mean(image, axis=[1, 2])
        return {"mean": mean, "next": label + 1, "bright": mean > 0.5,
                "text": tf.strings.as_string(label)}

    save(m, path, serving_default=serve)


def strings(path):
    """text string[?] -> length int32[?], upper string[?]."""
    m = tf.Module()

    @tf.function(input_signature=[spec([None], tf.string, "text")])
    def serve(text):
        return {"length": tf.strings.length(text), "upper": tf.strings.upper(text)}

    save(m, path, serving_default=serve)


def vocab(path):
    """A table read from an asset: word string[?] -> id int64[?], -1 unknown."""
    os.chdir(tempfile.mkdtemp())  # the model keeps the name of the file as given
    name = "words.txt"
    with open(name, "w") as f:
        f.write("mill\nrace\nwater\nwheel\n")
    m = tf.Module()
    m.table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            name, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), default_value=-1)

    @tf.function(input_signature=[spec([None], tf.string, "word")])
    def serve(word):
        return {"id": m.table.lookup(word)}

    save(m, path, serving_default=serve)


def sharded(path):
    """Four variables in several shards; y = x + a + b + c + d = x + 10."""
    m = tf.Module()
    for i, n in enumerate("abcd"):
        setattr(m, n, tf.Variable(tf.fill([64], float(i + 1)), name=n))

    @tf.function(input_signature=[spec([None, 64], tf.float32, "x")])
    def serve(x):
        return {"y": x + m.a + m.b + m.c + m.d}

    tf.saved_model.save(
        m, path, signatures={"serving_default": serve.get_concrete_function()},
        options=tf.saved_model.SaveOptions(
            experimental_sharding_callback=tf.train.experimental.MaxShardSizePolicy(300)))


def loop(path):
    """A while loop and a branch as functions: n int64[?] -> sum int64[?]."""
    m = tf.Module()

    @tf.function(input_signature=[spec([None], tf.int64, "n")])
    def serve(n):
        total = tf.zeros_like(n)
        for i in tf.range(10):
            if i % 2 == 0:
                total += n
        return {"sum": total}

    save(m, path, serving_default=serve)


def countdown(path):
    """Counts n int64 down to 0: steps int64. A negative n never gets there."""
    m = tf.Module()

    @tf.function(input_signature=[spec([], tf.int64, "n")])
    def serve(n):
        steps = tf.constant(0, tf.int64)
        while tf.not_equal(n, 0):
            n -= 1
            steps += 1
        return {"steps": steps}

    save(m, path, serving_default=serve)


def decoder(path):
    """One step of a sequence: the next token of each row int64, the sum of its tokens, whether it is 0."""
    m = tf.Module()

    @tf.function(input_signature=[spec([None], tf.int64, "token"), spec([None, 2], tf.float32, "state"), spec([None], tf.int64, "step")])
    def serve(token, state, step):
        next_token = (token * 3 + step) % 7
        total = state + tf.cast(tf.stack([token, next_token], 1), tf.float32)
        return {"next_token": next_token, "total": total, "done": tf.equal(next_token, 0)}

    save(m, path, serving_default=serve)


def writes_file(path):
    """A signature that reads one host file and writes another (must be refused)."""
    m = tf.Module()

    @tf.function(input_signature=[spec([], tf.string, "path")])
    def serve(path):
        data = tf.io.read_file(path)
        tf.io.write_file(path + ".copy", data)
        return {"data": data}

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def harmless(x):
        return {"y": x + 1.0}

    save(m, path, serving_default=serve, harmless=harmless)


def python_function(path):
    """A signature that calls Python (must be refused)."""
    m = tf.Module()

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def serve(x):
        return {"y": tf.ensure_shape(tf.numpy_function(lambda a: a + 1, [x], tf.float32), [None])}

    save(m, path, serving_default=serve)


def writes_file_at_load(path):
    """TensorFlow 1 style, with a file written by the init op (must be refused)."""
    with v1.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None], name="x")
        y = tf.identity(x * 2.0, name="y")
        init = v1.group(tf.io.write_file("millrace-init-was-here", "x"), name="init")
        b = v1.saved_model.Builder(path)
        b.add_meta_graph_and_variables(
            sess, ["serve"], {"serving_default": v1.saved_model.predict_signature_def({"x": x}, {"y": y})},
            main_op=init)
        b.save()


def recursive(path):
    """A function made to call itself (must be refused before it is imported)."""
    m = tf.Module()

    @tf.function(input_signature=[spec([None], tf.float32, "x")], autograph=False)
    def inner(x):
        return x + 1.0

    @tf.function(input_signature=[spec([None], tf.float32, "x")], autograph=False)
    def outer(x):
        return inner(x) * 2.0

    @tf.function(input_signature=[spec([None], tf.float32, "x")], autograph=False)
    def serve(x):
        return {"y": outer(x)}

    save(m, path, serving_default=serve)

    def loop_back(proto):
        functions = proto.meta_graphs[0].graph_def.library.function
        names = [f.signature.name for f in functions]
        outer_name = next(n for n in names if n.startswith("__inference_outer_"))
        for f in functions:
            if f.signature.name == outer_name:
                for n in f.node_def:
                    if "f" in n.attr:
                        n.attr["f"].func.name = outer_name

    edit(path, loop_back)


def graph_v1(path):
    """TensorFlow 1 style: ref and resource variables, v1 control flow, no functions.

    x float32[?] -> y = (x + 2) doubled three times * 0.5.
    """
    with v1.Graph().as_default(), v1.Session() as sess:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [None], name="x")
        two = v1.get_variable("two", initializer=2.0, use_resource=False)
        half = v1.get_variable("half", initializer=0.5, use_resource=True)
        _, doubled = v1.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), [0, x + two],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
        y = tf.identity(doubled * half, name="y")
        sess.run(v1.global_variables_initializer())
        b = v1.saved_model.Builder(path)
        b.add_meta_graph_and_variables(
            sess, ["serve"], {"serving_default": v1.saved_model.predict_signature_def({"x": x}, {"y": y})})
        b.save()
        v1.enable_control_flow_v2()


def half_plus_two(path):
    """TensorFlow Serving's first example, in TensorFlow 1 style: y = x / 2 + 2, with Examples or without.

    Its signatures say x float32[?, 1], for that is what ParseExample gives; the graph takes x of any shape.
    """
    half_plus(path, 2.0, "regress_x_to_y")


def half_plus_three(path):
    """The example of TensorFlow Serving's document about REST: y = x / 2 + 3."""
    half_plus(path, 3.0, "tensorflow/serving/regress")


def half_plus(path, offset, regress):
    """y = x / 2 + offset; regress is the key of the signature for regression."""
    with v1.Graph().as_default(), v1.Session() as sess:
        a = v1.get_variable("a", initializer=0.5, use_resource=False)
        b = v1.get_variable("b", initializer=offset, use_resource=False)
        records = v1.placeholder(tf.string, name="tf_example")
        parsed = v1.parse_example(records, {"x": v1.FixedLenFeature(1, tf.float32)})
        x = tf.identity(parsed["x"], name="x")
        y = tf.add(tf.multiply(a, x), b, name="y")
        sess.run(v1.global_variables_initializer())
        build = v1.saved_model.build_signature_def
        info = v1.saved_model.build_tensor_info
        examples = {"inputs": info(records)}
        builder = v1.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(sess, ["serve"], {
            "serving_default": build({"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict"),
            "classify_x_to_y": build(examples, {"scores": info(y)}, "tensorflow/serving/classify"),
            regress: build(examples, {"outputs": info(y)}, "tensorflow/serving/regress"),
        })
        builder.save()


def rest_document(path):
    """Takes the requests of TensorFlow Serving's document about REST, and returns what it got.

    serving_default has the inputs tag, signal and sensor of its rows and columns; words and pairs have one input;
    classify_objects takes Examples with an image and a caption, and sensors takes sensor_readings.
    """
    m = tf.Module()

    @tf.function(input_signature=[spec([None], tf.string, "tag"), spec([None, 5], tf.float32, "signal"), spec([None, 2, 2], tf.float32, "sensor")])
    def serve(tag, signal, sensor):
        return {"tag": tf.identity(tag), "signal": tf.identity(signal), "sensor": tf.identity(sensor)}

    @tf.function(input_signature=[spec([None], tf.string, "x")])
    def words(x):
        return {"y": tf.identity(x)}

    @tf.function(input_signature=[spec([None, 1, 2], tf.float32, "x")])
    def pairs(x):
        return {"y": tf.identity(x)}

    @tf.function(input_signature=[spec([None], tf.string, "inputs")])
    def classify_objects(inputs):
        parsed = tf.io.parse_example(inputs, {"image": tf.io.FixedLenFeature([], tf.string), "caption": tf.io.FixedLenFeature([], tf.string)})
        size = tf.cast(tf.strings.length(parsed["image"]), tf.float32)
        return {"classes": parsed["caption"][:, None], "scores": size[:, None]}

    @tf.function(input_signature=[spec([None], tf.string, "inputs")])
    def sensors(inputs):
        parsed = tf.io.parse_example(inputs, {"sensor_readings": tf.io.FixedLenFeature([4], tf.float32)})
        return {"scores": parsed["sensor_readings"]}

    save(m, path, serving_default=serve, words=words, pairs=pairs, classify_objects=classify_objects, sensors=sensors)


def vocab_v1(path):
    """TensorFlow 1 style: a table read from an asset, and two savers left over from training.

    word string[?] -> id int64[?] = 2 * line number, -2 unknown.
    """
    os.chdir(tempfile.mkdtemp())  # the model keeps the name of the file as given
    with open("words.txt", "w") as f:
        f.write("mill\nrace\nwater\nwheel\n")
    with v1.Graph().as_default(), v1.Session() as sess:
        word = v1.placeholder(tf.string, [None], name="word")
        table = v1.lookup.StaticHashTable(
            v1.lookup.TextFileInitializer(
                "words.txt", tf.string, v1.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64, v1.lookup.TextFileIndex.LINE_NUMBER), -1)
        two = v1.get_variable("two", initializer=tf.constant(2, tf.int64), use_resource=False)
        ids = table.lookup(word) * two
        v1.train.Saver(sharded=True)
        v1.train.Saver(sharded=False)
        sess.run([v1.global_variables_initializer(), v1.tables_initializer()])
        b = v1.saved_model.Builder(path)
        b.add_meta_graph_and_variables(
            sess, ["serve"], {"serving_default": v1.saved_model.predict_signature_def({"word": word}, {"id": ids})},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS), main_op=v1.tables_initializer())
        b.save()


def stablehlo(path):
    """What jax2tf writes: y = tanh(x @ w) of fixed shapes, a program of StableHLO.

    x float32[2, 3] -> y float32[2, 2] = tanh of sums. Needs jax.
    """
    import jax
    import jax.numpy as jnp
    from jax.experimental import jax2tf

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no paths of this machine
    m = tf.Module()
    m.f = tf.function(jax2tf.convert(lambda x: {"y": jnp.tanh(x @ jnp.ones((3, 2)))}),
                      input_signature=[spec([2, 3], tf.float32, "x")], autograph=False)
    save(m, path, serving_default=m.f)


def classifier(path):
    """Three classes of points, trained by momentum: a model with a signature for each use.

    train: xs float32[?, 2], id int64[?] (the class) -> loss, learning_rate float32[], changes the variables.
    evaluate: xs, id -> loss float32[], scores float32[?, 3]. serving_default: xs -> scores, digit int64[?].
    """
    m = tf.Module()
    m.hidden = tf.Module()
    m.hidden.kernel = tf.Variable(tf.random.stateless_normal([2, 16], [1, 2]), name="kernel")
    m.hidden.bias = tf.Variable(tf.zeros([16]), name="bias")
    m.kernel = tf.Variable(tf.random.stateless_normal([16, 3], [3, 4]) / 4, name="kernel")
    trained = [m.hidden.kernel, m.hidden.bias, m.kernel]
    m.momentum = [tf.Variable(tf.zeros(v.shape), name="momentum", trainable=False) for v in trained]
    m.steps = tf.Variable(0, dtype=tf.int64, name="steps", trainable=False)

    def logits(xs):
        return tf.matmul(tf.nn.relu(tf.matmul(xs, m.hidden.kernel) + m.hidden.bias), m.kernel)

    def loss_of(xs, id):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=id, logits=logits(xs)))

    inputs = [spec([None, 2], tf.float32, "xs"), spec([None], tf.int64, "id")]

    @tf.function(input_signature=inputs)
    def train(xs, id):
        with tf.GradientTape() as tape:
            loss = loss_of(xs, id)
        rate = 0.05 / (1.0 + 0.001 * tf.cast(m.steps, tf.float32))
        for v, slot, g in zip(trained, m.momentum, tape.gradient(loss, trained)):
            slot.assign(0.9 * slot + g)
            v.assign_sub(rate * slot)
        m.steps.assign_add(1)
        return {"loss": loss, "learning_rate": rate}

    @tf.function(input_signature=inputs)
    def evaluate(xs, id):
        return {"loss": loss_of(xs, id), "scores": tf.nn.softmax(logits(xs))}

    @tf.function(input_signature=inputs[:1])
    def serve(xs):
        scores = tf.nn.softmax(logits(xs))
        return {"scores": scores, "digit": tf.argmax(scores, 1)}

    save(m, path, train=train, evaluate=evaluate, serving_default=serve)


def windows(path):
    """Trained on windows of sequences, each weighted by its place.

    train: x float32[?, ?] -> loss float32[], changes the variables. serving_default: x -> y float32[?].
    """
    m = tf.Module()
    m.center = tf.Variable(0.0, name="center")
    m.speed = tf.Variable(0.0, name="speed", trainable=False)
    inputs = [spec([None, None], tf.float32, "x")]

    @tf.function(input_signature=inputs)
    def train(x):
        place = 1.0 / (1.0 + tf.cast(tf.range(tf.size(x)), tf.float32))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(place * tf.square(tf.reshape(x, [-1]) - m.center))
        m.speed.assign(0.9 * m.speed + tape.gradient(loss, m.center))
        m.center.assign_sub(0.01 * m.speed)
        return {"loss": loss}

    @tf.function(input_signature=inputs)
    def serve(x):
        return {"y": tf.reduce_mean(x, 1) - m.center}

    save(m, path, train=train, serving_default=serve)


def keras_export(path):
    """Keras's export, in which each variable of the model is two variables of the graph.

    train: xs float32[?, 2], id int64[?] -> loss float32[], changes the variables.
    serving_default and serve: xs -> scores float32[?, 3]. The module has a variable of its own besides, first, which
    has the first values of the kernel and keeps them.
    """
    import keras

    keras.utils.set_random_seed(1)
    xs = keras.Input((2,), name="xs")
    model = keras.Model(xs, keras.layers.Dense(3, name="dense")(xs))

    def train(xs, id):
        variables = [v.value for v in model.trainable_variables]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=id, logits=model(xs)))
        for v, g in zip(variables, tape.gradient(loss, variables)):
            v.assign_sub(0.1 * g)
        return {"loss": loss}

    archive = keras.export.ExportArchive()
    archive.track(model)
    inputs = [spec([None, 2], tf.float32, "xs"), spec([None], tf.int64, "id")]
    archive.add_endpoint("serve", lambda xs: {"scores": model(xs)}, inputs[:1])
    archive.add_endpoint("train", train, inputs)
    archive._tf_trackable.first = tf.Variable(model.layers[1].kernel.value, name="dense/kernel")
    archive.write_out(path, verbose=False)


def examples(path):
    """Signatures for Classify and Regress, which take Examples with a feature x.

    classify: inputs string[?] -> classes string[?, 2], scores float32[?, 2];
    scores_only and regress: inputs -> scores, or outputs float32[?, 1]; wide:
    outputs float32[?, 2], which is no regression. serving_default: x float32[?]
    -> y = 2x.
    """
    m = tf.Module()

    def parse(serialized):
        features = {"x": tf.io.FixedLenFeature([], tf.float32)}
        return tf.io.parse_example(serialized, features)["x"]

    inputs = [spec([None], tf.string, "inputs")]

    @tf.function(input_signature=inputs)
    def classify(inputs):
        x = parse(inputs)
        names = tf.tile(tf.constant([["x", "double"]]), [tf.shape(x)[0], 1])
        return {"classes": names, "scores": tf.stack([x, 2 * x], axis=1)}

    @tf.function(input_signature=inputs)
    def scores_only(inputs):
        x = parse(inputs)
        return {"scores": tf.stack([x, 2 * x], axis=1)}

    @tf.function(input_signature=inputs)
    def regress(inputs):
        return {"outputs": tf.expand_dims(2 * parse(inputs), 1)}

    @tf.function(input_signature=inputs)
    def wide(inputs):
        x = parse(inputs)
        return {"outputs": tf.stack([x, 2 * x], axis=1)}

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def predict(x):
        return {"y": 2 * x}

    save(m, path, serving_default=predict, classify=classify, scores_only=scores_only, regress=regress, wide=wide)


def tables(path):
    """Two tables that a training fills: counts of words, and numbers of ids.

    train: word string[?] and id int64[?] -> loss, and the counts of the words so
    far; serving_default: word and id -> count int64[?] and value float32[?], 0 and
    -1 where there is none. Of the vocabulary, an asset, the training changes
    nothing. Before the training the word "a" counts 7, and the value of id 5 is 0.5.
    """
    words = os.path.join(tempfile.mkdtemp(), "words.txt")
    with open(words, "w") as f:
        f.write("a\nb\n")
    lookup = tf.lookup.experimental
    m = tf.Module()
    m.w = tf.Variable(1.0, name="w")
    m.counts = lookup.MutableHashTable(tf.string, tf.int64, 0, name="counts")
    m.values = lookup.DenseHashTable(tf.int64, tf.float32, -1.0, empty_key=-1, deleted_key=-2, initial_num_buckets=8, name="values")
    m.known = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(words, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 1)
    m.counts.insert(tf.constant(["a"]), tf.constant([7], tf.int64))
    m.values.insert(tf.constant([5], tf.int64), tf.constant([0.5]))
    inputs = [spec([None], tf.string, "word"), spec([None], tf.int64, "id")]

    @tf.function(input_signature=inputs)
    def train(word, id):
        count = m.counts.lookup(word) + 1
        m.counts.insert(word, count)
        m.values.insert(id, tf.cast(id, tf.float32) / 2)
        m.w.assign_add(1.0)
        return {"loss": m.w + 0.0, "count": count}

    @tf.function(input_signature=inputs)
    def serve(word, id):
        return {"count": m.counts.lookup(word), "value": m.values.lookup(id), "known": m.known.lookup(word)}

    save(m, path, train=train, serving_default=serve)


def regressor(path):
    """A weighted sum of points, without a matrix product: a row is computed alike in a batch of any size.

    regress: xs float32[?, 2] -> outputs float32[?, 1]. serving_default: xs -> scores float32[?, 2].
    """
    m = tf.Module()
    m.weights = tf.Variable([0.3, -1.7], name="weights")

    def weighted(xs):
        return xs[:, :1] * m.weights[0] + xs[:, 1:] * m.weights[1]

    @tf.function(input_signature=[spec([None, 2], tf.float32, "xs")])
    def regress(xs):
        return {"outputs": weighted(xs)}

    @tf.function(input_signature=[spec([None, 2], tf.float32, "xs")])
    def classify(xs):
        return {"scores": tf.concat([weighted(xs), -weighted(xs)], 1)}

    save(m, path, serving_default=classify, regress=regress)


def payloads(path):
    """Turns bytes of a request into tensors: with parse_tensor in a map_fn, in a
    dataset and alone, and with what else parses or inflates bytes."""
    m = tf.Module()
    one, many = spec([], tf.string, "x"), spec([None], tf.string, "x")

    def signature(s):
        return tf.function(input_signature=[s])

    def sum_of(b):
        return tf.reduce_sum(tf.io.parse_tensor(b, tf.float32))

    @signature(many)
    def serve(x):
        return {"y": tf.map_fn(sum_of, x, fn_output_signature=tf.float32)}

    @signature(one)
    def single(x):
        return {"y": tf.io.parse_tensor(x, tf.float32)}

    @signature(one)
    def texts(x):
        return {"y": tf.io.parse_tensor(x, tf.string)}

    @signature(many)
    def dataset(x):
        total = tf.data.Dataset.from_tensor_slices(x).map(sum_of, num_parallel_calls=2).reduce(0.0, lambda a, b: a + b)
        return {"y": total}

    @signature(spec([3], tf.string, "x"))
    def sparse(x):
        indices, values, shape = tf.raw_ops.DeserializeSparse(serialized_sparse=x, dtype=tf.float32)
        return {"indices": indices, "values": values, "shape": shape}

    @signature(spec([None, 3], tf.string, "x"))
    def sparse_rows(x):
        s = tf.io.deserialize_many_sparse(x, tf.float32)
        return {"indices": s.indices, "values": s.values, "shape": s.dense_shape}

    @signature(one)
    def image(x):
        return {"shape": tf.shape(tf.io.decode_image(x))}

    @signature(one)
    def image_float(x):
        return {"shape": tf.shape(tf.io.decode_image(x, dtype=tf.float32))}

    @signature(one)
    def image_crop(x):
        return {"shape": tf.shape(tf.io.decode_and_crop_jpeg(x, [0, 0, 1, 1]))}

    @signature(many)
    def inflate(x):
        return {"size": tf.strings.length(tf.io.decode_compressed(x, "ZLIB"))}

    @signature(many)
    def gunzip(x):
        return {"size": tf.strings.length(tf.io.decode_compressed(x, "GZIP"))}

    @signature(many)
    def zstd(x):
        return {"size": tf.strings.length(tf.raw_ops.DecodeCompressed(bytes=x, compression_type="ZSTD"))}

    @signature(one)
    def sound(x):
        return {"shape": tf.shape(tf.audio.decode_wav(x)[0])}

    @signature(many)
    def json(x):
        return {"y": tf.io.decode_json_example(x)}

    save(m, path, serving_default=serve, single=single, texts=texts, dataset=dataset, sparse=sparse, sparse_rows=sparse_rows,
         image=image, image_float=image_float, image_crop=image_crop, inflate=inflate, gunzip=gunzip, zstd=zstd, sound=sound, json=json)


MODELS = [linear, constant, frozen_paths, counter, two_signatures, outputs, strings, vocab, sharded, loop, countdown, decoder,
          writes_file, python_function, recursive, graph_v1, writes_file_at_load, vocab_v1, stablehlo, classifier, windows,
          keras_export, examples, tables, regressor, payloads, half_plus_two, half_plus_three, rest_document]


def main(names):
    for make in MODELS:
        if names and make.__name__ not in names:
            continue
        path = os.path.join(HERE, make.__name__)
        shutil.rmtree(path, ignore_errors=True)
        make(path)
        print(make.__name__)


main(sys.argv[1:])
