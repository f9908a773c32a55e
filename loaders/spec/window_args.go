package spec

// WindowArgs are the arguments of both sequence loaders.
type WindowArgs struct {
	MinWindow int64  `json:"min_window" decl:"required,min=1,limit=2147483647" doc:"The least size of a window, in positions (continuous_sequence) or records (discrete_sequence)."`
	MaxWindow int64  `json:"max_window" decl:"required,min=1,limit=2147483647" doc:"The greatest size of a window, at least min_window."`
	Tail      string `json:"tail" decl:"default=keep,enum=keep|drop|pad" doc:"What happens to a window at the end of a file that is too short for it. keep: it has what is left, if that is at least min_window. drop: it is dropped. pad, only with continuous_sequence: it is filled up with 0, false or the empty string if at least one position is left."`
}

// window checks what both sequence loaders say about windows. It reports
// whether the sizes can be used.
func (c *checker) window(a *WindowArgs, unit Unit) (w *Window, sized bool) {
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

// cutWindows makes the tensors those of a window.
func (c *checker) cutWindows(w *Window, sized bool) {
	if !sized {
		w = &Window{Unit: w.Unit, Min: 1, Max: 2} // of any size, as far as is known
	}
	c.spec.Window = w
	for _, t := range c.tensors {
		if t.shaped {
			t.Shape = w.Shape(t.Shape)
		}
	}
}
