package rest

import (
	"millrace/tfbridge"
)

// scratch is memory that requests reuse one after the other.
type scratch struct {
	text    []byte // the body of the request
	request request
	input   builder // builder of the first input
	numbers []byte  // its elements
	writers []writer
	answer  []byte
	reply   answer
}

// The memory with which a request begins, and the most that is kept for the next one.
const (
	firstNumbers, firstAnswer = 1024, 512
	mostKept                  = 2 << 20
)

// getScratch returns memory for a request.
func (h *handler) getScratch() *scratch {
	if s, ok := h.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{numbers: make([]byte, 0, firstNumbers), answer: make([]byte, 0, firstAnswer)}
}

// putScratch keeps memory for another request, unless a request has made it large.
// Nothing may refer to it any more.
func (h *handler) putScratch(s *scratch) {
	if cap(s.text) > mostKept || cap(s.numbers) > mostKept || cap(s.answer) > mostKept {
		return
	}
	clear(s.writers) // they refer to tensors
	h.scratch.Put(s)
}

// builder returns the builder of the only input of a request.
func (s *scratch) builder(name string, dt tfbridge.DataType) *builder {
	s.input = builder{name: name, dtype: dt, shape: s.input.shape[:0], rank: -1, raw: s.numbers[:0]}
	return &s.input
}
