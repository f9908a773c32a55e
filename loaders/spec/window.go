package spec

// Window is how sequence loaders cut windows.
type Window struct {
	Unit     Unit // of Min, Max and Stride
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
	TailDrop = "drop" // it is left out
	TailPad  = "pad"  // it is filled up
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
