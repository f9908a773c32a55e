// Package inferenceproto holds Go messages for the protobufs of KServe's Open Inference
// Protocol, version 2.
//
// They are made from gen/protogen/inference.txtpb, and moved as the messages of package tfproto
// are.
package inferenceproto
