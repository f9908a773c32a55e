package dataset

import (
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/internal/oplibrary"
	"millrace/internal/runtimedir"
	"millrace/tfbridge"
)

// FindNative returns where the library of our own dataset operations is, and
// "" if there is none for the runtime that would be opened. It opens nothing.
func FindNative(o *tfbridge.RuntimeOptions) string {
	dir, err := tfbridge.FindRuntime(o)
	if err != nil {
		return ""
	}
	return oplibrary.Find(dir, runtimedir.Pinned().Version)
}

// Native returns the library of our own dataset operations, which the
// functions below that have Native in their names need: it is loaded when the
// runtime is opened. It is "" where there is none for this runtime: then there
// are only TensorFlow's operations.
func Native() (path string, err error) {
	r, err := tfbridge.Open(nil)
	if err != nil {
		return "", err
	}
	return r.Operations()
}

// The types of our operations.
const (
	opExampleBatch = "MillraceExampleBatchDataset"
	opParseBatch   = "MillraceParseBatchDataset"
	opWindows      = "MillraceWindowsDataset"

	opSequenceBatch      = "MillraceSequenceBatchDataset"
	opParseSequenceBatch = "MillraceParseSequenceBatchDataset"
)

// NativeKind is how records store a feature that a native dataset decodes.
type NativeKind string

// The kinds of features.
const (
	NativeInt   NativeKind = "int"   // an int64 list
	NativeFloat NativeKind = "float" // a float list
	NativeBytes NativeKind = "bytes" // a bytes list
	NativeRaw   NativeKind = "raw"   // a bytes list that holds numbers
)

// NativeFeature is a feature that a native dataset decodes. All are required.
type NativeFeature struct {
	Key       string
	Kind      NativeKind
	DType     tfbridge.DataType // of raw numbers; the other kinds have one type
	Shape     []int64           // of one record, or of one element of a list; all of it known
	Strings   int64             // of raw numbers, how many byte strings hold them; default 1
	BigEndian bool              // raw numbers have their most significant byte first
	List      bool              // a feature list, of SequenceExamples alone
}

// spec returns the feature's type and shape in batches of n.
func (f *NativeFeature) spec(n int64) graph.Spec {
	p := graph.Spec{DType: f.DType, Shape: tfbridge.MakeShape(append([]int64{n}, f.Shape...)...)}
	switch f.Kind {
	case NativeInt:
		p.DType = tfbridge.Int64
	case NativeFloat:
		p.DType = tfbridge.Float
	case NativeBytes:
		p.DType = tfbridge.String
	}
	return p
}

// stored returns how many values, of raw numbers byte strings, a record stores.
func (f *NativeFeature) stored() int64 {
	if f.Kind == NativeRaw {
		return max(f.Strings, 1)
	}
	n := int64(1)
	for _, d := range f.Shape {
		n *= d
	}
	return n
}

// NativeExamplesOptions are the options of [NativeExamples].
type NativeExamplesOptions struct {
	BatchSize   int64 // default 1
	Epochs      int64 // passes over the files; 0: no end
	Drop        bool  // leave out a last batch of fewer examples
	BufferBytes int64 // to read at a time; default 256 KiB
}

// NativeExamples returns batches of the Examples in files, the features as
// components. It is TFRecords, Repeat, Batch and ParseExample in one, and many
// times as fast: records go from the file's bytes straight into the batch.
//
// The files are local and not compressed, read one after the other. Counts are
// the numbers of their records, -1 where it is not known: another number is an
// error of code FailedPrecondition, so that no file ends early unseen. What is
// wrong with a file or record is an error that names file, record, offset and
// feature; asking again gives the same error.
func NativeExamples(s *graph.Scope, filenames, counts tfbridge.Output, features []NativeFeature, o *NativeExamplesOptions) *Dataset {
	const op = opExampleBatch
	static, inputs := o.inputs(s, op)
	inputs = append([]tfbridge.Input{filenames, counts}, inputs...)
	return addNative(s, op, features, static, inputs...)
}

// inputs returns the inputs of an operation that come after the files, and the
// number of rows that all batches have, -1 if that is not known.
func (o *NativeExamplesOptions) inputs(s *graph.Scope, op string) (static int64, inputs []tfbridge.Input) {
	if o == nil {
		o = &NativeExamplesOptions{}
	}
	size, epochs, buffer := max(o.BatchSize, 1), o.Epochs, o.BufferBytes
	if epochs == 0 {
		epochs = -1
	}
	if buffer == 0 {
		buffer = defaultBuffer
	}
	inRange(s, op+": batch size", o.BatchSize, 0, math.MaxInt64)
	inRange(s, op+": epochs", o.Epochs, 0, math.MaxInt64)
	inRange(s, op+": buffer", o.BufferBytes, 0, maxNativeBuffer)
	static = -1
	if o.Drop || epochs < 0 {
		static = size
	}
	return static, []tfbridge.Input{s.Const(size), s.Const(epochs), s.Const(o.Drop), s.Const(buffer)}
}

// maxNativeBuffer bounds what a native dataset reads at a time.
const maxNativeBuffer = 1 << 30

// NativeParse returns batches of n of the serialized Examples that d yields,
// the features as components: Batch and ParseExample in one. After a failure
// every further element is the same failure.
func (d *Dataset) NativeParse(n int64, features []NativeFeature, drop bool) *Dataset {
	d = d.orNone()
	const op = opParseBatch
	inRange(d.scope, op+": batch size", n, 1, math.MaxInt64)
	static := int64(-1)
	if drop {
		static = n
	}
	return addNative(d.scope, op, features, static, d.variant, d.scope.Const(n), d.scope.Const(drop))
}

// addNative adds a dataset operation that decodes features to batches.
func addNative(s *graph.Scope, op string, features []NativeFeature, batch int64, inputs ...tfbridge.Input) *Dataset {
	attrs := nativeAttrs(s, op, features)
	var specs []graph.Spec
	for i := range features {
		if features[i].List {
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature list %q: Examples have none", features[i].Key))
		}
		specs = append(specs, features[i].spec(batch))
	}
	return add(s, op, specs, attrs, inputs...)
}

// nativeAttrs returns the attributes that say what to decode.
func nativeAttrs(s *graph.Scope, op string, features []NativeFeature) attrs {
	var keys, kinds []string
	var stored []int64
	var big []bool
	for _, f := range features {
		switch {
		case slices.Contains(keys, f.Key):
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature %q is to be decoded twice", f.Key))
		case slices.ContainsFunc(f.Shape, func(d int64) bool { return d < 0 || d > maxPaddedDim }):
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature %q: the shape %v is not known in advance", f.Key, f.Shape))
		}
		keys, kinds = append(keys, f.Key), append(kinds, string(f.Kind))
		stored, big = append(stored, f.stored()), append(big, f.BigEndian)
	}
	return attrs{"keys": keys, "kinds": kinds, "values": stored, "big_endian": big}
}
