package stage

import (
	"millrace/internal/base/figures"
	"millrace/loaders/chunks"
	"millrace/loaders/engine"
)

// Repeat reads the data in several epochs, one after the other.
type Repeat struct{ Epochs int64 } // 0 = without end

func repeat(c engine.Choice) []Stage { return []Stage{Repeat{c.Epochs}} }

// Explain says how many epochs there are.
func (r Repeat) Explain() Explained {
	if r.Epochs == 0 {
		return Explained{Name: "repeat", What: "without end"}
	}
	return Explained{Name: "repeat", What: figures.Plural(r.Epochs, "epoch", "epochs")}
}

// count adds up the epochs.
func (r Repeat) count(in Count, _ Data) (Count, bool) {
	begin, _ := chunks.Part(in.Elements, in.Parts, r.Epochs%in.Parts)
	in.Elements = r.Epochs/in.Parts*in.Elements + begin
	return in, r.Epochs > 0
}
