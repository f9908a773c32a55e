package stage

import (
	"fmt"

	"millrace/internal/base/figures"
	"millrace/loaders/chunks"
	"millrace/loaders/engine"
)

// Order puts the sequences of a chunked_sequence in order.
type Order struct {
	chunks.Order
	Parts int64 // number of parts; an epoch takes one part
}

func sequenceOrder(c engine.Choice) []Stage {
	if c.Chunks == nil {
		return nil
	}
	return []Stage{Order{c.Chunks.Order, c.Chunks.Partition}}
}

// Explain says in which order sequences come.
func (o Order) Explain() Explained {
	what := o.String() + " order of sequences"
	if o.Parts > 1 {
		what += fmt.Sprintf(", an epoch takes one of %s parts", figures.Count(o.Parts))
	}
	return Explained{Name: "order", What: what}
}

// count divides the sequences among epochs. Where the parts are divided further, into
// shards, these differ in size.
func (o Order) count(in Count, d Data) (Count, bool) {
	in.Parts = o.Parts
	return in, o.Parts == 1 || d.Records == nil || d.Records.Shards == 1
}
