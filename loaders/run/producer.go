package run

import (
	"context"
	"errors"
	"slices"

	"millrace/loaders/build"
	"millrace/tfbridge"
)

// producer runs the graph, batch by batch, ahead of the consumer, in a goroutine
// of its own:
//
//	producer:  start | step 1 | step 2 | step 3 | ... | end or error
//	                    \        \        \                \
//	results:             batch 1  batch 2  batch 3         error, last
//	                       \        \        \
//	consumer:               yield    yield    yield
//
// # A bad record
//
// Records are parsed several at once: several batches of them, or a block that
// windows are cut from. If one record is bad, the whole group fails, and the
// good batches of the group would be lost with it. Which batches a user gets
// must not depend on such a group. So after a failure that may be a record's,
// the producer starts the iterator once more, with the smallest group, and skips
// the batches that it has delivered. The good batches come, one by one, and then
// the failure again. That failure is final. Where files overtake one another
// (sloppy_interleave) the second reading may come in another order, so the first
// failure is final there.
type producer struct {
	pipe      *Pipeline
	session   *tfbridge.Session
	from      []byte // a saved state to go on from; nil: the start
	saveEvery int64  // batches from one saved state to the next; 0: none
	names     []string
	init      *tfbridge.Callable
	next      *tfbridge.Callable
	rowsOf    int // the fetch whose first dimension is the rows, or past the tensors a scalar that holds them
	results   chan result
	left      chan struct{} // closed when the consumer has left
	batches   int64         // delivered
	rows      int64         // delivered
	group     int64         // records parsed at once
	skip      int64         // batches left out at the start
	retrying  bool          // after a failure: as few records as can be are parsed at once
}

// result is what one step gave.
type result struct {
	batch *Batch
	err   error
}

// errEnd is the end of the data, believed after [Pipeline.verifyEnd] only.
var errEnd = errors.New("end of data")

func (pl *Pipeline) newProducer(sess *tfbridge.Session, o *Options) (*producer, error) {
	fetch := o.Fetch
	if fetch == nil {
		fetch = pl.Tensors
	}
	p := &producer{
		pipe:    pl,
		session: sess, from: o.State, saveEvery: o.SaveEvery,
		results: make(chan result, max(o.Ahead, 1)-1), // one more is in the producer's hand
		left:    make(chan struct{}),
	}
	var outputs []tfbridge.Output
	for _, n := range fetch {
		p.names = append(p.names, n.Name)
		outputs = append(outputs, n.Output)
	}
	var err error
	p.init, err = sess.Prepare([]tfbridge.Output{pl.Group, pl.Skip}, nil, []*tfbridge.Operation{pl.Iterator.Init})
	if err != nil {
		return nil, err
	}
	// Every tensor of the batch tells its rows: it takes no operations of their
	// own then.
	p.rowsOf = slices.IndexFunc(outputs, func(o tfbridge.Output) bool {
		return slices.ContainsFunc(pl.Tensors, func(n build.NamedOutput) bool { return n.Output == o })
	})
	if p.rowsOf < 0 {
		p.rowsOf = len(outputs)
		outputs = append(outputs, pl.Rows)
	}
	p.next, err = sess.Prepare(nil, outputs, nil)
	if err != nil {
		return nil, err
	}
	p.next.Inline()
	return p, nil
}

// produce sends every step's result; it ends after an error or the end of the
// data, or when the consumer has left.
func (p *producer) produce(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	err := p.begin()
	for {
		var b *Batch
		if err == nil {
			b, err = p.step(ctx)
		}
		select {
		case p.results <- result{b, err}:
		case <-p.left:
			b.release()
			p.discard()
			return
		}
		if err != nil {
			return
		}
	}
}

// discard frees what was produced for a consumer that has left.
func (p *producer) discard() {
	for {
		select {
		case res := <-p.results:
			res.batch.release()
		default:
			return
		}
	}
}

// begin starts from a saved state if there is one.
func (p *producer) begin() error {
	if p.from != nil {
		return p.restoreState(p.from)
	}
	return p.start(p.pipe.GroupSize, 0)
}

// start puts the iterator at a batch of the data. group is how many records
// are parsed at once.
func (p *producer) start(group, skip int64) error {
	feeds, err := scalars(group, skip)
	if err != nil {
		return err
	}
	defer feeds[0].Close()
	defer feeds[1].Close()
	p.group, p.skip = group, skip
	if _, err := p.init.Run(context.Background(), feeds); err != nil {
		return p.pipe.explain(context.Background(), err)
	}
	return nil
}

func scalars(a, b int64) ([]*tfbridge.Tensor, error) {
	x, err := tfbridge.NewTensor(a)
	if err != nil {
		return nil, err
	}
	y, err := tfbridge.NewTensor(b)
	if err != nil {
		x.Close()
		return nil, err
	}
	return []*tfbridge.Tensor{x, y}, nil
}

// step runs the graph once. The run is not given the context: a run that is
// left behind would still take its batch.
func (p *producer) step(ctx context.Context) (*Batch, error) {
	tensors, err := p.next.Run(context.Background(), nil)
	if err != nil {
		return p.failed(ctx, err)
	}
	b := &Batch{names: p.names, tensors: slices.Clip(tensors[:len(p.names)])}
	if b.rows, err = p.rowsIn(tensors); err != nil {
		b.release()
		return nil, err
	}
	p.rows += b.rows
	p.batches++
	if p.saveEvery > 0 && p.batches%p.saveEvery == 0 {
		if b.state, err = p.saveState(); err != nil {
			b.release()
			return nil, err
		}
	}
	return b, nil
}

// rowsIn returns the rows of a batch, given what was fetched.
func (p *producer) rowsIn(tensors []*tfbridge.Tensor) (int64, error) {
	if p.rowsOf < len(p.names) {
		return tensors[p.rowsOf].Shape()[0], nil
	}
	scalar := tensors[p.rowsOf]
	defer scalar.Close()
	rows, err := tfbridge.View[int64](scalar)
	if err != nil {
		return 0, err
	}
	return rows[0], nil
}

// failed decides what the failure of a step means.
func (p *producer) failed(ctx context.Context, err error) (*Batch, error) {
	if errors.Is(err, tfbridge.OutOfRange) {
		if err := p.pipe.verifyEnd(ctx, p.rows); err != nil {
			return nil, err
		}
		return nil, errEnd
	}
	if p.retrying || p.pipe.GroupSize <= p.pipe.retryGroupSize || p.pipe.Plan.Sloppy || !dataFault(err) {
		return nil, p.pipe.explain(ctx, err)
	}
	p.retrying = true
	if err := p.start(p.pipe.retryGroupSize, p.batches); err != nil {
		return nil, err
	}
	return p.step(ctx)
}

// dataFault reports whether a failure may be that of a record.
func dataFault(err error) bool {
	return errors.Is(err, tfbridge.InvalidArgument) || errors.Is(err, tfbridge.DataLoss) ||
		errors.Is(err, tfbridge.FailedPrecondition)
}

// saveState returns the state after the batches so far.
func (p *producer) saveState() ([]byte, error) {
	state, err := p.pipe.Iterator.SaveState(context.Background(), p.session)
	if err != nil {
		return nil, stateError(p.pipe.Plan, "save the loader's state: %w", err)
	}
	return encodeState(p.pipe.Plan, &stateHeader{Batches: p.batches, Rows: p.rows, Group: p.group, Skip: p.skip}, state)
}

// restoreState puts the iterator where a state was saved.
func (p *producer) restoreState(saved []byte) error {
	header, state, err := decodeState(p.pipe.Plan, saved)
	if err != nil {
		return err
	}
	if err := p.start(header.Group, header.Skip); err != nil {
		return err
	}
	if err := p.pipe.Iterator.RestoreState(context.Background(), p.session, state); err != nil {
		return stateError(p.pipe.Plan, "restore the loader's state: %w", err)
	}
	p.batches, p.rows = header.Batches, header.Rows
	return nil
}
