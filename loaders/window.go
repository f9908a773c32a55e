package loaders

import (
	"millrace/loaders/decl"
)

// windowArgs returns the arguments of a sequence loader, nil for independent.
func (c *Config) windowArgs() *WindowArgs {
	switch a := c.Args.(type) {
	case *ContinuousArgs:
		return &a.WindowArgs
	case *DiscreteArgs:
		return &a.WindowArgs
	}
	return nil
}

// windows checks the window and makes the tensors those of a window.
func (c *checker) windows() {
	w := c.config.windowArgs()
	if w == nil {
		return
	}
	c.plan.Window = &Window{Min: w.MinWindow, Max: w.MaxWindow, Tail: w.Tail}
	continuous, isContinuous := c.config.Args.(*ContinuousArgs)
	if isContinuous && continuous.Stride != nil {
		c.plan.Window.Stride = *continuous.Stride
	}
	sized := !c.args.Bad("min_window", "max_window")
	if sized && w.MinWindow > w.MaxWindow {
		c.inConfig.Report(c.args.Key("max_window"), "must be at least min_window (%d), got %d", w.MinWindow, w.MaxWindow)
		sized = false
	}
	for _, t := range c.tensors {
		if t.shaped && len(t.Shape) == 0 {
			c.inConfig.Report(t.at, "a scalar has no first dimension to take windows along")
			t.shaped = false
		}
	}
	if isContinuous {
		c.equalLengths()
	}
	for _, t := range c.tensors {
		if t.shaped {
			t.Shape = append([]int64{c.windowLength(w, sized, isContinuous, t.Shape[0])}, t.Shape[1:]...)
		}
	}
}

// windowLength returns the first dimension of a window over records whose
// first dimension is size, -1 if windows differ. Windows of one size always
// have it: a shorter rest of a file is dropped.
func (c *checker) windowLength(w *WindowArgs, sized, continuous bool, size int64) int64 {
	switch {
	case !sized || w.MinWindow != w.MaxWindow:
		return -1
	case continuous:
		return w.MinWindow
	case size >= 0 && size <= maxDimension/w.MinWindow:
		return size * w.MinWindow
	}
	return -1
}

// equalLengths reports features of a continuous sequence whose records are
// known to differ in length.
func (c *checker) equalLengths() {
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
