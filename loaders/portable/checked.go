package portable

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/graph/dataset/native"
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
// The answer: the same check runs when the graph is written, in one pass over the data. The
// graph reads the good records as a plan without checks does: the batches are the same. A bad
// record is the failure that it would be in a run. Where bad records are skipped, the graph has
// a list of them, and its operations pass over these records without looking at them. The
// checksums of the other records and their lengths are compared when the graph runs, so that
// other data are noticed as far as any reader does.

// checked returns a plan that needs no more checks of records, and the bad records that its
// operations skip. If a run would not skip them, the first bad record, by the order of the
// files, is the error.
func checked(ctx context.Context, p *plan.Plan, scan *plan.Scan) (*plan.Plan, []native.Skip, error) {
	if !p.Engine().Own || !p.Engine().ChecksRecords() {
		return p, nil, nil
	}
	list := check.NewQuarantine(p.Spec, p.Quarantine, scan)
	faults, found := make([]error, len(p.Files)), make([][]native.Skip, len(p.Files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for i := range p.Files {
		g.Go(func() error {
			found[i], faults[i] = checkFile(ctx, p, scan.Indexes[i], i, list)
			return nil
		})
	}
	g.Wait() // the functions return nil
	for _, err := range faults {
		if err != nil {
			return nil, nil, check.Blame(p.Spec, err)
		}
	}
	skipped := slices.Concat(found...)
	q := *p
	q.RecordsChecked, q.RecordsSkipped = true, len(skipped) > 0
	return &q, skipped, nil
}

// checkFile checks the records of a file, and returns the bad ones that a run would skip.
func checkFile(ctx context.Context, p *plan.Plan, index *tfrecord.Index, number int, list *quarantine.List) (skipped []native.Skip, err error) {
	file, err := tfrecord.OpenFile(index.Path, &tfrecord.ReaderOptions{Compression: p.Manifest.Compression})
	if err != nil {
		return nil, err
	}
	r := &quarantine.Reader{Reader: file, Index: index, FileNumber: number, Check: check.New(p.Engine())}
	defer r.Close()
	var bad int64 // the record that was skipped last
	if list != nil {
		r.LeaveOut = func(e quarantine.Entry, cause error) error {
			bad = e.Ordinal
			return list.LeaveOut(e, cause)
		}
	}
	for {
		if ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "check of records")
		}
		_, good, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return skipped, nil
		case err != nil:
			return nil, err
		case !good:
			skipped = append(skipped, skipOf(r, bad))
		}
	}
}

// skipOf returns how to skip a bad record that was just read.
func skipOf(r *quarantine.Reader, record int64) native.Skip {
	_, next := r.Position()
	if r.Ended() {
		next = -1
	}
	return native.Skip{File: int64(r.FileNumber), Record: record, Next: next}
}
