"""Further SavedModels as TensorFlow's users export them: see make.py, whose helpers they use.

    python further.py OUT [NAME ...]

They are in no archive: "make foreign-models" writes them and tries each.
"""

import sys

import make
from make import *  # noqa: F403
from make import keras, model, np, pattern, save, spec, tf, v1, words
from more import keras_model, text

MODELS.clear()
L = keras.layers
f32, i32, i64, st = tf.float32, tf.int32, tf.int64, tf.string


def one(path, serve, *inputs, **parts):
    """Saves a function of inputs by name: (name, spec, value)."""
    save(path, serve, *[spec(s.shape, s.dtype, n) for n, s, _ in inputs], **parts)
    return [(DEFAULT, {n: v for n, _, v in inputs})]


def given(name, shape, value):
    value = np.asarray(value)
    return name, tf.TensorSpec(shape, st if value.dtype.kind in "SO" else value.dtype), value


# Keras Applications of the full width.


def application(build, path, side, **options):
    return make.image_model(build(weights=None, classes=5, input_shape=(side, side, 3), **options), path, side)


@model
def mobilenet_v3_small(path):
    return application(keras.applications.MobileNetV3Small, path, 64)


@model
def mobilenet_v1_alpha(path):
    return application(keras.applications.MobileNet, path, 64, alpha=0.25)


@model
def efficientnet_v2(path):
    return application(keras.applications.EfficientNetV2B0, path, 64)


@model
def resnet50_v2(path):
    return application(keras.applications.ResNet50V2, path, 64)


@model
def nasnet_small(path):
    return application(keras.applications.NASNetMobile, path, 64)


# Text.


@model
def sentence_encoder(path):
    """Hashed n-grams, summed by sparse lookups, as the encoders of TF Hub do."""
    def serve(text):
        clean = tf.strings.regex_replace(tf.strings.lower(text), r"[[:punct:]]", " ")
        words = tf.strings.split(tf.strings.strip(clean))
        grams = tf.strings.ngrams(words, [1, 2], separator="_")
        ids = tf.strings.to_hash_bucket_fast(grams, 30).to_sparse()
        v = tf.nn.safe_embedding_lookup_sparse(m.e, ids, combiner="sqrtn")
        return {"embedding": tf.nn.l2_normalize(tf.nn.relu(v @ m.w), -1)}

    m = tf.Module()
    m.e, m.w = tf.Variable(pattern([30, 4])), tf.Variable(pattern([4, 3]))
    return one(path, serve, given("text", [None], [b"Water, under the mill!", b"", b"race"]), module=m)


@model
def characters(path):
    def serve(text):
        points = tf.strings.unicode_decode(tf.strings.unicode_transcode(text, "UTF-8", "UTF-8"), "UTF-8")
        points, offsets = points.to_tensor(0), tf.strings.unicode_decode_with_offsets(text, "UTF-8")[1]
        return {"points": points, "last": offsets[:, -1:].to_tensor(-1), "script": tf.strings.unicode_script(points),
                "back": tf.strings.unicode_encode(tf.RaggedTensor.from_tensor(points, padding=0), "UTF-8")}

    return one(path, serve, given("text", [None], ["Mühle".encode(), "水車".encode(), b"x"]))


@model
def formats_text(path):
    def serve(x, n):
        parts = tf.strings.as_string(x, precision=2)
        return {"line": tf.strings.reduce_join(parts, 1, separator=";"), "named": tf.strings.format("{} of {}", (n, x)),
                "number": tf.strings.to_number(tf.strings.substr(parts, 0, 4)), "padded": tf.strings.as_string(n, width=5, fill="0"),
                "code": tf.io.encode_base64(parts[0]), "bytes": tf.strings.bytes_split(parts[0]).to_tensor("")}

    return one(path, serve, given("x", [None, 2], np.float32([[1.5, 2.25], [3, 4]])), given("n", [], np.int32(7)))


@model
def token_table(path):
    """A vocabulary in an asset, one more for the answers, and out-of-vocabulary buckets."""
    file = words(["mill", "race", "water"])
    table = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(file, st, tf.lookup.TextFileIndex.WHOLE_LINE, i64, tf.lookup.TextFileIndex.LINE_NUMBER), 2)
    labels = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1], i64), tf.constant(["no", "yes"])), "?")

    def serve(text):
        ids = table.lookup(tf.strings.split(text).to_tensor(""))
        return {"ids": ids, "label": labels.lookup(tf.reduce_max(ids, 1) % 3), "size": table.size()}

    return one(path, serve, given("text", [None], [b"water mill", b"pond"]), table=table, labels=labels)


@model
def byte_pairs(path):
    """Joins pairs of tokens in a loop, by a table of ranks."""
    ranks = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant(["m i", "l l", "mi ll"]), tf.constant([0, 1, 2])), 99)

    def serve(word):
        def step(parts, _):
            pairs = tf.strings.join([parts[:-1], parts[1:]], " ")
            at = tf.argmin(ranks.lookup(pairs), output_type=i32)
            merged = tf.strings.join([parts[at], parts[at + 1]])[None]
            found = ranks.lookup(pairs[at]) < 99
            return tf.cond(found, lambda: tf.concat([parts[:at], merged, parts[at + 2:]], 0), lambda: parts), found

        parts, _ = tf.while_loop(lambda p, go: tf.logical_and(go, tf.size(p) > 1), step, (tf.strings.bytes_split(word), True),
                                 shape_invariants=(tf.TensorShape([None]), tf.TensorShape([])))
        return {"parts": parts}

    return one(path, serve, given("word", [], b"mills"), ranks=ranks)


@model
def keras_feature_space(path):
    s = keras.utils.FeatureSpace({"age": keras.utils.FeatureSpace.float_normalized(), "city": keras.utils.FeatureSpace.string_categorical(num_oov_indices=1),
                                  "kind": keras.utils.FeatureSpace.integer_hashed(num_bins=4)},
                                 crosses=[keras.utils.FeatureSpace.cross(("city", "kind"), crossing_dim=8)], output_mode="concat")
    s.adapt(tf.data.Dataset.from_tensor_slices({"age": [1.0, 2.0, 6.0], "city": ["oslo", "rome", "oslo"], "kind": [1, 2, 3]}))
    x = s.get_inputs()
    return keras_model(path, x, L.Dense(2)(s.get_encoded_features()), {"age": np.float32([[2.5]]), "city": np.array([[b"rome"]]), "kind": np.int32([[3]])})


# Sequences.


@model
def generates_text(path):
    """A decoder with a cache of keys and values that a loop updates, and samples by seeds."""
    m = tf.Module()
    m.e, m.k, m.v = tf.Variable(pattern([9, 4])), tf.Variable(pattern([4, 4])), tf.Variable(pattern([4, 4], 0.7))

    def serve(start, seed):
        n = tf.shape(start)[0]

        def step(i, token, keys, values, out):
            h = tf.gather(m.e, token)
            at = tf.fill([1, 1], i)
            keys = tf.tensor_scatter_nd_update(keys, at, (h @ m.k)[None])
            values = tf.tensor_scatter_nd_update(values, at, (h @ m.v)[None])
            a = tf.einsum("bd,tbd->bt", h, keys) + tf.where(tf.range(6) <= i, 0.0, -1e9)
            logits = tf.einsum("bt,tbd->bd", tf.nn.softmax(a), values) @ tf.transpose(m.e)
            order = tf.argsort(logits, direction="DESCENDING")
            kept = tf.cumsum(tf.nn.softmax(tf.gather(logits, order, batch_dims=1)), -1, exclusive=True) < 0.9
            token = tf.gather(order, tf.random.stateless_categorical(tf.where(kept, tf.gather(logits, order, batch_dims=1), -1e9), 1, seed + i), batch_dims=1)[:, 0]
            return i + 1, token, keys, values, out.write(i, token)

        out = tf.TensorArray(i32, 6)
        cache = tf.zeros([6, n, 4])
        return {"tokens": tf.transpose(tf.while_loop(lambda i, *_: i < 6, step, (0, start, cache, cache, out))[4].stack())}

    return one(path, serve, given("start", [None], np.int32([1, 4])), given("seed", [2], np.int32([3, 5])), module=m)


@model
def viterbi(path):
    m = tf.Module()
    m.t = tf.Variable(pattern([3, 3]))

    def serve(x):
        def forward(state, now):
            scores = state[0][:, :, None] + m.t
            return tf.reduce_max(scores, 1) + now, tf.argmax(scores, 1, output_type=i32)

        steps = tf.transpose(x, [1, 0, 2])
        last, back = tf.scan(forward, steps[1:], (steps[0], tf.zeros(tf.shape(steps[0]), i32)))
        best = tf.argmax(last[-1], 1, output_type=i32)
        path = tf.scan(lambda tag, p: tf.gather(p, tag, batch_dims=1), back, best, reverse=True)
        return {"tags": tf.transpose(tf.concat([path, best[None]], 0)), "score": tf.reduce_max(last[-1], 1)}

    return one(path, serve, given("x", [None, None, 3], pattern([2, 4, 3])), module=m)


@model
def speech_to_text(path):
    def serve(logits, length):
        x = tf.transpose(logits, [1, 0, 2])
        greedy, _ = tf.nn.ctc_greedy_decoder(x, length)
        beams, p = tf.nn.ctc_beam_search_decoder(x, length, beam_width=4, top_paths=2)
        return {"greedy": tf.sparse.to_dense(greedy[0], default_value=-1), "second": tf.sparse.to_dense(beams[1], default_value=-1), "p": p}

    return one(path, serve, given("logits", [None, None, 5], pattern([2, 6, 5], 3)), given("length", [None], np.int32([6, 4])))


@model
def streaming(path):
    """States come in and go out by name, as those of streaming video models do."""
    m = tf.Module()
    m.w = tf.Variable(pattern([3, 2, 2]))

    def serve(frame, buffer, count):
        window = tf.concat([buffer, frame], 1)
        return {"y": tf.nn.conv1d(window, m.w, 1, "VALID"), "buffer": window[:, -2:], "count": count + tf.shape(frame)[1]}

    return one(path, serve, given("frame", [None, None, 2], pattern([1, 3, 2])), given("buffer", [None, 2, 2], pattern([1, 2, 2])), given("count", [], np.int32(4)), module=m)


@model
def separates_sources(path):
    def serve(x):
        s = tf.signal.stft(x, 16, 8, fft_length=16)
        mask = tf.nn.sigmoid(tf.abs(s) - 1.0)
        mel = tf.abs(s) @ tf.signal.linear_to_mel_weight_matrix(4, 9, 8000, 100.0, 3000.0)
        return {"y": tf.signal.inverse_stft(s * tf.cast(mask, tf.complex64), 16, 8, window_fn=tf.signal.inverse_stft_window_fn(8)),
                "mfcc": tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(mel + 1e-3)), "frames": tf.signal.frame(x, 10, 5, pad_end=True)}

    return one(path, serve, given("x", [None, None], pattern([1, 64])))


@model
def keras_wave_net(path):
    x = y = keras.Input([None, 2])
    for d in [1, 2, 4]:
        y = L.Add()([L.Conv1D(2, 1)(y), L.Multiply()([L.Conv1D(2, 2, dilation_rate=d, padding="causal", activation="tanh")(y),
                                                      L.Conv1D(2, 2, dilation_rate=d, padding="causal", activation="sigmoid")(y)])])
    return keras_model(path, x, L.SeparableConv1D(3, 2)(y), {None: pattern([1, 9, 2])})


# Images.


@model
def one_shot_detector(path):
    """Decodes, resizes, and suppresses for each class in a map."""
    m = tf.Module()
    m.w = tf.Variable(pattern([3, 3, 3, 6]))

    def serve(image):
        def picture(b):
            x = tf.image.resize_with_pad(tf.image.convert_image_dtype(tf.io.decode_png(b, 3), f32), 8, 8)
            return tf.image.per_image_standardization(x)

        x = tf.map_fn(picture, image, fn_output_signature=tf.TensorSpec([8, 8, 3], f32))
        h = tf.reshape(tf.nn.conv2d(x, m.w, 2, "SAME"), [-1, 16, 6])
        corner = tf.sigmoid(h[..., :2])
        boxes = tf.concat([corner, corner + 0.3], -1)

        def keep(args):
            box, score = args
            index, valid = tf.image.non_max_suppression_padded(box, score, 4, 0.3, 0.1, pad_to_max_output_size=True)
            return tf.gather(box, index), valid

        best, valid = tf.map_fn(keep, (boxes, tf.sigmoid(h[..., 4])), fn_output_signature=(f32, i32))
        return {"boxes": best, "valid": valid, "drawn": tf.image.draw_bounding_boxes(x, boxes[:, :2], [[1.0, 0.0, 0.0]])}

    png = tf.io.encode_png(tf.cast(tf.reshape(tf.range(5 * 7 * 3), [5, 7, 3]), tf.uint8)).numpy()
    return one(path, serve, given("image", [None], [png, png]), module=m)


@model
def keras_generator(path):
    x = keras.Input([6])
    y = L.Reshape([2, 2, 4])(L.Dense(16)(x))
    y = L.LeakyReLU()(L.BatchNormalization()(L.Conv2DTranspose(3, 4, 2, "same")(y)))
    y = L.Conv2DTranspose(3, 3, 2, "same", activation="tanh")(L.UpSampling2D(interpolation="bilinear")(L.GroupNormalization(3)(y)))
    return keras_model(path, x, y, {None: pattern([2, 6])})


@model
def keras_augmentation(path):
    x = keras.Input([None, None, 3])
    y = L.Resizing(6, 6, crop_to_aspect_ratio=True)(L.RandomContrast(0.2)(L.RandomZoom(0.2)(L.RandomRotation(0.1)(L.RandomFlip()(x)))))
    return keras_model(path, x, L.CenterCrop(4, 4)(L.Rescaling(1 / 255)(y)), {None: pattern([1, 9, 7, 3], 100)})


@model
def keras_segments(path):
    x = keras.Input([8, 8, 2])
    y = L.DepthwiseConv2D(3, padding="same", dilation_rate=2)(x)
    y = L.concatenate([y, L.UpSampling2D(8)(L.GlobalAveragePooling2D(keepdims=True)(y)), L.SpatialDropout2D(0.2)(x)])
    return keras_model(path, x, L.Softmax()(L.Conv2D(3, 1)(L.ZeroPadding2D(1)(L.Cropping2D(1)(y)))), {None: pattern([1, 8, 8, 2])})


@model
def optical_flow(path):
    """Samples by computed coordinates, and compares patches."""
    def serve(a, b):
        patches = tf.image.extract_patches(b, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
        n, h, w = tf.shape(a)[0], tf.shape(a)[1], tf.shape(a)[2]
        cost = tf.reduce_sum(tf.reshape(patches, [n, h, w, 9, 2]) * a[:, :, :, None], -1)
        at = tf.argmax(cost, -1, output_type=i32)
        y, x = tf.meshgrid(tf.range(h), tf.range(w), indexing="ij")
        index = tf.stack([tf.clip_by_value(y + at // 3 - 1, 0, h - 1), tf.clip_by_value(x + at % 3 - 1, 0, w - 1)], -1)
        return {"warped": tf.gather_nd(b, index, batch_dims=1), "flow": at, "small": tf.nn.avg_pool2d(tf.image.rot90(b), 2, 2, "SAME"),
                "gradients": tf.image.sobel_edges(a), "up": tf.nn.depth_to_space(tf.tile(a, [1, 1, 1, 2]), 2)}

    return one(path, serve, given("a", [None, None, None, 2], pattern([1, 4, 4, 2])), given("b", [None, None, None, 2], pattern([1, 4, 4, 2], 0.5)))


@model
def spatial_transformer(path):
    m = tf.Module()
    m.w = tf.Variable(pattern([16, 8], 0.1))

    def serve(x):
        t = tf.constant([1.0, 0, 0, 0, 1, 0, 0, 0]) + tf.reshape(x, [-1, 16]) @ m.w * [1.0, 1, 1, 1, 1, 1, 0, 0]
        y = tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=t, output_shape=[4, 4], fill_value=0.0, interpolation="BILINEAR", fill_mode="REFLECT")
        return {"y": y, "hsv": tf.image.rgb_to_hsv(tf.repeat(y, 3, -1)), "gray": tf.image.adjust_contrast(y, 2.0), "eq": tf.histogram_fixed_width(y, [-1.0, 1.0], 4)}

    return one(path, serve, given("x", [None, 4, 4, 1], pattern([2, 4, 4, 1])), module=m)


@model
def keras_video(path):
    x = keras.Input([4, 6, 6, 1])
    y = L.MaxPooling3D()(L.Conv3D(2, 3, padding="same", activation="gelu")(x))
    y = L.Conv3DTranspose(2, 2, 2)(y)
    return keras_model(path, x, L.TimeDistributed(L.GlobalMaxPooling2D())(L.AveragePooling3D((1, 2, 2))(y)), {None: pattern([1, 4, 6, 6, 1])})


# Tables, recommendations, graphs.


@model
def retrieval(path):
    """The nearest of a table of items to a user, with those that the user has seen left out."""
    users = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant(["ann", "bob"]), tf.constant([1, 2], i64)), 0)
    m = tf.Module()
    m.users, m.u, m.items, m.names = users, tf.Variable(pattern([3, 4])), tf.Variable(pattern([6, 4], 0.8)), tf.Variable([b"a", b"b", b"c", b"d", b"e", b"f"])

    def serve(user, seen):
        scores = tf.gather(m.u, users.lookup(user)) @ tf.transpose(m.items)
        scores -= 1e5 * tf.cast(tf.reduce_any(seen[:, :, None] == m.names[None, None], 1), f32)
        best, index = tf.math.top_k(scores, 3)
        return {"scores": best, "names": tf.gather(m.names, index), "rank": tf.math.in_top_k(index[:, 0], scores, 1)}

    return one(path, serve, given("user", [None], [b"ann", b"eve"]), given("seen", [None, None], [[b"a", b"c"], [b"", b"f"]]), module=m)


@model
def graph_network(path):
    m = tf.Module()
    m.w = tf.Variable(pattern([6, 3]))

    def serve(nodes, senders, receivers):
        def layer(h):
            message = tf.nn.relu(tf.concat([tf.gather(h, senders), tf.gather(h, receivers)], -1) @ m.w)
            a = tf.exp(tf.reduce_sum(message, -1))
            total = tf.math.unsorted_segment_sum(a, receivers, tf.shape(h)[0])
            return h + tf.math.unsorted_segment_sum(message * tf.math.divide_no_nan(a, tf.gather(total, receivers))[:, None], receivers, tf.shape(h)[0])

        h = layer(layer(nodes))
        return {"nodes": h, "mean": tf.math.unsorted_segment_mean(h, receivers[:3], 2), "top": tf.math.segment_max(h, [0, 0, 1])}

    return one(path, serve, given("nodes", [None, 3], pattern([3, 3])), given("senders", [None], np.int32([0, 1, 2, 2])), given("receivers", [None], np.int32([1, 0, 0, 1])), module=m)


@model
def crosses_and_counts(path):
    def serve(a, b, w):
        x = tf.sparse.cross_hashed([tf.sparse.from_dense(a), tf.sparse.from_dense(b)], 16, 7)
        c = tf.math.bincount(tf.sparse.to_dense(x), minlength=16, maxlength=16, axis=-1, weights=None)
        return {"hot": c, "counts": tf.sparse.to_dense(tf.sparse.bincount(tf.cast(w, i64), minlength=4, maxlength=4, axis=-1)),
                "set": tf.sparse.to_dense(tf.sets.difference(w, w[:, :1])), "boundaries": tf.searchsorted([0.0, 1.0, 2.0], tf.cast(w[0], f32)),
                "unique": tf.unique_with_counts(tf.reshape(w, [-1]))[2]}

    return one(path, serve, given("a", [None, 1], [[b"x"], [b"y"]]), given("b", [None, 1], [[b"p"], [b"q"]]), given("w", [None, 2], np.int32([[1, 2], [3, 3]])))


@model
def gaussian_process(path):
    x0, y0 = pattern([5, 2]), pattern([5, 1])

    def serve(x):
        k = lambda a, b: tf.exp(-tf.reduce_sum(tf.math.squared_difference(a[:, None], b[None]), -1))
        chol = tf.linalg.cholesky(k(x0, x0) + 0.1 * tf.eye(5))
        mean = tf.transpose(k(x0, x)) @ tf.linalg.cholesky_solve(chol, y0)
        v = tf.linalg.triangular_solve(chol, k(x0, x))
        return {"mean": mean, "var": 1.0 - tf.reduce_sum(v * v, 0), "evidence": tf.linalg.slogdet(k(x0, x0) + 0.1 * tf.eye(5))[1],
                "inverse": tf.linalg.inv(k(x0, x0) + tf.eye(5)), "singular": tf.linalg.svd(k(x0, x0), compute_uv=False), "band": tf.linalg.band_part(k(x, x), 0, 1)}

    return one(path, serve, given("x", [None, 2], pattern([3, 2], 0.5)))


@model
def kalman_filter(path):
    m = tf.Module()
    m.f = tf.Variable(np.float32([[1, 1], [0, 1]]))

    def serve(z):
        def step(state, now):
            x, p = m.f @ state[0], m.f @ state[1] @ tf.transpose(m.f) + 0.01 * tf.eye(2)
            gain = p[:, :1] / (p[0, 0] + 0.1)
            return x + gain * (now - x[0, 0]), (tf.eye(2) - gain @ [[1.0, 0.0]]) @ p

        x, p = tf.scan(step, z, (tf.zeros([2, 1]), tf.eye(2)))
        return {"x": x[:, 0, 0], "p": tf.linalg.diag_part(p)}

    return one(path, serve, given("z", [None], pattern([6])), module=m)


# tf.data, training and numbers in the graph.


@model
def data_pipeline(path):
    def serve(x, n):
        d = tf.data.Dataset.from_tensor_slices(x).enumerate().filter(lambda i, v: v > 0.0).map(lambda i, v: (tf.cast(i, f32) * v, v))
        d = d.shuffle(8, seed=3).batch(2).prefetch(1).take(n).cache()
        total = d.reduce((0.0, 0.0), lambda s, e: (s[0] + tf.reduce_sum(e[0]), s[1] + tf.reduce_sum(e[1])))
        z = tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.from_tensors(x).repeat(3))).map(lambda i, v: v[i], num_parallel_calls=2)
        return {"sums": total[1], "picked": z.batch(3).get_single_element(), "count": d.reduce(np.int64(0), lambda s, *_: s + 1)}

    return one(path, serve, given("x", [None], pattern([7])), given("n", [], np.int64(9)))


@model
def data_groups(path):
    def serve(lines):
        d = tf.data.Dataset.from_tensor_slices(lines).flat_map(lambda s: tf.data.Dataset.from_tensor_slices(tf.strings.split([s]).values))
        d = d.group_by_window(lambda s: tf.cast(tf.strings.length(s), i64), lambda k, w: w.batch(4), 4)
        joined = d.map(lambda s: tf.strings.reduce_join(s, separator="+")).padded_batch(4, padded_shapes=[])
        return {"groups": joined.reduce(tf.constant(""), lambda s, e: s + "|" + tf.strings.reduce_join(e, separator=","))}

    return one(path, serve, given("lines", [None], [b"a bb cc d", b"eee f"]))


@model
def trains_a_step(path):
    """A signature that trains, one that predicts, and an optimizer's slots between them."""
    m = tf.Module()
    m.w, m.m, m.v, m.step = tf.Variable(pattern([3, 1])), tf.Variable(tf.zeros([3, 1])), tf.Variable(tf.zeros([3, 1])), tf.Variable(0, dtype=i64)

    @tf.function(input_signature=[spec([None, 3], f32, "x"), spec([None, 1], f32, "y")])
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.math.squared_difference(x @ m.w, y))
        g = tape.gradient(loss, m.w)
        m.step.assign_add(1)
        t = tf.cast(m.step, f32)
        tf.raw_ops.ResourceApplyAdam(var=m.w.handle, m=m.m.handle, v=m.v.handle, beta1_power=0.9 ** t, beta2_power=0.999 ** t, lr=0.1, beta1=0.9, beta2=0.999, epsilon=1e-7, grad=g)
        return {"loss": loss, "step": m.step.read_value()}

    predict = tf.function(lambda x: {"y": x @ m.w}, input_signature=[spec([None, 3], f32, "x")])
    tf.saved_model.save(m, path, signatures={DEFAULT: predict, "train": train})
    return [(DEFAULT, {"x": pattern([2, 3])}), ("train", {"x": pattern([2, 3]), "y": pattern([2, 1])})]


@model
def quantization_aware(path):
    m = tf.Module()
    m.w = tf.Variable(pattern([3, 4]))

    def serve(x):
        w = tf.quantization.quantize_and_dequantize_v2(m.w, -1.0, 1.0, range_given=True, axis=None)
        y = tf.quantization.fake_quant_with_min_max_vars(x @ w, -2.0, 2.0)
        q = tf.quantization.quantize(y, -2.0, 2.0, tf.qint8, mode="SCALED")
        return {"y": y, "back": tf.quantization.dequantize(q.output, q.output_min, q.output_max, mode="SCALED"), "bits": tf.bitwise.bitwise_xor(tf.cast(y * 9, i32), 3),
                "half": tf.cast(tf.cast(y, tf.bfloat16), f32)}

    return one(path, serve, given("x", [None, 3], pattern([2, 3])), module=m)


@model
def ragged_tokens(path):
    def serve(values, lengths):
        r = tf.RaggedTensor.from_row_lengths(values, lengths)
        pairs = tf.concat([r[:, :1], r], 1)
        return {"sum": tf.reduce_sum(tf.cast(r, f32), 1), "padded": pairs.to_tensor(-1, shape=[None, 4]), "last": tf.reverse(r, [1]).to_tensor(0),
                "where": tf.ragged.boolean_mask(r, r > 2).to_tensor(0), "range": tf.ragged.range(lengths).to_tensor(9), "map": tf.map_fn(tf.reduce_max, pairs, fn_output_signature=i32)}

    return one(path, serve, given("values", [None], np.int32([1, 2, 3, 4])), given("lengths", [None], np.int64([3, 1])))


@model
def serves_examples(path):
    """Serialized Examples with a picture, ragged words and a default, as exporters of estimators write."""
    def serve(examples):
        p = tf.io.parse_example(examples, {"image": tf.io.FixedLenFeature([], st), "words": tf.io.RaggedFeature(st), "w": tf.io.FixedLenFeature([2], f32, [0.5, 1.0]),
                                           "s": tf.io.SparseFeature("i", "v", f32, 5)})
        image = tf.map_fn(lambda b: tf.image.resize(tf.io.decode_jpeg(b, 1), [2, 2]), p["image"], fn_output_signature=tf.TensorSpec([2, 2, 1], f32))
        return {"image": image, "words": tf.strings.reduce_join(p["words"], 1, separator=" "), "w": p["w"], "s": tf.sparse.to_dense(p["s"])}

    jpeg = tf.io.encode_jpeg(tf.fill([8, 8, 1], tf.constant(90, tf.uint8))).numpy()
    return one(path, serve, given("examples", [None], [make.example(image=[jpeg], words=[b"a", b"b"], i=[1, 4], v=[0.5, 2.0]), make.example(image=[jpeg], w=[3.0, 4.0])]))


# JAX: as StableHLO, and as operations of TensorFlow.


def jax_model(path, f, *values, **options):
    from jax.experimental import jax2tf
    g = jax2tf.convert(f, **options)
    inputs = [given("x%d" % i, list(np.shape(v)), v) for i, v in enumerate(values)]
    return one(path, lambda *args: {"y": g(*args)}, *inputs)


def network(x):
    import jax
    import jax.numpy as jnp
    h = jax.nn.gelu(jax.lax.conv_general_dilated(x, jnp.asarray(pattern([3, 3, 2, 4])), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    q = h.reshape(h.shape[0], -1, 4)
    a = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, q))
    return jax.nn.standardize(jnp.einsum("bqk,bkd->bqd", a, q)).mean(1)


def loop(x):
    import jax
    import jax.numpy as jnp
    y = jax.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 0.5 + jnp.sin(s[1])), (0, x))[1]
    return jax.lax.cond(y.sum() > 0, lambda v: jnp.cumsum(v), lambda v: -v, y)


@model
def jax_network(path):
    return jax_model(path, network, pattern([2, 4, 4, 2]), native_serialization=True)


@model
def jax_loop(path):
    return jax_model(path, loop, pattern([4]), native_serialization=True, with_gradient=False)


@model
def jax_graph_network(path):
    return jax_model(path, network, pattern([2, 4, 4, 2]), native_serialization=False, enable_xla=False, with_gradient=False)


@model
def jax_graph_loop(path):
    return jax_model(path, loop, pattern([4]), native_serialization=False, enable_xla=False, with_gradient=False)


if __name__ == "__main__":
    make.main(sys.argv[1], sys.argv[2:])
