package run

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"millrace"
	"millrace/graph"
	"millrace/loaders/build"
	"millrace/loaders/build/process"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// findStep returns an error about the first record, in the order of the files, that a
// processing step cannot be carried out on: an image that does not decode, or is smaller than
// a crop. TensorFlow's message about a batch names no record. It returns nil if it finds none.
func (pl *Pipeline) findStep(ctx context.Context) error {
	p := pl.Plan
	if !p.StepsSingly() || p.Window != nil || p.Chunks != nil {
		return nil
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	record := s.Placeholder(tfbridge.String, tfbridge.MakeShape(1))
	made, err := build.Process(s, p, record)
	if err != nil {
		return nil // the failure that is to be explained has been reported
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		return nil
	}
	defer session.Close()
	var fetches []tfbridge.Output
	for _, x := range made.Tensors {
		fetches = append(fetches, x.Output)
	}
	for i, f := range p.Files {
		if f.Remote {
			continue
		}
		err := check.EachRecord(ctx, p.Spec, i, pl.Scan.Indexes[i], func(r tfrecord.Record) (bool, error) {
			return true, stepsOf(session, record, fetches, r.Data)
		})
		var bad *millrace.Error
		if errors.As(err, &bad) && bad.Key != "" {
			return check.Blame(p.Spec, err)
		}
	}
	return nil
}

// stepsOf carries out the steps on one record, and returns why it cannot.
func stepsOf(session *tfbridge.Session, record tfbridge.Output, fetches []tfbridge.Output, data []byte) error {
	in, err := tfbridge.NewStringTensor([]int64{1}, [][]byte{data})
	if err != nil {
		return nil
	}
	defer in.Close()
	got, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{record: in}, fetches, nil)
	for _, x := range got {
		x.Close()
	}
	return stepError(err)
}

// scoped matches the scope of a step's operations in TensorFlow's messages.
var scoped = regexp.MustCompile(process.StepScope + `(\d+)_(\w+?)(_\d+)?/`)

// stepError returns the error of a record, if the failure names the scope of a step.
func stepError(err error) error {
	var failed *tfbridge.Error
	if !errors.As(err, &failed) {
		return nil
	}
	var refused *tfbridge.RefusedBytes
	text, class, why := failed.Msg, error(millrace.ErrSchema), failed.Msg
	if errors.As(err, &refused) {
		text, why = refused.Parser, refused.Err.Error()
		if errors.Is(refused.Err, millrace.ErrLimit) {
			class = millrace.ErrLimit
		}
	}
	found := scoped.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	step, numberErr := strconv.Atoi(found[1])
	if numberErr != nil {
		return nil
	}
	e := millrace.Errorf(millrace.ErrSchema, "the step %s cannot be carried out: %s", found[2], firstLine(why))
	if class == error(millrace.ErrLimit) {
		e.Class = millrace.ErrLimit
	}
	e.Key = fmt.Sprintf("args.processing_steps[%d]", step)
	return e
}

// firstLine returns a message without the list of nodes that TensorFlow adds in further lines.
func firstLine(text string) string {
	for i, r := range text {
		if r == '\n' {
			return text[:i]
		}
	}
	return text
}
