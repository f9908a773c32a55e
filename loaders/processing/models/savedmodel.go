// Package models has the processing step that calls a saved model.
package models

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

/*
A model as a step

The question: a model works on batches, and a step on one example. Which rows may a batch have that
the model sees? A model may compute with a mean over its batch, so that its values depend on the
answer.

The answer is the key "per". A model per batch sees the batches that a run delivers, after padding,
and so do the steps after it. A model per example sees one example, as a batch of one row if its
inputs have an axis for that, and steps after it see single examples as before.

The signature becomes a part of the loader's graph, with constants in place of variables: see
[graph.FrozenSignature]. So it runs where the other steps run: in the threads of tf.data, in
requests of a server, and in an exported model.
*/

// SavedModelArgs are the arguments of a step of type savedmodel.
type SavedModelArgs struct {
	decl.Object
	Dir       string            `json:"dir" decl:"required,nonempty" doc:"The folder of the model. It is checked as any other model."`
	Signature string            `json:"signature" decl:"default=serving_default,nonempty" doc:"The signature to call."`
	Inputs    map[string]string `json:"inputs" decl:"required,nonempty" doc:"The tensor for each input of the signature: {\"input\": \"tensor\"}."`
	Outputs   map[string]string `json:"outputs" decl:"required,nonempty" doc:"The tensor that an output becomes: {\"output\": \"tensor\"}. Outputs without an entry are not computed."`
	Per       string            `json:"per" decl:"default=batch,enum=example|batch" doc:"What the model is called with: a whole batch, after batching and padding, or one example. The steps after a model with batch work on batches, too."`
}

// Tensors lists the tensors of the inputs, sorted by the names of the inputs.
func (a *SavedModelArgs) Tensors() (list []processing.NamedAt) {
	for _, name := range slices.Sorted(maps.Keys(a.Inputs)) {
		if a.Inputs[name] == "" {
			list = append(list, processing.NamedAt{})
			continue
		}
		list = append(list, processing.NamedAt{At: a.Key("inputs").Key(name), Name: a.Inputs[name]})
	}
	return list
}

// Writes lists the tensors that the outputs become, sorted by the names of the outputs.
func (a *SavedModelArgs) Writes() (list []processing.NamedAt) {
	for _, name := range slices.Sorted(maps.Keys(a.Outputs)) {
		if a.Outputs[name] != "" {
			list = append(list, processing.NamedAt{At: a.Key("outputs").Key(name), Name: a.Outputs[name]})
		}
	}
	return list
}

// OfBatches reports whether the model is called with whole batches.
func (a *SavedModelArgs) OfBatches() bool { return a.Per != "example" }

// Call is a checked step of type savedmodel.
type Call struct {
	dir, digest, sha256 string
	args                *SavedModelArgs
	single              bool // the model takes one row more than the example has axes
	outputs             []output

	load func() (*graph.FrozenSignature, error)
}

// output is the step that writes one output of the model.
type output struct {
	*Call
	key string
	to  processing.Tensor
}

// Check reads the model, and compares the signature with the tensors.
func (a *SavedModelArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("dir", "signature", "inputs", "outputs", "per") || c.Model == nil {
		return nil
	}
	m := c.Model(a.Key("dir"), a.Dir)
	if m == nil {
		return nil
	}
	defer m.Close() // a copy of a model from a URL; loading makes another one
	at := a.Key("signature")
	if !a.Has("signature") {
		at = a.Key("dir")
	}
	sig, err := m.Signature(a.Signature)
	if err != nil {
		c.Report(at, "%s", Reason(err))
		return nil
	}
	x := &Call{dir: m.Source(), sha256: m.SHA256, args: a}
	ok := a.namesFit(c, sig)
	ok = a.freezable(c, m, sig) && ok
	ok = x.inputsFit(c, sig) && ok
	ok = x.outputsFit(c, sig) && ok
	if !ok {
		return nil
	}
	if x.digest, err = m.Digest(); err != nil {
		c.Report(a.Key("dir"), "%v", err)
		return nil
	}
	x.load = sync.OnceValues(x.freeze)
	return x
}

// Reason returns the words of an error about a model for a message that has the place in the config.
func Reason(err error) string {
	var e *millrace.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	short := *e
	short.Op, short.File = "", ""
	return strings.TrimSuffix(short.Error(), "; if you trust the model, allow operations by name")
}

// namesFit reports names that the signature does not have, and inputs without a tensor.
func (a *SavedModelArgs) namesFit(c *processing.Context, sig *savedmodel.Signature) bool {
	ok := true
	known := func(key string, given map[string]string, list []savedmodel.Tensor) {
		var names []string
		for _, t := range list {
			names = append(names, t.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !slices.Contains(names, name) {
				c.Report(a.Key(key).Key(name), "the signature %s has no %s named %s", decl.Quote(sig.Name), strings.TrimSuffix(key, "s"), decl.Quote(name)).Hint = processing.DidYouMean(name, names)
				ok = false
			}
		}
	}
	known("inputs", a.Inputs, sig.Inputs)
	known("outputs", a.Outputs, sig.Outputs)
	var missing []string
	for _, t := range sig.Inputs {
		if _, given := a.Inputs[t.Name]; !given {
			missing = append(missing, decl.Quote(t.Name))
		}
	}
	if len(missing) > 0 {
		c.Report(a.Key("inputs"), "no tensor for the input %s of the signature %s", strings.Join(missing, ", "), decl.Quote(sig.Name))
		ok = false
	}
	return ok
}

// freezable reports a signature that cannot be a part of another graph.
func (a *SavedModelArgs) freezable(c *processing.Context, m *savedmodel.Model, sig *savedmodel.Signature) bool {
	var nodes []string
	for _, t := range sig.Outputs {
		if _, wanted := a.Outputs[t.Name]; !wanted {
			continue
		}
		if t.Err != nil {
			c.Report(a.Key("outputs").Key(t.Name), "%v", t.Err)
			return false
		}
		nodes = append(nodes, t.Node)
	}
	if len(nodes) == 0 {
		return true // names that the signature does not have were reported
	}
	if err := graph.CheckFreezable(m.Program().GraphDef, nodes...); err != nil {
		c.Report(a.Key("dir"), "%v", err).Hint = "a step gives the same for the same values; export the model for inference"
		return false
	}
	return true
}

// inputsFit compares the inputs of the signature with the tensors.
func (x *Call) inputsFit(c *processing.Context, sig *savedmodel.Signature) bool {
	ok, decided := true, false
	for i, name := range slices.Sorted(maps.Keys(x.args.Inputs)) {
		at := x.args.Key("inputs").Key(name)
		k := slices.IndexFunc(sig.Inputs, func(t savedmodel.Tensor) bool { return t.Name == name })
		t, known := c.InputAt(i)
		if k < 0 || !known {
			ok = false
			continue
		}
		in := sig.Inputs[k]
		if in.Encoding != savedmodel.Dense {
			c.Report(at, "the input %s is a part of a %s tensor, and a step takes dense ones", decl.Quote(name), in.Encoding)
			ok = false
			continue
		}
		if in.DType != t.DType {
			d := c.Report(at, "the model takes %s, and %s is %s", in.DType, decl.Quote(t.Name), t.DType)
			if in.DType != dtype.String && t.DType != dtype.String {
				d.Hint = "a cast before it converts numbers"
			}
			ok = false
			continue
		}
		single := x.args.OfBatches() || in.Shape.NumDimensions() != len(t.Shape)
		if decided && single != x.single {
			c.Report(at, "the model takes %s without an axis for a batch, and another input with one", decl.Quote(name))
			ok = false
			continue
		}
		x.single, decided = single, true
		ok = x.shapeFits(c, at, in, t) && ok
	}
	return ok
}

// shapeFits compares the shape of a tensor with the one that the model takes.
func (x *Call) shapeFits(c *processing.Context, at *jsonpos.Node, in savedmodel.Tensor, t processing.Input) bool {
	given := t.Shape
	switch {
	case x.args.OfBatches():
		given = append([]int64{c.Rows}, t.Shape...)
	case x.single:
		given = append([]int64{1}, t.Shape...)
	}
	if in.Shape.IsCompatibleWith(dtype.MakeShape(given...)) {
		return true
	}
	what := processing.FormatShape(given)
	if x.args.OfBatches() {
		what += " in a batch"
	}
	d := c.Report(at, "the model takes shape %s, and %s has shape %s", in.Shape, decl.Quote(t.Name), what)
	if x.args.OfBatches() && in.Shape.NumDimensions() == len(t.Shape) {
		d.Hint = `"per": "example" calls it with one example`
	}
	return false
}

// outputsFit finds out what the outputs are of an example.
func (x *Call) outputsFit(c *processing.Context, sig *savedmodel.Signature) bool {
	ok, writers, replaced := true, map[string]string{}, 0
	read := slices.Collect(maps.Values(x.args.Inputs))
	for _, name := range slices.Sorted(maps.Keys(x.args.Outputs)) {
		at, to := x.args.Key("outputs").Key(name), x.args.Outputs[name]
		k := slices.IndexFunc(sig.Outputs, func(t savedmodel.Tensor) bool { return t.Name == name })
		if k < 0 {
			ok = false
			continue
		}
		if other, twice := writers[to]; twice {
			c.Report(at, "the outputs %s and %s become the same tensor", decl.Quote(other), decl.Quote(name))
			ok = false
			continue
		}
		writers[to] = name
		t, fits := x.outputFits(c, at, sig.Outputs[k])
		ok = ok && fits
		one := output{x, name, t}
		if slices.Contains(read, to) {
			replaced++
			x.outputs = append(x.outputs, one) // the last one: the others read this tensor
			continue
		}
		x.outputs = slices.Insert(x.outputs, len(x.outputs)-replaced, one)
	}
	if replaced > 1 {
		c.Report(x.args.Key("outputs"), "at most one output may replace a tensor that the model reads; give the others new names")
		return false
	}
	return ok
}

// outputFits returns what an output is of an example.
func (x *Call) outputFits(c *processing.Context, at *jsonpos.Node, out savedmodel.Tensor) (t processing.Tensor, ok bool) {
	shape, err := out.Shape.ToSlice()
	if _, loadable := processing.Loadable(out.DType.String()); !loadable || out.Encoding != savedmodel.Dense {
		c.Report(at, "the output is %s, which a batch cannot have", strings.TrimSpace(string(out.Encoding)+" "+out.DType.String()))
		return t, false
	}
	if out.Shape.NumDimensions() < 0 || err != nil {
		c.Report(at, "the number of dimensions of this output is not known").Hint = "export the model with a signature that says it"
		return t, false
	}
	t = processing.Tensor{DType: out.DType, Shape: append([]int64{}, shape...)}
	if !x.single {
		return t, true
	}
	rows := int64(1)
	if x.args.OfBatches() {
		rows = c.Rows
	}
	if len(shape) == 0 || shape[0] >= 0 && rows >= 0 && shape[0] != rows || shape[0] >= 0 && rows < 0 {
		c.Report(at, "the output has shape %s, and not a row for each row of the batch", processing.FormatShape(shape))
		return t, false
	}
	t.Shape = t.Shape[1:]
	return t, true
}

// freeze loads the model and freezes the signature.
func (x *Call) freeze() (*graph.FrozenSignature, error) {
	m, err := graph.LoadModel(x.dir, &graph.ModelOptions{SHA256: x.sha256})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.FreezeSignature(context.Background(), x.args.Signature, 0, slices.Collect(maps.Keys(x.args.Outputs))...)
}

// Explain names the model, the signature and the tensors.
func (x *Call) Explain() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(x.args.Inputs)) {
		pairs = append(pairs, name+" = "+x.args.Inputs[name])
	}
	return fmt.Sprintf("%s (%.12s), signature %s, per %s, %s", lastOf(x.dir), x.digest, x.args.Signature, x.args.Per, strings.Join(pairs, ", "))
}

// lastOf returns the last two parts of a path: folders of models end in a version.
func lastOf(dir string) string {
	parts := strings.Split(strings.TrimRight(strings.ReplaceAll(dir, "\\", "/"), "/"), "/")
	return strings.Join(parts[max(len(parts)-2, 0):], "/")
}

// Each returns a step for each output.
func (x *Call) Each() (list []processing.NamedStep) {
	for _, o := range x.outputs {
		to := processing.NamedAt{At: x.args.Key("outputs").Key(o.key), Name: x.args.Outputs[o.key]}
		list = append(list, processing.NamedStep{To: to, Step: o})
	}
	return list
}

// OfBatches reports whether the model is called with whole batches.
func (x *Call) OfBatches() bool { return x.args.OfBatches() }

// Out returns nothing: the steps of [Call.Each] write.
func (x *Call) Out() processing.Tensor { return processing.Tensor{} }

// Build returns nothing.
func (x *Call) Build(*processing.Site, []tfbridge.Output) tfbridge.Output { return tfbridge.Output{} }

// Prepare adds the function and the tables of the model, once for all outputs.
func (x *Call) Prepare(b *processing.Site) any {
	frozen, err := x.load()
	if err != nil {
		b.UpdateErr("savedmodel", err)
		return (*graph.AddedSignature)(nil)
	}
	return frozen.AddTo(b.SubScope("savedmodel"), !b.Portable && !b.NoGo)
}

// Explain names the output too.
func (o output) Explain() string { return o.Call.Explain() + ", output " + o.key }

// Out returns the output of an example.
func (o output) Out() processing.Tensor { return o.to }

// Build calls the model, and returns the output. The model is called once for all outputs.
func (o output) Build(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
	f, _ := b.Prepared.(*graph.AddedSignature)
	if b.Err() != nil || f == nil {
		return tfbridge.Output{}
	}
	results := b.Once(o.Call, in[0], func() []tfbridge.Output { return o.call(b, f, in) })
	i := slices.Index(f.Outputs(), o.key)
	if i < 0 || i >= len(results) || b.Err() != nil {
		return tfbridge.Output{}
	}
	if o.args.OfBatches() {
		return results[i]
	}
	return b.Shaped(results[i], o.to.Shape)
}

// call adds the call of the model. It returns the outputs of an example, or of a batch.
func (o output) call(b *processing.Site, f *graph.AddedSignature, in []tfbridge.Output) []tfbridge.Output {
	one := o.single && !o.args.OfBatches()
	keys := slices.Sorted(maps.Keys(o.args.Inputs))
	var given []tfbridge.Output
	for _, key := range f.Inputs() {
		x := in[slices.Index(keys, key)]
		if one {
			x = b.Op1("ExpandDims", nil, x, b.Const(int32(0)))
		}
		given = append(given, x)
	}
	results := f.Call(b.Scope, given...)
	if !one || b.Err() != nil {
		return results
	}
	for i, x := range results {
		results[i] = b.Op1("Squeeze", map[string]any{"squeeze_dims": []int64{0}}, x)
	}
	return results
}
