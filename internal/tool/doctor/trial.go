package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"millrace"
	"millrace/tfbridge"
)

// Trial is the result of opening and using a runtime.
type Trial struct {
	Error           string            `json:"error,omitempty"` // error of opening the runtime; the other fields are empty then
	Version         string            `json:"version"`
	Prelinked       bool              `json:"prelinked"`  // the libraries are prelinked copies
	Operations      string            `json:"operations"` // path of the library of our own operations
	OperationsError string            `json:"operations_error,omitempty"`
	GraphError      string            `json:"graph_error,omitempty"`
	Devices         []tfbridge.Device `json:"devices"`
}

// Try opens a runtime in this process and runs a graph.
func Try(o *tfbridge.RuntimeOptions) *Trial {
	r, err := tfbridge.Open(o)
	if err != nil {
		return &Trial{Error: err.Error()}
	}
	trial := &Trial{Version: r.Version(), Prelinked: r.Prelinked()}
	if trial.Operations, err = r.Operations(); err != nil {
		trial.OperationsError = err.Error()
	}
	if err = tryGraph(); err == nil {
		trial.Devices, err = Devices()
	}
	if err != nil {
		trial.GraphError = err.Error()
	}
	return trial
}

// Devices returns the devices that a session of an empty graph lists.
func Devices() ([]tfbridge.Device, error) {
	g := tfbridge.NewGraph()
	defer g.Close()
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.ListDevices()
}

// probe tries the runtime in another process.
func (e *examination) probe(ctx context.Context, dir string) (*Trial, error) {
	cmd, err := e.Probe(ctx, dir)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		const enough = 300
		words := strings.TrimSpace(stderr.String())
		return nil, fmt.Errorf("the process that opened them ended: %w: %s", err, words[:min(len(words), enough)])
	}
	var trial Trial
	if err := json.Unmarshal(stdout.Bytes(), &trial); err != nil {
		return nil, fmt.Errorf("the process that opened them wrote %s", millrace.QuoteData(stdout.Bytes()))
	}
	return &trial, nil
}

// tryGraph adds two numbers.
func tryGraph() error {
	g := tfbridge.NewGraph()
	defer g.Close()
	var in []tfbridge.Input
	for name, v := range map[string]float32{"a": 3, "b": 4} {
		t, err := tfbridge.NewTensor(v)
		if err != nil {
			return err
		}
		defer t.Close()
		op, err := g.AddOperation(tfbridge.OpSpec{Type: "Const", Name: name, Attrs: map[string]any{"dtype": tfbridge.Float, "value": t}})
		if err != nil {
			return err
		}
		in = append(in, op.Output(0))
	}
	sum, err := g.AddOperation(tfbridge.OpSpec{Type: "AddV2", Name: "sum", Input: in})
	if err != nil {
		return err
	}
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	out, err := s.Run(nil, []tfbridge.Output{sum.Output(0)}, nil)
	if err != nil {
		return err
	}
	defer out[0].Close()
	if got := out[0].Value(); got != float32(7) {
		return millrace.Errorf(millrace.ErrRuntime, "TensorFlow computed 3 + 4 = %v", got)
	}
	return nil
}
