package dataset

import (
	"math"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// NativeWindowsOptions are the options of [NativeWindows].
type NativeWindowsOptions struct {
	Min, Max     int64 // sizes of windows, both ends included
	Stride       int64 // from one begin to the next; 0: each begins where the last ends
	KeepTail     bool  // a file's last window may be shorter, but not than Min
	WholeRecords bool  // sizes and Stride count records, not positions

	// Seed keys the draws of sizes. They are those of
	// [graph.StatelessRandomUniformIntAt] with the key Seed, of size Max-Min+1,
	// plus Min: windows k and k+1, k even, of a file have the two numbers of the
	// counter k/2, epoch<<32+file.
	Seed int64
	// FirstEpoch and FirstFile number the first epoch and file in the draws,
	// for datasets of one epoch or file. They are int64 scalars; not set: 0.
	FirstEpoch, FirstFile tfbridge.Output

	Epochs      int64 // passes over the files; 0: no end
	BatchSize   int64 // windows of one size in a batch; 0: windows one by one
	Drop        bool  // leave out a last batch of fewer windows
	BufferBytes int64 // to read at a time; default 256 KiB
	Threads     int64 // that read the records of one element, no more than there are processors; default 1
}

// NativeWindows returns windows of the sequences in files of Examples: the
// records of a file are joined along their first axis, and windows cut from
// that. Features are numbers with a first axis, as long in one as in the other
// unless whole records are counted. Records go from the file's bytes straight
// into the windows wherever these do not overlap.
//
// Files and counts are as for [NativeExamples], but all counts must be known.
// No window crosses files; what no window takes is read and checked as well.
func NativeWindows(s *graph.Scope, filenames, counts tfbridge.Output, features []NativeFeature, o *NativeWindowsOptions) *Dataset {
	const op = opWindows
	inRange(s, op+": smallest window", o.Min, 1, maxPaddedDim)
	inRange(s, op+": largest window", o.Max, o.Min, maxPaddedDim)
	inRange(s, op+": stride", o.Stride, 0, math.MaxInt64/4)
	inRange(s, op+": epochs", o.Epochs, 0, math.MaxInt64)
	inRange(s, op+": batch size", o.BatchSize, 0, maxPaddedDim)
	inRange(s, op+": buffer", o.BufferBytes, 0, maxNativeBuffer)
	inRange(s, op+": threads", o.Threads, 0, maxNativeThreads)
	if o.BatchSize > 0 && o.Min != o.Max {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "windows of %d to %d have not one size and make no batch", o.Min, o.Max))
	}
	all := nativeAttrs(s, op, features)
	specs, records := o.specs(s, op, features)
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	all["record_shapes"], all["keep_tail"], all["whole_records"] = records, o.KeepTail, o.WholeRecords
	epochs, buffer := o.Epochs, o.BufferBytes
	if epochs == 0 {
		epochs = -1
	}
	if buffer == 0 {
		buffer = defaultBuffer
	}
	return add(s, op, specs, all, filenames, counts, s.Const([]int64{o.Min, o.Max, o.Stride}), s.Const(o.Seed),
		o.first(s), s.Const(epochs), s.Const(o.BatchSize), s.Const(o.Drop), s.Const(buffer), s.Const(max(o.Threads, 1)))
}

// maxNativeThreads bounds the threads of a native dataset.
const maxNativeThreads = 1000

// first returns the numbers of the first epoch and file.
func (o *NativeWindowsOptions) first(s *graph.Scope) tfbridge.Output {
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

// specs returns the specs of windows or their batches, and the shapes of
// records with one more axis in front.
func (o *NativeWindowsOptions) specs(s *graph.Scope, op string, features []NativeFeature) (windows []graph.Spec, records []tfbridge.Shape) {
	for i := range features {
		f := &features[i]
		if f.Kind == NativeBytes || len(f.Shape) == 0 {
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature %q: no numbers along a first axis", f.Key))
			return nil, nil
		}
		length := int64(-1)
		switch {
		case o.Min == o.Max && o.WholeRecords:
			length = o.Min * f.Shape[0]
		case o.Min == o.Max:
			length = o.Min
		}
		dims := append([]int64{length}, f.Shape[1:]...)
		if o.BatchSize > 0 {
			batch := int64(-1)
			if o.Drop || o.Epochs == 0 {
				batch = o.BatchSize
			}
			dims = append([]int64{batch}, dims...)
		}
		record := f.spec(-1)
		windows = append(windows, graph.Spec{DType: record.DType, Shape: tfbridge.MakeShape(dims...)})
		records = append(records, record.Shape)
	}
	return windows, records
}
