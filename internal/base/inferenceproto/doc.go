// Package inferenceproto holds Go messages for the protobufs of KServe's Open Inference
// Protocol, version 2.
//
// They are generated from gen/protogen/inference.txtpb, and moved to another proto
// package as in package tfproto.
package inferenceproto
