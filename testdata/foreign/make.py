"""Writes SavedModels as TensorFlow's users export them, with the values of their signatures.

    python make.py OUT [NAME ...]   needs tensorflow 2.21, tf_keras and jax
    python make.py --pack OUT       makes models.tar.gz of those that README.md lists

OUT/NAME is a model, OUT/NAME/values.json what its signatures give in a session
of Python TensorFlow. Weights repeat a short pattern, so that they compress.
"""

import gzip
import json
import os
import shutil
import sys
import tarfile
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

if "--pack" not in sys.argv:
    import keras
    import numpy as np
    import tensorflow as tf

    v1 = tf.compat.v1
    raw = tf.raw_ops
    keras.utils.set_random_seed(7)

MODELS = {}
DEFAULT = "serving_default"


def model(make):
    """Registers a function that writes a model and returns its calls: (signature, inputs)."""
    MODELS[make.__name__] = make
    return make


def pattern(shape, scale=1.0):
    """Values that repeat after 61, so that a large array compresses well."""
    row = np.random.RandomState(3).uniform(-1, 1, 61).astype(np.float32)
    return np.resize(row, shape) * np.float32(scale)


def fill(m):
    """Sets the kernels of a Keras model; gains, biases and moments keep their values."""
    m.set_weights([pattern(w.shape, (3 / np.prod(w.shape[:-1])) ** 0.5).astype(w.dtype)
                   if w.ndim > 1 and w.dtype.kind == "f" else w for w in m.get_weights()])
    return m


def image_model(m, path, side):
    fill(m).export(path, verbose=False)
    return [(DEFAULT, {None: pattern([2, side, side, 3], 0.5)})]


# Keras Applications, at a small width where their builders have one.


@model
def mobilenet_v2(path):
    return image_model(keras.applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None, classes=10), path, 32)


@model
def mobilenet_v3(path):
    return image_model(keras.applications.MobileNetV3Small((32, 32, 3), alpha=0.75, minimalistic=True, weights=None, classes=10), path, 32)


@model
def resnet(path):
    from keras.src.applications.resnet import ResNet, stack_residual_blocks_v1 as stack
    body = lambda x: stack(stack(x, 8, 2, stride1=1, name="conv2"), 16, 2, name="conv3")
    return image_model(ResNet(body, False, True, "small_resnet", weights=None, input_shape=(32, 32, 3), classes=10, weights_name=None), path, 32)


@model
def resnet50(path):
    return image_model(keras.applications.ResNet50(input_shape=(32, 32, 3), weights=None, classes=10), path, 32)


@model
def efficientnet(path):
    from keras.src.applications.efficientnet import EfficientNet
    return image_model(EfficientNet(0.2, 0.3, 32, dropout_rate=0.2, weights=None, input_shape=(32, 32, 3), classes=10, name="b"), path, 32)


@model
def efficientnet_b0(path):
    return image_model(keras.applications.EfficientNetB0(input_shape=(32, 32, 3), weights=None, classes=10), path, 32)


@model
def densenet(path):
    from keras.src.applications.densenet import DenseNet
    return image_model(DenseNet([2, 2, 2, 2], weights=None, input_shape=(32, 32, 3), classes=10), path, 32)


@model
def densenet121(path):
    return image_model(keras.applications.DenseNet121(input_shape=(32, 32, 3), weights=None, classes=10), path, 32)


@model
def convnext(path):
    from keras.src.applications.convnext import ConvNeXt
    return image_model(ConvNeXt([1, 1, 2, 1], [8, 16, 24, 32], weights=None, input_shape=(32, 32, 3), classes=10, name="convnext_small_width", weights_name=None), path, 32)


@model
def convnext_tiny(path):
    return image_model(keras.applications.ConvNeXtTiny(input_shape=(32, 32, 3), weights=None, classes=10), path, 32)


@model
def xception(path):
    return image_model(keras.applications.Xception(input_shape=(71, 71, 3), weights=None, classes=10), path, 71)


@model
def inception_v3(path):
    return image_model(keras.applications.InceptionV3(input_shape=(75, 75, 3), weights=None, classes=10), path, 75)


@model
def nasnet(path):
    from keras.src.applications.nasnet import NASNet
    return image_model(NASNet((32, 32, 3), penultimate_filters=96, num_blocks=1, stem_block_filters=4, skip_reduction=False,
                              filter_multiplier=2, weights=None, classes=10, default_size=32), path, 32)


@model
def nasnet_mobile(path):
    return image_model(keras.applications.NASNetMobile(input_shape=(32, 32, 3), weights=None, classes=10), path, 32)


# Keras: sequences, preprocessing, mixed precision.


@model
def lstm(path):
    m = keras.Sequential([keras.Input((None, 3)), keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True)),
                          keras.layers.GRU(5), keras.layers.Dense(2)])
    fill(m).export(path, verbose=False)
    return [(DEFAULT, {None: pattern([2, 6, 3])})]


@model
def transformer(path):
    x = keras.Input((7,), dtype="int32")
    h = keras.layers.Embedding(30, 8)(x)
    h = h + keras.layers.MultiHeadAttention(2, 4)(h, h, use_causal_mask=True)
    h = keras.layers.LayerNormalization()(h)
    h = h + keras.layers.Dense(8, activation="gelu")(h)
    fill(keras.Model(x, keras.layers.Dense(30, activation="softmax")(h))).export(path, verbose=False)
    return [(DEFAULT, {None: np.int32([[1, 2, 3, 4, 5, 6, 7], [29, 0, 3, 3, 3, 1, 0]])})]


@model
def mixed_float16(path):
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2, dtype="float32")])
    finally:
        keras.mixed_precision.set_global_policy("float32")
    fill(m).export(path, verbose=False)
    return [(DEFAULT, {None: pattern([3, 4])})]


@model
def mixed_bfloat16(path):
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        m = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(3, 3), keras.layers.Flatten(), keras.layers.Dense(2, dtype="float32")])
    finally:
        keras.mixed_precision.set_global_policy("float32")
    fill(m).export(path, verbose=False)
    return [(DEFAULT, {None: pattern([2, 8, 8, 1])})]


@model
def preprocessing(path):
    norm = keras.layers.Normalization()
    norm.adapt(pattern([16, 2]))
    age, code, city, raw_ = keras.Input((1,)), keras.Input((1,), dtype="int64"), keras.Input((1,), dtype="string"), keras.Input((2,))
    parts = [keras.layers.CategoryEncoding(4, output_mode="one_hot")(keras.layers.Discretization([0.0, 10.0, 20.0])(age)),
             keras.layers.IntegerLookup(vocabulary=[12, 7, 99], output_mode="multi_hot")(code),
             keras.layers.CategoryEncoding(8, output_mode="multi_hot")(keras.layers.Hashing(8)(city)), norm(raw_)]
    fill(keras.Model([age, code, city, raw_], keras.layers.Dense(2)(keras.layers.Concatenate()(parts)))).export(path, verbose=False)
    return [(DEFAULT, [np.float32([[5], [30]]), np.int64([[7], [1]]), np.array([[b"ulm"], [b"bern"]]), pattern([2, 2])])]


@model
def text_vectorization(path):
    layer = keras.layers.TextVectorization(output_sequence_length=5, vocabulary=["mill", "race", "water"])
    m = keras.Sequential([keras.Input((1,), dtype="string"), layer, keras.layers.Embedding(6, 3), keras.layers.GlobalAveragePooling1D()])
    fill(m).export(path, verbose=False)
    return [(DEFAULT, {None: np.array([[b"The Mill, the race!"], [b"water WATER pond"]])})]


@model
def string_lookup_file(path):
    file = words(["mill", "race", "water"])
    m = keras.Sequential([keras.Input((3,), dtype="string"), keras.layers.StringLookup(vocabulary=file, num_oov_indices=2)])
    m.export(path, verbose=False)
    return [(DEFAULT, {None: np.array([[b"race", b"pond", b"mill"]])})]


@model
def keras_optimizer(path):
    """A step of training as a signature: the optimizer's slots are variables too."""
    m = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    fill(m)
    opt = keras.optimizers.Adam(0.1)
    opt.build(m.trainable_variables)
    holder = tf.Module()
    holder.all = [v.value for v in m.variables + opt.variables]

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x"), tf.TensorSpec([None, 1], tf.float32, name="y")])
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((m(x, training=True) - y) ** 2)
        opt.apply(tape.gradient(loss, m.trainable_variables), m.trainable_variables)
        return {"loss": loss}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def serve(x):
        return {"y": m(x, training=False)}

    tf.saved_model.save(holder, path, signatures={DEFAULT: serve, "train": train})
    x = pattern([4, 3])
    return [("train", {"x": x, "y": np.ones([4, 1], np.float32)}), (DEFAULT, {"x": x})]


# Keras 2.


def keras2(m, path, inputs):
    m.save(path, save_format="tf")
    return [(DEFAULT, {None: inputs})]


@model
def keras2_lstm(path):
    """The LSTM of Keras 2: one function for CuDNN and one for the CPU, by one interface."""
    import tf_keras
    m = tf_keras.Sequential([tf_keras.layers.LSTM(4, return_sequences=True, input_shape=(None, 3)), tf_keras.layers.GRU(3), tf_keras.layers.Dense(2)])
    return keras2(fill(m), path, pattern([2, 5, 3]))


@model
def keras2_compiled(path):
    import tf_keras
    m = tf_keras.Sequential([tf_keras.layers.Dense(4, activation="relu", input_shape=(3,)), tf_keras.layers.Dropout(0.5), tf_keras.layers.Dense(1)])
    m.compile("adam", "mse", metrics=["mae"])
    m.fit(pattern([8, 3]), np.ones([8, 1], np.float32), verbose=0)
    return keras2(fill(m), path, pattern([2, 3]))


@model
def keras2_text(path):
    import tf_keras
    layer = tf_keras.layers.TextVectorization(output_mode="tf_idf", ngrams=2)
    layer.adapt(tf.constant(["a mill race", "a race of water", "the mill"]))
    m = tf_keras.Sequential([tf_keras.Input((1,), dtype=tf.string), layer, tf_keras.layers.Dense(2)])
    return keras2(fill(m), path, np.array([[b"a mill"], [b"the race of races"]]))


@model
def keras2_feature_columns(path):
    import tf_keras
    fc = tf.feature_column
    city = fc.categorical_column_with_vocabulary_list("city", ["ulm", "bern"], num_oov_buckets=1)
    age = fc.bucketized_column(fc.numeric_column("age"), [18.0, 65.0])
    columns = [fc.embedding_column(city, 2), age, fc.indicator_column(fc.crossed_column(["city", age], 5)), fc.numeric_column("size")]
    layer = fc.InputLayer(columns) if not hasattr(tf_keras.layers, "DenseFeatures") else tf_keras.layers.DenseFeatures(columns)
    inputs = {"city": tf_keras.Input((1,), dtype=tf.string, name="city"), "age": tf_keras.Input((1,), name="age"), "size": tf_keras.Input((1,), name="size")}
    m = fill(tf_keras.Model(inputs, tf_keras.layers.Dense(2)(layer(inputs))))
    m.save(path, save_format="tf")
    return [(DEFAULT, {"city": np.array([[b"ulm"], [b"rome"]]), "age": np.float32([[3], [70]]), "size": np.float32([[1], [2]])})]


# tf.Module and tf.function.


def words(lines):
    os.chdir(tempfile.mkdtemp())
    with open("words.txt", "w") as f:
        f.write("".join(w + "\n" for w in lines))
    return os.path.abspath("words.txt")


def spec(shape, dtype, name):
    return tf.TensorSpec(shape, dtype, name=name)


def save(path, serve, *specs, module=None, **parts):
    """Saves one function as the signature."""
    m = module or tf.Module()
    for name, part in parts.items():
        setattr(m, name, part)
    m.serve = tf.function(serve, input_signature=specs)
    tf.saved_model.save(m, path, signatures=m.serve)


@model
def hub_module(path):
    """Saved, loaded and saved again: restored_function_body; a call with and without training."""
    class Text(tf.Module):
        def __init__(self):
            self.table = tf.Variable(pattern([20, 4]), name="embeddings")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, sentences):
            split = tf.strings.split(tf.strings.regex_replace(tf.strings.lower(sentences), r"[^a-z ]", ""))
            ids = tf.strings.to_hash_bucket_fast(split, 20)
            return tf.reduce_mean(tf.gather(self.table, ids), 1)

    first = tempfile.mkdtemp()
    tf.saved_model.save(Text(), first)
    loaded = tf.saved_model.load(first)
    tf.saved_model.save(loaded, path, signatures={DEFAULT: loaded.__call__, "default": loaded.__call__})
    return [(DEFAULT, {None: np.array([b"Water under the Mill!", b"race"])}), ("default", {None: np.array([b"the mill"])})]


@model
def multiple_signatures(path):
    m = tf.Module()
    m.w = tf.Variable(pattern([3, 2]))
    encode = tf.function(lambda x: {"code": tf.matmul(x, m.w)}, input_signature=[spec([None, 3], tf.float32, "x")])
    decode = tf.function(lambda code: {"x": tf.matmul(code, m.w, transpose_b=True)}, input_signature=[spec([None, 2], tf.float32, "code")])
    info = tf.function(lambda: {"version": tf.constant("1.2"), "shape": tf.shape(m.w)}, input_signature=[])
    tf.saved_model.save(m, path, signatures={"encode": encode, "decode": decode, "info": info})
    return [("encode", {"x": pattern([1, 3])}), ("decode", {"code": pattern([2, 2])}), ("info", {})]


def file_table(file, cls=None, **options):
    init = tf.lookup.TextFileInitializer(file, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
    return (cls or tf.lookup.StaticHashTable)(init, **options)


@model
def table_file(path):
    table = file_table(words(["mill", "race"]), default_value=-1)
    save(path, lambda w: {"id": table.lookup(w)}, spec([None], tf.string, "w"), table=table)
    return [(DEFAULT, {"w": np.array([b"race", b"x"])})]


@model
def vocabulary_table(path):
    table = file_table(words(["mill", "race"]), tf.lookup.StaticVocabularyTable, num_oov_buckets=3)
    save(path, lambda w: {"id": table.lookup(w), "size": table.size()}, spec([None], tf.string, "w"), table=table)
    return [(DEFAULT, {"w": np.array([b"race", b"x", b"y"])})]


@model
def two_columns_table(path):
    file = words(["mill\t3.5", "race\t4"])
    table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(file, tf.string, 0, tf.float32, 1, delimiter="\t"), 0.0)
    save(path, lambda w: {"v": table.lookup(w)}, spec([None], tf.string, "w"), table=table)
    return [(DEFAULT, {"w": np.array([b"race", b"x", b"mill"])})]


@model
def mutable_tables(path):
    m = tf.Module()
    m.counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
    m.dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, -1.0, empty_key=-1, deleted_key=-2)
    m.counts.insert(["a", "b"], tf.constant([1, 2], tf.int64))
    m.dense.insert(tf.constant([5], tf.int64), [2.5])

    def serve(w):
        new = m.counts.lookup(w) + 1
        m.counts.insert(w, new)
        return {"n": new, "d": m.dense.lookup(tf.constant([5, 6], tf.int64))}

    save(path, serve, spec([None], tf.string, "w"), module=m)
    return [(DEFAULT, {"w": np.array([b"b", b"c"])})]


@model
def data_in_graph(path):
    def serve(x):
        data = tf.data.Dataset.from_tensor_slices(x).map(lambda v: v * v, num_parallel_calls=2).filter(lambda v: v > 1.0)
        data = data.batch(2, drop_remainder=False).prefetch(1).enumerate()
        return {"sum": data.reduce(0.0, lambda s, e: s + tf.reduce_max(e[1])), "n": tf.data.Dataset.range(3).cache().repeat(2).reduce(np.int64(0), lambda s, _: s + 1)}

    save(path, serve, spec([None], tf.float32, "x"))
    return [(DEFAULT, {"x": np.float32([1, 2, 3, 0.5, -4])})]


@model
def data_iteration(path):
    def serve(lines):
        total = tf.constant(0, tf.int64)
        for words_ in tf.data.Dataset.from_tensor_slices(lines).flat_map(lambda s: tf.data.Dataset.from_tensor_slices(tf.strings.split(s))):
            total += tf.strings.to_number(words_, tf.int64)
        return {"total": total, "one": tf.data.Dataset.from_tensors(lines).get_single_element()}

    save(path, serve, spec([None], tf.string, "lines"))
    return [(DEFAULT, {"lines": np.array([b"1 2 3", b"10"])})]


def example(**features):
    kinds = {int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
             float: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
             bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v))}
    return tf.train.Example(features=tf.train.Features(feature={k: kinds[type(v[0])](v) for k, v in features.items()})).SerializeToString()


@model
def parses_examples(path):
    features = {"x": tf.io.FixedLenFeature([2], tf.float32), "tags": tf.io.VarLenFeature(tf.string),
                "ids": tf.io.RaggedFeature(tf.int64), "n": tf.io.FixedLenFeature([], tf.int64, 7)}

    def serve(examples):
        p = tf.io.parse_example(examples, features)
        return {"sum": tf.reduce_sum(p["x"], 1), "n": p["n"], "tags": tf.sparse.to_dense(p["tags"]), "ids": tf.reduce_sum(p["ids"], 1)}

    save(path, serve, spec([None], tf.string, "examples"))
    return [(DEFAULT, {"examples": np.array([example(x=[1.0, 2.0], tags=[b"a", b"b"], ids=[1, 2, 3]), example(x=[0.5, 0.5], n=[9])])})]


@model
def parses_examples_in_a_map(path):
    def one(e):
        return tf.io.parse_single_example(e, {"x": tf.io.FixedLenFeature([], tf.float32)})["x"]

    def serve(examples):
        data = tf.data.Dataset.from_tensor_slices(examples).map(one).batch(8)
        return {"mapped": tf.map_fn(one, examples, fn_output_signature=tf.float32), "data": data.get_single_element()}

    save(path, serve, spec([None], tf.string, "examples"))
    return [(DEFAULT, {"examples": np.array([example(x=[1.5]), example(x=[-2.0])])})]


@model
def decodes_jpeg(path):
    def one(b):
        image = tf.io.decode_jpeg(b, channels=3)
        return tf.image.resize(tf.image.convert_image_dtype(image, tf.float32), [4, 4])

    save(path, lambda images: {"mean": tf.reduce_mean(tf.map_fn(one, images, fn_output_signature=tf.float32), [1, 2])}, spec([None], tf.string, "image_bytes"))
    jpeg = tf.io.encode_jpeg(tf.cast(tf.reshape(tf.range(192), [8, 8, 3]), tf.uint8)).numpy()
    return [(DEFAULT, {None: np.array([jpeg, jpeg])})]


@model
def decodes_any_image(path):
    def serve(image):
        x = tf.io.decode_image(image, channels=3, expand_animations=False)
        x.set_shape([None, None, 3])
        return {"image": tf.image.resize_with_pad(tf.image.rgb_to_grayscale(x), 3, 3), "base64": tf.io.encode_base64(image)}

    save(path, serve, spec([], tf.string, "image"))
    png = tf.io.encode_png(tf.cast(tf.reshape(tf.range(48), [4, 4, 3]) * 5, tf.uint8)).numpy()
    return [(DEFAULT, {"image": np.array(png, object)})]


@model
def parses_tensors(path):
    def serve(t):
        x = tf.map_fn(lambda s: tf.ensure_shape(tf.io.parse_tensor(s, tf.float32), [3]), t, fn_output_signature=tf.float32)
        return {"sum": tf.reduce_sum(x, 1), "again": tf.io.serialize_tensor(x)}

    save(path, serve, spec([None], tf.string, "t"))
    rows = [tf.io.serialize_tensor(tf.constant(v, tf.float32)).numpy() for v in ([1, 2, 3], [4, 5, 6])]
    return [(DEFAULT, {"t": np.array(rows)})]


@model
def sparse_round_trip(path):
    """Serialized sparse tensors, as batching in queues made them."""
    def serve(x):
        s = tf.sparse.from_dense(x)
        many = tf.io.deserialize_many_sparse(tf.io.serialize_many_sparse(s), tf.float32)
        v = raw.DeserializeSparse(serialized_sparse=raw.SerializeManySparse(sparse_indices=s.indices, sparse_values=s.values, sparse_shape=s.dense_shape, out_type=tf.variant), dtype=tf.float32)
        return {"many": tf.sparse.to_dense(many), "variant": v.sparse_values}

    save(path, serve, spec([None, 3], tf.float32, "x"))
    return [(DEFAULT, {"x": np.float32([[0, 1, 0], [2, 0, 3]])})]


@model
def decodes_raw(path):
    save(path, lambda b: {"x": tf.cast(tf.io.decode_raw(b, tf.uint8), tf.float32) / 255.0, "csv": tf.io.decode_csv(["1,a", "2,b"], [0, ""])[0],
                          "n": tf.bitcast(tf.io.decode_raw(b, tf.int32), tf.float32)}, spec([None], tf.string, "b"))
    return [(DEFAULT, {"b": np.array([b"\x00\x80\xff?", b"abcd"])})]


@model
def ragged_and_sparse(path):
    def serve(x, s):
        return {"sum": tf.reduce_sum(x, 1), "ragged": x + 1.0, "sparse": s * 2.0, "words": tf.ragged.map_flat_values(tf.as_string, x).to_tensor()}

    save(path, serve, tf.RaggedTensorSpec([None, None], tf.float32), tf.SparseTensorSpec([None, 4], tf.float32))
    return [(DEFAULT, [np.int64([[0, 1]]), np.float32([5]), np.int64([2, 4]), np.float32([1, 2, 3]), np.int64([0, 2, 3])])]


@model
def beam_search(path):
    """A beam search over a table of transitions, with TensorArrays in a loop."""
    m = tf.Module()
    m.table = tf.Variable(pattern([6, 6]))

    def serve(start):
        score, last = tf.zeros([3]) - [0.0, 1e3, 1e3], tf.fill([3], start)
        out = tf.TensorArray(tf.int32, 4, element_shape=[3], clear_after_read=False)
        for i in tf.range(4):
            total = score[:, None] + tf.nn.log_softmax(tf.gather(m.table, last))
            score, flat = tf.math.top_k(tf.reshape(total, [-1]), 3)
            last = flat % 6
            out = out.write(i, last)
        return {"tokens": tf.transpose(out.stack()), "score": score}

    save(path, serve, spec([], tf.int32, "start"), module=m)
    return [(DEFAULT, {"start": np.int32(2)})]


@model
def inplace_decode(path):
    """A decoder whose cache is updated in place, as tensor2tensor's."""
    m = tf.Module()
    m.w = tf.Variable(pattern([4, 4]))

    def serve(x):
        cache = tf.zeros([5, 4]) + x[0, 0] * 0.0
        for i in tf.range(5):
            row = tf.tanh(tf.matmul(x + tf.reduce_sum(cache, 0, keepdims=True), m.w))
            cache = raw.InplaceUpdate(x=cache, i=tf.reshape(i, [1]), v=row)
        return {"cache": cache}

    save(path, serve, spec([1, 4], tf.float32, "x"), module=m)
    return [(DEFAULT, {"x": pattern([1, 4])})]


@model
def random_state(path):
    m = tf.Module()
    m.rng = tf.random.Generator.from_seed(5)

    def serve(n):
        return {"state": m.rng.normal([3]), "stateless": tf.random.stateless_uniform([n], [1, 2]), "shuffled": tf.random.experimental.stateless_shuffle(tf.range(5), [3, 4])}

    save(path, serve, spec([], tf.int32, "n"), module=m)
    return [(DEFAULT, {"n": np.int32(3)})]


@model
def custom_gradient(path):
    @tf.custom_gradient
    def clipped(x):
        return tf.identity(x), lambda dy: tf.clip_by_norm(dy, 0.5)

    def serve(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(clipped(x) ** 2)
        return {"gradient": tape.gradient(y, x)}

    m = tf.Module()
    m.serve = tf.function(serve, input_signature=[spec([None], tf.float32, "x")])
    tf.saved_model.save(m, path, signatures=m.serve, options=tf.saved_model.SaveOptions(experimental_custom_gradients=True))
    return [(DEFAULT, {"x": np.float32([1, 2])})]


@model
def quantized(path):
    def serve(x):
        q = tf.quantization.quantize(x, -1.0, 1.0, tf.quint8)
        fake = tf.quantization.fake_quant_with_min_max_vars(x, -1.0, 1.0)
        w = tf.quantization.quantize(pattern([3, 2]), -1.0, 1.0, tf.quint8)
        product = raw.QuantizedMatMul(a=q.output, b=w.output, min_a=q.output_min, max_a=q.output_max, min_b=w.output_min, max_b=w.output_max)
        return {"fake": fake, "back": tf.quantization.dequantize(q.output, q.output_min, q.output_max),
                "product": tf.quantization.dequantize(product.out, product.min_out, product.max_out), "bytes": tf.cast(x * 100.0 + 100.0, tf.uint8)}

    save(path, serve, spec([None, 3], tf.float32, "x"))
    return [(DEFAULT, {"x": pattern([2, 3])})]


@model
def string_ops(path):
    def serve(s):
        return {"replaced": tf.strings.regex_replace(s, r"(\w+)@(\w+)", r"\2 at \1"), "match": tf.strings.regex_full_match(s, ".*@.*"),
                "unicode": tf.strings.unicode_decode(s, "UTF-8").to_tensor(-1), "upper": tf.strings.upper(s, "utf-8"), "part": tf.strings.substr(s, 0, 2),
                "joined": tf.strings.reduce_join(s, separator="|"), "grams": tf.strings.ngrams(tf.strings.bytes_split(s), 2).to_tensor(),
                "number": tf.strings.to_number(tf.strings.as_string(tf.strings.length(s, "UTF8_CHAR"))), "format": tf.strings.format("<{}>", s)}

    save(path, serve, spec([None], tf.string, "s"))
    return [(DEFAULT, {"s": np.array(["käse@ulm".encode(), b"mill"])})]


@model
def prints_and_asserts(path):
    def serve(x):
        tf.print("x is", x)
        tf.debugging.assert_non_negative(x)
        with tf.control_dependencies([v1.Print(x, [x], "again: ")]):
            return {"root": tf.debugging.check_numerics(tf.sqrt(x), "a root")}

    save(path, serve, spec([None], tf.float32, "x"))
    return [(DEFAULT, {"x": np.float32([4, 9])})]


@model
def branches(path):
    def serve(i, x):
        picked = tf.switch_case(i, [lambda: x + 1.0, lambda: x * 3.0, lambda: -x])
        return {"y": tf.cond(tf.reduce_sum(picked) > 0.0, lambda: picked, lambda: tf.zeros_like(picked)), "tried": tf.while_loop(lambda v: tf.reduce_max(v) < 100.0, lambda v: (v * 2.0 + 1.0,), (x,))[0]}

    save(path, serve, spec([], tf.int32, "i"), spec([None], tf.float32, "x"))
    return [(DEFAULT, {"i": np.int32(1), "x": np.float32([1, 2])})]


@model
def jax_native(path):
    import jax
    import jax.numpy as jnp
    from jax.experimental import jax2tf
    f = jax2tf.convert(lambda x: jnp.tanh(x @ jnp.asarray(pattern([3, 4]))).sum(-1) + jnp.sort(x, -1)[..., 0], native_serialization=True)
    save(path, lambda x: {"y": f(x)}, spec([2, 3], tf.float32, "x"))
    return [(DEFAULT, {"x": pattern([2, 3])})]


@model
def jax_scan(path):
    import jax
    import jax.numpy as jnp
    from jax.experimental import jax2tf

    def rnn(params, xs):
        step = lambda h, x: (jnp.tanh(h @ params["w"] + x), h.sum())
        h, sums = jax.lax.scan(step, jnp.zeros(4), xs)
        return {"h": h, "sums": sums, "dropped": jax.random.uniform(jax.random.PRNGKey(3), (4,)) * h}

    m = tf.Module()
    m.params = {"w": tf.Variable(pattern([4, 4]))}
    f = jax2tf.convert(rnn, native_serialization=True)
    save(path, lambda xs: f(m.params, xs), spec([3, 4], tf.float32, "xs"), module=m)
    return [(DEFAULT, {"xs": pattern([3, 4])})]


@model
def xla_compiled(path):
    inner = tf.function(lambda x: tf.nn.softmax(x @ tf.transpose(x)), jit_compile=True)
    save(path, lambda x: {"y": inner(x) + 1.0}, spec([None, 3], tf.float32, "x"))
    return [(DEFAULT, {"x": pattern([2, 3])})]


@model
def detection(path):
    def serve(boxes, scores):
        n = tf.image.combined_non_max_suppression(boxes[:, :, None], scores, 2, 3, score_threshold=0.2)
        one = tf.image.non_max_suppression_with_scores(boxes[0], scores[0, :, 0], 3, soft_nms_sigma=0.5)
        return {"boxes": n.nmsed_boxes, "valid": n.valid_detections, "soft": one[1], "crops": tf.image.crop_and_resize(tf.reshape(tf.range(64.0), [1, 8, 8, 1]), boxes[0], [0, 0, 0], [2, 2])}

    save(path, serve, spec([None, 3, 4], tf.float32, "boxes"), spec([None, 3, 2], tf.float32, "scores"))
    return [(DEFAULT, {"boxes": np.float32([[[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.6], [0.5, 0.5, 1, 1]]]), "scores": np.float32([[[0.9, 0.1], [0.8, 0.3], [0.3, 0.7]]])})]


@model
def speech(path):
    def serve(wav):
        samples = tf.audio.decode_wav(wav, desired_channels=1).audio[:, 0]
        power = tf.abs(tf.signal.stft(samples, 16, 8))
        mel = tf.matmul(power, tf.signal.linear_to_mel_weight_matrix(4, 9, 8000, 100.0, 3000.0))
        logits = tf.expand_dims(tf.math.log(mel + 1e-3), 1)
        length = tf.reshape(tf.shape(logits)[0], [1])
        return {"mfcc": tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(mel + 1e-3)), "tokens": tf.sparse.to_dense(tf.nn.ctc_beam_search_decoder(logits, length, 4)[0][0], -1)}

    save(path, serve, spec([], tf.string, "wav"))
    wav = tf.audio.encode_wav(tf.reshape(tf.sin(tf.range(64.0)) * 0.5, [64, 1]), 8000).numpy()
    return [(DEFAULT, {"wav": np.array(wav, object)})]


@model
def wide_features(path):
    m = tf.Module()
    m.e = tf.Variable(pattern([12, 3]))

    def serve(indices, values):
        s = tf.sparse.SparseTensor(indices, values, [2, 3])
        ids = tf.sparse.cross_hashed([s, s], num_buckets=12)
        e = tf.nn.safe_embedding_lookup_sparse([m.e], tf.sparse.SparseTensor(s.indices, tf.strings.to_hash_bucket_fast(s.values, 12), s.dense_shape), combiner="mean")
        parts = tf.dynamic_partition(e, [0, 1], 2)
        return {"e": e, "cross": ids.values, "stitched": tf.dynamic_stitch([[0], [1]], parts), "unique": tf.unique_with_counts(values).count}

    save(path, serve, spec([None, 2], tf.int64, "indices"), spec([None], tf.string, "values"), module=m)
    return [(DEFAULT, {"indices": np.int64([[0, 0], [0, 2], [1, 1]]), "values": np.array([b"a", b"b", b"a"])})]


@model
def state_and_lists(path):
    """A counter, a cache of strings, and a stack that grows in a loop."""
    m = tf.Module()
    m.n, m.seen = tf.Variable(0), tf.Variable(["", "", ""])

    def serve(s, i):
        m.n.assign_add(1)
        m.seen.scatter_nd_update([[i]], [s])
        stack = tf.TensorArray(tf.string, 0, dynamic_size=True, infer_shape=False)
        for k in tf.range(3):
            stack = stack.write(k, tf.strings.join([s, tf.strings.as_string(k)]))
        return {"n": m.n.read_value(), "seen": m.seen.read_value(), "all": stack.concat() if False else stack.stack()}

    save(path, serve, spec([], tf.string, "s"), spec([], tf.int32, "i"), module=m)
    return [(DEFAULT, {"s": np.array(b"mill", object), "i": np.int32(1)})]


@model
def nested_assets(path):
    """Two files, one of them read by two tables."""
    one, other = words(["a", "b", "c"]), words(["c", "a"])
    m = tf.Module()
    m.a, m.b = file_table(one, default_value=-1), file_table(other, default_value=-1)
    init = tf.lookup.TextFileInitializer(one, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE)
    m.back = tf.lookup.StaticHashTable(init, "?")
    save(path, lambda w: {"a": m.a.lookup(w), "b": m.b.lookup(w), "back": m.back.lookup(m.b.lookup(w))}, spec([None], tf.string, "w"), module=m)
    return [(DEFAULT, {"w": np.array([b"a", b"c", b"d"])})]


# TensorFlow 1's builder.


def builder(path, sess, inputs, outputs, method="tensorflow/serving/predict", saver=None, **options):
    b = v1.saved_model.Builder(path)
    sig = v1.saved_model.build_signature_def({k: v1.saved_model.build_tensor_info(v) for k, v in inputs.items()},
                                             {k: v1.saved_model.build_tensor_info(v) for k, v in outputs.items()}, method)
    b.add_meta_graph_and_variables(sess, ["serve"], {DEFAULT: sig}, saver=saver, assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS) or None, **options)
    b.save()


@model
def v1_estimator(path):
    """What an estimator's export wrote: Examples to classes, by a table that legacy_init_op fills."""
    file = words(["no", "yes"])
    with v1.Graph().as_default(), v1.Session() as sess:
        serialized = v1.placeholder(tf.string, [None], name="input_example_tensor")
        parsed = v1.io.parse_example(serialized, {"x": v1.io.FixedLenFeature([2], tf.float32), "w": v1.io.VarLenFeature(tf.string)})
        step = v1.train.get_or_create_global_step()
        w = v1.get_variable("w", initializer=pattern([2, 2]))
        table = v1.lookup.index_table_from_file(file, num_oov_buckets=1) if hasattr(v1.lookup, "index_table_from_file") else file_table(file, tf.lookup.StaticVocabularyTable, num_oov_buckets=1)
        ids = table.lookup(v1.sparse.to_dense(parsed["w"], "?"))
        names = v1.constant(["low", "high"])
        scores = v1.nn.softmax(v1.matmul(parsed["x"], w))
        sess.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder(path, sess, {"inputs": serialized}, {"classes": v1.gather(names, v1.argmax(scores, 1)), "scores": scores, "ids": ids},
                "tensorflow/serving/classify", legacy_init_op=v1.group(v1.tables_initializer(), name="legacy_init_op"))
    return [(DEFAULT, {"inputs": np.array([example(x=[1.0, -2.0], w=[b"yes"]), example(x=[-3.0, 1.0], w=[b"no"])])})]


@model
def v1_table_main_op(path):
    file = words(["mill", "race", "water"])
    with v1.Graph().as_default(), v1.Session() as sess:
        w = v1.placeholder(tf.string, [None], name="w")
        table = v1.lookup.StaticVocabularyTable(v1.lookup.TextFileInitializer(
            file, tf.string, v1.lookup.TextFileIndex.WHOLE_LINE, tf.int64, v1.lookup.TextFileIndex.LINE_NUMBER), 2)
        sess.run(v1.tables_initializer())
        builder(path, sess, {"w": w}, {"id": table.lookup(w)}, main_op=v1.saved_model.main_op_with_restore("save/restore_all") if False else v1.tables_initializer())
    return [(DEFAULT, {"w": np.array([b"race", b"x"])})]


@model
def v1_loop(path):
    """Switch, Merge, Enter and Exit; a condition; a frozen graph without variables."""
    v1.disable_control_flow_v2()
    try:
        with v1.Graph().as_default(), v1.Session() as sess:
            x = v1.placeholder(tf.float32, [None], name="x")
            _, y, ta = v1.while_loop(lambda i, *_: i < 4, lambda i, v, t: (i + 1, v * 2.0 - 1.0, t.write(i, v1.reduce_sum(v))),
                                     (0, x, v1.TensorArray(tf.float32, 4)), shape_invariants=None)
            z = v1.cond(v1.reduce_sum(x) > 0.0, lambda: y + 1.0, lambda: y - 1.0)
            builder(path, sess, {"x": x}, {"y": y, "z": z, "sums": ta.stack()})
    finally:
        v1.enable_control_flow_v2()
    return [(DEFAULT, {"x": np.float32([1, 3])}), (DEFAULT, {"x": np.float32([-1, -3])})]


@model
def v1_frozen(path):
    with v1.Graph().as_default() as g, v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", initializer=pattern([3, 2]), use_resource=False)
        y = v1.identity(v1.nn.relu(v1.matmul(x, w)), name="y")
        sess.run(v1.global_variables_initializer())
        frozen = v1.graph_util.convert_variables_to_constants(sess, g.as_graph_def(), ["y"])
    with v1.Graph().as_default() as g, v1.Session() as sess:
        v1.import_graph_def(frozen, name="")
        builder(path, sess, {"x": g.get_tensor_by_name("x:0")}, {"y": g.get_tensor_by_name("y:0")})
    return [(DEFAULT, {"x": pattern([2, 3])})]


@model
def v1_partitioned(path):
    """A variable in three parts, and the optimizer, summaries and saver of the training."""
    with v1.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.int64, [None], name="x")
        with v1.variable_scope("m", partitioner=v1.fixed_size_partitioner(3)):
            e = v1.get_variable("e", [9, 2], initializer=v1.constant_initializer(0.25), use_resource=False)
        y = v1.nn.embedding_lookup(e, x, partition_strategy="div")
        loss = v1.reduce_mean(y ** 2)
        v1.summary.scalar("loss", loss)
        v1.summary.merge_all()
        v1.train.AdagradOptimizer(0.1).minimize(loss, global_step=v1.train.get_or_create_global_step())
        v1.train.Saver(max_to_keep=2)
        sess.run(v1.global_variables_initializer())
        builder(path, sess, {"x": x}, {"y": y}, clear_devices=True)
    return [(DEFAULT, {"x": np.int64([0, 4, 8])})]


@model
def v1_shards(path):
    """Variables on two devices, saved in a shard for each."""
    with v1.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as sess:
        x = v1.placeholder(tf.float32, [None], name="x")
        with v1.device("/job:localhost/replica:0/task:0/cpu:0"):
            a = v1.get_variable("a", initializer=2.0)
        with v1.device("/job:localhost/replica:0/task:0/cpu:1"):
            b = v1.get_variable("b", initializer=0.5)
        y = x * a + b
        sess.run(v1.global_variables_initializer())
        builder(path, sess, {"x": x}, {"y": y}, saver=v1.train.Saver(sharded=True), clear_devices=True)
    return [(DEFAULT, {"x": np.float32([1, 2])})]


@model
def v1_batch_norm(path):
    with v1.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None, 4, 4, 2], name="x")
        training = v1.placeholder_with_default(False, [], name="training")
        scale, offset = v1.get_variable("g", initializer=np.float32([1, 2])), v1.get_variable("b", initializer=np.float32([0, 1]))
        mean, var = v1.get_variable("m", initializer=np.float32([0.1, 0.2])), v1.get_variable("v", initializer=np.float32([1, 2]))
        y = v1.cond(training, lambda: v1.nn.fused_batch_norm(x, scale, offset)[0], lambda: v1.nn.fused_batch_norm(x, scale, offset, mean, var, is_training=False)[0])
        sess.run(v1.global_variables_initializer())
        builder(path, sess, {"x": x, "training": training}, {"y": y})
    return [(DEFAULT, {"x": pattern([1, 4, 4, 2]), "training": np.array(False)}), (DEFAULT, {"x": pattern([1, 4, 4, 2]), "training": np.array(True)})]


@model
def v1_queue_left_over(path):
    """A queue of the training's input stays in the graph, and nothing of the signature reaches it."""
    with v1.Graph().as_default(), v1.Session() as sess:
        queue = v1.train.shuffle_batch([v1.constant([1.0, 2.0])], 2, 10, 2)
        x = v1.placeholder_with_default(queue, [None, 2], name="x")
        w = v1.get_variable("w", initializer=pattern([2, 1]), use_resource=False)
        sess.run(v1.global_variables_initializer())
        builder(path, sess, {"x": x}, {"y": v1.matmul(x, w)})
    return [(DEFAULT, {"x": pattern([2, 2])})]


# Values: every signature runs in a session, as C++ runs it.


def tensors(key, info):
    """The names of a signature's tensors in the graph, by the names that Millrace gives them."""
    kind = info.WhichOneof("encoding")
    if kind == "coo_sparse":
        coo = info.coo_sparse
        return {key + "/indices": coo.indices_tensor_name, key + "/values": coo.values_tensor_name, key + "/dense_shape": coo.dense_shape_tensor_name}
    if kind == "composite_tensor":
        parts = [c.name for c in info.composite_tensor.components]  # of a ragged tensor
        return {key + "/flat_values": parts[0], key + "/row_splits": parts[1]}
    return {key: info.name}


def all_tensors(infos):
    found = {}
    for key, info in infos.items():
        found.update(tensors(key, info))
    return found


def encode(value):
    value = np.asarray(value)
    flat = value.reshape([-1]).tolist()
    if value.dtype.kind in "SO":
        import base64
        return {"dtype": "bytes", "shape": list(value.shape), "values": [base64.b64encode(v).decode() for v in flat]}
    return {"dtype": value.dtype.name, "shape": list(value.shape), "values": flat}


def run(path, signature, inputs):
    """Runs a signature. Inputs are by name, or a list in the order of the names; None is the only one."""
    with v1.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as sess:
        meta = v1.saved_model.loader.load(sess, ["serve"], path)
        sig = meta.signature_def[signature]
        feeds = all_tensors(sig.inputs)
        if isinstance(inputs, list):
            inputs = dict(zip(sorted(feeds), inputs))
        elif None in inputs:
            inputs = {next(iter(feeds)): inputs[None]}
        outputs = sess.run(all_tensors(sig.outputs), {feeds[k]: v for k, v in inputs.items()})
    return {"tags": ["serve"], "signature": signature, "inputs": {k: encode(v) for k, v in inputs.items()}, "outputs": {k: encode(v) for k, v in outputs.items()}}


def write(out, name):
    path = os.path.join(os.path.abspath(out), name)
    shutil.rmtree(path, ignore_errors=True)
    here = os.getcwd()
    try:
        calls = [run(path, *c) for c in MODELS[name](path)]
    finally:
        os.chdir(here)
    for extra in ["keras_metadata.pb"]:
        if os.path.exists(os.path.join(path, extra)):
            os.remove(os.path.join(path, extra))
    with open(os.path.join(path, "values.json"), "w") as f:
        json.dump(calls, f, sort_keys=True)


def main(out, names):
    out = os.path.abspath(out)
    for name in names or MODELS:
        keras.backend.clear_session()
        try:
            write(out, name)
            print(name, flush=True)
        except Exception as e:
            shutil.rmtree(os.path.join(out, name), ignore_errors=True)
            print("%s left out: %s: %s" % (name, type(e).__name__, str(e)[:600]), flush=True)


# Models that are tried by hand only: the graphs are large, and the policy refuses InplaceUpdate in a loop.
BY_HAND = ["inplace_decode", "mobilenet_v3", "nasnet", "resnet50", "efficientnet_b0", "densenet121", "convnext_tiny", "xception", "inception_v3", "nasnet_mobile"]


def pack(out, archive="models.tar.gz", prefix=""):
    """Packs the models: files alone, in order, with nothing of this machine."""
    archive = os.path.join(os.path.dirname(os.path.abspath(__file__)), archive)
    with open(archive, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z, tarfile.open(fileobj=z, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for folder, folders, names in os.walk(out):
            folders[:] = sorted(d for d in folders if d not in BY_HAND and (folder != out or d.startswith(prefix)))
            for name in sorted(names):
                path = os.path.join(folder, name)
                info = tarfile.TarInfo(os.path.relpath(path, out))
                info.size = os.path.getsize(path)
                with open(path, "rb") as content:
                    t.addfile(info, content)


if __name__ == "__main__":
    if sys.argv[1] == "--pack":
        pack(sys.argv[2])
    else:
        main(sys.argv[1], sys.argv[2:])
