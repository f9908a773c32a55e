package stage

import (
	"millrace/internal/base/figures"
	"millrace/loaders/engine"
)

// Shuffle mixes elements in a buffer: it fills the buffer, draws one of its elements and
// takes the next in its place.
type Shuffle struct {
	Of     string // what is mixed: "records"
	Buffer int64  // elements
}

// shuffles makes the stage that mixes examples.
func shuffles(c engine.Choice) []Stage {
	switch {
	case c.Shuffle == nil:
		return nil
	case c.Window != nil:
		return []Stage{Shuffle{"windows", c.Shuffle.Elements}}
	}
	return []Stage{Shuffle{"records", c.Shuffle.Elements}}
}

// Explain says what is mixed.
func (s Shuffle) Explain() Explained {
	return Explained{Name: "shuffle", What: s.Of + " in a buffer of " + figures.Count(s.Buffer)}
}
