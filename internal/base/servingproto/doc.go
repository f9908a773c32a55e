// Package servingproto holds Go messages for the protobufs of TensorFlow Serving:
// requests and answers, its config files, and the records of its warmup requests.
//
// They are generated and moved as in package tfproto.
package servingproto
