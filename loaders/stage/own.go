package stage

import (
	"millrace/loaders/engine"
	"millrace/loaders/loadertype"
)

// Own is the stage that only the config's loader type has.
type Own struct{ Stage loadertype.Stage }

func own(c engine.Choice) []Stage {
	if c.Special == nil {
		return nil
	}
	return []Stage{Own{c.Special}}
}

// Explain returns what the type says of its stage.
func (o Own) Explain() Explained {
	name, what := o.Stage.Explain()
	return Explained{Name: name, What: what}
}

// count asks the type's stage.
func (o Own) count(in Count, _ Data) (out Count, known bool) {
	in.Elements, known = o.Stage.Count(in.Elements)
	return in, known
}
