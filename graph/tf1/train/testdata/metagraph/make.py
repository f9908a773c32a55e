"""Writes the MetaGraphDef of a pipeline of queues: make.py FILE.

It needs tensorflow 2.21. The pipeline reads lines of files whose names a placeholder gives, for two epochs, and batches them by 4.
The MetaGraphDef has the collections queue_runners, local_variables, local_init_op, init_op and summaries.
"""
import sys

import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_v2_behavior()

names = tf1.train.match_filenames_once(tf1.placeholder_with_default(tf.constant("missing*"), [], name="pattern"))
queue = tf1.train.string_input_producer(tf.identity(names), num_epochs=2, shuffle=False)
readers = [tf1.TextLineReader() for _ in range(2)]
batch = tf1.train.batch_join([list(r.read(queue)) for r in readers], 4, allow_smaller_final_batch=True)
tf.identity(batch[1], name="lines")
count = tf1.get_variable("count", initializer=tf.constant(0, tf.int64))
tf1.assign_add(count, tf.size(batch[1], tf.int64), name="counted")
tf1.add_to_collection(tf1.GraphKeys.LOCAL_INIT_OP, tf1.local_variables_initializer())
tf1.add_to_collection(tf1.GraphKeys.INIT_OP, tf1.global_variables_initializer())
tf1.train.export_meta_graph(sys.argv[1], clear_devices=True)
