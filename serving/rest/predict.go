package rest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/serving/internal/message"
	"millrace/serving/internal/tensorproto"
	"millrace/tfbridge"
)

// predict answers a request for a prediction.
func (c *call) predict(ctx context.Context) ([]byte, error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	v, err := c.acquire(ctx) // before more work, because it refuses the surplus
	if err != nil {
		return nil, err
	}
	defer v.Release()
	r, err := c.scratch.request.parse(text, "instances", "inputs", "examples", "context")
	if err != nil {
		return nil, err
	}
	if err := v.Admit(r.signature); err != nil {
		return nil, err
	}
	if r.found.of("examples") != nil && r.found.of("instances") == nil && r.found.of("inputs") == nil {
		return c.predictExamples(ctx, r, v)
	}
	infos, err := r.inputInfos(v)
	if err != nil {
		return nil, err
	}
	if err := c.lease.Grow(tensorBytes(text, infos)); err != nil {
		return nil, err
	}
	inputs, err := r.inputs(infos, c.scratch)
	if err != nil {
		return nil, cmp.Or(r.syntax(), err)
	}
	if b := v.RowsBatcher(r.key()); b != nil && inputs.haveBytes() {
		return c.predictRows(ctx, r, b, inputs)
	}
	return c.predictTensors(ctx, r, v, inputs)
}

// predictRows answers a request whose rows are copied directly into a batch.
func (c *call) predictRows(ctx context.Context, r *request, b *batching.Batcher, inputs builders) (body []byte, err error) {
	var room [2]batching.Rows
	rows := room[:0]
	for _, name := range b.InputNames() {
		rows = append(rows, inputs.of(name).rows())
	}
	err = b.PredictRows(ctx, rows, func(outputs []batching.Output) (err error) {
		body, err = c.answerOf(r, outputs)
		return err
	})
	return body, err
}

// predictTensors answers a request with its own tensors.
func (c *call) predictTensors(ctx context.Context, r *request, v *serving.Version, inputs builders) ([]byte, error) {
	tensors, err := inputs.tensors()
	defer closeAll(tensors)
	if err != nil {
		return nil, err
	}
	outputs, err := r.run(ctx, v, tensors)
	if err != nil {
		return nil, err
	}
	defer closeAll(outputs)
	return c.answerOf(r, outputsOf(outputs))
}

// answerOf returns the outputs in the format of the request.
func (c *call) answerOf(r *request, outputs []batching.Output) (answer []byte, err error) {
	expected := answerBytes(outputs)
	if err := c.lease.Grow(expected); err != nil {
		return nil, err
	}
	defer func() { // the size of the encoding, counted again for the way to the client
		err = cmp.Or(err, c.lease.Grow(2*int64(cap(answer))-expected))
	}()
	if r.found.of("inputs") == nil {
		answer, err = appendRows(c.scratch.answer[:0], c.scratch, outputs)
	} else {
		answer, err = appendColumns(c.scratch.answer[:0], c.scratch, outputs)
	}
	if err == nil {
		c.scratch.answer = answer
	}
	return answer, err
}

// outputsOf returns tensors as outputs, by name.
func outputsOf(tensors map[string]*tfbridge.Tensor) []batching.Output {
	outputs := make([]batching.Output, 0, len(tensors))
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		o := batching.Output{Name: name, Tensor: tensors[name]}
		if shape := o.Tensor.Shape(); len(shape) > 0 {
			o.Rows = shape[0]
		}
		outputs = append(outputs, o)
	}
	return outputs
}

// predictExamples answers a request of Examples to a signature with a loader.
func (c *call) predictExamples(ctx context.Context, r *request, v *serving.Version) ([]byte, error) {
	plan := v.Loader(r.key())
	if plan == nil {
		return nil, invalid(`signature %s has no loader, which "examples" need; give "instances" or "inputs"`, millrace.Quote(r.key()))
	}
	records, err := r.records(plan, &c.lease)
	if err != nil {
		return nil, err
	}
	t, err := tfbridge.NewTensor(records)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	outputs, err := r.run(ctx, v, map[string]*tfbridge.Tensor{serving.ExamplesInput: t})
	if err != nil {
		return nil, err
	}
	defer closeAll(outputs)
	return c.answerOf(r, outputsOf(outputs))
}

// run runs the signature that the request names, and logs the request. The caller
// closes the outputs.
func (r *request) run(ctx context.Context, v *serving.Version, tensors map[string]*tfbridge.Tensor, wanted ...string) (map[string]*tfbridge.Tensor, error) {
	inputs := make(map[string]any, len(tensors))
	for name, t := range tensors {
		inputs[name] = t
	}
	outputs, err := v.Predict(ctx, r.signature, inputs, wanted...)
	if err != nil {
		return nil, err
	}
	v.LogRequest(r.key(), message.Serialized(func() *servingproto.PredictionLog {
		request, answer := protos(tensors), protos(outputs)
		if request == nil || answer == nil {
			return nil
		}
		spec := &servingproto.ModelSpec{Name: v.Name, SignatureName: r.key()}
		return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_PredictLog{PredictLog: &servingproto.PredictLog{
			Request:  &servingproto.PredictRequest{ModelSpec: spec, Inputs: request},
			Response: &servingproto.PredictResponse{ModelSpec: spec, Outputs: answer},
		}}}
	}))
	return outputs, nil
}

// protos returns the messages of tensors, nil if one of them has none.
func protos(tensors map[string]*tfbridge.Tensor) map[string]*tfproto.TensorProto {
	all := make(map[string]*tfproto.TensorProto, len(tensors))
	for name, t := range tensors {
		p, err := tensorproto.Proto(t, true)
		if err != nil {
			return nil
		}
		all[name] = p
	}
	return all
}

// request is the body of a request: an object whose values are not yet parsed.
type request struct {
	signature string
	text      []byte
	found     values
}

// values are the positions of the values of the requested keys. There are few, so a map
// would be slower.
type values []value

type value struct {
	key  string
	from scanner
}

// of returns where the value of a key begins, nil if the body has none.
func (v values) of(key string) *scanner {
	for i := range v {
		if v[i].key == key {
			return &v[i].from
		}
	}
	return nil
}

// key returns the key of the signature that the request names.
func (r *request) key() string { return cmp.Or(r.signature, graph.DefaultSignature) }

// parse finds the values of some keys of a body, and returns r, whose memory it uses. A
// key that is given twice could be read in two ways, and is an error. Mistakes within
// instances and inputs are found later, when they are parsed.
func (r *request) parse(text []byte, keys ...string) (*request, error) {
	*r = request{text: text, found: r.found[:0]}
	s := &scanner{text: text}
	if s.peek() == 0 {
		return nil, s.errorf("The document is empty")
	}
	seen := make([]string, 0, 8) // known keys only
	err := s.object(func(key string) error {
		known := key == "signature_name" || slices.Contains(keys, key)
		switch {
		case known && slices.Contains(seen, key):
			return s.errorf("the body has %q twice", key)
		case key == "signature_name":
			seen = append(seen, key)
			if s.peek() != '"' {
				return s.errorf("'signature_name' key must be a string value.")
			}
			name, err := s.string()
			r.signature = string(name)
			return err
		case known:
			seen = append(seen, key)
			s.peek()
			r.found = append(r.found, value{key, scanner{text: text, at: s.at, depth: s.depth}})
			if jumped := key == "instances" || key == "inputs"; jumped && s.jump() {
				return nil
			}
		}
		_, err := s.skip()
		return err
	})
	if err == nil && (s.peek() != 0 || s.at < len(text)) {
		err = s.errorf("the body continues after its document with %s", s.shown())
	}
	return r, err
}

// syntax returns the JSON error in the values of the keys, which another error may have
// hidden.
func (r *request) syntax() error {
	for _, v := range r.found {
		s := v.from
		if _, err := s.skip(); err != nil {
			return err
		}
	}
	return nil
}

// inputInfos returns the inputs of the signature that the request names.
func (r *request) inputInfos(v *serving.Version) (map[string]tfbridge.TensorInfo, error) {
	key := r.key()
	all := v.Signatures()
	sig, ok := all[key]
	if !ok {
		return nil, invalid("Serving signature name: %q not found in signature def; the model has %q", key, slices.Sorted(maps.Keys(all)))
	}
	return sig.Inputs, nil
}
