package dataset

import (
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// TextLinesOptions are the options of [TextLines].
type TextLinesOptions struct {
	Compression string // "" none, "GZIP" or "ZLIB"
	BufferBytes int64  // bytes per read; default 256 KiB
}

// TextLines returns the lines of files, each a string without its line feed or CR LF.
// The filenames are a scalar or a vector of strings; files are read one after the
// other. It wraps TextLineDataset.
func TextLines(s *graph.Scope, filenames tfbridge.Output, o *TextLinesOptions) *Dataset {
	if o == nil {
		o = &TextLinesOptions{}
	}
	compression(s, "TextLines", o.Compression)
	buffer := readBuffer(s, "TextLines", o.BufferBytes)
	return made(s, records(), s.Op1("TextLineDataset", nil, filenames, s.Const(o.Compression), buffer))
}

// FixedLengthRecordsOptions are the options of [FixedLengthRecords].
type FixedLengthRecordsOptions struct {
	HeaderBytes int64  // bytes to skip at the start of every file
	FooterBytes int64  // bytes to skip at the end of every file
	Compression string // "" none, "GZIP" or "ZLIB"
	BufferBytes int64  // bytes per read; default 256 KiB
}

// FixedLengthRecords returns the records of n bytes in files, each a string. The
// filenames are a scalar or a vector of strings; files are read one after the other. A
// file whose size is not a multiple of n is an error of code InvalidArgument: when the
// file is opened, or at its end if it is compressed. It wraps
// FixedLengthRecordDatasetV2.
func FixedLengthRecords(s *graph.Scope, filenames tfbridge.Output, n int64, o *FixedLengthRecordsOptions) *Dataset {
	if o == nil {
		o = &FixedLengthRecordsOptions{}
	}
	const what = "FixedLengthRecords"
	limit.Between(1, limit.ReadBuffer).Check(s, what+": record", n)
	limit.Between(0, math.MaxInt64).Check(s, what+": header", o.HeaderBytes)
	limit.Between(0, math.MaxInt64).Check(s, what+": footer", o.FooterBytes)
	compression(s, what, o.Compression)
	buffer := readBuffer(s, what, o.BufferBytes)
	return made(s, records(), s.Op1("FixedLengthRecordDatasetV2", nil, filenames,
		s.Const(o.HeaderBytes), s.Const(n), s.Const(o.FooterBytes), buffer, s.Const(o.Compression)))
}

// records returns the specs of one string.
func records() []graph.Spec {
	return []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}
}

// FilesOptions are the options of [Files].
type FilesOptions struct {
	Shuffle     bool  // random order, another one in every repetition; default by name
	Seed, Seed2 int64 // seeds of Shuffle, see [ShuffleOptions]
}

// Files returns the names of the files that patterns such as "data/*.csv"
// match, each a string. The patterns are a scalar or a vector of strings; a
// name without *, ? and [ matches itself. They are matched each time an iterator is
// initialized, and then it is an error of code InvalidArgument if there are no
// files. In the function of a dataset constant patterns are matched once in a
// session. "**" is not recursive. It wraps MatchingFiles and TensorSliceDataset.
func Files(s *graph.Scope, patterns tfbridge.Output, o *FilesOptions) *Dataset {
	if o == nil {
		o = &FilesOptions{}
	}
	names := s.Op1("MatchingFiles", nil, unfolded(s, patterns))
	size := graph.Size(s, names)
	some := graph.Assert(s, graph.Greater(s, size, s.Const(int64(0))), []tfbridge.Output{s.Const("no files match"), patterns}, nil)
	d := FromSlices(s, graph.Identity(s.WithControlDependencies(some), names))
	if !o.Shuffle {
		return d
	}
	buffer := graph.Maximum(s, size, s.Const(int64(1)))
	return d.shuffled(buffer, &ShuffleOptions{Seed: o.Seed, Seed2: o.Seed2})
}

// unfolded returns strings that TensorFlow does not treat as constants. It would
// otherwise compute everything that depends on constants alone only once in a session,
// even if that reads the file system. So we append zero characters of the current time,
// which is not constant. A function that uses the time could not be saved, so in
// functions the strings stay as they are.
func unfolded(s *graph.Scope, text tfbridge.Output) tfbridge.Output {
	if s.InFunction() {
		return text
	}
	now := graph.AsString(s, s.Op1("Timestamp", nil))
	nothing := graph.Substr(s, now, s.Const(int64(0)), s.Const(int64(0)))
	return graph.StringJoin(s, "", text, nothing)
}

// RandomOptions are the options of [Random].
type RandomOptions struct {
	Seed, Seed2 int64 // both 0: other numbers in every process
	Vary        bool  // other numbers in every repetition; default the same ones
}

// Random returns an endless dataset of random int64 numbers from 0 to
// 1<<32-1. The same seeds give the same numbers in every process. Python's
// seed=n is Seed: [DefaultSeed], Seed2: n. It wraps RandomDataset and
// RandomDatasetV2.
func Random(s *graph.Scope, o *RandomOptions) *Dataset {
	if o == nil {
		o = &RandomOptions{}
	}
	specs := []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}
	if !o.Vary {
		return add(s, "RandomDataset", specs, nil, s.Const(o.Seed), s.Const(o.Seed2))
	}
	return add(s, "RandomDatasetV2", specs, attrs{"rerandomize_each_iteration": true},
		s.Const(o.Seed), s.Const(o.Seed2), s.Op1("DummySeedGenerator", nil))
}

// DefaultSeed is the first of the two seeds where Python is given one and there
// is no global seed: seed=n in Python is Seed: DefaultSeed, Seed2: n here.
const DefaultSeed = 87654321

// Counter returns the endless dataset of the int64 numbers from start on. It
// wraps RangeDataset.
func Counter(s *graph.Scope, start, step int64) *Dataset {
	stop := int64(math.MaxInt64)
	if step < 0 {
		stop = math.MinInt64
	}
	return Range(s, start, stop, step)
}

// GenerateFunc computes from a state the next state, the components of an element, and
// a scalar bool: whether there is such an element.
type GenerateFunc func(s *graph.Scope, state []tfbridge.Output) (next, components []tfbridge.Output, more tfbridge.Output)

// Generate returns the elements that a function computes from a state, which it passes
// to the next call, until there are no more. Its iterators can be saved, unlike those
// of a GeneratorDataset. It wraps ScanDataset and TakeWhileDataset.
func Generate(s *graph.Scope, name string, initial []tfbridge.Output, fn GenerateFunc) *Dataset {
	if fn == nil {
		s.UpdateErr("Generate", millrace.Errorf(millrace.ErrModel, "function %q is nil", name))
	}
	d := Counter(s, 0, 1).Scan(name, initial, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		next, components, more := fn(s, state)
		return next, append(append([]tfbridge.Output{}, components...), more)
	}).TakeWhile(name+"_more", func(_ *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return args[len(args)-1]
	})
	return d.Map(name+"_element", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return args[:len(args)-1]
	}, nil)
}
