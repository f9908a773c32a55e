"""Records what the queues of tf.compat.v1 do, step by step, in parity.json.

Run with TensorFlow 2.21: python make.py. The Go test runs the same steps.
"""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

v1 = tf.compat.v1
WORDS = [["int64", []], ["string", []]]
NUMBERS = [["int64", []]]

# A queue's kind, capacity, components and options, and what is done with it.
# "rest" takes single elements until an error.
SCENARIOS = {
    "fifo": ["FIFOQueue", 10, WORDS, {}, [
        ["enqueue", [1, "a"]], ["enqueue_many", [[2, 3, 4], ["b", "c", "d"]]], ["size"], ["is_closed"],
        ["dequeue"], ["dequeue_many", 2], ["close", False], ["is_closed"], ["dequeue_many", 2], ["size"],
        ["dequeue_up_to", 2], ["dequeue"], ["dequeue_up_to", 1], ["enqueue", [1, "a"]],
        ["enqueue_many", [[2], ["b"]]], ["close", False], ["close", True]]],
    "fifo: nothing": ["FIFOQueue", 10, NUMBERS, {}, [
        ["enqueue_many", [[]]], ["size"], ["dequeue_many", 0], ["dequeue_up_to", 0], ["close", True], ["dequeue_many", 0], ["dequeue"]]],
    "fifo: more rows than elements": ["FIFOQueue", 10, NUMBERS, {}, [
        ["enqueue_many", [[1, 2, 3]]], ["close", False], ["dequeue_many", 4], ["size"], ["rest"]]],
    "fifo: shapes": ["FIFOQueue", 10, [["int64", [2]], ["string", []]], {}, [
        ["enqueue", [[1, 2], "a"]], ["enqueue_many", [[[3, 4], [5, 6]], ["b", "c"]]], ["dequeue_many", 3]]],
    "shuffle, seed 7": ["RandomShuffleQueue", 40, NUMBERS, {"min_after_dequeue": 5, "seed": 7}, [
        ["enqueue_many", [list(range(40))]], ["dequeue_many", 20], ["dequeue"], ["size"], ["close", False],
        ["dequeue_up_to", 10], ["rest"], ["dequeue_up_to", 3]]],
    "shuffle, seed 1": ["RandomShuffleQueue", 20, NUMBERS, {"min_after_dequeue": 0, "seed": 1}, [
        ["enqueue_many", [list(range(20))]], ["close", True], ["dequeue_many", 21], ["rest"]]],
    "padding": ["PaddingFIFOQueue", 10, [["string", [None]], ["int64", [None, 2]]], {}, [
        ["enqueue", [["a"], [[1, 2]]]], ["enqueue", [["b", "c", "d"], [[3, 4], [5, 6]]]],
        ["enqueue_many", [[["e", "f"], ["g", "h"]], [[[7, 8]], [[9, 10]]]]],
        ["dequeue_many", 2], ["close", False], ["dequeue_up_to", 5], ["dequeue_up_to", 1]]],
    "priority": ["PriorityQueue", 10, WORDS, {}, [
        ["enqueue_many", [[3, -1, 2], ["c", "a", "b"]]], ["enqueue", [0, "z"]], ["dequeue"], ["dequeue_many", 2],
        ["close", False], ["dequeue_up_to", 5], ["dequeue"]]],
}


def plain(value):
  """Returns what a session gave in the form of JSON."""
  if isinstance(value, bytes):
    return value.decode()
  if isinstance(value, (list, tuple)):
    return [plain(v) for v in value]
  value = value.tolist() if hasattr(value, "tolist") else value
  return plain(value) if isinstance(value, (list, bytes)) else value


def make(kind, capacity, components, options):
  types = [tf.as_dtype(dtype) for dtype, _ in components]
  shapes = [shape for _, shape in components]
  if kind == "PriorityQueue":  # adds the priority by itself
    types, shapes = types[1:], shapes[1:]
  return getattr(v1, kind)(capacity=capacity, shapes=shapes, **({"types": types} if kind == "PriorityQueue" else {"dtypes": types}), **options)


def run(session, queue, components, step):
  """Returns the result of a step: a value, None, or the code of the error."""
  name, args = step[0], step[1:]
  if name in ("enqueue", "enqueue_many"):
    args = [[tf.constant(v, dtype) for v, (dtype, _) in zip(args[0], components)]]
  try:
    out = session.run(getattr(queue, name)(*args))
  except tf.errors.OpError as e:
    return {"code": e.error_code}
  if out is not None and len(components) == 1 and name.startswith("dequeue"):
    out = [out]
  return {"value": plain(out)}


def record(kind, capacity, components, options, steps):
  results = []
  with tf.Graph().as_default(), v1.Session() as session:
    queue = make(kind, capacity, components, options)
    for step in steps:
      if step[0] != "rest":
        results.append([step, run(session, queue, components, step)])
        continue
      while "code" not in (result := run(session, queue, components, ["dequeue"])):
        results.append([["dequeue"], result])
      results.append([["dequeue"], result])
  return {"kind": kind, "capacity": capacity, "components": components, "options": options, "steps": results}


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "parity.json"), "w") as f:
  scenarios = {name: record(*s) for name, s in SCENARIOS.items()}
  f.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in scenarios.items()) + "\n}\n")
