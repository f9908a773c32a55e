package spec

import "millrace/loaders/decl"

// WindowArgs are the arguments of both sequence loaders.
type WindowArgs struct {
	MinWindow int64  `json:"min_window" decl:"required,min=1,limit=2147483647" doc:"The least size of a window, in positions (continuous_sequence) or records (discrete_sequence)."`
	MaxWindow int64  `json:"max_window" decl:"required,min=1,limit=2147483647" doc:"The greatest size of a window, at least min_window."`
	Tail      string `json:"tail" decl:"default=keep,enum=keep|drop|pad" doc:"What happens to a window at the end of a file that is too short for it. keep: it has what is left, if that is at least min_window. drop: it is dropped. pad, only with continuous_sequence: it is filled up with 0, false or the empty string if at least one position is left."`
}

// windowPart checks how windows are cut.
type windowPart struct{ *checker }

// window checks what both sequence loaders say about windows. It reports
// whether the sizes can be used.
func (c windowPart) window(a *WindowArgs, unit Unit) (w *Window, sized bool) {
	w = &Window{Unit: unit, Min: a.MinWindow, Max: a.MaxWindow, Tail: a.Tail}
	sized = !c.args.Bad("min_window", "max_window")
	if sized && w.Min > w.Max {
		c.inConfig.Report(c.args.Key("max_window"), "must be at least min_window (%d), got %d", w.Min, w.Max)
		sized = false
	}
	for _, t := range c.tensors {
		if t.shaped && len(t.Shape) == 0 {
			c.inConfig.Report(t.at, "a scalar has no first dimension to take windows along")
			t.shaped = false
		}
	}
	return w, sized
}

// cutWindows gives the tensors the shapes that they have in windows.
func (c windowPart) cutWindows(w *Window, sized bool) {
	if !sized {
		w = &Window{Unit: w.Unit, Min: 1, Max: 2} // the size is unknown
	}
	c.spec.Window = w
	for _, t := range c.tensors {
		if t.shaped {
			t.Shape = w.Shape(t.Shape)
		}
	}
}

// ContinuousArgs are the arguments of a loader of type continuous_sequence.
type ContinuousArgs struct {
	ExampleArgs
	OrderArgs
	WindowArgs
	Stride *int64 `json:"stride" decl:"null,min=1,limit=2147483647" doc:"How many positions after the start of a window the next one starts; null means where this window ends."`
}

// check checks windows over the joined records of a file. Their sizes count positions.
func (a *ContinuousArgs) check(c *checker) {
	w, sized := windowPart{c}.window(&a.WindowArgs, Positions)
	if a.Stride != nil {
		w.Stride = *a.Stride
	}
	windowPart{c}.equalLengths()
	windowPart{c}.cutWindows(w, sized)
	orderPart{c}.checkOrder(&a.OrderArgs)
}

// equalLengths reports features of a continuous sequence whose records are
// known to differ in length.
func (c windowPart) equalLengths() {
	var first *tensorState
	for _, t := range c.tensors {
		switch {
		case !t.shaped || t.Shape[0] < 0:
		case first == nil:
			first = t
		case t.Shape[0] != first.Shape[0]:
			c.inConfig.Report(t.at, "the first dimension is %d, that of %s %d; in a continuous sequence all have the same length",
				t.Shape[0], decl.Quote(first.Name), first.Shape[0])
		}
	}
}

// DiscreteArgs are the arguments of a loader of type discrete_sequence.
type DiscreteArgs struct {
	ExampleArgs
	OrderArgs
	WindowArgs
}

// check checks windows of whole records.
func (a *DiscreteArgs) check(c *checker) {
	w, sized := windowPart{c}.window(&a.WindowArgs, Records)
	if a.Tail == TailPad {
		c.inConfig.Report(a.Key("tail"), "only windows of a continuous_sequence can be padded; how long the missing records would be is not known")
	}
	windowPart{c}.cutWindows(w, sized)
	orderPart{c}.checkOrder(&a.OrderArgs)
}
