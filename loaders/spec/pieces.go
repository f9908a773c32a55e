package spec

import "millrace/loaders/chunks"

// Window is how sequence loaders cut windows.
type Window struct {
	Unit     Unit // the unit of Min, Max and Stride
	Min, Max int64
	Stride   int64  // 0 = from the end of one window to the start of the next
	Tail     string // "keep", "drop" or "pad"
}

// Unit is what the size of a window counts.
type Unit string

// The units of windows.
const (
	Positions Unit = "positions" // along the first axis of a file's joined records
	Records   Unit = "records"   // whole records, joined within the window
)

// The values of "tail": what becomes of a last window that the end of its file
// cuts short.
const (
	TailKeep = "keep" // it stays, shorter
	TailDrop = "drop" // it is dropped
	TailPad  = "pad"  // it is padded
)

// Least returns how many units a file must have to give a window.
func (w *Window) Least() int64 {
	if w.Tail == TailPad {
		return 1
	}
	return w.Min
}

// Shape returns the shape of windows over records of a shape. Windows of
// one size always have it, because a shorter rest of a file is dropped or padded.
func (w *Window) Shape(record []int64) []int64 {
	length := int64(-1)
	switch size := record[0]; {
	case w.Min != w.Max:
	case w.Unit == Positions:
		length = w.Min
	case size >= 0 && size <= MaxDimension/w.Min:
		length = size * w.Min
	}
	return append([]int64{length}, record[1:]...)
}

// Chunks says how a chunked_sequence cuts sequences into rows and joins rows to batches.
// It holds the arguments that apply in the config's mode.
type Chunks struct {
	Mode          string
	Cut           chunks.Cut
	Aligned       bool  // all sequences of a record must have one length
	MaxSeqs       int64 // most rows of a batch; 0: any number
	Order         chunks.Order
	Partition     int64       // number of parts of the data; an epoch takes one part; at least 1
	ShuffleSeqs   int64       // sequences buffered; 1: not shuffled
	ShuffleChunks int64       // rows buffered; 1: not shuffled
	Sequences     []Sequence  // the default input first
	Outputs       []RowOutput // outputs in the order of their tensors
	TagFeature    *Feature    // the feature that the output SeqTag has; nil: the location of the record
}

// Sequence is a tensor with a time axis, its first one.
type Sequence struct {
	Tensor      string
	Left, Right int64 // frames of context
}

// RowOutput is an automatic output of a chunked_sequence: a tensor with one value for
// each row of a batch, which identifies or describes the row.
type RowOutput struct {
	To   string
	Kind RowOutputKind
	Of   string // only for RowSize: the measured tensor
}

// RowOutputKind is the kind of an automatic output. Its values are the tensors' names; the
// name of a RowSize output also contains the measured tensor's name.
type RowOutputKind string

// The automatic outputs.
const (
	SeqTag     RowOutputKind = "seq_tag"     // string: the record's location, or one of its features
	SeqIdx     RowOutputKind = "seq_idx"     // int32: the position of the sequence in the epoch's order
	ChunkStart RowOutputKind = "chunk_start" // int32: the row's first frame in its sequence, without context
	RowSize    RowOutputKind = "/size0"      // int32: the row's frames, context counted, padding not
	EpochEnd   RowOutputKind = "epoch_end"   // bool: whether it is the last row of an epoch
)

// Output returns the automatic output of a name, or nil if there is none.
func (k *Chunks) Output(name string) *RowOutput {
	for i := range k.Outputs {
		if k.Outputs[i].To == name {
			return &k.Outputs[i]
		}
	}
	return nil
}
