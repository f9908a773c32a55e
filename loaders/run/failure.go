package run

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"millrace"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// Explain returns the error of a run here for the failure of the pipeline's graph in another
// process; see [tfbridge.Failure].
func (pl *Pipeline) Explain(ctx context.Context, failure error) error {
	return pl.explain(ctx, failure)
}

// explain turns a failed step into an error that names its place. The errors of our own
// operations have a place. TensorFlow's errors name neither file nor record, so after
// such an error the files are read again, strictly, up to the first record that the
// plan refuses.
func (pl *Pipeline) explain(ctx context.Context, err error) error {
	var failed *tfbridge.Error
	if !errors.As(err, &failed) {
		return err // cancelled or closed
	}
	if many := pl.tooMany(err, failed); many != nil {
		return many
	}
	if found := pl.find(ctx, err); found != nil {
		var place *millrace.Error
		if errors.As(found, &place) && place.Code == 0 {
			place.Code = int(failed.Code)
		}
		return found
	}
	if ragged := pl.ragged(failed); ragged != nil {
		return ragged
	}
	if check := pl.Checks.Failed(failed); check != nil {
		return check
	}
	if changed := pl.Scan.Changed(); changed != nil {
		return changed
	}
	remote := remoteFiles(pl.Plan)
	e := millrace.Errorf(codeClass(failed, len(remote) > 0), "%w", failed)
	e.Loader, e.Code = pl.Plan.Path, int(failed.Code)
	suspect(remote, e)
	return e
}

// tooMany returns the error of a run that has reached its limit of left-out records and
// met another bad one. It needs no explanation.
func (pl *Pipeline) tooMany(err error, failed *tfbridge.Error) error {
	var last *millrace.Error
	if !errors.Is(err, quarantine.ErrTooMany) || !errors.As(err, &last) {
		return nil
	}
	placed := *last
	placed.Loader, placed.Code = pl.Plan.Path, int(failed.Code)
	return &placed
}

// remoteFiles returns the paths of a plan's remote files in a form for messages.
func remoteFiles(p *plan.Plan) (paths []string) {
	for _, f := range p.Files {
		if f.Remote {
			paths = append(paths, spec.PrintablePath(f.Path))
		}
	}
	return paths
}

// find returns an error with the place of a failure, nil if it finds none. The errors
// of our own operations have the place.
func (pl *Pipeline) find(ctx context.Context, err error) error {
	var place *millrace.Error
	if !errors.As(err, &place) || place.File == "" {
		if found := check.FindBadRecord(ctx, pl.Plan.Spec); found != nil {
			return found
		}
		return pl.findStep(ctx)
	}
	if changed := pl.Scan.Changed(); changed != nil {
		return changedAt(changed, place)
	}
	if found := check.Reread(ctx, pl.Plan.Spec, place); found != nil {
		return found
	}
	placed := *place
	placed.Loader, placed.File = pl.Plan.Path, spec.PrintablePath(place.File)
	return &placed
}

// changedAt adds the record at which reading failed to the error of a changed file, if
// the record is in that file.
func changedAt(changed error, place *millrace.Error) error {
	var e *millrace.Error
	if errors.As(changed, &e) && e.File == place.File && e.Record < 0 {
		e.Record, e.Offset = place.Record, place.Offset
	}
	return changed
}

// suspect adds the remote files to an error if all local files are intact.
// TensorFlow's message may not name the file.
func suspect(remote []string, e *millrace.Error) {
	switch len(remote) {
	case 0:
	case 1:
		e.File = remote[0]
	default:
		e.Msg += fmt.Sprintf(" (in one of %d remote files, the first is %s)", len(remote), remote[0])
	}
}

// codeClass maps TensorFlow's codes of a failed step. It is used when the local data
// files are intact, or cannot be read. remote says whether the plan has remote files.
//
// FailedPrecondition is the one code whose meaning depends on that. Our operations and
// AssertCardinality use it for a local file with fewer records than were counted.
// Records of remote files are not counted; for them the code comes from TensorFlow's
// file system, for example when the name of the server cannot be resolved.
//
// ResourceExhausted is a lack of memory. TensorFlow also uses it for too many open
// files, but it opens no data file: our own reader or Go's does, and the error of a
// file that cannot be opened has a place.
func codeClass(failed *tfbridge.Error, remote bool) millrace.Class {
	switch failed.Code {
	case tfbridge.DataLoss:
		return millrace.ErrCorrupt
	case tfbridge.InvalidArgument:
		return millrace.ErrSchema
	case tfbridge.FailedPrecondition:
		if remote {
			return millrace.ErrIO
		}
		return millrace.ErrTruncated
	case tfbridge.OutOfRange:
		return millrace.ErrTruncated
	case tfbridge.NotFound, tfbridge.PermissionDenied, tfbridge.Unknown, tfbridge.Unavailable:
		return millrace.ErrIO
	case tfbridge.ResourceExhausted:
		return millrace.ErrLimit
	case tfbridge.Cancelled, tfbridge.DeadlineExceeded:
		return millrace.ErrCanceled
	case tfbridge.Unimplemented:
		return millrace.ErrConfig
	}
	return millrace.ErrInternal
}

// differentShapes is TensorFlow's message for a batch of unequal elements. It only
// improves the message: without it the error has the same class, by its code, and
// TensorFlow's text. With it the error names the tensor and a remedy.
var differentShapes = regexp.MustCompile(`different shapes in component (\d+)\. First element had shape (\[[^\]]*\]) and element (\d+) had shape (\[[^\]]*\])`)

// ragged names the tensor of a batch whose elements differ in shape.
func (pl *Pipeline) ragged(failed *tfbridge.Error) error {
	m := differentShapes.FindStringSubmatch(failed.Msg)
	if m == nil {
		return nil
	}
	component, err := strconv.Atoi(m[1])
	tensors := pl.Plan.Examples().Tensors
	if err != nil || component >= len(tensors) {
		return nil
	}
	e := millrace.Errorf(millrace.ErrSchema,
		"examples of one batch differ in shape: %s and %s; set args.padding, or a batch size of 1", m[2], m[4])
	e.Loader, e.Tensor, e.Code = pl.Plan.Path, tensors[component].Name, int(failed.Code)
	return e
}

// findStep returns an error about the first record, in the order of the files, that a
// processing step cannot be carried out on: an image that does not decode, or is smaller than
// a crop. TensorFlow's message about a batch names no record. It returns nil if it finds none.
func (pl *Pipeline) findStep(ctx context.Context) error {
	p := pl.Plan
	steps := build.NewStepCheck(p)
	if steps == nil {
		return nil
	}
	defer steps.Close() // it only reads
	for i, f := range p.Files {
		if f.Remote {
			continue
		}
		err := check.EachRecord(ctx, p.Spec, i, pl.Scan.Indexes[i], func(r tfrecord.Record) (bool, error) {
			return true, steps.Check(r.Data)
		})
		var bad *millrace.Error
		if errors.As(err, &bad) && bad.Key != "" {
			return check.Blame(p.Spec, err)
		}
	}
	return nil
}
