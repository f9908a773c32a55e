"""A model server as people write it in Python: FastAPI and uvicorn.

    MODEL=DIR BATCHING=0|1 python -m uvicorn --app-dir bench bench_python_serving:app ...

It answers TensorFlow Serving's row format for a signature with the input "x" and
the output "logits". With BATCHING=1 the requests that wait while the model runs are
joined with NumPy, run together, and split. Both ways are tuned by hand: JSON by
orjson, one thread for the operations of each process, no log.
"""

import asyncio
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import fastapi
import numpy as np
import orjson
import tensorflow as tf

MAX_BATCH = 64

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
loaded = tf.saved_model.load(os.environ["MODEL"])  # must stay referenced
signature = loaded.signatures["serving_default"]


def run(x):
    return signature(x=tf.constant(x))["logits"].numpy()


class Batcher:
    """Runs the rows that wait together, while others gather."""

    def __init__(self):
        self.waiting = []
        self.arrived = asyncio.Event()
        self.task = asyncio.create_task(self.work())

    async def predict(self, x):
        done = asyncio.get_running_loop().create_future()
        self.waiting.append((x, done))
        self.arrived.set()
        return await done

    async def work(self):
        loop = asyncio.get_running_loop()
        while True:
            await self.arrived.wait()
            batch, self.waiting = self.waiting[:MAX_BATCH], self.waiting[MAX_BATCH:]
            if not self.waiting:
                self.arrived.clear()
            x = np.concatenate([x for x, _ in batch])
            y = await loop.run_in_executor(None, run, x)
            start = 0
            for x, done in batch:
                done.set_result(y[start : start + len(x)])
                start += len(x)


app = fastapi.FastAPI()
batcher = None


@app.post("/v1/models/{name}:predict")
async def predict(name: str, request: fastapi.Request):
    global batcher
    x = np.asarray(orjson.loads(await request.body())["instances"], np.float32)
    if os.environ["BATCHING"] == "1":
        if batcher is None:
            batcher = Batcher()
        y = await batcher.predict(x)
    else:
        y = run(x)
    answer = orjson.dumps({"predictions": y}, option=orjson.OPT_SERIALIZE_NUMPY)
    return fastapi.Response(answer, media_type="application/json")
