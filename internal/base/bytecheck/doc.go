// Package bytecheck checks bytes that an operation of TensorFlow decodes to tensors,
// before TensorFlow reads them.
//
//	spec := bytecheck.Spec{Op: "ParseTensor", DType: dtype.Float}
//	at, err := spec.Check(elements) // nil: TensorFlow may read them
//
// # Why these checks exist
//
// The question. A model may pass bytes of a request to an operation that trusts the
// sizes in them. TensorFlow 2.21 then ends the process, or takes memory without bound:
//
//   - a TensorProto of dtype variant is built before ParseTensor compares its dtype
//     with the requested one, and inconsistent metadata ends the process;
//   - a TensorProto of 20 bytes may claim 2^40 elements: the last value repeats;
//   - a sparse tensor whose indices have another dtype than int64 fails a CHECK;
//   - a BMP of negative height, decoded to another dtype than uint8, allocates a
//     buffer of negative size;
//   - an image of 100 bytes may claim 400 million pixels, a gzip stream holds 1,000 times
//     its size, and a WAV of 44 bytes claims 32,767 channels.
//
// A check only reads the claimed sizes, in bounded memory, and compares them with the
// actual bytes. It refuses bytes that provably do harm, and leaves other faults to
// TensorFlow, so valid input is never refused.
//
// A parser that is stricter than TensorFlow's would refuse valid bytes, and a parser
// that reads them differently would prove nothing. So the protobuf parser here follows
// the C++ parser: it drops the bits of a tag above 32, uses the last of two values,
// concatenates the dimensions of two shapes, and skips unknown fields. Bytes that it
// cannot parse are refused by TensorFlow too.
package bytecheck
