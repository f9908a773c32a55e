package tfrecord

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// ScanAllOptions are the options of ScanAll. Nil and the zero value scan plain files
// and stop at the first error.
type ScanAllOptions struct {
	ReaderOptions
	Parallel  int  // files open at a time; 0 or less: twice the processors, at most 32
	AllFaults bool // continue after an error, and return the errors of all files
	Layout    bool // also determine the location of each record, and set Index.Digest
	SkipRest  bool // the Index of a file ends before a record after which reading cannot continue; see Index.Rest

	// Known is called for each file once it is open. If it returns true, it has
	// filled in Records, MaxRecord, DataBytes, Members and, if they are wanted,
	// Layout and Digest, and the file is not scanned. It is called concurrently. Nil: every
	// file is scanned.
	Known func(f File, x *Index) bool
}

func (o *ScanAllOptions) parallel(files int) int {
	n := min(2*runtime.GOMAXPROCS(0), 32)
	if o.Parallel > 0 {
		n = o.Parallel
	}
	return min(n, files)
}

// ScanAll scans files in parallel and returns their indexes in the order of paths. The
// error belongs to the first bad file in that order, whichever scan ended first. With
// AllFaults it joins the errors of all bad files, whose indexes are nil.
func ScanAll(ctx context.Context, paths []string, o *ScanAllOptions) ([]*Index, error) {
	if o == nil {
		o = &ScanAllOptions{}
	}
	opts, err := o.ReaderOptions.checked()
	if err != nil {
		return nil, err
	}
	if o.Layout {
		opts.MaxRecordBytes = min(opts.MaxRecordBytes, MaxLayoutRecord)
	}
	indexes := make([]*Index, len(paths))
	faults := make([]error, len(paths))
	var next, stop atomic.Int64
	stop.Store(int64(len(paths)))
	work := func() {
		s := &scanner{opts: opts, layout: o.Layout, skipRest: o.SkipRest, known: o.Known}
		for {
			i := next.Add(1) - 1
			if i >= stop.Load() {
				return
			}
			indexes[i], faults[i] = s.scan(ctx, paths[i])
			if faults[i] != nil && (!o.AllFaults || ctx.Err() != nil) {
				lower(&stop, i)
			}
		}
	}
	var wg sync.WaitGroup
	for range o.parallel(len(paths)) {
		wg.Go(work)
	}
	wg.Wait()
	if err := canceled(ctx); err != nil {
		return nil, err
	}
	if o.AllFaults {
		return indexes, errors.Join(faults...)
	}
	// Scans start in order, so all files before the first bad one are scanned.
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return indexes, nil
}

// lower sets v to n unless it is less already.
func lower(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if old <= n || v.CompareAndSwap(old, n) {
			return
		}
	}
}
