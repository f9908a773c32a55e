package rest

import "bytes"

// scratch is memory that requests use one after the other.
type scratch struct {
	text    bytes.Buffer // the body of the request
	numbers []byte       // the elements of an input
	answer  []byte
}

// Memory that a request begins with, and the most that is kept for the next one.
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
	if s.text.Cap() > mostKept || cap(s.numbers) > mostKept || cap(s.answer) > mostKept {
		return
	}
	s.text.Reset()
	h.scratch.Put(s)
}

// builder returns a builder that uses the memory for numbers. There is one at a time.
func (s *scratch) builder(b *builder) *builder {
	b.raw = s.numbers[:0]
	return b
}
