package spec

import (
	"slices"

	"millrace/tfrecord"
)

// epochPart checks whether batches can end with their epochs.
type epochPart struct{ *checker }

// epochs refuses batch_within_epoch where nobody knows how many examples an epoch has before its
// end, although a state or the rest of a batch would need that.
func (c epochPart) epochs() {
	if !c.spec.WithinEpoch || c.args.Bad("batch_within_epoch") {
		return
	}
	at := c.args.Key("batch_within_epoch")
	s := c.spec
	switch filters := slices.ContainsFunc(s.Steps, Step.Filters); {
	case c.examples.BucketByLength.At != nil:
		c.inConfig.Report(at, "buckets hold examples beyond the end of an epoch; leave out bucket_by_length or this key")
	case filters && s.BadRecords != nil:
		c.inConfig.Report(at, "a filter and skipped records leave the end of an epoch unknown; leave out bad_records, the filter or this key")
	case s.DropRemainder && s.BadRecords != nil:
		c.inConfig.Report(at, "skipped records leave the rest of an epoch unknown, which drop_remainder would drop; set drop_remainder to false")
	case filters && !c.numbersExamples():
		c.inConfig.Report(at, "with a filter it needs files that are read by their place: shuffle, or the key range, such as {\"start\": 0}, over local files without compression")
	}
}

// numbersExamples reports whether examples have numbers by which they can be read.
func (c epochPart) numbersExamples() bool {
	s := c.spec
	return s.Records != nil || s.Shuffle != nil && s.Window == nil && !s.Sloppy && s.Manifest.Compression == tfrecord.None && !s.HasRemoteFiles()
}
