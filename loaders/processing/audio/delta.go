package audio

import (
	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// DeltaArgs are the arguments of a step of type delta, which has none.
type DeltaArgs struct{ decl.Object }

// reach is how many frames before and after a frame its slope follows from.
const reach = 2

// Check returns a step that makes the slopes of features over time, the first axis, by
// regression over two frames on each side: sum of n * (x[t+n] - x[t-n]) / 10. The first and the last
// frame stand for those beyond the ends.
func (*DeltaArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Float32()
	if !ok || !c.Ranked(t, 1, -1) {
		return nil
	}
	return processing.Fold{To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		length := b.Dim(in[0], 0)
		last := length.Sub(b.Const(int32(1)))
		times := b.Tensor(b.Op1("Range", nil, b.Const(int32(0)), length.Output(), b.Const(int32(1))))
		at := func(offset int32) graph.Tensor {
			index := times.Add(b.Const(offset)).Minimum(last).Maximum(b.Const(int32(0)))
			return b.Tensor(b.Op1("GatherV2", nil, in[0], index.Output(), b.Const(int32(0))))
		}
		sum := at(1).Sub(at(-1))
		for n := int32(2); n <= reach; n++ {
			sum = sum.Add(at(n).Sub(at(-n)).Mul(b.Const(float32(n))))
		}
		return sum.Mul(b.Const(float32(0.1))).Output()
	}}
}
