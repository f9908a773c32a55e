package rest

import (
	"context"
	"slices"
	"testing"
	"time"
)

// A deadline that ends a little later than the last one is not set again.
func TestRareDeadline(t *testing.T) {
	var set []time.Time
	d := rareDeadline{set: func(t time.Time) error { set = append(set, t); return nil }}
	now := time.Now()
	later := func(d time.Duration) time.Time { return now.Add(d) }
	for _, s := range []struct {
		name  string
		to    time.Time
		apply bool
		want  []time.Time
	}{
		{"far", later(100 * time.Second), false, nil},
		{"far, before a read", later(100 * time.Second), true, []time.Time{later(100 * time.Second)}},
		{"a little later", later(105 * time.Second), true, nil},
		{"much later", later(200 * time.Second), true, []time.Time{later(200 * time.Second)}},
		{"earlier, without a read", later(10 * time.Second), false, nil},
		{"earlier", later(10 * time.Second), true, []time.Time{later(10 * time.Second)}},
		{"soon, at once", later(time.Second), false, []time.Time{later(time.Second)}},
		{"none", time.Time{}, true, []time.Time{{}}},
		{"none again", time.Time{}, true, nil},
	} {
		set = nil
		if err := d.change(s.to); err != nil {
			t.Fatal(err)
		}
		if s.apply {
			if err := d.apply(); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(set, s.want) {
			t.Errorf("%s: set %v, want %v", s.name, set, s.want)
		}
	}
}

// The functions after a request's context are called once when it ends, unless they are stopped.
func TestWatchedAfterFunc(t *testing.T) {
	w := newWatcher(time.Minute)
	r := w.add(t.Context(), nil, time.Now())
	called := make(chan string, 3)
	stop := r.AfterFunc(func() { called <- "stopped" })
	r.AfterFunc(func() { called <- "first" })
	if !stop() || stop() {
		t.Error("a function must be stopped once")
	}
	derived, cancel := context.WithTimeout(r, time.Hour)
	defer cancel()
	w.mu.Lock()
	r.cancel(context.DeadlineExceeded)
	w.mu.Unlock()
	<-derived.Done()
	if got := <-called; got != "first" {
		t.Errorf("called: %s", got)
	}
	if stop := r.AfterFunc(func() { called <- "late" }); stop() || <-called != "late" {
		t.Error("a function after the end must be called at once")
	}
	r.end()
}
