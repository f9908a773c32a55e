"""More SavedModels as TensorFlow's users export them: see make.py, whose helpers they use.

    python more.py OUT [NAME ...]
    python more.py --pack OUT       makes keras.tar.gz and more.tar.gz
"""

import sys

import make
from make import *  # noqa: F403
from make import file_table, model, pattern, save, spec, words

MODELS.clear()
if "--pack" not in sys.argv:
    L = keras.layers


def keras_model(path, inputs, outputs, *calls):
    m = keras.Model(inputs, outputs)
    make.fill(m)
    m.export(path, verbose=False)
    return [(DEFAULT, c) for c in calls]


def text(*lines):
    return np.array([w.encode() for w in lines])


@model
def keras_bidirectional_gru(path):
    x = keras.Input([None], dtype="int64")
    y = L.Bidirectional(L.GRU(4, return_sequences=True))(L.Embedding(11, 3, mask_zero=True)(x))
    return keras_model(path, x, L.GlobalAveragePooling1D()(y), {None: np.int64([[1, 2, 3], [4, 5, 0]])})


@model
def keras_text_convolution(path):
    x = keras.Input([], dtype="string")
    v = L.TextVectorization(vocabulary=["mill", "race", "water", "wheel"], output_sequence_length=5, ngrams=2)
    y = L.GlobalMaxPooling1D()(L.Conv1D(3, 2, activation="relu")(L.Embedding(9, 4)(v(x))))
    return keras_model(path, x, L.Dense(2)(y), {None: text("Water, the mill!", "race wheel water")})


@model
def keras_tf_idf(path):
    x = keras.Input([], dtype="string")
    v = L.TextVectorization(output_mode="tf_idf", vocabulary=["mill", "race"], idf_weights=[0.5, 2.0], pad_to_max_tokens=True, max_tokens=4)
    return keras_model(path, x, v(x), {None: text("mill mill race", "pond")})


@model
def keras_lookups(path):
    s, i, f = keras.Input([2], dtype="string", name="s"), keras.Input([2], dtype="int64", name="i"), keras.Input([1], name="f")
    out = {"hot": L.StringLookup(vocabulary=["a", "b"], output_mode="multi_hot")(s), "back": L.StringLookup(vocabulary=["a", "b"], invert=True)(i),
           "count": L.IntegerLookup(vocabulary=[7, 9], output_mode="count")(i), "bucket": L.Discretization([0.0, 1.0])(f),
           "hashed": L.Hashing(5)(s)}
    return keras_model(path, {"s": s, "i": i, "f": f}, out, {"s": np.array([[b"a", b"c"]]), "i": np.int64([[1, 2]]), "f": np.float32([[0.5]])})


@model
def keras_crosses(path):
    s, i = keras.Input([1], dtype="string", name="s"), keras.Input([1], dtype="int64", name="i")
    out = {"cross": L.HashedCrossing(7)((s, i)), "coded": L.CategoryEncoding(4, output_mode="one_hot")(i)}
    return keras_model(path, {"s": s, "i": i}, out, {"s": np.array([[b"a"], [b"b"]]), "i": np.int64([[1], [3]])})


@model
def keras_attention(path):
    x = keras.Input([4, 6])
    y = L.LayerNormalization()(x + L.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True))
    return keras_model(path, x, L.Dense(2, activation="gelu")(y), {None: pattern([2, 4, 6])})


@model
def keras_u_net(path):
    x = keras.Input([8, 8, 2])
    a = L.GroupNormalization(2)(L.Conv2D(4, 3, padding="same", activation="silu")(x))
    b = L.UpSampling2D(interpolation="bilinear")(L.MaxPooling2D()(a))
    c = L.Conv2DTranspose(3, 3, strides=2, padding="same")(L.SeparableConv2D(4, 3, strides=2, padding="same")(L.Concatenate()([a, b])))
    return keras_model(path, x, L.Conv2D(1, 1, activation="sigmoid")(c), {None: pattern([1, 8, 8, 2])})


@model
def keras_convolutional_lstm(path):
    x = keras.Input([3, 4, 4, 1])
    return keras_model(path, x, L.Flatten()(L.ConvLSTM2D(2, 2)(x)), {None: pattern([1, 3, 4, 4, 1])})


@model
def keras_time_distributed(path):
    x = keras.Input([3, 5])
    y = L.TimeDistributed(L.Dense(2, activation="tanh"))(x)
    return keras_model(path, x, L.RNN([L.LSTMCell(3), L.GRUCell(2)])(y), {None: pattern([2, 3, 5])})


@model
def keras_images(path):
    x = keras.Input([None, None, 3], dtype="uint8")
    y = L.Rescaling(1 / 127.5, -1)(L.CenterCrop(6, 6)(L.Resizing(8, 8)(x)))
    return keras_model(path, x, L.GlobalAveragePooling2D()(L.RandomFlip()(y)), {None: np.arange(300, dtype=np.uint8).reshape([1, 10, 10, 3])})


@model
def keras_volumes(path):
    x = keras.Input([4, 4, 4, 1])
    y = L.AveragePooling3D(2)(L.Conv3D(2, 2, padding="same", activation="elu")(x))
    return keras_model(path, x, L.Flatten()(y), {None: pattern([1, 4, 4, 4, 1])})


@model
def keras_two_endpoints(path):
    m = keras.Sequential([keras.Input([3]), L.Dense(2, name="code"), L.Dense(3)])
    make.fill(m)
    a = keras.export.ExportArchive()
    a.track(m)
    a.add_endpoint("all", m.call, input_signature=[spec([None, 3], tf.float32, "x")])
    a.add_endpoint("code", lambda x: {"code": m.get_layer("code")(x)}, input_signature=[spec([None, 3], tf.float32, "x")])
    a.write_out(path, verbose=False)
    return [("all", {None: pattern([2, 3])}), ("code", {None: pattern([2, 3])})]


@model
def word_pieces(path):
    """Greedy longest match, in loops over characters and a table of pieces."""
    m = tf.Module()
    m.table = file_table(words(["wa", "ter", "w", "a", "t", "e", "r", "mill"]), default_value=-1)

    def serve(word):
        out, start, size = tf.TensorArray(tf.int64, 0, dynamic_size=True), 0, tf.strings.length(word)
        while start < size:
            length = size - start
            found = m.table.lookup(tf.strings.substr(word, start, length))
            while found < 0 and length > 1:
                length -= 1
                found = m.table.lookup(tf.strings.substr(word, start, length))
            out = out.write(out.size(), found)
            start += length
        return {"pieces": out.stack()}

    save(path, serve, spec([], tf.string, "word"), module=m)
    return [(DEFAULT, {"word": np.array(w, object)}) for w in (b"water", b"millwax")]


@model
def cleans_text(path):
    def serve(s):
        low = tf.strings.regex_replace(tf.strings.lower(tf.strings.unicode_transcode(s, "UTF-8", "UTF-8")), r"([.,!?])", r" \1 ")
        split = tf.strings.split(tf.strings.strip(low))
        grams = tf.strings.ngrams(split, [1, 2], separator="_")
        chars = tf.strings.unicode_split(s, "UTF-8")
        return {"grams": grams.flat_values, "chars": chars.row_lengths(), "joined": tf.strings.reduce_join(split, axis=-1, separator="-"),
                "formatted": tf.strings.join(["<", low, ">"]), "twice": tf.tile(low, [2]), "picked": tf.gather(low, [0, 0]), "sum": low + "."}

    save(path, serve, spec([None], tf.string, "s"))
    return [(DEFAULT, {"s": np.array(["Wasser, Mühle!".encode(), b"a b  c"])})]


@model
def greedy_decoder(path):
    m = tf.Module()
    m.e, m.k, m.o = tf.Variable(pattern([7, 3])), tf.Variable(pattern([6, 3])), tf.Variable(pattern([3, 7]))

    def serve(start):
        state, token = tf.zeros([tf.shape(start)[0], 3]), start
        out = tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=[None])
        for i in tf.range(6):
            state = tf.tanh(tf.concat([tf.gather(m.e, token), state], 1) @ m.k)
            token = tf.argmax(state @ m.o, -1, output_type=tf.int32)
            out = out.write(i, token)
            if tf.reduce_all(token == 0):
                break
        return {"tokens": tf.transpose(out.stack())}

    save(path, serve, spec([None], tf.int32, "start"), module=m)
    return [(DEFAULT, {"start": np.int32([1, 4])})]


@model
def maps_to_ragged(path):
    """A list of variants: map_fn gives ragged rows."""
    def serve(n):
        rows = tf.map_fn(lambda k: tf.range(k), n, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32, 0))
        back = tf.map_fn(lambda r: tf.reduce_sum(r), rows, fn_output_signature=tf.int32)
        return {"flat": rows.flat_values, "lengths": rows.row_lengths(), "sums": back}

    save(path, serve, spec([None], tf.int32, "n"))
    return [(DEFAULT, {"n": np.int32([2, 0, 3])})]


@model
def maps_in_maps(path):
    def serve(x):
        inner = lambda row: tf.map_fn(lambda v: tf.cumsum(tf.fill([3], v)), row)
        return {"y": tf.map_fn(inner, x), "z": tf.vectorized_map(lambda r: tf.reduce_max(r) * r, x), "scan": tf.scan(lambda a, v: a * 0.5 + v, x)}

    save(path, serve, spec([None, 2], tf.float32, "x"))
    return [(DEFAULT, {"x": pattern([3, 2])})]


@model
def lists_of_lists(path):
    """Rows of ragged tensors are sliced and stacked in a loop."""
    def serve(flat, lengths):
        ragged = tf.RaggedTensor.from_row_lengths(flat, lengths)
        best = tf.map_fn(lambda row: tf.reduce_max(tf.concat([row, [0.0]], 0)), ragged, fn_output_signature=tf.float32)
        return {"best": best, "dense": ragged.to_tensor(-1.0), "sorted": tf.sort(ragged.to_tensor(0.0)), "first": ragged[:, :1].flat_values}

    save(path, serve, spec([None], tf.float32, "flat"), spec([None], tf.int64, "lengths"))
    return [(DEFAULT, {"flat": pattern([4]), "lengths": np.int64([1, 0, 3])})]


@model
def data_windows(path):
    def serve(n):
        data = tf.data.Dataset.range(n).window(3, shift=2, drop_remainder=True).flat_map(lambda w: w.batch(3))
        total = data.map(lambda w: tf.reduce_sum(w), num_parallel_calls=2).prefetch(2).reduce(np.int64(0), lambda a, b: a + b)
        padded = tf.data.Dataset.range(1, 4).map(lambda k: tf.range(k)).padded_batch(3).get_single_element()
        return {"total": total, "padded": padded}

    save(path, serve, spec([], tf.int64, "n"))
    return [(DEFAULT, {"n": np.int64(9)})]


@model
def data_of_ragged(path):
    def serve(flat, lengths):
        data = tf.data.Dataset.from_tensor_slices(tf.RaggedTensor.from_row_lengths(flat, lengths))
        data = data.map(lambda r: tf.reduce_sum(r)).filter(lambda v: v > 0).batch(2).take(3)
        total = 0
        for b in data:
            total += tf.reduce_sum(b)
        return {"total": total}

    save(path, serve, spec([None], tf.int32, "flat"), spec([None], tf.int64, "lengths"))
    return [(DEFAULT, {"flat": np.int32([1, 2, 3, -9]), "lengths": np.int64([2, 1, 1])})]


@model
def data_interleaves(path):
    def serve(n):
        data = tf.data.Dataset.range(n).interleave(lambda k: tf.data.Dataset.from_tensors(k).repeat(2), cycle_length=2, num_parallel_calls=2, deterministic=True)
        groups = data.group_by_window(lambda v: v % 2, lambda _, d: d.batch(4), window_size=4).map(lambda b: tf.reduce_max(b))
        return {"max": groups.reduce(np.int64(0), lambda a, b: a + b), "unique": data.unique().cardinality(), "zip": tf.data.Dataset.zip((data, data.skip(1))).reduce(np.int64(0), lambda a, p: a + p[0] * p[1])}

    save(path, serve, spec([], tf.int64, "n"))
    return [(DEFAULT, {"n": np.int64(5)})]


@model
def parses_sequences(path):
    def serve(records):
        context, lists, _ = tf.io.parse_sequence_example(records, {"id": tf.io.FixedLenFeature([], tf.int64)},
                                                         {"w": tf.io.RaggedFeature(tf.string), "x": tf.io.FixedLenSequenceFeature([2], tf.float32)})
        return {"id": context["id"], "w": lists["w"].flat_values, "x": lists["x"]}

    save(path, serve, spec([None], tf.string, "records"))
    feature = lambda **kw: tf.train.Feature(**kw)
    e = tf.train.SequenceExample(context=tf.train.Features(feature={"id": feature(int64_list=tf.train.Int64List(value=[3]))}))
    e.feature_lists.feature_list["w"].feature.add().bytes_list.value.append(b"mill")
    for v in ([1, 2], [3, 4]):
        e.feature_lists.feature_list["x"].feature.add().float_list.value.extend(v)
    return [(DEFAULT, {"records": np.array([e.SerializeToString()] * 2, object)})]


@model
def parses_ragged_features(path):
    def serve(records):
        f = tf.io.parse_example(records, {"v": tf.io.RaggedFeature(tf.int64), "s": tf.io.SparseFeature(["i"], "w", tf.float32, [9]), "d": tf.io.FixedLenFeature([2], tf.float32, [1.0, 2.0])})
        one = tf.io.parse_single_example(records[0], {"v": tf.io.VarLenFeature(tf.int64)})
        return {"v": f["v"].flat_values, "s": tf.sparse.to_dense(f["s"]), "d": f["d"], "one": one["v"].values}

    save(path, serve, spec([None], tf.string, "records"))
    ints = lambda *v: tf.train.Feature(int64_list=tf.train.Int64List(value=v))
    e = tf.train.Example(features=tf.train.Features(feature={"v": ints(4, 5), "i": ints(2), "w": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5]))}))
    return [(DEFAULT, {"records": np.array([e.SerializeToString(), tf.train.Example().SerializeToString()], object)})]


@model
def images_front_end(path):
    """Bytes of images to features, as many serving models begin."""
    m = tf.Module()
    m.k = tf.Variable(pattern([3, 3, 3, 2]))

    def one(b):
        image = tf.image.convert_image_dtype(tf.io.decode_png(b, channels=3), tf.float32)
        image = tf.image.resize_with_pad(image, 8, 8)
        return tf.image.per_image_standardization(tf.ensure_shape(image, [8, 8, 3]))

    def serve(png):
        x = tf.map_fn(one, png, fn_output_signature=tf.float32)
        return {"y": tf.reduce_mean(tf.nn.conv2d(x, m.k, 2, "SAME"), [1, 2]), "gray": tf.reduce_mean(tf.image.rgb_to_grayscale(tf.image.adjust_contrast(x, 0.5)))}

    save(path, serve, spec([None], tf.string, "png"), module=m)
    png = tf.io.encode_png(np.arange(75, dtype=np.uint8).reshape([5, 5, 3])).numpy()
    return [(DEFAULT, {"png": np.array([png, png], object)})]


@model
def padded_suppression(path):
    def serve(boxes, scores):
        keep, valid = tf.image.non_max_suppression_padded(boxes, scores, 3, pad_to_max_output_size=True, iou_threshold=0.4, sorted_input=False, canonicalized_coordinates=True, tile_size=2)
        return {"keep": keep, "valid": valid, "boxes": tf.gather(boxes, keep, batch_dims=1)}

    save(path, serve, spec([None, 4, 4], tf.float32, "boxes"), spec([None, 4], tf.float32, "scores"))
    return [(DEFAULT, {"boxes": np.float32([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [5, 5, 6, 6]]]), "scores": np.float32([[0.9, 0.8, 0.7, 0.1]])})]


@model
def counts_in_branches(path):
    m = tf.Module()
    m.n = tf.Variable(0)
    m.seen = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, -1, -2)

    def serve(k):
        if tf.reduce_sum(k) > 3:
            m.n.assign_add(1)
        else:
            m.n.assign_sub(2)
        m.seen.insert(k, m.seen.lookup(k) + 1)
        return {"n": m.n.read_value(), "seen": m.seen.lookup(k)}

    save(path, serve, spec([None], tf.int64, "k"), module=m)
    return [(DEFAULT, {"k": np.int64([1, 5])})]


@model
def sparse_algebra(path):
    def serve(indices, values, dense):
        s = tf.sparse.reorder(tf.sparse.SparseTensor(indices, values, [3, 4]))
        filled, empty = tf.sparse.fill_empty_rows(s, 9.0)
        return {"product": tf.sparse.sparse_dense_matmul(s, dense), "sum": tf.sparse.reduce_sum(s, 1), "filled": tf.sparse.to_dense(filled), "empty": empty,
                "added": tf.sparse.to_dense(tf.sparse.add(s, s)), "soft": tf.sparse.softmax(s).values, "cut": tf.sparse.to_dense(tf.sparse.slice(s, [0, 1], [3, 2])),
                "both": tf.sparse.to_dense(tf.sparse.concat(0, [s, s]))}

    save(path, serve, spec([None, 2], tf.int64, "indices"), spec([None], tf.float32, "values"), spec([4, 2], tf.float32, "dense"))
    return [(DEFAULT, {"indices": np.int64([[0, 3], [0, 1], [2, 2]]), "values": pattern([3]), "dense": pattern([4, 2])})]


@model
def algebra(path):
    def serve(a):
        s = a @ tf.transpose(a) + tf.eye(3) * 3.0
        return {"l": tf.linalg.cholesky(s), "inverse": tf.linalg.inv(s), "det": tf.linalg.det(s), "singular": tf.linalg.svd(s, compute_uv=False),
                "einsum": tf.einsum("ij,kj->ik", a, a), "band": tf.linalg.band_part(a, 0, 1), "solve": tf.linalg.triangular_solve(s, a), "spectrum": tf.abs(tf.signal.rfft(a))}

    save(path, serve, spec([3, 3], tf.float32, "a"))
    return [(DEFAULT, {"a": pattern([3, 3])})]


@model
def switches(path):
    def serve(i, x):
        y = tf.switch_case(i, [lambda: x + 1.0, lambda: tf.while_loop(lambda v: tf.reduce_sum(v) < 50.0, lambda v: [v * 2.0], [x])[0], lambda: tf.cond(x[0] > 0.0, lambda: -x, lambda: x)])
        total = 0
        for k in tf.range(10):
            if k % 2 == 0:
                continue
            if k > 7:
                break
            total += k
        return {"y": y, "total": total}

    save(path, serve, spec([], tf.int32, "i"), spec([2], tf.float32, "x"))
    return [(DEFAULT, {"i": np.int32(i), "x": np.float32([1, 2])}) for i in range(3)]


@model
def constant_loop(path):
    """A loop of ten thousand iterations has nothing but constants for inputs."""
    m = tf.Module()

    def serve(x):
        n, v = tf.while_loop(lambda i, v: i < 10000, lambda i, v: [i + 1, (v * 3 + 1) % 1009], [tf.constant(0), tf.constant(7)])
        return {"y": x + tf.cast(v, tf.float32), "n": n}

    save(path, serve, spec([], tf.float32, "x"), module=m)
    return [(DEFAULT, {"x": np.float32(1)})]


@model
def fake_quantization(path):
    def serve(x):
        return {"a": tf.quantization.fake_quant_with_min_max_args(x, -1, 1), "b": tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.0, range_given=True),
                "c": tf.quantization.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -2.0], [1.0, 2.0])}

    save(path, serve, spec([None, 2], tf.float32, "x"))
    return [(DEFAULT, {"x": pattern([3, 2])})]


@model
def spectra(path):
    def serve(x):
        s = tf.signal.stft(x, 8, 4)
        return {"power": tf.abs(s), "back": tf.signal.inverse_stft(s, 8, 4), "dct": tf.signal.dct(x), "framed": tf.signal.frame(x, 6, 3, pad_end=True)}

    save(path, serve, spec([None], tf.float32, "x"))
    return [(DEFAULT, {"x": pattern([24])})]


@model
def many_signatures(path):
    m = tf.Module()
    m.w = [tf.Variable(pattern([2, 2]) + i) for i in range(12)]
    make_one = lambda w: tf.function(lambda x: {"y": x @ w}, input_signature=[spec([None, 2], tf.float32, "x")])
    tf.saved_model.save(m, path, signatures={"s%d" % i: make_one(w) for i, w in enumerate(m.w)})
    return [("s0", {"x": pattern([1, 2])}), ("s11", {"x": pattern([1, 2])})]


@model
def random_choices(path):
    def serve(seed):
        return {"normal": tf.random.stateless_normal([3], seed), "binomial": tf.random.stateless_binomial([2], seed, 5.0, 0.5), "poisson": tf.random.stateless_poisson([2], seed, 3.0),
                "category": tf.random.stateless_categorical([[0.1, 0.7, 0.2]], 4, seed), "ints": tf.random.stateless_uniform([2], seed, 0, 9, tf.int32), "gamma": tf.random.stateless_gamma([2], seed, 2.0)}

    save(path, serve, spec([2], tf.int32, "seed"))
    return [(DEFAULT, {"seed": np.int32([3, 4])})]


@model
def v1_dynamic_rnn(path):
    """A dynamic_rnn of TensorFlow 1, with its while loop and TensorArrays."""
    v1.disable_control_flow_v2()
    try:
        with v1.Graph().as_default(), v1.Session() as sess:
            x, n = v1.placeholder(tf.float32, [None, None, 2], name="x"), v1.placeholder(tf.int32, [None], name="n")
            k = v1.get_variable("k", initializer=pattern([5, 3]), use_resource=False)

            def step(i, h, out):
                new = v1.tanh(v1.matmul(v1.concat([x[:, i], h], 1), k))
                h = v1.where(i < n, new, h)
                return i + 1, h, out.write(i, h)

            time = v1.shape(x)[1]
            _, h, out = v1.while_loop(lambda i, *_: i < time, step, (0, v1.zeros([v1.shape(x)[0], 3]), v1.TensorArray(tf.float32, time)))
            sess.run(v1.global_variables_initializer())
            make.builder(path, sess, {"x": x, "n": n}, {"h": h, "all": out.stack()})
    finally:
        v1.enable_control_flow_v2()
    return [(DEFAULT, {"x": pattern([2, 3, 2]), "n": np.int32([3, 1])})]


@model
def v1_regression(path):
    """An estimator's regression: Examples, buckets, crosses and embeddings, by partitioned variables and two assets."""
    file = words(["oslo", "rome"])
    with v1.Graph().as_default(), v1.Session() as sess:
        serialized = v1.placeholder(tf.string, [None], name="input_example_tensor")
        f = v1.io.parse_example(serialized, {"age": v1.io.FixedLenFeature([1], tf.float32, [0.0]), "city": v1.io.VarLenFeature(tf.string)})
        table = v1.lookup.StaticVocabularyTable(v1.lookup.TextFileInitializer(
            file, tf.string, v1.lookup.TextFileIndex.WHOLE_LINE, tf.int64, v1.lookup.TextFileIndex.LINE_NUMBER), 1)
        e = v1.get_variable("e", initializer=pattern([3, 2]), use_resource=False)
        ids = v1.SparseTensor(f["city"].indices, table.lookup(f["city"].values), f["city"].dense_shape)
        city = v1.nn.safe_embedding_lookup_sparse(e, ids, combiner="sum")
        bucket = v1.one_hot(v1.raw_ops.Bucketize(input=f["age"][:, 0], boundaries=[10.0, 20.0]), 3)
        w = v1.get_variable("w", initializer=pattern([5, 1]), use_resource=False)
        y = v1.matmul(v1.concat([city, bucket], 1), w)
        with v1.control_dependencies([v1.assert_greater_equal(f["age"], 0.0)]):
            y = v1.identity(y)
        sess.run([v1.global_variables_initializer(), v1.tables_initializer()])
        make.builder(path, sess, {"inputs": serialized}, {"outputs": y}, "tensorflow/serving/regress", main_op=v1.tables_initializer())
    return [(DEFAULT, {"inputs": np.array([make.example(age=[15.0], city=[b"rome", b"oslo"]), make.example(age=[3.0])])})]


if __name__ == "__main__":
    if sys.argv[1] == "--pack":
        make.pack(sys.argv[2], "keras.tar.gz", ("keras_",))
        make.pack(sys.argv[2], "more.tar.gz", tuple(n for n in MODELS if not n.startswith("keras_")))
    else:
        make.main(sys.argv[1], sys.argv[2:])
