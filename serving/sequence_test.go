package serving

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"millrace"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// decoderConfig has the signature of the model decoder as the step of a sequence.
func decoderConfig(t *testing.T) ModelConfig {
	t.Helper()
	c := ModelConfig{BasePath: t.TempDir(), Sequences: []SequenceConfig{{Feedback: map[string]string{"next_token": "token", "total": "state"}, EndOutput: "next_token", MaxSteps: 5}}}
	put(t, c.BasePath, "decoder", 1)
	return c
}

// stepsOf runs a sequence of rows that begin with tokens, and returns the tokens and totals of each step.
func stepsOf(s *Server, o *SequenceOptions, step int64, tokens ...int64) (string, error) {
	v, err := s.Acquire(ModelSpec{Name: "m"})
	if err != nil {
		return "", err
	}
	defer v.Release()
	steps := make([]int64, len(tokens))
	for i := range steps {
		steps[i] = step
	}
	sequence, err := NewSequence(v, "", map[string]any{"token": tokens, "state": make([][2]float32, len(tokens)), "step": steps}, o)
	if err != nil {
		return "", err
	}
	defer sequence.Close()
	text := ""
	for {
		outputs, err := sequence.Next(context.Background())
		if outputs == nil || err != nil {
			return text, err
		}
		text += fmt.Sprint(outputs["next_token"].Value())
		if total := outputs["total"]; total != nil {
			text += fmt.Sprint(total.Value())
		}
		if sequence.Last() {
			text += "."
		}
		text += " "
	}
}

// Each step gets the outputs of the step before. A sequence ends when all rows have the
// end value, at the limit of the configuration, or at the limit of the request. Steps of
// sequences that run at the same time share batches.
func TestSequence(t *testing.T) {
	s := start(t, decoderConfig(t), Options{Batching: &batching.Options{}})
	tests := []struct {
		o      *SequenceOptions
		step   int64
		tokens []int64
		want   string
	}{
		{nil, 1, []int64{5}, "[2][[5 2]] [0][[7 2]]. "},
		{&SequenceOptions{MaxSteps: 1}, 1, []int64{5}, "[2][[5 2]]. "},
		{&SequenceOptions{Outputs: []string{"next_token"}}, 2, []int64{1}, "[5] [3] [4] [0]. "},
		{&SequenceOptions{Outputs: []string{"next_token"}, MaxSteps: 9}, 4, []int64{4}, "[2] [3] [6] [1] [0]. "},
		{&SequenceOptions{Outputs: []string{"next_token"}, MaxSteps: 3}, 1, []int64{5, 1}, "[2 4] [0 6] [1 5]. "},
	}
	var all sync.WaitGroup
	for range 3 {
		for _, tt := range tests {
			all.Go(func() {
				if got, err := stepsOf(s, tt.o, tt.step, tt.tokens...); got != tt.want || err != nil {
					t.Errorf("%v, step %d: got %s, %v, want %s", tt.tokens, tt.step, got, err, tt.want)
				}
			})
		}
	}
	all.Wait()
	for want, o := range map[string]*SequenceOptions{"no output": {Outputs: []string{"x"}}, "negative": {MaxSteps: -1}} {
		if _, err := stepsOf(s, o, 1, 5); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A signature without a configuration has one step, and a bool can end a sequence.
func TestSequenceEnd(t *testing.T) {
	c := decoderConfig(t)
	c.Sequences[0].EndOutput, c.Sequences[0].EndValue = "done", 1
	s := start(t, c, Options{})
	if got, err := stepsOf(s, &SequenceOptions{Outputs: []string{"next_token"}}, 1, 5); got != "[2] [0]. " || err != nil {
		t.Errorf("with a bool: %s, %v", got, err)
	}
	c.Sequences = nil
	s = start(t, c, Options{})
	if got, err := stepsOf(s, nil, 1, 5); got != "[2][[5 2]]. " || err != nil {
		t.Errorf("without a configuration: %s, %v", got, err)
	}
}

// A configuration that does not fit the model, or fits none, is refused with its place.
func TestSequenceChecks(t *testing.T) {
	for want, change := range map[string]func(c *SequenceConfig){
		`no such signature`:        func(c *SequenceConfig) { c.Signature = "x" },
		`names output "nxt"`:       func(c *SequenceConfig) { c.Feedback = map[string]string{"nxt": "token"} },
		`names input "tokn"`:       func(c *SequenceConfig) { c.Feedback = map[string]string{"next_token": "tokn"} },
		`cannot become input`:      func(c *SequenceConfig) { c.Feedback = map[string]string{"total": "token"} },
		`the end is output "x"`:    func(c *SequenceConfig) { c.EndOutput = "x" },
		`must be a bool`:           func(c *SequenceConfig) { c.EndOutput = "total" },
		`"token" of signature`:     func(c *SequenceConfig) { c.Feedback = map[string]string{"next_token": "token", "done": "token"} },
		`a limit must be positive`: func(c *SequenceConfig) { c.MaxSteps = -1 },
	} {
		c := decoderConfig(t)
		change(&c.Sequences[0])
		c.Name = "m"
		s, err := New(t.Context(), []ModelConfig{c}, &Options{FileSystemPollWait: -1})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// An end that the type of its output cannot have is refused.
func TestSequenceEndValues(t *testing.T) {
	for _, tt := range []struct {
		dtype tfbridge.DataType
		value int64
		want  string // "": accepted
	}{
		{tfbridge.Int32, math.MaxInt32, ""},
		{tfbridge.Int32, 1 << 32, "4294967296"}, // its low bits are 0
		{tfbridge.Int32, math.MinInt32 - 1, "-2147483649"},
		{tfbridge.Int64, 1 << 32, ""},
		{tfbridge.Bool, 0, ""},
		{tfbridge.Bool, 2, "with the value 2"},
	} {
		v := &Version{config: ModelConfig{Sequences: []SequenceConfig{{EndOutput: "end", EndValue: tt.value}}}, signatures: map[string]tfbridge.Signature{
			"serving_default": {Outputs: map[string]tfbridge.TensorInfo{"end": {DType: tt.dtype}}}}}
		if err := checkSequences(v); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, %d: %v", tt.dtype, tt.value, err)
		}
	}
}
