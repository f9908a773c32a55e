package windows

import (
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/target"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// # Windows that random steps draw for
//
// What a random step draws follows from the epoch and the number of the window, so both travel
// with the window, as its last components. The number counts the windows of all files in their
// order. Where windows differ in size, or depend on the lengths of lists, nobody knows how
// many windows the files before have. Then the number is the window's own in its file, and the number
// of the file stands in the upper 32 bits.

// drawnComponents is how many components epoch and number are.
const drawnComponents = 2

// dated appends the epoch before the number, which is the last component of windows.
func dated(s *graph.Scope, d *dataset.Dataset, epoch tfbridge.Output) *dataset.Dataset {
	return d.Map("epoch_of", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		if len(args) == 0 {
			return nil // the scope has failed
		}
		last := len(args) - 1
		return append(slices.Clone(args[:last]), graph.Identity(s, epoch), args[last])
	}, nil)
}

// numbered appends epoch and number to the windows of one file, whose number is a scalar.
func numbered(t *target.Target, d *dataset.Dataset, epoch, file tfbridge.Output) *dataset.Dataset {
	s := d.Scope()
	first := graph.Mul(s, file, s.Const(int64(1)<<32))
	if before := windowsBefore(t); before != nil {
		first = graph.GatherV2(s, s.Const(before), file, 0)
	}
	numbers := dataset.RangeOutput(s, first, s.Const(int64(1)<<62))
	return dated(s, dataset.Zip(s, d, numbers), epoch)
}

// windowsBefore returns how many windows the files before each file have, nil if that is not known.
func windowsBefore(t *target.Target) []int64 {
	if _, counted := t.Scan.Records(); !counted {
		return nil
	}
	if _, why := order.HidesWindows(t.Spec); why != "" {
		return nil
	}
	return order.New(order.InFile(t.Spec), t.Scan).Before()
}
