package stage

import (
	"fmt"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
	"millrace/loaders/stage/order"
)

// Window cuts windows from the records of a file.
type Window struct {
	spec.Window
	Tensors []spec.TensorSpec // the tensors of a window
}

func window(c engine.Choice) []Stage {
	if c.Window == nil {
		return nil
	}
	tensors := primaries(c)
	for i := range tensors {
		tensors[i].Shape = c.Window.Shape(tensors[i].Shape)
	}
	return []Stage{Window{*c.Window, tensors}}
}

// Explain says how large windows are.
func (w Window) Explain() Explained {
	what := fmt.Sprintf("%s to %s %s", figures.Count(w.Min), figures.Count(w.Max), w.Unit)
	if w.Min == w.Max {
		what = fmt.Sprintf("%s %s", figures.Count(w.Min), w.Unit)
	}
	if w.Stride > 0 {
		what += fmt.Sprintf(", one every %s", figures.Count(w.Stride))
	}
	return Explained{Name: "window", What: what + ", tail: " + w.Tail, Tensors: tensorsOf(w.Tensors...)}
}

// count returns the number of windows in the files. If windows are read by their location,
// their order has counted them.
func (w Window) count(in Count, d Data) (Count, bool) {
	if d.Records != nil {
		return in, true
	}
	if _, hidden := order.HidesWindows(d.Spec); hidden != "" || d.Bucket != nil || !d.Expect {
		return in, false
	}
	in.Elements = order.OfRows(d.Spec, d.Found).EpochRecords()
	return in, true
}
