package stage

import (
	"millrace/internal/base/figures"
	"millrace/loaders/engine"
)

// Shuffle mixes elements in a buffer: it fills the buffer, draws one of its elements and
// takes the next in its place.
type Shuffle struct {
	Of     Shuffled
	Buffer int64 // elements
}

// Shuffled is what a shuffle mixes.
type Shuffled string

// What a shuffle may mix.
const (
	OfRecords   Shuffled = "records"
	OfWindows   Shuffled = "windows"
	OfSequences Shuffled = "sequences" // sequences of a chunked_sequence, before they are cut
	OfRows      Shuffled = "rows"      // rows of a chunked_sequence
)

// shuffles returns the stage that mixes examples.
func shuffles(c engine.Choice) []Stage {
	switch {
	case c.Shuffle == nil:
		return nil
	case c.Window != nil:
		return []Stage{Shuffle{OfWindows, c.Shuffle.Elements}}
	}
	return []Stage{Shuffle{OfRecords, c.Shuffle.Elements}}
}

// Explain says what is mixed.
func (s Shuffle) Explain() Explained {
	return Explained{Name: "shuffle", What: string(s.Of) + " in a buffer of " + figures.Count(s.Buffer)}
}
