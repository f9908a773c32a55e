package native

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// ExamplesOptions are the options of [Examples].
type ExamplesOptions struct {
	BatchSize   int64           // default 1
	Size        tfbridge.Output // an int64 scalar that replaces BatchSize
	Epochs      int64           // passes over the files; 0: endless
	Drop        bool            // drop a last batch of fewer examples
	Compression string          // "" none, "GZIP" or "ZLIB"
	BufferBytes int64           // bytes per read; default 256 KiB
	// Threads is how many compressed files are inflated at the same time, ahead of the
	// batches; default 1. Their order is that of the names.
	Threads int64
	// Check decides which bad records are skipped. Nil: the first one is a failure.
	// With a Check the number of batches is unknown.
	Check Check
	// Skip lists bad records to skip; it excludes Check. The number of batches is
	// unknown then, too.
	Skip []Skip
}

// Examples returns batches of the Examples in files, the features as
// components. It is TFRecords, Repeat, Batch and ParseExample in one, and many
// times as fast: records go from the file's bytes straight into the batch.
//
// Filenames and counts are as for [Records]. A fault in a file or record is a
// *millrace.Error with its file, record, offset and feature, and is sticky. An epoch
// without records ends the dataset.
func Examples(s *graph.Scope, filenames, counts tfbridge.Output, features []Feature, o *ExamplesOptions) *dataset.Dataset {
	check := o.check()
	op := check.op(opExampleBatch, opCheckedExamples)
	static, inputs := o.inputs(s, op)
	inputs = append([]tfbridge.Input{filenames, counts}, inputs...)
	more := o.attrs(s, op)
	return addDecoder(s, op, features, static, more, append(inputs, check.add(s, more)...)...)
}

// check returns the check, nil if there is none.
func (o *ExamplesOptions) check() Check {
	if o == nil {
		return nil
	}
	return o.Check
}

// inputs returns the inputs of an operation that come after the files, and the number
// of rows that all batches have, -1 if it is unknown.
func (o *ExamplesOptions) inputs(s *graph.Scope, op string) (static int64, inputs []tfbridge.Input) {
	if o == nil {
		o = &ExamplesOptions{}
	}
	size, epochs, buffer := max(o.BatchSize, 1), o.Epochs, o.BufferBytes
	if epochs == 0 {
		epochs = -1
	}
	if buffer == 0 {
		buffer = defaultBuffer
	}
	limit.Between(0, math.MaxInt64).Check(s, op+": batch size", o.BatchSize)
	limit.Between(0, math.MaxInt64).Check(s, op+": epochs", o.Epochs)
	limit.Between(0, maxBuffer).Check(s, op+": buffer", o.BufferBytes)
	static = -1
	if (o.Drop || epochs < 0) && o.Size.Op == nil {
		static = size
	}
	return static, []tfbridge.Input{batchSize(s, size, o.Size), s.Const(epochs), s.Const(o.Drop), s.Const(buffer)}
}

// attrs returns the attributes of an operation that reads files.
func (o *ExamplesOptions) attrs(s *graph.Scope, op string) attrs {
	if o == nil {
		o = &ExamplesOptions{}
	}
	limit.Between(0, math.MaxInt64).Check(s, op+": threads", o.Threads)
	all := attrs{"compression": compression(s, op, o.Compression), "threads": max(o.Threads, 1)}
	addSkips(s, op, o.Skip, o.Check, all)
	return all
}

// The default and the maximum number of bytes that a native dataset reads at a time.
const (
	defaultBuffer = 256 << 10
	maxBuffer     = 1 << 30
)

// ParseOptions are the options of [Parse] and [ParseSequences].
type ParseOptions struct {
	Drop bool // drop a last batch of fewer records
	DecodeOptions
}

// Parse returns batches of n of the serialized Examples that d yields, the
// features as components: Batch and ParseExample in one. After a failure every
// further element is the same failure.
func Parse(d *dataset.Dataset, n int64, features []Feature, o *ParseOptions) *dataset.Dataset {
	const op = opParseBatch
	static, inputs := o.inputs(d, op, n)
	return addDecoder(d.Scope(), op, features, static, o.decode().attrs(), inputs...)
}

// inputs returns the inputs of an operation that parses the records of d, and the
// number of rows that all batches have, -1 if it is unknown.
func (o *ParseOptions) inputs(d *dataset.Dataset, op string, n int64) (static int64, inputs []tfbridge.Input) {
	s := d.Scope()
	limit.Between(1, math.MaxInt64).Check(s, op+": batch size", n)
	static = -1
	drop := o != nil && o.Drop
	if drop {
		static = n
	}
	return static, []tfbridge.Input{d.Variant(), s.Const(n), s.Const(drop), o.decode().files(s)}
}

// decode returns the options of decoding.
func (o *ParseOptions) decode() *DecodeOptions {
	if o == nil {
		return nil
	}
	return &o.DecodeOptions
}
