package batching

import (
	"encoding/binary"
	"time"

	"millrace"
)

// queue holds the requests of one Batcher that wait. The scheduler's lock guards
// it.
type queue struct {
	signature *signature
	options   *Options
	groups    map[string]*group // key: a shape
	order     []*group          // the same, the oldest first
	waiting   int               // requests
	rows      int64             // rows of the requests that wait
	later     int64             // part of rows: requests with a low priority
	running   int               // batches
	inBatches int64             // rows of the batches that run
	lone      int               // the last batches, as many, had one request each, and no other waited
	refused   *millrace.Error   // the last error of admit
	refusedAt int64             // the number of rows of that error
	apart     bool              // outputs without rows have occurred: all requests run alone
	serial    uint64            // number of the last request that runs alone
	inRing    bool
	closed    bool
	drained   chan struct{} // closed when the queue is closed and nothing waits or runs
	costs     *costs        // what rows cost by batch size
}

// newQueue returns an empty queue.
func newQueue(sig *signature, o *Options) *queue {
	return &queue{signature: sig, options: o, groups: map[string]*group{}, drained: make(chan struct{}), costs: newCosts(o)}
}

// add appends a request to the group of its shape.
func (q *queue) add(r *request) error {
	if q.closed {
		return millrace.Errorf(millrace.ErrClosed, "the batcher is closed")
	}
	if err := q.admit(r.rows, r.priority, r.deadline); err != nil {
		return err
	}
	q.separate(r)
	g := q.groups[string(r.key)]
	if g == nil {
		g = &group{key: string(r.key), most: int64(q.options.MaxExecutionBatchSize), alone: r.alone}
		q.groups[g.key] = g
		q.order = append(q.order, g)
	}
	r.group, r.place = g, g.insert(r)
	g.rows += r.rows
	q.countRows(r, r.rows)
	q.waiting++
	return nil
}

// countRows adds to the number of rows that wait.
func (q *queue) countRows(r *request, rows int64) {
	q.rows += rows
	if r.priority < NormalPriority {
		q.later += rows
	}
}

// admit returns an error when there is not enough room for a request's rows, or if it
// would wait too long. While the number of waiting rows is the same it returns the same
// error, because a full queue refuses thousands of requests a second.
func (q *queue) admit(rows int64, priority Priority, deadline time.Time) error {
	most := int64(q.options.MaxEnqueuedBatches) * int64(q.options.MaxBatchSize)
	if priority < NormalPriority {
		most /= lowShare
	}
	if q.rows == 0 {
		return nil
	}
	if q.rows+rows <= most {
		return q.late(rows, priority, deadline)
	}
	if q.refused == nil || q.refusedAt != q.rows {
		q.refusedAt = q.rows
		q.refused = millrace.Errorf(millrace.ErrOverloaded, "the queue of batches is full: requests with %d rows wait, %d are allowed; try again later", q.rows, most)
	}
	return q.refused
}

// ready returns the oldest group that is ready for a batch. If none is, it returns nil,
// and how long it takes until one is.
func (q *queue) ready(now time.Time) (*group, time.Duration) {
	o := q.options
	var soonest time.Duration
	var oldest *group
	most := q.costs.usual()
	for _, g := range q.order {
		wait := o.BatchTimeout - now.Sub(g.head().enqueued)
		if q.closed || g.full(most) {
			wait = 0
		}
		if wait > 0 {
			if soonest == 0 || wait < soonest {
				soonest = wait
			}
			continue
		}
		if oldest == nil || g.head().before(oldest.head()) {
			oldest = g
		}
	}
	if oldest == nil {
		return nil, soonest
	}
	return oldest, 0
}

// take makes a batch of the oldest requests of a group.
func (q *queue) take(g *group, now time.Time) *batch {
	o := q.options
	b := newBatch(q, now.Sub(g.head().enqueued))
	b.formed = now
	b.alone = g.alone
	b.inPlace = q.brief(g.rows)
	room := int64(o.MaxExecutionBatchSize)
	aim := room
	if !g.alone {
		aim, b.pressed = q.costs.choose(min(g.rows, room))
	}
	for g.requests.Len() > 0 {
		r := g.head()
		rows := r.rows - r.taken
		splits := o.EnableLargeBatchSplitting && !q.signature.composites.any() && (aim == int64(o.MaxExecutionBatchSize) || b.rows == 0)
		if b.rows > 0 && b.rows+rows > aim && !splits {
			break
		}
		if rows > room && !g.alone {
			if !splits || room == 0 {
				break
			}
			rows = room
		}
		b.add(r, rows)
		g.rows -= rows
		q.countRows(r, -rows)
		room -= rows
		if r.taken == r.rows {
			q.remove(r)
		}
	}
	q.running++
	q.inBatches += b.rows
	return b
}

// size returns the number of rows with which a batch of rows is run.
func (q *queue) size(rows int64) int64 {
	if q.signature.composites.any() {
		return rows
	}
	return q.options.allowed(rows)
}

// remove takes a request out of its group.
func (q *queue) remove(r *request) {
	g := r.group
	if g == nil {
		return
	}
	g.requests.Remove(r.place)
	left := r.rows - r.taken
	g.rows -= left
	q.countRows(r, -left)
	q.waiting--
	r.group, r.place = nil, nil
	if g.requests.Len() > 0 {
		return
	}
	delete(q.groups, g.key)
	for i, other := range q.order {
		if other == g {
			q.order = append(q.order[:i], q.order[i+1:]...)
			break
		}
	}
}

// count removes a batch from those that run.
func (q *queue) count(b *batch) {
	if q.lone++; len(b.parts) > 1 || q.waiting > 0 {
		q.lone = 0
	}
	q.running--
	q.inBatches -= b.rows
	q.checkDrained()
}

// ended gives the results of a batch to its requests.
func (q *queue) ended(b *batch) {
	for i, p := range b.parts {
		err := b.err
		if b.errs != nil {
			err = b.errs[i]
		}
		q.finish(p, err)
	}
	q.apart = q.apart || b.apart
}

// finish records the end of one part of a request. After an error no more of the
// request is computed.
func (q *queue) finish(p *part, err error) {
	r := p.request
	r.pending--
	if r.err == nil {
		r.err = err
	}
	if r.err != nil {
		q.remove(r)
	}
	if r.pending > 0 || r.group != nil {
		return
	}
	if r.left || r.err != nil {
		r.drop()
	}
	if !r.left {
		r.done <- struct{}{}
	}
}

// leave makes a request leave, and returns the batches in which it is. It returns false
// if the request is done.
func (q *queue) leave(r *request) ([]*batch, bool) {
	select {
	case <-r.done:
		return nil, false
	default:
	}
	if r.left {
		return nil, true
	}
	r.left = true
	q.remove(r)
	q.checkDrained()
	if r.pending == 0 {
		r.drop()
	}
	var batches []*batch
	for _, p := range r.parts {
		p.batch.leave()
		batches = append(batches, p.batch)
	}
	return batches, true
}

// checkDrained tells a waiting Close that nothing waits or runs any more.
func (q *queue) checkDrained() {
	if q.closed && q.waiting == 0 && q.running == 0 {
		select {
		case <-q.drained:
		default:
			close(q.drained)
		}
	}
}

// briefRun is the expected time up to which a batch runs in the goroutine of its request.
const briefRun = 500 * time.Microsecond

// manyLone is the number of batches of one request after which a lone request no longer waits for
// others to come in. It would wake a thread for that.
const manyLone = 16

// brief reports whether a batch with some rows is expected to take less than briefRun.
func (q *queue) brief(rows int64) bool {
	return q.costs.batches >= enoughBatches && float64(rows)*q.costs.row < float64(briefRun)
}

// separate gives a request that runs alone a group to itself.
func (q *queue) separate(r *request) {
	r.alone = r.alone || q.apart
	if !r.alone {
		return
	}
	q.serial++
	r.key = binary.AppendUvarint(append(r.key[:0], aloneKey), q.serial)
}
