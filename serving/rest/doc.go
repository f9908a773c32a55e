// Package rest answers HTTP requests from models, in the form of TensorFlow
// Serving's RESTful API:
//
//	GET  /v1/models/NAME[/versions/N|/labels/L]            the states of versions
//	GET  /v1/models/NAME[/versions/N|/labels/L]/metadata   the signatures
//	POST /v1/models/NAME[/versions/N|/labels/L]:predict    {"instances": [...]} or {"inputs": ...}
//	POST /v1/models/NAME[/versions/N|/labels/L]:classify   {"examples": [...]}
//	POST /v1/models/NAME[/versions/N|/labels/L]:regress    {"examples": [...]}
//
// and in the form of KServe's Open Inference Protocol, version 2, with its binary tensors:
//
//	GET  /v2, /v2/health/live, /v2/health/ready
//	GET  /v2/models/NAME[/versions/V][/ready]
//	POST /v2/models/NAME[/versions/V]/infer                {"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}
//
// [Server] is an HTTP server that answers them, [NewHandler] a handler for a server of
// net/http. Bodies may be compressed by gzip, both ways. An error is answered as {"error":
// "..."} with the HTTP status that TensorFlow Serving gives its code.
package rest
