package spec

import "millrace/loaders/decl"

// ContinuousArgs are the arguments of a loader of type continuous_sequence.
type ContinuousArgs struct {
	ExampleArgs
	OrderArgs
	WindowArgs
	Stride *int64 `json:"stride" decl:"null,min=1,limit=2147483647" doc:"How many positions after the start of a window the next one starts; null means where this window ends."`
}

func (*ContinuousArgs) loaderType() LoaderType { return ContinuousSequence }

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
