package batching

import (
	"container/list"
	"encoding/binary"
	"time"

	"millrace/tfbridge"
)

// request is a call of Predict. The scheduler's lock guards what changes after it
// is submitted.
type request struct {
	inputs   []*tfbridge.Tensor // in the order of the batcher's names
	rows     int64
	key      []byte // equal for requests that can be joined
	enqueued time.Time
	done     chan struct{} // closed when results or err are complete

	group   *group // nil: does not wait
	place   *list.Element
	taken   int64 // rows that are in batches
	parts   []*part
	first   part // memory of the first of them
	pending int  // parts whose batch has not ended
	left    bool
	err     error
}

// part is the rows of a request in one batch.
type part struct {
	request     *request
	batch       *batch
	start, rows int64
	outputs     []*tfbridge.Tensor // in the order of the batch's names
}

// whole reports whether the part is all of its request.
func (p *part) whole() bool { return p.rows == p.request.rows }

// group holds requests that can be joined, the oldest first.
type group struct {
	key      string
	requests list.List
	rows     int64
	most     int64 // rows of a batch
}

// full reports whether the requests fill a batch.
func (g *group) full() bool { return g.rows >= g.most }

// head returns the oldest request. A group in a queue is never empty.
func (g *group) head() *request { return g.requests.Front().Value.(*request) }

// shapeKey returns a key that is equal for inputs that can be joined: with the
// same dimensions after the first or, if they are padded, as many. What has no
// element to pad with is not padded.
func shapeKey(inputs []*tfbridge.Tensor, padded bool) []byte {
	var room [8]int64
	key := make([]byte, 0, 32)
	for _, t := range inputs {
		shape := t.AppendShape(room[:0])
		key = binary.AppendUvarint(key, uint64(len(shape)))
		if padded && t.NumElements() > 0 {
			key = append(key, 1)
			continue
		}
		key = append(key, 0)
		for _, n := range shape[1:] {
			key = binary.AppendUvarint(key, uint64(n)+1)
		}
	}
	return key
}

// drop closes the results.
func (r *request) drop() {
	for _, p := range r.parts {
		closeAll(p.outputs)
		p.outputs = nil
	}
}

// closeAll closes tensors, of which some may be nil.
func closeAll(tensors []*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}
