package run

import (
	"encoding/binary"

	"millrace/graph/steps"
	"millrace/loaders/quarantine"
	"millrace/observe"
	"millrace/tfrecord"
)

// leftOut is the part of a saved state with the records that the run had left out: for
// each file its number, the number of records, and the difference of each ordinal to
// the previous one, all as varints. So a record takes one byte if fewer than 128
// records lie between it and the previous one, and two bytes below 16,384.
type leftOut []byte

// mostOrdinal is larger than any file's number of records, and small enough that sums
// of it do not overflow.
const mostOrdinal = 1 << 50

func encodeLeftOut(locations []tfrecord.Location) (list leftOut) {
	for len(locations) > 0 {
		file, n, next := locations[0].File, 0, int64(0)
		for n < len(locations) && locations[n].File == file {
			n++
		}
		list = binary.AppendUvarint(list, uint64(file))
		list = binary.AppendUvarint(list, uint64(n))
		for _, p := range locations[:n] {
			list, next = binary.AppendUvarint(list, uint64(p.Record-next)), p.Record
		}
		locations = locations[n:]
	}
	return list
}

// decode returns the records, and false for input that encodeLeftOut does not write.
func (l leftOut) decode() (locations []tfrecord.Location, ok bool) {
	ok = true
	number := func() int64 {
		n, size := binary.Uvarint(l)
		if ok = ok && size > 0 && n <= mostOrdinal; !ok {
			return 0
		}
		l = l[size:]
		return int64(n)
	}
	for ok && len(l) > 0 {
		file, n, at := int(number()), number(), int64(0)
		if ok = ok && n > 0 && n <= int64(len(l)); !ok {
			break
		}
		for range n {
			at = min(at+number(), mostOrdinal)
			locations = append(locations, tfrecord.Location{File: file, Record: at})
		}
	}
	return locations, ok
}

// beginLeavingOut prepares the list of left-out records for this pass.
func (pl *Pipeline) beginLeavingOut(o *steps.Options, header *stateHeader) error {
	if pl.Quarantine == nil {
		return nil
	}
	pl.Passed.Clear()
	var locations []tfrecord.Location
	if header != nil {
		var ok bool
		if locations, ok = header.LeftOut.decode(); !ok {
			return stateError(pl.Plan, "the saved state names no records that could have been left out")
		}
	}
	if err := pl.Quarantine.Begin(locations, listenTo(o)); err != nil {
		return err
	}
	if !pl.Plan.Engine().ReadsByPlace() {
		return nil // a reader at the end of the file finds the fault
	}
	for i, index := range pl.Scan.Indexes {
		if err := pl.leaveRest(i, index); err != nil {
			return err
		}
	}
	return nil
}

// leaveRest leaves out the rest of a file where the scan could not read on.
func (pl *Pipeline) leaveRest(file int, index *tfrecord.Index) error {
	if index.Rest == nil || index.Layout == nil {
		return nil
	}
	e := quarantine.NewEntry(index, file)
	e.Ordinal, e.Offset, e.RestOfFile = index.Records, index.Layout.End(), true
	e.Length = index.Size - e.Offset
	return pl.Quarantine.LeaveOut(e, quarantine.RestOf(index.Rest, e.Length))
}

// listenTo returns a function that reports a left-out record to the listener of a run.
func listenTo(o *steps.Options) func(quarantine.Entry) {
	if o.Observe == nil || o.Observe.LeftOut == nil {
		return nil
	}
	return func(e quarantine.Entry) {
		o.Observe.LeftOut(observe.LeftOut{
			Source: o.Source, File: e.File, Record: e.Ordinal, Offset: e.Offset, Length: e.Length,
			Feature: e.Feature, Class: e.Class, Reason: e.Reason, RestOfFile: e.RestOfFile,
		})
	}
}
