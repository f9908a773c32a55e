package mixing

import (
	"context"
	"math/rand/v2"
	"slices"

	"millrace"
	"millrace/loaders"
	"millrace/tfbridge"
)

// Report describes how well a config mixes its records in its first epoch. The keys of
// its JSON form are part of the interface.
type Report struct {
	Path      string `json:"path"` // the loader config
	Seed      int64  `json:"seed"`
	Records   int64  `json:"records"` // number of records of the epoch
	BatchSize int64  `json:"batch_size"`
	Batches   int64  `json:"batches"` // number of whole batches, or 1 if there is only a smaller one

	Config Mixing `json:"config"`
	Exact  Mixing `json:"exact"` // the same records in a uniformly drawn order
	Files  []File `json:"files"` // files that the epoch reads, in their order

	Warnings []error `json:"-"` // about index files
}

// Mixing has the measures of one order.
type Mixing struct {
	// Distance in the files, in records, between two consecutive records.
	MeanDistance   float64 `json:"neighbour_distance_mean"`
	MedianDistance int64   `json:"neighbour_distance_median"`

	// OrderCorrelation compares the order of the records of each file with their order
	// in that file: 1 if it is the same, near 0 if it is random, -1 if it is reversed.
	// It is the mean over the files, weighted by their records.
	OrderCorrelation float64 `json:"order_correlation"`

	// ShareDistance is the total variation distance of the shares of files in a batch
	// from those in the epoch, from 0 (the same) to 1. It is the mean over the batches.
	ShareDistance float64 `json:"file_share_distance"`
}

// File has the share of a file in each batch, from 0 to 1.
type File struct {
	Name    string  `json:"name"`
	Records int64   `json:"records"` // number of records in the epoch
	Share   float64 `json:"share"`   // share of the file in the epoch
	Config  Range   `json:"config"`
	Exact   Range   `json:"exact"`
}

// Measure finds out in which order a plan delivers the records of its first epoch, and
// compares that with a uniformly drawn order. It reads no data except the headers of
// records. If the plan shuffles in buffers, TensorFlow is opened with the options
// runtime, and a temporary folder takes about 40 bytes per record. Memory for each
// record is 24 bytes.
//
// The plan must be of type independent and without bucket_by_length, because otherwise
// the order depends on the data. Its files must be local.
func Measure(ctx context.Context, plan *loaders.Plan, runtime *tfbridge.RuntimeOptions) (*Report, error) {
	if err := measurable(plan); err != nil {
		return nil, err
	}
	scan, err := plan.Scan(ctx)
	if err != nil {
		return nil, err
	}
	order, err := epochOrder(ctx, plan, scan, runtime)
	if err != nil {
		return nil, err
	}
	if len(order) < 2 {
		e := millrace.Errorf(millrace.ErrSchema, "an epoch has fewer than two records, which cannot be mixed")
		e.Loader = plan.Path
		return nil, e
	}
	r := &Report{Path: plan.Path, Seed: plan.Seed, Records: int64(len(order)), BatchSize: plan.BatchSize, Warnings: scan.Warnings}
	r.compare(plan, fileStarts(plan, scan), order)
	return r, nil
}

// measurable returns an error if the order of a plan's records depends on the data, or
// if their number is unknown.
func measurable(plan *loaders.Plan) error {
	key, why := "", ""
	switch {
	case plan.Window != nil || plan.Chunks != nil:
		key, why = "type", "only the mixing of independent loaders can be measured, whose examples are records"
	case plan.Bucket != nil:
		key, why = "args.bucket_by_length", "the order depends on the lengths of the examples: measure the config without this key"
	case plan.HasRemoteFiles():
		key, why = "args.dataset", "the records of remote files are not counted: measure a local copy"
	default:
		return nil
	}
	e := millrace.Errorf(millrace.ErrConfig, "%s", why)
	e.File, e.Key = plan.Path, key
	return e
}

// compare measures the order, and then draws another one of the same records.
func (r *Report) compare(plan *loaders.Plan, starts, order []int64) {
	shares := newShares(starts, order, plan.BatchSize)
	var config, exact []Range
	r.Batches = shares.batches
	r.Config = mixingOf(order, starts)
	r.Config.ShareDistance, config = shares.measure(order)
	draw := rand.New(rand.NewPCG(uint64(plan.Seed), 0))
	draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	r.Exact = mixingOf(order, starts)
	r.Exact.ShareDistance, exact = shares.measure(order)
	for i, n := range shares.records {
		if n > 0 {
			r.Files = append(r.Files, File{Name: plan.Files[i].Name, Records: n, Share: shares.share(i), Config: config[i], Exact: exact[i]})
		}
	}
}

// mixingOf computes the measures of an order except the shares of files.
func mixingOf(order, starts []int64) Mixing {
	distances := make([]int64, len(order)-1)
	sum := 0.0
	for i := range distances {
		distances[i] = max(order[i+1]-order[i], order[i]-order[i+1])
		sum += float64(distances[i])
	}
	slices.Sort(distances)
	return Mixing{
		MeanDistance:     sum / float64(len(distances)),
		MedianDistance:   distances[len(distances)/2],
		OrderCorrelation: orderCorrelation(order, starts),
	}
}
