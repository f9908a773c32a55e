package numbers

import (
	"encoding/json"
	"fmt"

	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// NormalizeArgs are the arguments of a step of type normalize.
type NormalizeArgs struct {
	decl.Object
	Mean processing.Value `json:"mean" decl:"required" doc:"What is subtracted: a number, a list of numbers along the last axis, or {\"from\": FILE, \"tensor\": NAME} to take the mean from a file of statistics, which is JSON of the form {\"tensors\": {NAME: {\"mean\": [0], \"std\": [1]}}}."`
	Std  processing.Value `json:"std" decl:"required" doc:"What the difference is divided by, in the same form."`
}

// normalize is a step of type normalize: (x - mean) / std.
type normalize struct {
	in        processing.Tensor
	mean, std []float64 // one number for each position of the last axis, or a single one
	listed    bool
}

// Check reads mean and std, and compares lists of them with the last axis.
func (a *NormalizeArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("mean", "std") {
		return nil
	}
	t, known := c.Floats()
	mean, listed, ok := a.numbers(c, "mean", a.Mean, t)
	std, also, fine := a.numbers(c, "std", a.Std, t)
	if !ok || !fine || !known {
		return nil
	}
	for i, x := range std {
		if x == 0 {
			at := a.Key("std")
			if at.Kind() == jsonpos.List {
				at = at.Elem(i)
			}
			c.Report(at, "must not be 0: it divides").Hint = "a value that never changes needs no normalize; leave it out with gather or slice"
			return nil
		}
	}
	n := &normalize{t.Tensor, mean, std, listed || also}
	if !n.Elementwise() && len(t.Shape) == 1 && t.Shape[0] >= 0 {
		return processing.Batched{What: n.Explain(), To: n.Out(), Func: func(b *processing.Site, in []tfbridge.Output, _ int) tfbridge.Output { return n.Build(b, in) }}
	}
	return n
}

// numbers reads one of the arguments.
func (a *NormalizeArgs) numbers(c *processing.Context, key string, v processing.Value, t processing.Input) (list []float64, listed, ok bool) {
	at := a.Key(key)
	switch v.Kind() {
	case jsonpos.Number:
		x, ok := c.Value(at, v, dtype.Double)
		if !ok {
			return nil, false, false
		}
		return []float64{x.(float64)}, false, true
	case jsonpos.List:
		for _, e := range v.Elems() {
			x, ok := c.Value(e, e, dtype.Double)
			if !ok {
				return nil, true, false
			}
			list = append(list, x.(float64))
		}
	case jsonpos.Object:
		list, ok = statistics(c, at, key, v)
		if !ok {
			return nil, false, false
		}
		if len(list) == 1 {
			return list, false, true
		}
	default:
		c.Report(at, "must be a number, a list of numbers or an object with from and tensor, got %s", decl.Show(v))
		return nil, false, false
	}
	if t.Shape == nil {
		return list, true, true
	}
	if len(t.Shape) == 0 {
		c.Report(at, "a list for %s, which is a scalar", decl.Quote(t.Name))
		return nil, true, false
	}
	if n := t.Shape[len(t.Shape)-1]; n >= 0 && n != int64(len(list)) {
		c.Report(at, "%d numbers for the last axis of %s, which has size %d", len(list), decl.Quote(t.Name), n)
		return nil, true, false
	}
	return list, true, true
}

// statisticsForm shows what a file of statistics is.
const statisticsForm = `{"tensors": {"NAME": {"mean": [0], "std": [1]}}}`

// maxStatistics is how large a file of statistics may be.
const maxStatistics = 64 << 20

// statistics reads a number for each value of the last axis from a file of
// statistics.
func statistics(c *processing.Context, at *jsonpos.Node, key string, v processing.Value) ([]float64, bool) {
	from, name := v.Key("from"), v.Key("tensor")
	for k := range v.Members() {
		if n := k.Name(); n != "from" && n != "tensor" {
			c.Report(k, "unknown key %s", decl.Quote(n)).Hint = "the keys are from and tensor"
			return nil, false
		}
	}
	if from.Kind() != jsonpos.String || name.Kind() != jsonpos.String {
		c.Report(at, "needs from, the path of a file of statistics, and tensor, a name in it")
		return nil, false
	}
	text, ok := c.Read(from, from.Text(), maxStatistics)
	if !ok {
		c.Reporter.List[len(c.Reporter.List)-1].Hint = "millrace analyze CONFIG --out " + from.Text() + " makes it; it is JSON of the form " + statisticsForm
		return nil, false
	}
	var file struct {
		Tensors map[string]struct{ Mean, Std []float64 } `json:"tensors"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		c.Report(from, "%s is not a file of statistics: %v", decl.QuotePath(from.Text()), err).Hint = "it is JSON of the form " + statisticsForm
		return nil, false
	}
	found, ok := file.Tensors[name.Text()]
	if !ok {
		names := make([]string, 0, len(file.Tensors))
		for n := range file.Tensors {
			names = append(names, n)
		}
		c.Report(name, "%s has no statistics of a tensor named %s", decl.Quote(from.Text()), decl.Quote(name.Text())).Hint = processing.DidYouMean(name.Text(), names)
		return nil, false
	}
	list := found.Mean
	if key == "std" {
		list = found.Std
	}
	if len(list) == 0 {
		c.Report(name, "%s has no %s of %s", decl.Quote(from.Text()), key, decl.Quote(name.Text()))
		return nil, false
	}
	return list, true
}

// Explain returns mean and std.
func (n *normalize) Explain() string { return fmt.Sprintf("mean %v, std %v", n.mean, n.std) }

// Out returns the tensor, which keeps its data type.
func (n *normalize) Out() processing.Tensor { return n.in }

// Elementwise reports whether mean and std are the same for all values, or their axis is not
// the one along which rows are joined.
func (n *normalize) Elementwise() bool { return !n.listed || len(n.in.Shape) > 1 }

// AddTo adds the step to an operation on images.
func (n *normalize) AddTo(m *processing.Images) bool {
	return n.in.DType == dtype.Float && processing.Change(m, "normalize", n.mean, n.std)
}

// Build subtracts and divides.
func (n *normalize) Build(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
	operand := func(list []float64) tfbridge.Output {
		if len(list) == 1 && !n.listed {
			return b.Scalar(list[0], n.in.DType)
		}
		return b.Scalar(list, n.in.DType)
	}
	// A placeholder hides from TensorFlow's optimizer that the value is a constant. The
	// optimizer would multiply by the reciprocal of a constant, which gives other bits,
	// and would do so only in some graphs.
	std := operand(n.std)
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	std = graph.PlaceholderWithDefault(b.Scope, std, graph.SpecOf(std).Shape)
	return b.Tensor(in[0]).Sub(operand(n.mean)).Div(std).Output()
}
