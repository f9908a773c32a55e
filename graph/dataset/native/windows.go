package native

import (
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// WindowsOptions are the options of [Windows].
type WindowsOptions struct {
	Min, Max     int64 // sizes of windows, both ends included
	Stride       int64 // distance between the starts of consecutive windows; 0: each begins where the one before ends
	KeepTail     bool  // a file's last window may be shorter, but not shorter than Min
	PadTail      bool  // a file's last window of at least one unit is filled up with 0
	WholeRecords bool  // sizes and Stride count records, not positions

	// Seed keys the draws of sizes. They equal [graph.StatelessRandomUniformIntAt] with
	// the key Seed, of size Max-Min+1, plus Min: windows k and k+1, k even, of a file
	// have the two numbers of the counter k/2, epoch<<32+file.
	Seed int64
	// FirstEpoch and FirstFile number the first epoch and file in the draws,
	// for datasets of one epoch or file. They are int64 scalars; not set: 0.
	FirstEpoch, FirstFile tfbridge.Output

	Epochs      int64           // passes over the files; 0: endless
	BatchSize   int64           // windows of one size in a batch; 0: windows one by one
	Joined      bool            // windows of a batch are concatenated; a last component, int64, has the start of each and the end of the last, in units
	Size        tfbridge.Output // an int64 scalar that replaces BatchSize where that is not 0
	Drop        bool            // drop a last batch of fewer windows
	Compression string          // "" none, "GZIP" or "ZLIB"
	BufferBytes int64           // bytes per read; default 256 KiB
	Threads     int64           // threads that read the records of one element, at most one per processor; default 1
}

// Windows returns windows of the sequences in files of Examples: the records of a file
// are joined along their first axis, and windows cut from that. Features are numeric
// and have a first axis, which has the same length in all features of a record unless
// whole records are counted. Records go from the file's bytes straight into the windows
// wherever these do not overlap.
//
// Files and counts are as for [Examples], but all counts must be known. No window
// crosses files. Positions that no window contains are read and checked as well.
func Windows(s *graph.Scope, filenames, counts tfbridge.Output, features []Feature, o *WindowsOptions) *dataset.Dataset {
	const op = opWindows
	if o == nil {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "the WindowsOptions are nil, which have to give Min and Max"))
		return none(s)
	}
	limit.Between(1, limit.PaddedDimension).Check(s, op+": smallest window", o.Min)
	limit.Between(o.Min, limit.PaddedDimension).Check(s, op+": largest window", o.Max)
	limit.Between(0, math.MaxInt64/4).Check(s, op+": stride", o.Stride)
	limit.Between(0, math.MaxInt64).Check(s, op+": epochs", o.Epochs)
	limit.Between(0, limit.PaddedDimension).Check(s, op+": batch size", o.BatchSize)
	limit.Between(0, maxBuffer).Check(s, op+": buffer", o.BufferBytes)
	limit.Between(0, maxThreads).Check(s, op+": threads", o.Threads)
	if o.Joined && o.BatchSize == 0 {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "joined windows need a batch size"))
	}
	if o.BatchSize > 0 && !o.Joined && o.Min != o.Max {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "windows of %d to %d have not one size and make no batch", o.Min, o.Max))
	}
	all := decodeAttrs(s, op, features)
	specs, records := o.specs(s, op, features)
	if s.Err() != nil {
		return none(s)
	}
	all["compression"] = compression(s, op, o.Compression)
	all["record_types"], all["record_shapes"] = graph.DTypes(records), graph.Shapes(records)
	all["keep_tail"], all["pad_tail"], all["whole_records"], all["joined"] = o.KeepTail, o.PadTail, o.WholeRecords, o.Joined
	epochs, buffer := o.Epochs, o.BufferBytes
	if epochs == 0 {
		epochs = -1
	}
	if buffer == 0 {
		buffer = defaultBuffer
	}
	return add(s, op, specs, all, filenames, counts, s.Const([]int64{o.Min, o.Max, o.Stride}), s.Const(o.Seed),
		o.first(s), s.Const(epochs), batchSize(s, o.BatchSize, o.Size), s.Const(o.Drop), s.Const(buffer), s.Const(max(o.Threads, 1)))
}

// batchSize returns an output that is the size of a batch.
func batchSize(s *graph.Scope, size int64, output tfbridge.Output) tfbridge.Output {
	if output.Op != nil {
		return output
	}
	return s.Const(size)
}

// maxThreads is the maximum number of threads of a native dataset.
const maxThreads = 1000

// first returns the indices of the first epoch and file.
func (o *WindowsOptions) first(s *graph.Scope) tfbridge.Output {
	if o.FirstEpoch.Op == nil && o.FirstFile.Op == nil {
		return s.Const([]int64{0, 0})
	}
	numbers := []tfbridge.Output{o.FirstEpoch, o.FirstFile}
	for i := range numbers {
		if numbers[i].Op == nil {
			numbers[i] = s.Const(int64(0))
		}
	}
	return graph.Pack(s, numbers, 0)
}

// specs returns the specs of windows or their batches, and the specs of records with
// one more axis in front.
func (o *WindowsOptions) specs(s *graph.Scope, op string, features []Feature) (windows, records []graph.Spec) {
	for i := range features {
		f := &features[i]
		if f.Kind == Bytes || len(f.Shape) == 0 {
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature %q: no numbers along a first axis", f.Key))
			return nil, nil
		}
		length := int64(-1)
		switch {
		case o.Joined:
		case o.Min == o.Max && o.WholeRecords:
			length = o.Min * f.Shape[0]
		case o.Min == o.Max:
			length = o.Min
		}
		dims := append([]int64{length}, f.Shape[1:]...)
		if o.BatchSize > 0 && !o.Joined {
			batch := int64(-1)
			if (o.Drop || o.Epochs == 0) && o.Size.Op == nil {
				batch = o.BatchSize
			}
			dims = append([]int64{batch}, dims...)
		}
		record := f.spec(-1)
		windows = append(windows, graph.Spec{DType: record.DType, Shape: tfbridge.MakeShape(dims...)})
		records = append(records, record)
	}
	if o.Joined {
		windows = append(windows, graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)})
	}
	return windows, records
}
