package loaders

import "millrace/loaders/decl"

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
	if w.Tail == tailPad && !isContinuous {
		c.inConfig.Report(c.args.Key("tail"), "only windows of a continuous_sequence can be padded; how long the missing records would be is not known")
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
	if !sized {
		c.plan.Window = &Window{Min: 1, Max: 2} // of any size, as far as is known
	}
	for _, t := range c.tensors {
		if t.shaped {
			t.Shape = c.plan.windowed(t.Shape)
		}
	}
}

// least returns how many units a file must have to give a window.
func (w *Window) least() int64 {
	if w.Tail == tailPad {
		return 1
	}
	return w.Min
}

// windowed returns the shape of windows over records of a shape. Windows of
// one size always have it, because a shorter rest of a file is dropped or padded.
func (p *Plan) windowed(shape []int64) []int64 {
	w, length := p.Window, int64(-1)
	switch size := shape[0]; {
	case w.Min != w.Max:
	case p.Type == ContinuousSequence:
		length = w.Min
	case size >= 0 && size <= maxDimension/w.Min:
		length = size * w.Min
	}
	return append([]int64{length}, shape[1:]...)
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
