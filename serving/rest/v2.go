package rest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/serving"
	"millrace/serving/internal/openinference"
	"millrace/tfbridge"
)

/*
KServe's Open Inference Protocol, version 2, with its extension of binary tensors: a body is a
JSON document and, if the header Inference-Header-Content-Length says how long that is, the
elements of tensors after it.

	[ {"inputs": [{"name": "x", ..., "parameters": {"binary_data_size": 8}}]} ][ 8 bytes ]

Numbers that are not finite, which JSON does not have, are answered as "NaN", "Infinity" and
"-Infinity", and taken as such. Bytes that are not UTF-8 must be asked for in binary form.
*/

// describeServer returns the metadata of the server.
func describeServer() []byte {
	return []byte(`{"name":"millrace","version":"2","extensions":["binary_tensor_data"]}` + "\n")
}

// describeModel returns the metadata of a model: its default signature.
func describeModel(s *serving.Server, v *serving.Version) ([]byte, error) {
	sig := v.Signatures()[graph.DefaultSignature]
	text, err := json.Marshal(struct {
		Name     string                     `json:"name"`
		Versions []string                   `json:"versions"`
		Platform string                     `json:"platform"`
		Inputs   []openinference.TensorInfo `json:"inputs"`
		Outputs  []openinference.TensorInfo `json:"outputs"`
	}{v.Name, openinference.Versions(s, v.Name), openinference.Platform, openinference.Describe(sig.Inputs), openinference.Describe(sig.Outputs)})
	return append(text, '\n'), err
}

// answerV2 answers a request about a server or a model.
func (c *call) answerV2() ([]byte, error) {
	switch c.does {
	case v2Live:
		return []byte("{\"live\":true}\n"), nil
	case v2Ready:
		if err := c.server.Ready(); err != nil {
			return nil, err
		}
		return []byte("{\"ready\":true}\n"), nil
	case v2Server:
		return describeServer(), nil
	}
	v, err := c.acquire(c.ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if c.does == v2Has {
		return append(appendString([]byte(`{"ready":true,"name":`), v.Name), "}\n"...), nil
	}
	return describeModel(c.server, v)
}

// infer answers a request for inference.
func (c *call) infer(ctx context.Context) ([]byte, error) {
	length := int64(-1)
	if header := c.header(inferenceHeader); header != "" {
		var err error
		if length, err = strconv.ParseInt(header, 10, 64); err != nil || length < 0 {
			return nil, invalid("%s is %s, want a number of bytes", inferenceHeader, millrace.Quote(header))
		}
	}
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	v, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if err := c.lease.Grow(int64(len(text))); err != nil { // the data of inputs is copied
		return nil, err
	}
	q, err := openinference.Parse(text, length)
	if err != nil {
		return nil, err
	}
	r := &request{signature: q.Parameters.Signature}
	if err := v.Admit(r.signature); err != nil {
		return nil, err
	}
	infos, err := r.inputInfos(v)
	if err != nil {
		return nil, err
	}
	tensors, err := c.inferInputs(q, infos)
	defer closeAll(tensors)
	if err != nil {
		return nil, err
	}
	wanted, err := outputNames(q, v.Signatures()[r.key()])
	if err != nil {
		return nil, err
	}
	outputs, err := r.run(ctx, v, tensors, wanted...)
	if err != nil {
		return nil, err
	}
	defer closeAll(outputs)
	return c.inferAnswer(q, v, outputs)
}

// outputNames returns the outputs that a request names: none stands for all.
func outputNames(q *openinference.Request, sig tfbridge.Signature) ([]string, error) {
	var names []string
	for _, o := range q.Outputs {
		if _, ok := sig.Outputs[o.Name]; !ok {
			return nil, invalid("there is no output %s; the signature has %q", millrace.Quote(o.Name), slices.Sorted(maps.Keys(sig.Outputs)))
		}
		if slices.Contains(names, o.Name) {
			return nil, invalid("the request asks for output %s twice", millrace.Quote(o.Name))
		}
		names = append(names, o.Name)
	}
	return names, nil
}

// inferInputs returns the inputs of a request. The caller closes them, even after an
// error.
func (c *call) inferInputs(q *openinference.Request, infos map[string]tfbridge.TensorInfo) (map[string]*tfbridge.Tensor, error) {
	tensors := map[string]*tfbridge.Tensor{}
	for i := range q.Inputs {
		in := &q.Inputs[i]
		info, ok := infos[in.Name]
		if !ok {
			return tensors, invalid("there is no input %s; the signature has %q", millrace.Quote(in.Name), slices.Sorted(maps.Keys(infos)))
		}
		dt, err := openinference.DataType(in.Datatype)
		if err == nil && dt != info.DType {
			err = invalid("datatype is %s, the signature takes %s", in.Datatype, openinference.Name(info.DType))
		}
		if err != nil {
			return tensors, inputError(in.Name, err)
		}
		if tensors[in.Name], err = c.inferInput(in, dt); err != nil {
			delete(tensors, in.Name)
			return tensors, inputError(in.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		if tensors[name] == nil {
			return tensors, invalid("input %s is missing", millrace.Quote(name))
		}
	}
	return tensors, nil
}

// inferInput returns one input.
func (c *call) inferInput(in *openinference.Input, dt tfbridge.DataType) (*tfbridge.Tensor, error) {
	if in.Binary != nil {
		if err := c.lease.Grow(2 * int64(len(in.Binary)) * stringFactor(dt)); err != nil {
			return nil, err
		}
		return openinference.Tensor(dt, in.Shape, in.Binary)
	}
	if err := c.lease.Grow(tensorBytes(in.Data, map[string]tfbridge.TensorInfo{in.Name: {DType: dt}})); err != nil {
		return nil, err
	}
	n, _, err := dtype.ByteSize(dt, in.Shape)
	if err != nil {
		return nil, err
	}
	b := newBuilder(dt)
	b.words = true
	if err := b.add(&scanner{text: in.Data}, 0); err != nil {
		return nil, err
	}
	got := int64(1) // elements, nested or flat
	for _, d := range b.shape[:max(b.rank, 0)] {
		got *= d
	}
	if got != n {
		return nil, invalid("shape %v has %d elements, data has %d", in.Shape, n, got)
	}
	b.shape, b.rank = in.Shape, len(in.Shape)
	return b.tensor()
}

// stringFactor is the ratio of a tensor's memory to its bytes, for each type.
func stringFactor(dt tfbridge.DataType) int64 {
	if dt == tfbridge.String {
		return stringBytes / 4
	}
	return 1
}

// inferAnswer returns the answer, and records the length of its JSON if binary data
// follow.
func (c *call) inferAnswer(q *openinference.Request, v *serving.Version, outputs map[string]*tfbridge.Tensor) (answer []byte, err error) {
	expected := answerBytes(outputsOf(outputs))
	if err := c.lease.Grow(expected); err != nil {
		return nil, err
	}
	answer = append(answer, `{"model_name":`...)
	answer = appendString(answer, v.Name)
	answer = append(answer, `,"model_version":"`...)
	answer = strconv.AppendInt(answer, v.Number, 10)
	answer = append(answer, '"')
	if q.ID != "" {
		answer = append(answer, `,"id":`...)
		answer = appendString(answer, q.ID)
	}
	answer = append(answer, `,"outputs":[`...)
	var after []string
	for i, name := range slices.Sorted(maps.Keys(outputs)) {
		if i > 0 {
			answer = append(answer, ',')
		}
		binary := q.InBinary(name)
		if answer, err = appendV2Output(answer, name, outputs[name], binary); err != nil {
			return nil, inputErrorOf("output", name, err)
		}
		if binary {
			after = append(after, name)
		}
	}
	answer = append(answer, "]}"...)
	if len(after) > 0 {
		c.jsonLength = len(answer)
	}
	for _, name := range after {
		if answer, err = openinference.AppendBinary(answer, outputs[name]); err != nil {
			return nil, inputErrorOf("output", name, err)
		}
	}
	return answer, c.lease.Grow(max(2*int64(cap(answer))-expected, 0))
}

// inputErrorOf returns an error about an input or output.
func inputErrorOf(what, name string, err error) error {
	return invalid("%s %q: %w", what, name, err)
}

// appendV2Output appends the description of an output, with its data unless that is binary.
func appendV2Output(b []byte, name string, t *tfbridge.Tensor, binary bool) ([]byte, error) {
	datatype := openinference.Name(t.DataType())
	if datatype == "" {
		return nil, invalid("the protocol has no datatype for %v", t.DataType())
	}
	b = append(b, `{"name":`...)
	b = appendString(b, name)
	b = append(b, `,"datatype":"`+datatype+`","shape":[`...)
	for i, n := range t.Shape() {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	b = append(b, ']')
	if binary {
		size, err := openinference.BinarySize(t)
		b = append(b, `,"parameters":{"binary_data_size":`...)
		b = strconv.AppendInt(b, size, 10)
		return append(b, "}}"...), err
	}
	b, err := appendFlat(append(b, `,"data":[`...), t)
	return append(b, "]}"...), err
}

// appendFlat appends the elements of a tensor in row-major order.
func appendFlat(b []byte, t *tfbridge.Tensor) ([]byte, error) {
	if t.DataType() == tfbridge.String {
		texts, err := t.Strings()
		for i, text := range texts {
			if !utf8.ValidString(text) {
				return nil, invalid("element %d is not UTF-8; ask for it with the parameter binary_data", i)
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, text)
		}
		return b, err
	}
	one, err := elementsOf("", t)
	if err != nil {
		return nil, err
	}
	for i := range t.NumElements() {
		if i > 0 {
			b = append(b, ',')
		}
		start := len(b)
		if b = one(b, i); b[start] == 'N' || b[len(b)-1] == 'y' { // a word
			b = strconv.AppendQuote(b[:start], string(b[start:]))
		}
	}
	return b, nil
}
