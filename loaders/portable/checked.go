package portable

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/loaders/stage/check"
	"millrace/tfrecord"
)

// # Checks without Go
//
// The question: bad_records, check_finite, duplicate_features and empty records have Go check
// records, all of them or those that the native operations doubt. A graph for other processes
// has no Go.
//
// What was tried: to check in C++ as well. Two checks of one rule differ sooner or later, and
// the difference would be a batch.
//
// The answer: the same check runs when the graph is written, in one pass over the data. If all
// records are good, the graph reads them as a plan without checks does: the batches are the
// same. A bad record is the failure that it would be in a run. Where bad records are skipped
// and there are some, the plan is refused. The checksums of the records and their lengths are
// compared when the graph runs, so that other data are noticed as far as any reader does.

// checked returns a plan that needs no more checks of records. The first bad record, by the
// order of the files, is the error.
func checked(ctx context.Context, p *plan.Plan, scan *plan.Scan) (*plan.Plan, error) {
	if !p.Engine().Own || !p.Engine().ChecksRecords() {
		return p, nil
	}
	skipped := check.NewQuarantine(p.Spec, p.Quarantine, scan)
	faults := make([]error, len(p.Files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for i := range p.Files {
		g.Go(func() error {
			faults[i] = checkFile(ctx, p, scan.Indexes[i], i, skipped)
			return nil
		})
	}
	g.Wait() // the functions return nil
	for _, err := range faults {
		if err != nil {
			return nil, check.Blame(p.Spec, err)
		}
	}
	if skipped != nil && skipped.Len() > 0 {
		return nil, refuseSkipped(p, skipped)
	}
	q := *p
	q.RecordsChecked = true
	return &q, nil
}

// checkFile checks the records of a file.
func checkFile(ctx context.Context, p *plan.Plan, index *tfrecord.Index, number int, skipped *quarantine.List) error {
	file, err := tfrecord.OpenFile(index.Path, &tfrecord.ReaderOptions{Compression: p.Manifest.Compression})
	if err != nil {
		return err
	}
	r := &quarantine.Reader{Reader: file, Index: index, FileNumber: number, Check: check.New(p.Engine())}
	defer r.Close()
	if skipped != nil {
		r.LeaveOut = skipped.LeaveOut
	}
	for {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "check of records")
		}
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// refuseSkipped returns the error of a plan whose bad records would be skipped.
func refuseSkipped(p *plan.Plan, skipped *quarantine.List) error {
	first := skipped.Locations()[0]
	e := millrace.Errorf(millrace.ErrModel, "no other process can run the graph of this plan, because Go skips bad records, and there are some: %s, such as this one; "+
		"write the good ones to new files, or mend them", figures.Of(int64(skipped.Len()), "record"))
	e.Loader, e.File, e.Record = p.Path, p.Files[first.File].Path, first.Record
	return e
}
