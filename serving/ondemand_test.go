package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

// onDemand serves models a, b and c of equal size. There is room for two.
func onDemand(t *testing.T) *Server {
	t.Helper()
	testruntime.Need(t)
	var configs []ModelConfig
	for _, name := range []string{"a", "b", "c"} {
		base := t.TempDir()
		put(t, base, "constant", 1)
		configs = append(configs, ModelConfig{Name: name, BasePath: base})
	}
	size := modelBytes(configs[0].BasePath)
	s, err := New(t.Context(), configs, &Options{FileSystemPollWait: -1, ModelMemory: 2*size + size/2, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// states returns the states of the models.
func states(s *Server) string {
	text := ""
	for _, name := range s.Models() {
		all, err := s.Status(ModelSpec{Name: name})
		if err != nil {
			return err.Error()
		}
		text += fmt.Sprint(name, " ", all[0].State, " ")
	}
	return text
}

// hold acquires a model.
func hold(t *testing.T, s *Server, name string) *Version {
	t.Helper()
	v, err := s.AcquireContext(t.Context(), ModelSpec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A model is loaded at its first request, and the least recently used model makes room.
func TestOnDemand(t *testing.T) {
	s := onDemand(t)
	if got := states(s); got != "a START b START c START " {
		t.Errorf("in the beginning: %s", got)
	}
	for _, tt := range []struct{ name, want string }{
		{"a", "a AVAILABLE b START c START "},
		{"b", "a AVAILABLE b AVAILABLE c START "},
		{"a", "a AVAILABLE b AVAILABLE c START "},
		{"c", "a AVAILABLE b START c AVAILABLE "},
		{"b", "a START b AVAILABLE c AVAILABLE "},
	} {
		hold(t, s, tt.name).Release()
		if got := states(s); got != tt.want {
			t.Errorf("after a request to %s: %s, want %s", tt.name, got, tt.want)
		}
	}
	b, c := hold(t, s, "b"), hold(t, s, "c")
	if _, err := s.AcquireContext(t.Context(), ModelSpec{Name: "a"}); !errors.Is(err, millrace.ErrOverloaded) {
		t.Errorf("while both are in use: %v", err)
	}
	c.Release()
	hold(t, s, "a").Release()
	b.Release()
	if got, want := states(s), "a AVAILABLE b AVAILABLE c START "; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.modelMemory != 0 {
		t.Errorf("%d bytes are taken after the end", s.modelMemory)
	}
}

// Many requests at once load a model once, and none fails.
func TestOnDemandTogether(t *testing.T) {
	s := onDemand(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, name := range []string{"a", "b"} {
				v, err := s.AcquireContext(t.Context(), ModelSpec{Name: name})
				if err != nil {
					t.Error(err)
					continue
				}
				v.Release()
			}
		})
	}
	all.Wait()
	if got, want := states(s), "a AVAILABLE b AVAILABLE c START "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A request that waits for a model leaves when its context ends. The error of a model
// that cannot be loaded gives the reason, and a model that never fits is refused.
func TestOnDemandFails(t *testing.T) {
	s := onDemand(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.AcquireContext(gone, ModelSpec{Name: "a"}); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("who left: %v", err)
	}
	hold(t, s, "a").Release() // the loading continues for others
	s.mu.Lock()
	s.models["b"].versions[1].path = t.TempDir()
	s.models["c"].versions[1].size = s.options.ModelMemory + 1
	s.mu.Unlock()
	if _, err := s.AcquireContext(t.Context(), ModelSpec{Name: "b"}); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a folder without a model: %v", err)
	}
	if _, err := s.AcquireContext(t.Context(), ModelSpec{Name: "c"}); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("a model that never fits: %v", err)
	}
}
