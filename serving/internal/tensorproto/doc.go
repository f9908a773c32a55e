// Package tensorproto converts tensors to and from TensorProto messages, as
// TensorFlow does.
package tensorproto
