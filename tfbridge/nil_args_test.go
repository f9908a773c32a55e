package tfbridge

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
)

func TestNilArguments(t *testing.T) {
	p := newSteps(t)
	x, g, sess, part := p.first, p.g, p.s, p.start()
	c, err := sess.PrepareRun([]Output{p.a}, []Output{x}, nil, &RunOptions{Trace: FullTrace})
	if err != nil {
		t.Fatal(err)
	}
	value := newTestTensor(t, float32(1))
	var none context.Context
	tests := map[string]func() error{
		"Session.RunContext":    func() error { _, err := sess.RunContext(none, nil, []Output{x}, nil); return err },
		"Callable.Run":          func() error { _, err := c.Run(none, nil); return err },
		"Callable.RunTraced":    func() error { _, _, err := c.RunTraced(none, nil); return err },
		"PartialRun.RunContext": func() error { _, err := part.RunContext(none, nil, []Output{x}, nil); return err },
		"LoadSavedModelContext": func() error {
			_, err := LoadSavedModelContext(none, filepath.Join("..", "testdata", "models", "linear"), []string{"serve"}, nil)
			return err
		},
		"RunMetadata.WriteTimeline": func() error { return new(RunMetadata).WriteTimeline(nil) },
		"Graph.WriteTo":             func() error { _, err := g.WriteTo(nil); return err },
		"Tensor.WriteContentsTo":    func() error { _, err := value.WriteContentsTo(nil); return err },
		"ReadTensor":                func() error { _, err := ReadTensor(Float, nil, nil); return err },
	}
	for name, call := range tests {
		if err := call(); !errors.Is(err, millrace.ErrConfig) {
			t.Errorf("%s: %v, want class %v", name, err, millrace.ErrConfig)
		}
	}
}

func TestIntHasNoDataType(t *testing.T) {
	_, err := NewTensor([]int{1})
	if err == nil || !strings.Contains(err.Error(), "type int; use int32 or int64") {
		t.Error(err)
	}
}
