package order

import (
	"slices"

	"millrace"
	"millrace/loaders/engine"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// CheckPlaces returns an error if nobody can say which record each row of a run is. It is
// of class millrace.ErrConfig, and names the key of the config and what to do.
func CheckPlaces(c engine.Choice) error {
	key, why := hidesPlaces(c)
	if why == "" {
		return nil
	}
	e := millrace.Errorf(millrace.ErrConfig, "the places of rows are not known: %s", why)
	e.Loader, e.Key = c.Path, "args."+key
	return e
}

// hidesPlaces returns why the places of rows are not known, and the key of the config that
// is to be changed. why is "" where they are known.
func hidesPlaces(c engine.Choice) (key, why string) {
	switch {
	case c.HasRemoteFiles():
		return "dataset", "the records of remote files are not counted; copy the files to a disk of this machine"
	case c.Special != nil:
		return "primary_features", "the loader type has a stage that may change the number of rows; read a feature that names the record"
	case c.Chunks != nil:
		return "with_seq_tag", `rows are chunks of records; "with_seq_tag": true and "with_chunk_start": true give each row's place as tensors`
	case c.Sloppy:
		return "sloppy_interleave", "the order depends on the speed of the files; set it to false"
	case c.Bucket != nil && c.BadRecords != nil:
		return "bad_records", "which records are in a bucket depends on those that are left out; leave the key out"
	case c.Bucket != nil && !c.HoldsPositions():
		return "bucket_by_length", "what buckets hold has no positions where it is windows, or records of compressed files; leave the key out, or read a feature that names the record"
	case c.Shuffle != nil && c.BadRecords != nil:
		return "bad_records", `what the buffers mix depends on the records that are left out; use "shuffle_mode": "exact" or "block"`
	case c.Window != nil:
		return HidesWindows(c.Spec)
	}
	return "", ""
}

// HidesWindows returns why the places of windows are not known, and the key of the config
// that is to be changed. why is "" where they are known.
func HidesWindows(s *spec.Spec) (key, why string) {
	isList := func(f *spec.Feature) bool { return f.VarLen }
	switch {
	case s.Window.Min != s.Window.Max:
		return "min_window", "windows have sizes that are drawn at random; set min_window to max_window"
	case s.BadRecords != nil:
		return "bad_records", "windows go on behind a bad record that is left out; leave the key out"
	case s.Window.Unit == spec.Positions && slices.ContainsFunc(s.Features, isList):
		return "primary_features", "where windows begin depends on the lengths of the records; read a feature that names the record"
	}
	return "", ""
}

// OfRows returns the order of the rows of a plan that [CheckPlaces] accepts, in
// which bad records that are left out count as well.
func OfRows(s *spec.Spec, found *scan.Scan) *Order {
	if s.Records == nil {
		s = InFile(s)
	}
	return New(s, found)
}

// RecordAt returns the location of the record at a position, or of the first record of the
// window there.
func (o *Order) RecordAt(position int64) tfrecord.Location {
	if o.config.Window == nil {
		return o.At(position)
	}
	return o.WindowAt(position).Location
}
