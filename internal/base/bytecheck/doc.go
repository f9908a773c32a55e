// Package bytecheck checks bytes that an operation of TensorFlow's turns into tensors,
// before TensorFlow reads them.
//
//	spec := bytecheck.Spec{Op: "ParseTensor", DType: dtype.Float}
//	at, err := spec.Check(elements) // nil: TensorFlow may read them
//
// # What the checks are for
//
// The question. A model may take bytes from a request and give them to an operation
// that believes what they claim. TensorFlow 2.21 then ends the process, or takes
// memory without bound:
//
//   - a TensorProto of dtype variant is built before ParseTensor compares its dtype
//     with the one that it was asked for, and metadata that lies ends the process;
//   - a TensorProto of 20 bytes may claim 2^40 elements: the last value repeats;
//   - a sparse tensor whose indices have another dtype than int64 fails a CHECK;
//   - a BMP of negative height, decoded to another dtype than uint8, allocates a
//     buffer of negative size;
//   - an image of 100 bytes may claim 400 million pixels, a gzip stream holds 1,000 times
//     its size, and a WAV of 44 bytes claims 32,767 channels.
//
// A check reads the claims alone, in bounded memory, and compares them with the bytes
// that are there. It refuses what is proven to do harm, and leaves other faults to
// TensorFlow: so nothing that TensorFlow reads well is refused.
//
// A reader that is stricter than TensorFlow's would refuse sound bytes, and one that
// reads them differently would prove nothing. So the reader of protobuf here follows
// the C++ parser: it drops the bits of a tag above 32, takes the last of two values,
// joins the dimensions of two shapes, and passes over fields that it does not know.
// What neither reads, TensorFlow would refuse too.
package bytecheck
