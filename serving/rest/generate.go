package rest

import (
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"millrace"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

/*
A sequence as server-sent events, as in Triton's generate extension of the Open Inference
Protocol. The body has the inputs of one row by name, and the answer an event for each step:

	{"token": 5, "parameters": {"max_steps": 3}}

	data: {"model_name":"m","model_version":"1","token":7}

	data: {"model_name":"m","model_version":"1","token":2}

The first step runs before the answer begins, so that a request which does not fit gets an
error's status. A later error is an event {"error": ...}, and the last one.
*/

// generateParameters are the parameters of a request.
type generateParameters struct {
	Signature string `json:"signature_name,omitempty"`
	MaxSteps  int    `json:"max_steps,omitempty"`
}

// steps is a sequence whose steps are sent one after the other.
type steps struct {
	ctx      context.Context
	version  *serving.Version
	sequence *serving.Sequence
	tensors  map[string]*tfbridge.Tensor // the inputs
	id       string
	first    []byte // the event of the first step
}

// close ends the sequence.
func (s *steps) close() {
	s.sequence.Close()
	closeAll(s.tensors)
	s.version.Release()
}

// generate runs the first step of a sequence, and leaves the others to sendSteps.
func generate(ctx context.Context, c *call) (err error) {
	text, err := c.text()
	if err != nil {
		return err
	}
	v, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	s := &steps{ctx: ctx, version: v, sequence: &serving.Sequence{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	r, p, err := parseGenerate(c, text, s)
	if err != nil {
		return err
	}
	if err := v.Admit(r.signature); err != nil {
		return err
	}
	infos, err := r.inputInfos(v)
	if err != nil {
		return err
	}
	if err := c.lease.Grow(tensorBytes(text, infos)); err != nil {
		return err
	}
	inputs, err := r.generateInputs(infos)
	if err != nil {
		return err
	}
	if s.tensors, err = inputs.tensors(); err != nil {
		return err
	}
	values := make(map[string]any, len(s.tensors))
	for name, t := range s.tensors {
		values[name] = t
	}
	if s.sequence, err = serving.NewSequence(v, r.signature, values, &serving.SequenceOptions{MaxSteps: p.MaxSteps}); err != nil {
		s.sequence = &serving.Sequence{}
		return err
	}
	if s.first, err = step(c, s); err == nil {
		c.steps = s
	}
	return err
}

// parseGenerate finds the parts of a body that are not inputs.
func parseGenerate(c *call, text []byte, s *steps) (*request, generateParameters, error) {
	var p generateParameters
	r, err := c.scratch.request.parse(text, "id", "parameters")
	if err != nil {
		return nil, p, err
	}
	for _, part := range []struct {
		key string
		to  any
	}{{"id", &s.id}, {"parameters", &p}} {
		at := r.found.of(part.key)
		if at == nil {
			continue
		}
		look := *at
		if _, err := look.skip(); err != nil {
			return nil, p, err
		}
		if err := json.Unmarshal(text[at.at:look.at], part.to); err != nil {
			return nil, p, invalid("%q: %w", part.key, err)
		}
	}
	if r.signature == "" {
		r.signature = p.Signature
	}
	return r, p, nil
}

// generateInputs returns the inputs of the only row of a request.
func (r *request) generateInputs(infos map[string]tfbridge.TensorInfo) (all builders, err error) {
	s := &scanner{text: r.text}
	err = s.object(func(name string) error {
		info, ok := infos[name]
		switch {
		case all.of(name) != nil:
			return s.errorf("the body has input %q twice", name)
		case ok:
			b := all.add(name, info.DType)
			b.shape = []int64{1}
			if err := b.add(s, 1); err != nil {
				return inputError(name, err)
			}
			return nil
		case name != "id" && name != "parameters" && name != "signature_name":
			return s.errorf("there is no input %q; the signature has %q", name, slices.Sorted(maps.Keys(infos)))
		}
		_, err := s.skip()
		return err
	})
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		if err == nil && all.of(name) == nil {
			err = invalid("input %s is missing", millrace.Quote(name))
		}
	}
	return all, err
}

// step runs the next step and returns its event, nil after the last step. The event is valid until
// the next step.
func step(c *call, s *steps) ([]byte, error) {
	outputs, err := s.sequence.Next(s.ctx)
	if outputs == nil || err != nil {
		return nil, err
	}
	all := outputsOf(outputs)
	size := answerBytes(all)
	if err := c.lease.Grow(size); err != nil {
		return nil, err
	}
	defer c.lease.Shrink(size) // the event is on its way before the next step begins
	writers, err := c.scratch.writersOf(all)
	if err != nil {
		return nil, err
	}
	b := append(c.scratch.answer[:0], `data: {"model_name":`...)
	b = appendString(b, s.version.Name)
	b = append(b, `,"model_version":"`...)
	b = strconv.AppendInt(b, s.version.Number, 10)
	b = append(b, '"')
	if s.id != "" {
		b = appendString(append(b, `,"id":`...), s.id)
	}
	for i := range writers {
		w := &writers[i]
		b = appendString(append(b, ','), w.name)
		b = w.value(append(b, ':'), rowDimension(all[i]))
	}
	c.scratch.answer = append(b, "}\n\n"...)
	return c.scratch.answer, nil
}

// rowDimension is the first dimension of an output that an event shows. An output with one row is
// shown without the dimension of rows.
func rowDimension(o batching.Output) int {
	if o.Rows == 1 {
		return 1
	}
	return 0
}

// sendSteps sends the events of a sequence.
func sendSteps(c *call, send func(event []byte) error) {
	s := c.steps
	event, err := s.first, error(nil)
	defer func() {
		if p := recover(); p != nil {
			c.options.Logger.ErrorContext(c.ctx, "panic", slog.String("method", c.does), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = millrace.Errorf(millrace.ErrInternal, "the request made the server panic")
		}
		s.close()
		c.leave()
		c.finish(serving.CodeOf(err), err)
	}()
	for event != nil {
		if gone := send(event); gone != nil {
			err = millrace.Errorf(millrace.ErrCanceled, "the client has gone: %w", gone)
			return
		}
		if event, err = step(c, s); err != nil {
			_ = send(append(appendError([]byte("data: "), err), '\n')) // a client that has gone does not need it
			return
		}
	}
}
