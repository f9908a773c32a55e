package example

// SequenceBuilder writes SequenceExamples, one after the other, in memory that it
// keeps. The embedded Builder has the context features, and its Record is hidden.
// The zero value is ready. Only one goroutine at a time may use it.
//
//	b.Reset()
//	b.Strings("lang", "en")
//	b.FloatLists("frames", frames...)
//	record := b.Record()
type SequenceBuilder struct {
	Builder
	lists []byte
	begun int // start of the lists; 0: there are none
	buf   []byte
}

// Reset begins a new SequenceExample. The previous result of Record is overwritten.
func (s *SequenceBuilder) Reset() {
	s.Builder.Reset()
	s.lists, s.begun = s.lists[:0], 0
}

// add adds a feature list, whose features the function step writes.
func add[T any](s *SequenceBuilder, name string, steps []T, one func([]byte, place, T) []byte) {
	if s.begun == 0 {
		s.lists, s.begun = begin(s.lists[:0], tagBytes2)
	}
	b, list := beginList(s.lists, name)
	for _, step := range steps {
		b = one(b, place{step: true}, step)
	}
	s.lists = list.end(b)
}

// IntLists adds a feature list with the integers of each step.
func (s *SequenceBuilder) IntLists(name string, steps ...[]int64) {
	add(s, name, steps, appendInts[int64])
}

// FloatLists adds a feature list with the floats of each step.
func (s *SequenceBuilder) FloatLists(name string, steps ...[]float32) {
	add(s, name, steps, appendFloats[float32])
}

// BytesLists adds a feature list with the byte strings of each step.
func (s *SequenceBuilder) BytesLists(name string, steps ...[][]byte) {
	add(s, name, steps, appendTexts[[]byte])
}

// StringLists adds a feature list with the byte strings of each step.
func (s *SequenceBuilder) StringLists(name string, steps ...[]string) {
	add(s, name, steps, appendTexts[string])
}

// Record returns the bytes of the SequenceExample, which are valid until the next
// call of another method. It begins a new one.
func (s *SequenceBuilder) Record() []byte {
	s.buf = append(s.buf[:0], s.Builder.Record()...)
	if s.begun > 0 {
		s.lists = end(s.lists, s.begun)
		s.buf = append(s.buf, s.lists...)
	}
	s.lists, s.begun = s.lists[:0], 0
	return s.buf
}
