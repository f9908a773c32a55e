package tfbridge

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
)

// A cancelled load leaks nothing.
func TestLoadSavedModelContext(t *testing.T) {
	testruntime.Need(t)
	live := Live()
	for i := range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range i * 100 {
				runtime.Gosched()
			}
			cancel()
		}()
		m, err := LoadSavedModelContext(ctx, models+"linear", []string{"serve"}, nil)
		if err != nil && !errors.Is(err, millrace.ErrCanceled) {
			t.Error(err)
		}
		m.Close()
		if _, err := LoadSavedModelContext(ctx, models+"linear", nil, nil); ctx.Err() != nil && !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("an ended context: %v", err)
		}
		<-ctx.Done()
	}
	for Live() > live {
		runtime.Gosched()
	}
	if _, err := LoadSavedModelContext(t.Context(), "nowhere", []string{"serve"}, nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("no model: %v", err)
	}
}
