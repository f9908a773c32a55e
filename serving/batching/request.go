package batching

import (
	"container/list"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"millrace/tfbridge"
)

// request is a call of Predict. The scheduler's lock guards the fields that change
// after it is submitted.
type request struct {
	inputs   []operand // inputs in the order of the batcher's names
	rows     int64     // number of rows as which it counts, in the queue and in a batch
	alone    bool      // it cannot share a batch: see alone.go
	key      []byte    // equal for requests that can be joined
	enqueued time.Time
	deadline time.Time // deadline of its context; zero: none
	priority Priority
	done     chan struct{} // gets its only value when results or err are complete

	group   *group // nil if it does not wait
	place   *list.Element
	taken   int64 // rows that are in batches
	parts   []*part
	pending int // parts whose batch has not ended
	left    bool
	err     error
	pool    *sync.Pool // to which it returns at its end

	room struct { // memory for a request with one input and one part, as nearly all are
		inputs [1]operand
		parts  [1]*part
		first  part
		key    [16]byte
	}
}

// end releases a request that is done, and its results. A request that has left is not
// done, because its batch still has it.
func (r *request) end() {
	r.drop()
	r.pool.Put(r)
}

// part is the rows of a request in one batch.
type part struct {
	request     *request
	batch       *batch
	start, rows int64
	outcome     *outcome // nil until the batch has run, or if it failed
	at          int64    // row of the outcome with which the part begins
}

// whole reports whether the part is the whole request.
func (p *part) whole() bool { return p.rows == p.request.rows }

// group holds requests that can be joined, the oldest first.
type group struct {
	key      string
	requests list.List
	rows     int64
	most     int64 // rows of a batch
	alone    bool  // it has one request, which runs alone
}

// full reports whether the requests fill a batch of at most a number of rows.
func (g *group) full(most int64) bool { return g.alone || g.rows >= min(g.most, most) }

// head returns the oldest request. A group in a queue is never empty.
func (g *group) head() *request { return g.requests.Front().Value.(*request) }

// appendKey appends, for an input, bytes to a key that are equal for inputs that can be
// joined: the dimensions after the first or, if inputs are padded, the number of
// dimensions. An input without elements is not padded.
func appendKey(key []byte, o *operand, padded bool) []byte {
	key = binary.AppendUvarint(key, uint64(len(o.shape)))
	if padded && elements(o.shape) > 0 {
		return append(key, 1)
	}
	key = append(key, 0)
	for _, n := range o.shape[1:] {
		key = binary.AppendUvarint(key, uint64(n)+1)
	}
	return key
}

// drop releases the results.
func (r *request) drop() {
	for _, p := range r.parts {
		p.outcome.release()
		p.outcome = nil
	}
}

// closeAll closes tensors, of which some may be nil.
func closeAll(tensors []*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// countRows records the rows of a request's next input, or that the request cannot
// share a batch.
func (r *request) countRows(o *operand) {
	if len(o.shape) == 0 {
		r.alone = true
	} else {
		r.count(o.shape[0])
	}
}

// count records the rows of an input; -1 if they are not known.
func (r *request) count(rows int64) {
	switch {
	case rows < 0, r.rows >= 0 && rows != r.rows:
		r.alone = true
	case r.rows < 0:
		r.rows = rows
	}
}

// before reports whether a request is served before another.
func (r *request) before(other *request) bool {
	if r.priority != other.priority {
		return r.priority > other.priority
	}
	return r.enqueued.Before(other.enqueued)
}

// insert puts a request after the requests with its priority or a higher one.
func (g *group) insert(r *request) *list.Element {
	at := g.requests.Back()
	for at != nil && at.Value.(*request).priority < r.priority {
		at = at.Prev()
	}
	if at == nil {
		return g.requests.PushFront(r)
	}
	return g.requests.InsertAfter(r, at)
}

// outcome is the outputs of a run, in the order of the batcher's names. Many
// goroutines may read and release it.
type outcome struct {
	tensors []*tfbridge.Tensor
	users   atomic.Int32
	whole   bool // one part has all of them
}

// release notes that a part no longer needs the outputs. The outcome may be nil.
func (o *outcome) release() {
	if o != nil && o.users.Add(-1) == 0 {
		closeAll(o.tensors)
	}
}
