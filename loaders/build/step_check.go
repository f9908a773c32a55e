package build

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"millrace"
	"millrace/graph"
	"millrace/loaders/build/examples"
	"millrace/loaders/build/process"
	"millrace/loaders/build/target"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// # Bad records by a step
//
// The question: an image that does not decode is a record whose bytes are right and whose values
// are not. TensorFlow reports it after records have been shuffled and batched, without a name, and
// with it the rest of the batch is lost.
//
// The answer: where bad records are skipped, each record is carried through the steps once before
// it is handed over, by a separate graph, in the place where all other checks of records are
// made. So a record that a step refuses is skipped like one with a wrong checksum: with any engine
// and order, in states, in reports. It costs the time of the steps a second time. Without
// bad_records nothing is checked before: after a failure, the files are searched for the record.

// StepCheck carries out the processing steps of a plan on single records. Its methods may be called
// concurrently.
type StepCheck struct {
	plan *plan.Plan

	mu      sync.Mutex
	begun   bool
	err     error // why there is no graph
	graph   *tfbridge.Graph
	session *tfbridge.Session
	run     *tfbridge.Callable
}

// NewStepCheck returns the check of a plan's records by its steps, nil if no step can refuse a
// record, or if steps see windows or chunks. The caller closes it. A nil check accepts all records.
func NewStepCheck(p *plan.Plan) *StepCheck {
	if !spec.StepsRefuse(p.Spec) {
		return nil
	}
	return &StepCheck{plan: p}
}

// Check returns an error if a step cannot be carried out on a record. The error names the step,
// and the feature that it comes from, and has no place. A record that a filter does not keep is
// accepted if the steps before the filter can be carried out.
func (c *StepCheck) Check(record []byte) error {
	if c == nil {
		return nil
	}
	if err := c.begin(); err != nil {
		return err
	}
	in, err := tfbridge.NewStringTensor(nil, [][]byte{record})
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = c.run.Run(context.Background(), []*tfbridge.Tensor{in})
	return c.refusal(err)
}

// begin builds the graph with the first check.
func (c *StepCheck) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		c.begun = true
		c.err = c.build()
	}
	return c.err
}

func (c *StepCheck) build() (err error) {
	s := graph.NewScope()
	c.graph = s.Graph()
	record := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	q := plan.OfRecords(c.plan)
	t := newTarget(s.SubScope("loader"), q, nil)
	t.Requests = true
	made := examples.New(t).Checked(t.Scope, record)
	if err := s.Err(); err != nil {
		return fail(c.plan, err)
	}
	if c.session, err = tfbridge.NewSession(c.graph, nil); err != nil {
		return err
	}
	c.run, err = c.session.Prepare([]tfbridge.Output{record}, nil, made)
	return err
}

// Close frees the graph and the session.
func (c *StepCheck) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun, c.err = true, millrace.Errorf(millrace.ErrCanceled, "the check of records was closed")
	var errs []error
	if c.session != nil {
		errs = append(errs, c.session.Close())
	}
	if c.graph != nil {
		errs = append(errs, c.graph.Close())
	}
	c.session, c.graph = nil, nil
	return errors.Join(errs...)
}

// scoped matches the scope of a step's operations in TensorFlow's messages.
var scoped = regexp.MustCompile(process.StepScope + `(\d+)_(\w+?)(_\d+)?/`)

// refusal returns the error of a record, if the failure names the scope of a step.
func (c *StepCheck) refusal(err error) error {
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
	index, numberErr := strconv.Atoi(found[1])
	if numberErr != nil {
		return nil
	}
	why, _, _ = strings.Cut(why, "\n") // TensorFlow adds a list of nodes in further lines
	e := millrace.Errorf(millrace.ErrSchema, "the step %s cannot be carried out: %s", found[2], why)
	if class == error(millrace.ErrLimit) {
		e.Class = millrace.ErrLimit
	}
	e.Key = fmt.Sprintf("args.processing_steps[%d]", index)
	e.Feature, e.Tensor = spec.SourceOf(c.plan.Spec, index)
	return e
}

// skipsByStep gives a target the check of records by steps, where bad records are skipped.
func skipsByStep(t *target.Target, p *plan.Plan) {
	if t.Skipped == nil || has[stage.Window](t) || has[stage.Chunks](t) {
		return
	}
	if c := NewStepCheck(p); c != nil {
		t.StepCheck = c.Check
		t.Scope.Graph().OnClose(func() { c.Close() }) // it only reads
	}
}
