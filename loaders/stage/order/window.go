package order

import (
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// WindowLocation is the location of a window: consecutive records of a file, and the begin
// and end in them, in units of the window.
type WindowLocation struct {
	tfrecord.Location // the first record
	Records           int64
	Begin, End        int64 // counted from the begin of the first record
}

// examplesOf returns how many records a file has, or windows of those in the range.
// before is how many records are in the files before it.
func examplesOf(s *spec.Spec, found *scan.Scan, file int, before int64) int64 {
	if s.Window == nil {
		return found.Count(file)
	}
	first, end := rangeIn(s, found.Count(file), before)
	units := (end - first) * RecordUnits(s)
	w, step := s.Window, windowStep(s)
	windows := int64(0)
	if units >= w.Min {
		windows = (units-w.Min)/step + 1
	}
	if w.Tail == spec.TailPad && windows*step < units {
		windows++ // the last one is filled up
	}
	return windows
}

// WindowAt returns the location of the window at a position.
func (o *Order) WindowAt(position int64) WindowLocation {
	at := o.At(position)
	file, window := at.File, at.Record
	s := o.config
	first, behind := rangeIn(s, o.records[file+1]-o.records[file], o.records[file])
	each := RecordUnits(s)
	begin := window * windowStep(s)
	end := min(begin+s.Window.Min, (behind-first)*each)
	from, to := begin/each, (end+each-1)/each
	return WindowLocation{Location: tfrecord.Location{File: file, Record: first + from}, Records: to - from, Begin: begin - from*each, End: end - from*each}
}

// rangeIn returns which of the n records of a file are in the range, given the number of
// records in the files before it.
func rangeIn(s *spec.Spec, n, before int64) (first, end int64) {
	first, end = min(max(s.Records.Start-before, 0), n), n
	if s.Records.End >= 0 {
		end = max(min(s.Records.End-before, n), first)
	}
	return first, end
}

// RecordUnits returns how many units of windows each record has if windows are read by
// their location.
func RecordUnits(s *spec.Spec) int64 {
	if s.Window.Unit == spec.Records {
		return 1
	}
	return s.Features[0].TensorShape()[0]
}

// WindowRecords returns how many records a window can touch at most if windows are read by
// their location.
func WindowRecords(s *spec.Spec) int64 {
	each := max(RecordUnits(s), 1)
	return (s.Window.Min+each-1)/each + 1
}

// windowStep returns how many units after a window the next one begins.
func windowStep(s *spec.Spec) int64 {
	if s.Window.Stride > 0 {
		return s.Window.Stride
	}
	return s.Window.Min
}

// WindowForm says which windows the records of files make, and which records are read. Each,
// Size and Step count units of the window.
type WindowForm struct {
	Size, Step int64 // units of a window, and from the begin of one to the next
	Each       int64 // units of a record, at least 1
	Pad        bool  // a shorter last window of a file counts, too

	// First and End bound the records that are read, counted over all files; End is -1 for all.
	First, End int64
}

// WindowFormOf returns the form of windows that are read by their place.
func WindowFormOf(s *spec.Spec) WindowForm {
	return WindowForm{s.Window.Min, windowStep(s), max(RecordUnits(s), 1), s.Window.Tail == spec.TailPad, s.Records.Start, s.Records.End}
}
