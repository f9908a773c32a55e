package steps

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// run is one range over a pipeline: the producer's side and the consumer's.
type run struct {
	pipe *Pipeline
	sess *tfbridge.Session
	o    *Options

	names  []string // names of the fetches
	calls  threads
	traced *tfbridge.Callable // the step with a trace; nil: no step is traced
	rowsOf int                // index of the fetch whose first dimension is the rows of a batch
	skip   *tfbridge.Callable // takes a batch of another process; nil: there are none
	pass   Pass
	steps  int64 // number of steps made

	observe  *observer
	received int64 // number of batches that the consumer received

	results chan result
	asked   chan struct{} // requests of the consumer for a step; nil: steps are made ahead
	left    chan struct{} // closed when the consumer has left
}

// result is the result of one step.
type result struct {
	batch *Batch
	err   error
}

// errLeft ends a producer whose consumer has left.
var errLeft = errors.New("the consumer has left")

func newRun(p *Pipeline, sess *tfbridge.Session, o *Options) *run {
	r := &run{pipe: p, sess: sess, o: o, observe: newObserver(o), left: make(chan struct{})}
	if o.OnDemand {
		r.asked = make(chan struct{})
		r.results = make(chan result)
	} else {
		r.results = make(chan result, max(o.Ahead, 1)-1) // the producer holds one more
	}
	return r
}

// start prepares the steps and starts the input at its first batch.
func (r *run) start(ctx context.Context) error {
	if err := r.prepare(); err != nil {
		return err
	}
	if r.o.Gate != nil {
		if err := r.o.Gate.start(r.sess); err != nil {
			return err
		}
	}
	var err error
	if r.pass, err = r.pipe.input.Open(ctx, r.sess, r.o); err != nil || !r.o.Places {
		return err
	}
	if _, knows := r.pass.(Locator); !knows {
		return millrace.Errorf(millrace.ErrConfig, "the rows of this source are no records of files, so they have no places")
	}
	return nil
}

// prepare makes the session runs of a step. Every tensor of the batch has the number of
// rows. A step that fetches none of them fetches one in addition, or else it would not take
// a batch.
func (r *run) prepare() error {
	in := &r.pipe.input
	fetch := r.o.Fetch
	if fetch == nil {
		fetch = in.Tensors
	}
	var outputs []tfbridge.Output
	for _, n := range fetch {
		r.names = append(r.names, n.Name)
		outputs = append(outputs, n.Output)
	}
	r.rowsOf = slices.IndexFunc(outputs, func(o tfbridge.Output) bool {
		return slices.ContainsFunc(in.Tensors, func(n NamedOutput) bool { return n.Output == o })
	})
	if r.rowsOf < 0 {
		r.rowsOf = len(outputs)
		count := in.Rows
		if count.Op == nil {
			count = in.Tensors[0].Output
		}
		outputs = append(outputs, count)
	}
	if in.Positions.Op != nil {
		outputs = append(outputs, in.Positions)
	}
	prepare := func(o tfbridge.RunOptions) (*tfbridge.Callable, error) {
		o.CollectiveKey = r.o.CollectiveKey
		return r.sess.PrepareRun(in.Placeholders, outputs, nil, &o)
	}
	var err error
	if r.calls.inline, err = prepare(tfbridge.RunOptions{Inline: true}); err != nil {
		return err
	}
	if r.o.Share.Of > 1 {
		if err := r.prepareSkip(); err != nil {
			return err
		}
	}
	// Without a model a step only takes a batch. With collective operations, threads of TensorFlow's
	// server run the step.
	if r.o.Gate != nil && r.o.CollectiveKey == 0 {
		if r.calls.pooled, err = prepare(tfbridge.RunOptions{}); err != nil {
			return err
		}
	}
	if r.o.Trace != nil {
		r.traced, err = prepare(tfbridge.RunOptions{Inline: r.calls.pooled == nil, Trace: tfbridge.FullTrace})
	}
	return err
}

// step makes the next step, and repeats it if the input requests that.
func (r *run) step(ctx context.Context) (*Batch, error) {
	if r.o.Steps > 0 && r.steps >= r.o.Steps {
		return nil, io.EOF
	}
	for range r.o.Share.skips(r.steps) {
		if err := r.skipBatch(ctx); err != nil {
			return nil, err
		}
	}
	for {
		values, err := r.pass.Next(ctx)
		if err != nil {
			return nil, err
		}
		start := r.observe.stepStarts()
		tensors, trace, err := r.compute(values)
		if err == nil {
			b, err := r.batch(tensors, start)
			if err == nil {
				b.trace = trace
			}
			return b, err
		}
		if final := r.failed(ctx, err); final != nil {
			return nil, r.observe.Fault(r.o.Source, final)
		}
		r.observe.again(r.steps+1, err)
	}
}

// compute makes the session run of a step. The run does not use the consumer's context:
// a cancelled run would still take its batch. After the wait for the lock the consumer
// may have left.
func (r *run) compute(values []*tfbridge.Tensor) ([]*tfbridge.Tensor, *tfbridge.RunMetadata, error) {
	if r.o.Lock == nil {
		return r.execute(values)
	}
	r.o.Lock.Lock()
	defer r.o.Lock.Unlock()
	select {
	case <-r.left:
		return nil, nil, errLeft
	default:
		return r.execute(values)
	}
}

// execute makes the session run of the next step, with a trace if one was requested.
func (r *run) execute(values []*tfbridge.Tensor) ([]*tfbridge.Tensor, *tfbridge.RunMetadata, error) {
	if r.traced != nil && r.o.Trace(r.steps+1) {
		return r.traced.RunTraced(context.Background(), values)
	}
	tensors, err := r.calls.run(values)
	return tensors, nil, err
}

// batch makes a batch from the fetched tensors of a step.
func (r *run) batch(tensors []*tfbridge.Tensor, start time.Time) (*Batch, error) {
	b := &Batch{names: r.names, inputs: r.pipe.input.ModelInputs, tensors: slices.Clip(tensors[:len(r.names)])}
	var err error
	if b.rows, err = r.countRows(tensors); err == nil {
		err = r.position(tensors)
	}
	if err == nil {
		err = r.take(b, start)
	}
	if err == nil && r.o.Places {
		b.places, err = r.pass.(Locator).Places(b.rows)
	}
	if err != nil {
		b.release()
		return nil, err
	}
	if saver, ok := r.pass.(Saver); ok && r.o.OnDemand {
		b.save = saver.SaveState
	}
	if placer, ok := r.pass.(Placer); ok && r.o.OnDemand {
		b.place = placer.Place
	}
	return b, nil
}

// position passes the positions of a batch's rows to the pass, given the fetched
// tensors.
func (r *run) position(tensors []*tfbridge.Tensor) error {
	p, ok := r.pass.(Positioner)
	if r.pipe.input.Positions.Op == nil || !ok {
		return nil
	}
	positions := tensors[len(tensors)-1]
	defer positions.Close()
	rows, err := tfbridge.View[int64](positions)
	if err != nil {
		return err
	}
	return p.TakenAt(rows)
}

// take counts the results of a step, batch by batch, and reports them to the listener. The
// state of the last batch is the state of the step.
func (r *run) take(b *Batch, start time.Time) (err error) {
	n := r.batchesOf(b)
	for i := range n {
		rows := b.rows
		if n > 1 {
			rows = min(r.pipe.input.BatchRows, b.rows-i*r.pipe.input.BatchRows)
		}
		if b.state, err = r.pass.Taken(rows); err != nil {
			return err
		}
		r.steps++
		r.observe.gave(given{step: r.steps, rows: rows, start: start, of: n, before: i})
	}
	return nil
}

// countRows returns the number of rows of a batch, given the fetched tensors.
func (r *run) countRows(tensors []*tfbridge.Tensor) (int64, error) {
	counted := tensors[r.rowsOf]
	if r.rowsOf == len(r.names) { // this fetch only counts rows
		defer counted.Close()
		return r.rowsIn(counted)
	}
	if shape := counted.Shape(); len(shape) > 0 {
		return shape[0], nil
	}
	return 1, nil
}

// rowsIn returns the number of rows, given a tensor that was fetched only for that.
func (r *run) rowsIn(counted *tfbridge.Tensor) (int64, error) {
	if r.pipe.input.Rows.Op == nil {
		if shape := counted.Shape(); len(shape) > 0 {
			return shape[0], nil
		}
		return 1, nil
	}
	rows, err := tfbridge.View[int64](counted)
	if err != nil {
		return 0, err
	}
	return rows[0], nil
}

// failed classifies the failure of a step. Nil means that the step is to be repeated.
func (r *run) failed(ctx context.Context, err error) error {
	if err == errLeft {
		return err
	}
	if g := r.o.Gate; g != nil {
		// A gate that cannot be read, because the session was closed, gives no answer.
		if passed, late := g.passed(r.sess); late == nil && passed > r.steps {
			if r.o.Joined != nil {
				return r.o.Joined(err)
			}
			return err
		}
	}
	return r.pass.Failed(ctx, err)
}
