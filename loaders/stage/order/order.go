// Package order computes the order of the records of a config, or of its windows or
// sequences: as in the files, shuffled exactly, drawn from a mixture, or sorted by length.
// It also finds the records of the rows of a run. It needs no TensorFlow.
//
//	o := order.New(s, found)
//	at := o.At(0)
package order

import (
	"fmt"
	"math"
	"sort"

	"millrace"
	"millrace/loaders/chunks"
	"millrace/loaders/permutation"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// Order maps positions to records, or to windows, of a plan that reads each record by its
// location: see [spec.RecordOrder]. Positions count through all epochs, one after the
// other. Only one goroutine at a time may use an Order.
type Order struct {
	spec   permutation.Spec
	starts []int64 // number of examples in the files before each file, and in all files
	order  *permutation.Order

	config  *spec.Spec
	records []int64 // the same numbers for records
}

// New returns the order of a plan with [spec.RecordOrder] and a scan of it.
func New(s *spec.Spec, found *scan.Scan) *Order {
	n := len(s.Files) + 1
	o := &Order{config: s, starts: make([]int64, 1, n), records: make([]int64, 1, n)}
	for i := range s.Files {
		o.starts = append(o.starts, o.starts[i]+examplesOf(s, found, i, o.records[i]))
		o.records = append(o.records, o.records[i]+found.Count(i))
	}
	o.spec = permutation.Spec{
		Shuffling: s.Records.Shuffling, Seed: s.Seed, Mixed: max(s.Records.Mixed, 1),
		Block: blockSize(s, found), Parts: orderParts(s, o.starts),
	}
	size := o.spec.Parts[0].Records
	if s.Mixture != nil {
		size = found.MixtureSize
	}
	begin, behind := chunks.Part(size, s.Records.Shards, s.Records.Shard)
	o.spec.Begin, o.spec.Size = begin, behind-begin
	o.order = permutation.NewOrder(&o.spec)
	return o
}

// Block shuffling reads blocks of up to 1 MiB. They are smaller where less than 32 of
// them would be mixed with each other.
const (
	blockBytes  = 1 << 20
	mixedBlocks = 32
)

// blockSize returns how many examples make a block. It depends on the data and the
// config alone, because it decides about the order.
func blockSize(s *spec.Spec, found *scan.Scan) int64 {
	records, _ := found.Records()
	average := max(found.Bytes()/max(records, 1), 1)
	if s.Window != nil {
		average *= max(s.Window.Min/RecordUnits(s), 1)
	}
	return max(min(blockBytes/average, s.Records.Mixed/mixedBlocks), 1)
}

// Spec returns the order of the records of all files. Millrace's native operations compute
// the same order.
func (o *Order) Spec() permutation.Spec { return o.spec }

// EpochRecords returns the number of records, or of windows, in each epoch.
func (o *Order) EpochRecords() int64 { return o.spec.Size }

// Before returns how many records, or windows, are in the files before each file, and
// in all of them.
func (o *Order) Before() []int64 { return o.starts }

// At returns the location of the record at a position. Where the order is one of windows,
// Record is the number of the window in its file.
func (o *Order) At(position int64) tfrecord.Location {
	at := o.Number(position)
	file := sort.Search(len(o.starts)-1, func(i int) bool { return o.starts[i+1] > at })
	return tfrecord.Location{File: file, Record: at - o.starts[file]}
}

// Number returns the number of the record, or window, at a position. The records of all files are
// counted in the order of the files.
func (o *Order) Number(position int64) int64 { return o.order.At(position) }

// orderParts returns the records of the range, or those of each dataset of a mixture.
func orderParts(s *spec.Spec, starts []int64) []permutation.Part {
	first, end := int64(0), starts[len(s.Files)]
	if s.Window == nil {
		first, end = Range(s, end)
	}
	if s.Mixture == nil {
		return []permutation.Part{{First: first, Records: end - first}}
	}
	var parts []permutation.Part
	total, sum, file := 0.0, 0.0, 0
	for _, m := range s.Mixture {
		total += m.Weight
	}
	for _, m := range s.Mixture {
		sum += m.Weight
		part := permutation.Part{First: starts[file], Threshold: math.MaxInt64}
		if share := sum / total; share < 1 {
			part.Threshold = int64(share * (1 << 63))
		}
		file += m.Files
		part.Records = starts[file] - part.First
		parts = append(parts, part)
	}
	return parts
}

// maxMixture limits the number of examples in an epoch of a mixture. The loader draws each
// of them when it opens, and a dataset with a tiny weight would never be read to its end.
const maxMixture = 1 << 30

// MeasureMixture counts the examples in an epoch of a mixture. The scan must have counted
// the records of all files.
func MeasureMixture(s *spec.Spec, found *scan.Scan) error {
	if s.Mixture == nil {
		return nil
	}
	spec := New(s, found).Spec()
	total, expected := 0.0, 0.0
	for _, m := range s.Mixture {
		total += m.Weight
	}
	for i, part := range spec.Parts {
		m := s.Mixture[i]
		if part.Records == 0 {
			return mixtureError(s, i, "the dataset of %s holds no records to draw from", millrace.Quote(m.ManifestPath))
		}
		if n := float64(part.Records) * total / m.Weight; s.Records.UntilAll {
			expected = max(expected, n)
		} else if expected == 0 || n < expected {
			expected = n
		}
	}
	if expected > maxMixture {
		return mixtureError(s, 0, "an epoch would have about %.3g examples, at most %d are possible; give the datasets weights that fit their sizes", expected, maxMixture)
	}
	found.MixtureSize = spec.MixtureSize(s.Records.UntilAll)
	return nil
}

// mixtureError is an error about an entry of a mixture.
func mixtureError(s *spec.Spec, entry int, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrConfig, format, args...)
	e.Loader, e.Key = s.Path, fmt.Sprintf("args.mixture[%d]", entry)
	return e
}

// Range returns which of n records the plan reads.
func Range(s *spec.Spec, records int64) (start, end int64) {
	start, end = s.Records.Start, s.Records.End
	if end < 0 {
		end = max(start, records)
	}
	return start, end
}

// EpochRecords returns the number of records in one pass, or the number of examples if
// they are read by their location. It also reports whether every file was counted.
func EpochRecords(s *spec.Spec, found *scan.Scan) (n int64, known bool) {
	records, known := found.Records()
	if !known || s.Records == nil {
		return records, known
	}
	return New(s, found).EpochRecords(), true
}

// CheckRange returns an error if the config's range exceeds the records of the files.
func CheckRange(s *spec.Spec, found *scan.Scan) error {
	records, known := found.Records()
	if s.Records == nil || !known {
		return nil
	}
	start, end := Range(s, records)
	if end <= records {
		return nil
	}
	e := millrace.Errorf(millrace.ErrConfig, "ends at record %d, but the data files hold only %d", end, records)
	e.Loader, e.Key = s.Path, "args.range.end"
	if start > records {
		e.Msg = millrace.Errorf(millrace.ErrConfig, "starts at record %d, but the data files hold only %d", start, records).Msg
		e.Key = "args.range.start"
	}
	return e
}

// InFile returns a config that reads the same examples in file order. The given config
// must be one for which [engine.Choice.Seeks] holds.
func InFile(s *spec.Spec) *spec.Spec {
	q := *s
	q.Records, q.Shuffle = &spec.RecordOrder{Shuffling: permutation.None, Shards: 1, End: -1}, nil
	return &q
}

// EpochExamples returns the number of examples in each epoch of a config that
// [engine.Choice.Seeks].
func EpochExamples(s *spec.Spec, found *scan.Scan) int64 {
	if s.Records == nil {
		s = InFile(s)
	}
	return New(s, found).EpochRecords()
}
