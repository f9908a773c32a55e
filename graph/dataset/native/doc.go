// Package native adds Millrace's own dataset operations to a graph. They read, check
// and decode records straight into the memory of a batch, in C++ (cgo/datasets), many
// times as fast as the operations of tf.data that they replace. What they return is a
// [dataset.Dataset] like any other: it can be mapped, prefetched, saved and restored.
//
//	if path, err := native.Library(); err != nil || path == "" {
//		return err // no library was built: use dataset.TFRecords and Dataset.ParseExample
//	}
//	features := []native.Feature{
//		{Key: "image", Kind: native.Raw, DType: tfbridge.Uint8, Shape: []int64{28, 28}},
//		{Key: "label", Kind: native.Int},
//	}
//	batches := native.Examples(s, s.Const(paths), s.Const(counts), features, &native.ExamplesOptions{BatchSize: 32})
//
// [Examples] reads files of Examples whose features have one size, [Sequences]
// files of SequenceExamples, or of Examples with features of any number of values;
// [Parse] and [ParseSequences] decode the records of another dataset;
// [Windows] cuts windows from sequences that span the records of a file.
package native
