package spec

// DiscreteArgs are the arguments of a loader of type discrete_sequence.
type DiscreteArgs struct {
	ExampleArgs
	OrderArgs
	WindowArgs
}

func (*DiscreteArgs) loaderType() LoaderType { return DiscreteSequence }

// check checks windows of whole records.
func (a *DiscreteArgs) check(c *checker) {
	w, sized := windowPart{c}.window(&a.WindowArgs, Records)
	if a.Tail == TailPad {
		c.inConfig.Report(a.Key("tail"), "only windows of a continuous_sequence can be padded; how long the missing records would be is not known")
	}
	windowPart{c}.cutWindows(w, sized)
	orderPart{c}.checkOrder(&a.OrderArgs)
}
