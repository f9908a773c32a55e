package build

import (
	"context"

	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// A Feed is a Go function that hands records to TensorFlow.
type Feed = func(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error)

// FileFeed feeds the records of one file. Its arguments are the number of the file,
// the token and the number of records delivered.
func FileFeed(p *plan.Plan, scan *plan.Scan) Feed { return feed{plan: p, scan: scan}.next }

// SequenceFeed feeds the sequences of an epoch. Its arguments are the epoch, the
// token and the number of sequences delivered.
func SequenceFeed(p *plan.Plan, scan *plan.Scan) Feed {
	return (&sequenceFeed{plan: p, scan: scan}).next
}

// PlaceFeed feeds records by their place. Its arguments are the token, the position
// of the first record and their number.
func PlaceFeed(p *plan.Plan, scan *plan.Scan) Feed {
	return (&recordFeed{plan: p, scan: scan}).next
}
