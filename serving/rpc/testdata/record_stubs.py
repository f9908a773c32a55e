"""Records what the stubs of tensorflow-serving-api 2.21 send, and what they get.

    millrace serve --model examples=testdata/models/examples
    python record_stubs.py localhost:8500 > stubs.json

Needs tensorflow-cpu 2.21 and tensorflow-serving-api 2.21. Each line of the
answer was read by the stub before it was written down.
"""

import base64
import json
import sys

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2,
                                     model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc, regression_pb2)

channel = grpc.insecure_channel(sys.argv[1])
prediction = prediction_service_pb2_grpc.PredictionServiceStub(channel)
model = model_service_pb2_grpc.ModelServiceStub(channel)
recorded = []


def record(service, method, request):
    entry = {"method": f"tensorflow.serving.{service}/{method}", "request": base64.b64encode(request.SerializeToString(deterministic=True)).decode()}
    try:
        answer = getattr(prediction if service == "PredictionService" else model, method)(request, 60)
        entry["answer"] = base64.b64encode(answer.SerializeToString(deterministic=True)).decode()
    except grpc.RpcError as e:
        entry["code"] = e.code().value[0]
    recorded.append(entry)


def predict(value, version=None):
    q = predict_pb2.PredictRequest()
    q.model_spec.name = "examples"
    if version:
        q.model_spec.version.value = version
    q.inputs["x"].CopyFrom(tf.make_tensor_proto(value))
    return q


def examples(request, signature):
    request.model_spec.name, request.model_spec.signature_name = "examples", signature
    for x in (1.5, -2.0):
        request.input.example_list.examples.add().features.feature["x"].float_list.value.append(x)
    return request


record("PredictionService", "Predict", predict([1.0, 2.5, float("inf")]))
record("PredictionService", "Predict", predict([1.0], version=9))
record("PredictionService", "Predict", predict(["a"]))
record("PredictionService", "Classify", examples(classification_pb2.ClassificationRequest(), "classify"))
record("PredictionService", "Regress", examples(regression_pb2.RegressionRequest(), "regress"))
both = inference_pb2.MultiInferenceRequest()
both.input.CopyFrom(examples(regression_pb2.RegressionRequest(), "").input)
for name in ("classify", "regress"):
    task = both.tasks.add(method_name="tensorflow/serving/" + name)
    task.model_spec.name, task.model_spec.signature_name = "examples", name
record("PredictionService", "MultiInference", both)
metadata = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["other"])
metadata.model_spec.name = "examples"
record("PredictionService", "GetModelMetadata", metadata)
status = get_model_status_pb2.GetModelStatusRequest()
status.model_spec.name = "examples"
record("ModelService", "GetModelStatus", status)
json.dump(recorded, sys.stdout, indent=1)
print()
