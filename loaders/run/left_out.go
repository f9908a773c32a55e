package run

import (
	"millrace/graph/steps"
	"millrace/loaders/quarantine"
	"millrace/observe"
	"millrace/tfrecord"
)

// leftOut is what a saved state says of the records that the run had left out: for each
// file the number of the file, how many records, and their ordinals, each less the one
// before it. So a few bytes are enough for a record.
type leftOut []int64

func encodeLeftOut(places []quarantine.Place) (list leftOut) {
	for len(places) > 0 {
		file, n, last := places[0].File, 0, int64(0)
		for n < len(places) && places[n].File == file {
			n++
		}
		list = append(list, int64(file), int64(n))
		for _, p := range places[:n] {
			list, last = append(list, p.Ordinal-last), p.Ordinal
		}
		places = places[n:]
	}
	return list
}

// decode returns the records, and false for what encodeLeftOut does not write.
func (l leftOut) decode() (places []quarantine.Place, ok bool) {
	for len(l) > 0 {
		if len(l) < 2 || l[0] < 0 || l[1] < 1 || l[1] > int64(len(l)-2) {
			return nil, false
		}
		file, last := int(l[0]), int64(0)
		for _, step := range l[2 : 2+l[1]] {
			last += step
			if last < 0 {
				return nil, false
			}
			places = append(places, quarantine.Place{File: file, Ordinal: last})
		}
		l = l[2+l[1]:]
	}
	return places, true
}

// beginLeavingOut makes the list of records that are left out that of this pass.
func (pl *Pipeline) beginLeavingOut(o *steps.Options, header *stateHeader) error {
	if pl.Quarantine == nil {
		return nil
	}
	pl.Passed.Clear()
	var places []quarantine.Place
	if header != nil {
		var ok bool
		if places, ok = header.LeftOut.decode(); !ok {
			return stateError(pl.Plan, "the saved state names no records that could have been left out")
		}
	}
	if err := pl.Quarantine.Begin(places, listenTo(o)); err != nil {
		return err
	}
	if !pl.Plan.ReadsByPlace() {
		return nil // who reads a file to its end finds what is wrong with it
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

// listenTo returns what tells the listener of a run about a record that is left out.
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
