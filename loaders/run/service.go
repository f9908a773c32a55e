package run

import (
	"context"
	"errors"
	"path/filepath"

	"millrace"
	"millrace/loaders/service"
	"millrace/tfbridge"
)

// checkService compares the servers of the plan's data service with this process, before they
// are given the work of a run: whether they answer, have the same operations and see the same
// files. Without a service it returns nil.
func (pl *Pipeline) checkService(ctx context.Context, sess *tfbridge.Session) error {
	if pl.Report == nil {
		return nil
	}
	address := pl.ServiceAddress
	workers, err := service.Check(ctx, address)
	if err != nil {
		return pl.serviceError(err)
	}
	if workers, err = living(ctx, address, workers); err != nil {
		return pl.serviceError(err)
	}
	waiting, cancel := context.WithTimeout(ctx, service.Timeout)
	defer cancel()
	if _, err := sess.RunContext(waiting, nil, nil, []*tfbridge.Operation{pl.Report.Init}); err != nil {
		return pl.serviceError(err)
	}
	if w := pl.Plan.Service.Worker; w != nil && w.Only {
		workers = workers[:1]
	}
	for range workers {
		out, err := sess.RunContext(waiting, nil, pl.Report.Element, nil)
		switch {
		case errors.Is(err, tfbridge.OutOfRange), err != nil && ctx.Err() == nil && waiting.Err() != nil:
			return nil // a worker that the dispatcher has not missed yet has ended
		case err != nil:
			return pl.serviceError(err)
		}
		report, err := out[0].Strings()
		out[0].Close()
		if err == nil {
			err = pl.compareReport(report)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// living returns the workers that answer. The dispatcher knows one that has ended until it has
// missed it for a while.
func living(ctx context.Context, dispatcher string, workers []string) (alive []string, err error) {
	for _, w := range workers {
		if _, e := service.Tasks(ctx, w); e != nil {
			err = e
			continue
		}
		alive = append(alive, w)
	}
	if len(alive) == 0 {
		return nil, millrace.Errorf(millrace.ErrIO, "the dispatcher at %s has no worker that answers: %w", millrace.Quote(dispatcher), err)
	}
	return alive, nil
}

// compareReport returns an error for a worker that would not make the batches of this process.
// See native.ServiceReport for the report.
func (pl *Pipeline) compareReport(report []string) error {
	if len(report) != 3 {
		return pl.serviceError(millrace.Errorf(millrace.ErrInternal, "a report of %d texts", len(report)))
	}
	host, library, wrong := report[0], report[1], report[2]
	if own := filepath.Base(pl.Plan.NativeLibrary); library != own {
		return pl.serviceError(millrace.Errorf(millrace.ErrRuntime, "the worker on %s has the operations %s, and this process %s; run the same version of millrace everywhere", millrace.Quote(host), millrace.Quote(library), own))
	}
	if wrong != "" {
		return pl.serviceError(millrace.Errorf(millrace.ErrIO, "the worker on %s does not see the data as this process does: %s; it needs the files by the same paths, and --data PATH for its sandbox", millrace.Quote(host), millrace.Quote(wrong)))
	}
	return nil
}

// serviceError adds the loader and the service to an error.
func (pl *Pipeline) serviceError(err error) error {
	var e *millrace.Error
	var tf *tfbridge.Error
	if !errors.As(err, &e) {
		e = millrace.Errorf(millrace.ErrIO, "the data service at %s: %w", millrace.Quote(pl.ServiceAddress), err)
	}
	if errors.As(err, &tf) && (tf.Code == tfbridge.NotFound || tf.Code == tfbridge.Unimplemented) {
		e = millrace.Errorf(millrace.ErrRuntime, "the data service at %s cannot run Millrace's operations: %w; start its dispatcher and workers by millrace dispatcher and millrace worker of this version", millrace.Quote(pl.ServiceAddress), err)
	}
	e.Loader, e.Key = pl.Plan.Path, "service"
	return e
}
