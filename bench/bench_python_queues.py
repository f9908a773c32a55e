"""Records a second out of tf.compat.v1.train.shuffle_batch over TFRecords, with its queue runners.

    bench_python_queues.py FOLDER BATCH FLOATS THREADS UP_TO MIN_AFTER_DEQUEUE WARM BATCHES

The records are Examples of "x", FLOATS floats, and "y", an integer. A run reads one of them, or up to UP_TO if that is not 0. One JSON
number goes to stdout.
"""

import glob
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
tf1.logging.set_verbosity(tf1.logging.ERROR)


def main(folder, *args):
    batch, floats, threads, up_to, min_after_dequeue, warm, batches = [int(a) for a in args]
    files = sorted(glob.glob(os.path.join(folder, "*.tfrecords")))
    names = tf1.train.string_input_producer(files)
    features = {"x": tf1.FixedLenFeature([floats], tf.float32), "y": tf1.FixedLenFeature([], tf.int64)}
    reader = tf1.TFRecordReader()
    if up_to:
        parsed = tf1.parse_example(reader.read_up_to(names, up_to)[1], features)
    else:
        parsed = tf1.parse_single_example(reader.read(names)[1], features)
    capacity = min_after_dequeue + (threads + 2) * batch
    out = tf1.train.shuffle_batch(
        [parsed["x"], parsed["y"]], batch, capacity, min_after_dequeue, num_threads=threads, enqueue_many=up_to > 0)
    with tf1.Session() as session:
        session.run(tf1.local_variables_initializer())
        coordinator = tf1.train.Coordinator()
        running = tf1.train.start_queue_runners(session, coordinator)
        step = session.make_callable(out)
        for _ in range(warm):
            step()
        begun = time.perf_counter()
        for _ in range(batches):
            step()
        json.dump(batch * batches / (time.perf_counter() - begun), sys.stdout)
        coordinator.request_stop()
        coordinator.join(running)


if __name__ == "__main__":
    main(*sys.argv[1:])
