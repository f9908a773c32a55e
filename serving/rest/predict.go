package rest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/internal/servingproto"
	"millrace/internal/tfproto"
	"millrace/serving"
	"millrace/serving/internal/tensorproto"
	"millrace/tfbridge"
)

// predict answers a request for a prediction.
func (c *call) predict(ctx context.Context) ([]byte, error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	v, err := c.server.Acquire(c.spec) // before more work: it refuses what is too much
	if err != nil {
		return nil, err
	}
	defer v.Release()
	r, err := parseRequest(text, "instances", "inputs", "examples", "context")
	if err != nil {
		return nil, err
	}
	if err := v.Admit(r.signature); err != nil {
		return nil, err
	}
	if r.found.of("examples") != nil && r.found.of("instances") == nil && r.found.of("inputs") == nil {
		return r.predictExamples(ctx, v)
	}
	infos, err := r.inputInfos(v)
	if err != nil {
		return nil, err
	}
	tensors, err := r.tensors(infos, c.scratch)
	defer closeAll(tensors)
	if err != nil {
		return nil, cmp.Or(r.syntax(), err)
	}
	outputs, err := r.run(ctx, v, tensors)
	if err != nil {
		return nil, err
	}
	defer closeAll(outputs)
	return c.answerOf(r, outputs)
}

// answerOf returns the outputs in the format that the request has.
func (c *call) answerOf(r *request, outputs map[string]*tfbridge.Tensor) (answer []byte, err error) {
	if r.found.of("instances") != nil {
		answer, err = appendRows(c.scratch.answer[:0], outputs)
	} else {
		answer, err = appendColumns(c.scratch.answer[:0], outputs)
	}
	if err == nil {
		c.scratch.answer = answer
	}
	return answer, err
}

// predictExamples answers a request of Examples to a signature with a loader.
func (r *request) predictExamples(ctx context.Context, v *serving.Version) ([]byte, error) {
	plan := v.Loader(r.key())
	if plan == nil {
		return nil, invalid(`signature %s has no loader, which "examples" need; give "instances" or "inputs"`, millrace.Quote(r.key()))
	}
	records, err := r.records(plan)
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
	return appendRows(nil, outputs)
}

// run runs the signature that the request names, and logs the request. The caller
// closes the outputs.
func (r *request) run(ctx context.Context, v *serving.Version, tensors map[string]*tfbridge.Tensor) (map[string]*tfbridge.Tensor, error) {
	inputs := make(map[string]any, len(tensors))
	for name, t := range tensors {
		inputs[name] = t
	}
	outputs, err := v.Predict(ctx, r.signature, inputs)
	if err != nil {
		return nil, err
	}
	v.LogRequest(r.key(), func() *servingproto.PredictionLog {
		request, answer := protos(tensors), protos(outputs)
		if request == nil || answer == nil {
			return nil
		}
		spec := &servingproto.ModelSpec{Name: v.Name, SignatureName: r.key()}
		return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_PredictLog{PredictLog: &servingproto.PredictLog{
			Request:  &servingproto.PredictRequest{ModelSpec: spec, Inputs: request},
			Response: &servingproto.PredictResponse{ModelSpec: spec, Outputs: answer},
		}}}
	})
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

// closeAll closes tensors.
func closeAll(tensors map[string]*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// request is the body of a request: an object whose values are not yet looked at.
type request struct {
	signature string
	text      []byte
	found     values
}

// values are where the values of the keys asked for begin: a few, for which a map
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

// parseRequest finds the values of some keys of a body. A key that is given twice
// could be read in two ways, and is an error. What is wrong within instances and
// inputs is found later, when they are taken.
func parseRequest(text []byte, keys ...string) (*request, error) {
	r := &request{text: text, found: make(values, 0, 4)}
	s := &scanner{text: text}
	if s.peek() == 0 {
		return nil, s.errorf("The document is empty")
	}
	seen := make([]string, 0, 8) // of the keys that mean something
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
	return r, err
}

// syntax returns what is wrong with the JSON of the values of the keys. Their own
// type may complain about something else first.
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

// tensors returns the inputs of the request. The caller closes them, also those
// that come with an error.
func (r *request) tensors(infos map[string]tfbridge.TensorInfo, m *scratch) (map[string]*tfbridge.Tensor, error) {
	instances, inputs := r.found.of("instances"), r.found.of("inputs")
	switch {
	case (instances == nil) == (inputs == nil):
		return nil, invalid(`give either "instances", by row, or "inputs", by column`)
	case inputs != nil:
		s := *inputs
		return columns(&s, infos)
	}
	s := *instances
	return rows(&s, infos, m)
}

// columns returns the tensors of "inputs": an object of them, or the only one.
func columns(s *scanner, infos map[string]tfbridge.TensorInfo) (map[string]*tfbridge.Tensor, error) {
	builders := map[string]*builder{}
	if s.peek() != '{' || s.isB64() {
		name, err := only(infos, "inputs")
		if err != nil {
			return nil, err
		}
		builders[name] = newBuilder(infos[name].DType)
		if err := builders[name].add(s, 0); err != nil {
			return nil, inputError(name, err)
		}
		return build(builders)
	}
	err := s.object(func(name string) error {
		info, ok := infos[name]
		if !ok {
			_, err := s.skip() // TensorFlow Serving ignores what it has no use for
			return err
		}
		if builders[name] != nil {
			return s.errorf("'inputs' has input %q twice", name)
		}
		builders[name] = newBuilder(info.DType)
		if err := builders[name].add(s, 0); err != nil {
			return inputError(name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name := range infos {
		if builders[name] == nil {
			return nil, invalid("Missing named input: %s in 'inputs' object.", name)
		}
	}
	return build(builders)
}

// rows returns the tensors of "instances": a list of objects with every input, or
// of values for the only one.
func rows(s *scanner, infos map[string]tfbridge.TensorInfo, m *scratch) (map[string]*tfbridge.Tensor, error) {
	if s.peek() != '[' {
		return nil, s.errorf("Expecting 'instances' value to be an list/array")
	}
	look := *s
	look.at++
	objects := look.peek() == '{' && !look.isB64()
	builders := map[string]*builder{}
	if !objects {
		name, err := only(infos, "instances")
		if err != nil {
			return nil, err
		}
		b := m.builder(newBuilder(infos[name].DType))
		builders[name] = b
		if err := b.add(s, 0); err != nil {
			return nil, inputError(name, err)
		}
		m.numbers = b.raw
		if b.shape[0] == 0 {
			return nil, s.errorf("Nothing to predict: 'instances' value is an empty array")
		}
		return build(builders)
	}
	for name, info := range infos {
		builders[name] = newBuilder(info.DType)
		builders[name].shape = []int64{-1}
	}
	n, err := s.list(func(i int) error { return row(s, i, builders) })
	if err != nil {
		return nil, err
	}
	for _, b := range builders {
		b.shape[0] = int64(n)
	}
	return build(builders)
}

// row takes one instance, an object.
func row(s *scanner, i int, builders map[string]*builder) error {
	if s.peek() != '{' || s.isB64() {
		return s.errorf("Expecting object but got %s at item %d of input list", s.shown(), i)
	}
	seen := map[string]bool{}
	err := s.object(func(name string) error {
		b := builders[name]
		switch {
		case b == nil:
			return s.errorf("instance %d: there is no input %q", i, name)
		case seen[name]:
			return s.errorf("instance %d has input %q twice", i, name)
		}
		seen[name] = true
		if err := b.add(s, 1); err != nil {
			return inputError(name, err)
		}
		return nil
	})
	if err == nil && len(seen) < len(builders) {
		err = s.errorf("instance %d: keys must be equal to: %q", i, slices.Sorted(maps.Keys(builders)))
	}
	return err
}

// build returns the tensors of builders, and what was made when one failed.
func build(builders map[string]*builder) (map[string]*tfbridge.Tensor, error) {
	tensors := map[string]*tfbridge.Tensor{}
	for name, b := range builders {
		t, err := b.tensor()
		if err != nil {
			return tensors, inputError(name, err)
		}
		tensors[name] = t
	}
	return tensors, nil
}

// only returns the name of the only input. A request may leave it out.
func only(infos map[string]tfbridge.TensorInfo, what string) (string, error) {
	if len(infos) != 1 {
		return "", invalid("%s is a plain value/list, but expecting an object as the signature has the inputs %q", what, slices.Sorted(maps.Keys(infos)))
	}
	for name := range infos {
		return name, nil
	}
	return "", nil
}

// inputError returns an error about an input.
func inputError(name string, err error) error { return invalid("input %q: %w", name, err) }
