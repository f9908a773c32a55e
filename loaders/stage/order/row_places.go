package order

import (
	"slices"

	"millrace"
	"millrace/loaders/engine"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// CheckPlaces returns an error if the record of each row of a run cannot be determined. The
// error has class millrace.ErrConfig, names the key of the config, and says what to do.
func CheckPlaces(c engine.Choice) error {
	key, why := first(hiddenPlaces, c)
	if why == "" && c.Window != nil {
		key, why = HidesWindows(c.Spec)
	}
	if why == "" {
		return nil
	}
	e := millrace.Errorf(millrace.ErrConfig, "the places of rows are not known: %s", why)
	e.Loader, e.Key = c.Path, "args."+key
	return e
}

// reason is a reason why the places of rows are not known.
type reason[T any] struct {
	when     func(T) bool
	key, why string // the key of the config to change; the reason and what to do
}

// first returns the first of the reasons that holds, "" if none does.
func first[T any](reasons []reason[T], config T) (key, why string) {
	for _, r := range reasons {
		if r.when(config) {
			return r.key, r.why
		}
	}
	return "", ""
}

// hiddenPlaces are the reasons for rows of any kind.
var hiddenPlaces = []reason[engine.Choice]{
	{engine.Choice.HasRemoteFiles,
		"dataset", "the records of remote files without an index are not counted; copy the indexes beside them"},
	{func(c engine.Choice) bool { return c.Special != nil },
		"primary_features", "the loader type has a stage that may change the number of rows; read a feature that names the record"},
	{func(c engine.Choice) bool { return c.Chunks != nil },
		"with_seq_tag", `rows are chunks of records; "with_seq_tag": true and "with_chunk_start": true give each row's place as tensors`},
	{func(c engine.Choice) bool { return c.WithinEpoch && c.DropRemainder },
		"drop_remainder", "the rest of each epoch has no rows; set it to false"},
	{func(c engine.Choice) bool { return engine.AnyOrder(c) },
		"sloppy_interleave", "the order depends on the speed of the files; set it to false"},
	{func(c engine.Choice) bool { return c.Bucket != nil && c.BadRecords != nil },
		"bad_records", "which records are in a bucket depends on those that are left out; leave the key out"},
	{func(c engine.Choice) bool { return c.Bucket != nil && !c.HoldsPositions() },
		"bucket_by_length", "what buckets hold has no positions where it is windows, or records of compressed files; leave the key out, or read a feature that names the record"},
	{func(c engine.Choice) bool { return c.Filters() && !engine.CountsRead(c) },
		"processing_steps", "nobody counts the examples that a filter does not keep, with buckets or windows of drawn sizes; read a feature that names the record"},
	{func(c engine.Choice) bool { return c.Shuffle != nil && c.BadRecords != nil },
		"bad_records", `what the buffers mix depends on the records that are left out; use "shuffle_mode": "exact" or "block"`},
}

// hiddenWindows are the reasons for rows that are windows.
var hiddenWindows = []reason[*spec.Spec]{
	{func(s *spec.Spec) bool { return s.Window.Min != s.Window.Max },
		"min_window", "windows have sizes that are drawn at random; set min_window to max_window"},
	{func(s *spec.Spec) bool { return s.BadRecords != nil },
		"bad_records", "windows go on behind a bad record that is left out; leave the key out"},
	{windowsOfLists,
		"primary_features", "where windows begin depends on the lengths of the records; read a feature that names the record"},
}

// windowsOfLists reports whether windows are cut by the positions in lists.
func windowsOfLists(s *spec.Spec) bool {
	return s.Window.Unit == spec.Positions && slices.ContainsFunc(s.Features, func(f *spec.Feature) bool { return f.VarLen })
}

// HidesWindows returns why the locations of windows are unknown, and the key of the config
// to change. why is "" if they are known.
func HidesWindows(s *spec.Spec) (key, why string) { return first(hiddenWindows, s) }

// OfRows returns the order of the rows of a plan that [CheckPlaces] accepts. Skipped bad
// records count as rows.
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
