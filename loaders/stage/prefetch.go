package stage

import (
	"millrace/internal/base/figures"
	"millrace/loaders/engine"
)

// Prefetch computes batches before the loop asks for them.
type Prefetch struct{ Batches int64 }

func prefetch(c engine.Choice) []Stage {
	if c.Prefetch < 1 {
		return nil
	}
	return []Stage{Prefetch{c.Prefetch}}
}

// Explain says how many batches are made.
func (p Prefetch) Explain() Explained {
	return Explained{Name: "prefetch", What: figures.Plural(p.Batches, "batch", "batches")}
}
