"""Records what the readers of tf.compat.v1 do, step by step, in parity.json.

Run with TensorFlow 2.21: python make.py. The Go test runs the same steps on the
same files, whose contents are recorded in hexadecimal.
"""

import gzip
import json
import os
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

v1 = tf.compat.v1


def records(*values):
  with tempfile.NamedTemporaryFile() as f:
    with tf.io.TFRecordWriter(f.name) as w:
      for value in values:
        w.write(value)
    return open(f.name, "rb").read()


GZIP = tf.io.TFRecordOptions("GZIP")
THREE, ONE = records(b"a", b"", b"ccc"), records(b"d")

# A reader, its options, the files (None: a name that is not there), and what is
# done with it. "rest" reads until an error, and three times more.
SCENARIOS = {
    "records": ["TFRecordReader", {}, [THREE, b"", ONE], [["read"], ["records"], ["units"], ["rest"], ["records"], ["units"], ["state"]]],
    "records, gzip": ["TFRecordReader", {"compression": "GZIP"}, [gzip.compress(THREE, mtime=0)], [["rest"], ["records"]]],
    "records, up to 2": ["TFRecordReader", {}, [THREE, ONE], [["read_up_to", 2]] * 4 + [["records"], ["units"]]],
    "records, cut": ["TFRecordReader", {}, [ONE + THREE[:-3], ONE], [["rest"], ["records"], ["units"], ["reset"], ["rest"], ["records"]]],
    "records, flipped bit": ["TFRecordReader", {}, [ONE + ONE[:12] + b"e" + ONE[13:]], [["rest"]]],
    "records, missing file": ["TFRecordReader", {}, [ONE, None, ONE], [["read"], ["read"], ["rest"], ["records"], ["units"]]],
    "records, reset": ["TFRecordReader", {}, [THREE, ONE], [["read"], ["reset"], ["records"], ["rest"]]],
    "lines": ["TextLineReader", {}, [b"a\nb\r\n\nc\rd", b"", b"e\n"], [["read"], ["rest"], ["records"], ["units"], ["state"]]],
    "lines, skip 1": ["TextLineReader", {"skip_header_lines": 1}, [b"h\na", b"h", b"h\nb\n"], [["rest"], ["records"], ["units"]]],
    "lines, up to 3": ["TextLineReader", {}, [b"a\nb\nc\nd", b"e\n"], [["read_up_to", 3]] * 4],
    "lines, missing file": ["TextLineReader", {}, [None, b"a"], [["rest"], ["rest"]]],
    "fixed": ["FixedLengthRecordReader", {"record_bytes": 2}, [b"abcdef", b"gh"], [["rest"], ["records"], ["units"], ["state"]]],
    "fixed, hop": ["FixedLengthRecordReader", {"record_bytes": 2, "header_bytes": 1, "footer_bytes": 2, "hop_bytes": 1}, [b"Habcd||"], [["rest"]]],
    "fixed, remainder": ["FixedLengthRecordReader", {"record_bytes": 4}, [b"abcdefgh1", b"ijkl"], [["rest"], ["units"]]],
    "fixed, gzip": ["FixedLengthRecordReader", {"record_bytes": 4, "encoding": "GZIP"}, [gzip.compress(b"abcdefgh", mtime=0)], [["rest"]]],
    "whole": ["WholeFileReader", {}, [b"abc", b"", b"d"], [["rest"], ["records"], ["units"]]],
    "whole, state": ["WholeFileReader", {}, [b"abc", b"d"], [["read"], ["save"], ["read"], ["restore"], ["records"], ["damaged state"], ["records"]]],
    "identity": ["IdentityReader", {}, [b"", b""], [["rest"], ["records"], ["units"]]],
}


def make(kind, options):
  options = dict(options)
  if options.pop("compression", ""):
    options["options"] = GZIP
  return getattr(v1, kind)(**options)


def record(kind, options, contents, steps):
  with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), v1.Session() as session:
    names = []
    for i, content in enumerate(contents):
      names.append(os.path.join(folder, f"f{i}"))
      if content is not None:
        open(names[-1], "wb").write(content)
    queue = v1.FIFOQueue(100, [tf.string], shapes=[()])
    session.run(queue.enqueue_many([names]))
    session.run(queue.close())
    reader, saved, results = make(kind, options), b"", []

    def plain(value):
      if isinstance(value, bytes):
        return value.decode().replace(folder + "/", "")
      return [plain(v) for v in value] if isinstance(value, (list, tuple)) or hasattr(value, "__len__") else int(value)

    def run(name, *args):
      nonlocal saved
      fetch = {
          "read": lambda: list(reader.read(queue)),
          "read_up_to": lambda: list(reader.read_up_to(queue, *args)),
          "records": reader.num_records_produced,
          "units": reader.num_work_units_completed,
          "reset": reader.reset,
          "state": reader.serialize_state,
          "save": reader.serialize_state,
          "restore": lambda: reader.restore_state(saved),
          "damaged state": lambda: reader.restore_state("damaged"),
      }[name]()
      try:
        out = session.run(fetch)
      except tf.errors.OpError as e:
        return {"code": e.error_code}
      if name == "save":
        saved, out = out, None
      return {"value": None if out is None else plain(out)}

    for step in steps:
      if step[0] != "rest":
        results.append([step, run(*step)])
        continue
      failed = 0
      while failed < 4:
        result = run("read")
        failed += "code" in result
        results.append([["read"], result])
  return {
      "kind": kind, "options": options, "steps": results,
      "files": [None if c is None else c.hex() for c in contents],
  }


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "parity.json"), "w") as f:
  scenarios = {name: record(*s) for name, s in SCENARIOS.items()}
  f.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in scenarios.items()) + "\n}\n")
