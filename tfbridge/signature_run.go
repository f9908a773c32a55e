//go:build cgo

package tfbridge

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace"
)

// preparedSignature is a signature ready to run: names in the order of feeds
// and fetches.
type preparedSignature struct {
	inputs, outputs []string
	call            *Callable // nil: no output has to be fetched

	// passed are the outputs that are also inputs, each with the position of that
	// input. A session cannot fetch a fed output.
	passed map[string]int
}

// Run runs a signature by its key: inputs by name, outputs by name. outputs names
// those to compute; none stands for all that can be fetched. The caller closes
// the results. When ctx is done, Run returns an error of class millrace.ErrCanceled,
// and TensorFlow stops a run that may loop or wait; see RunOptions.Interrupt. An
// iterator of the model that such a run reads is spoiled.
//
// A sparse, ragged or composite tensor goes in and comes out as its components, each
// under its own name; package savedmodel/sigdef lists the names.
//
// It wraps TF_SessionRun.
func (m *SavedModel) Run(ctx context.Context, key string, inputs map[string]*Tensor, outputs ...string) (map[string]*Tensor, error) {
	p, err := m.prepare(key, outputs)
	if err != nil {
		return nil, err
	}
	values, err := m.values(key, p, inputs)
	if err != nil {
		return nil, err
	}
	var results []*Tensor
	if p.call != nil {
		if results, err = p.call.Run(ctx, values); err != nil {
			return nil, m.explainShapes(key, p, values, err)
		}
	}
	out := make(map[string]*Tensor, len(results)+len(p.passed))
	for i, name := range p.outputs {
		out[name] = results[i]
	}
	for name, i := range p.passed {
		if out[name], err = copyTensor(values[i]); err != nil {
			delete(out, name)
			closeAll(slices.Collect(maps.Values(out)))
			return nil, errSignature(key, name, err)
		}
	}
	return out, nil
}

// copyTensor returns a copy of a tensor.
func copyTensor(t *Tensor) (*Tensor, error) {
	if t.dtype != String {
		raw, err := t.Bytes()
		if err != nil {
			return nil, err
		}
		return NewTensorFromBytes(t.dtype, t.Shape(), raw)
	}
	elements, err := t.Strings()
	if err != nil {
		return nil, err
	}
	return NewTensorFromSlice(t.Shape(), elements)
}

// preparedKey identifies a prepared signature.
type preparedKey struct{ signature, outputs string }

// prepare returns a signature ready to compute some outputs, or all that can be
// fetched if there are none. It prepares them at first use.
func (m *SavedModel) prepare(key string, outputs []string) (*preparedSignature, error) {
	if m == nil {
		return nil, errUnusable("model", m)
	}
	prepared := preparedKey{signature: key, outputs: strings.Join(outputs, "\x00")}
	if p, ok := m.prepared.Load(prepared); ok {
		return p.(*preparedSignature), nil
	}
	sig, ok := m.Signatures[key]
	if !ok {
		return nil, errSignature(key, "", millrace.Errorf(millrace.ErrModel, "no such signature; the model has %s", quoteKeys(m.Signatures)))
	}
	if err := m.Session.check(); err != nil {
		return nil, err
	}
	p := &preparedSignature{inputs: slices.Sorted(maps.Keys(sig.Inputs))}
	var feeds []Output
	for _, name := range p.inputs {
		o, err := sig.Inputs[name].Output(m.Graph)
		if err != nil {
			return nil, errSignature(key, name, err)
		}
		feeds = append(feeds, o)
	}
	fetches, err := m.fetches(key, p, outputs)
	if err != nil {
		return nil, err
	}
	fetches = p.pass(feeds, fetches)
	if len(fetches) > 0 || len(p.passed) == 0 {
		if p.call, err = m.Session.Prepare(feeds, fetches, nil); err != nil {
			return nil, errSignature(key, "", err)
		}
		if m.Inline {
			p.call.Inline()
		}
		p.call.anyShape = m.AnyShape
		p.call.endWithContext(m.Session.newGuards(fetches, nil))
	}
	m.prepared.Store(prepared, p)
	return p, nil
}

// pass moves the outputs that are fed to p.passed, and returns the others.
func (p *preparedSignature) pass(feeds, fetches []Output) []Output {
	var fetched []Output
	var names []string
	for i, o := range fetches {
		same := func(in Output) bool { return in.Index == o.Index && in.Op.Name() == o.Op.Name() }
		if at := slices.IndexFunc(feeds, same); at >= 0 {
			if p.passed == nil {
				p.passed = map[string]int{}
			}
			p.passed[p.outputs[i]] = at
			continue
		}
		fetched, names = append(fetched, o), append(names, p.outputs[i])
	}
	p.outputs = names
	return fetched
}

// fetches returns the outputs that a call computes, and records their names in p. It
// skips outputs that cannot be fetched, unless they are requested by name or there are
// no others.
func (m *SavedModel) fetches(key string, p *preparedSignature, outputs []string) ([]Output, error) {
	sig := m.Signatures[key]
	names := slices.Compact(slices.Sorted(slices.Values(outputs)))
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(sig.Outputs))
	}
	var fetches []Output
	var failed error
	for _, name := range names {
		o, err := m.fetch(key, name, sig)
		switch {
		case err == nil:
			fetches, p.outputs = append(fetches, o), append(p.outputs, name)
		case len(outputs) > 0:
			return nil, err
		default:
			failed = cmp.Or(failed, err)
		}
	}
	if len(fetches) == 0 && failed != nil {
		return nil, failed
	}
	return fetches, nil
}

// fetch finds one output of a signature in the graph.
func (m *SavedModel) fetch(key, name string, sig Signature) (Output, error) {
	info, ok := sig.Outputs[name]
	if !ok {
		return Output{}, errSignature(key, name, millrace.Errorf(millrace.ErrModel, "no such output; the signature has %s", quoteKeys(sig.Outputs)))
	}
	o, err := info.Output(m.Graph)
	if err == nil {
		if dt := o.DataType().Base(); goType(dt) == nil {
			err = millrace.Errorf(millrace.ErrModel, "an output of type %v cannot be fetched", dt)
		}
	}
	if err != nil {
		return Output{}, errSignature(key, name, err)
	}
	return o, nil
}

// values sorts the inputs and compares them with the signature.
func (m *SavedModel) values(key string, p *preparedSignature, inputs map[string]*Tensor) ([]*Tensor, error) {
	sig := m.Signatures[key]
	for name := range inputs {
		if _, ok := sig.Inputs[name]; !ok {
			return nil, errUnknownInput(key, sig, inputs)
		}
	}
	values := make([]*Tensor, len(p.inputs))
	for i, name := range p.inputs {
		t, ok := inputs[name]
		info := sig.Inputs[name]
		switch {
		case !ok:
			return nil, errSignature(key, name, millrace.Errorf(millrace.ErrModel, "the input is missing"))
		case !t.IsOpen():
			return nil, errSignature(key, name, errUnusable("tensor", t))
		case t.dtype != info.DType:
			return nil, errSignature(key, name, millrace.Errorf(millrace.ErrModel, "takes type %v, got %v", info.DType, t.dtype))
		case !m.AnyShape && !info.Shape.Accepts(t.dims()):
			return nil, errSignature(key, name, millrace.Errorf(millrace.ErrModel, "takes shape %v, got %v", info.Shape, t.dims()))
		}
		values[i] = t
	}
	return values, nil
}

// explainShapes adds to a run's error the inputs whose shapes differ from the
// signature's, if they may be the cause.
func (m *SavedModel) explainShapes(key string, p *preparedSignature, values []*Tensor, err error) error {
	var failed *Error
	if !errors.As(err, &failed) || failed.Code != InvalidArgument {
		return errSignature(key, "", err)
	}
	for i, name := range p.inputs {
		if want := m.Signatures[key].Inputs[name].Shape; !want.Accepts(values[i].dims()) {
			e := millrace.Errorf(millrace.ErrModel, "the signature has shape %v, got %v: %w", want, values[i].dims(), err)
			e.Code = int(InvalidArgument)
			return errSignature(key, name, e)
		}
	}
	return errSignature(key, "", err)
}

// errUnknownInput names the first input, in sorted order, that the signature
// does not have.
func errUnknownInput(key string, sig Signature, inputs map[string]*Tensor) error {
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if _, ok := sig.Inputs[name]; !ok {
			return errSignature(key, name, millrace.Errorf(millrace.ErrModel, "no such input; the signature has %s", quoteKeys(sig.Inputs)))
		}
	}
	return nil
}

// errSignature wraps an error with the signature and tensor that it is about.
func errSignature(key, tensor string, err error) error {
	e := &millrace.Error{Class: millrace.ErrModel, Signature: key, Tensor: tensor, Record: -1, Offset: -1, Err: err}
	if inner, ok := err.(*millrace.Error); ok {
		e.Class, e.Code = inner.Class, inner.Code
	}
	return e
}

// quoteKeys lists the keys of a map, quoted and sorted.
func quoteKeys[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	var quoted []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		quoted = append(quoted, strconv.Quote(key))
	}
	return strings.Join(quoted, ", ")
}
