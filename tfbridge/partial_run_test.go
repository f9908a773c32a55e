package tfbridge

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"millrace"
)

// steps is a graph with a + 2, (a + 2) * 3 and ((a + 2) * 3) + b.
type steps struct {
	*build
	a, b, first, second, third Output
	s                          *Session
}

func newSteps(t *testing.T) *steps {
	p := &steps{build: newBuild(t)}
	p.a, p.b = p.placeholder("a", Int32, ScalarShape()), p.placeholder("b", Int32, ScalarShape())
	p.first = p.out("AddV2", "first", nil, p.a, p.constant("two", int32(2)))
	p.second = p.out("Mul", "second", nil, p.first, p.constant("three", int32(3)))
	p.third = p.out("AddV2", "third", nil, p.second, p.b)
	p.s = p.session()
	return p
}

// start prepares a partial run, closed with the test.
func (p *steps) start() *PartialRun {
	p.t.Helper()
	pr, err := p.s.NewPartialRun([]Output{p.a, p.b}, []Output{p.first, p.third}, []*Operation{p.second.Op})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { pr.Close() })
	return pr
}

// one makes a step and returns its only fetch.
func (p *steps) one(pr *PartialRun, feeds map[Output]*Tensor, fetch Output) any {
	p.t.Helper()
	out, err := pr.Run(feeds, []Output{fetch}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer out[0].Close()
	return out[0].Value()
}

func TestPartialRun(t *testing.T) {
	p := newSteps(t)
	pr, other := p.start(), p.start()
	if got := p.one(pr, fed(p.build, p.a, int32(1)), p.first); got != int32(3) {
		t.Errorf("first step: got %v, want 3", got)
	}
	if got := p.one(other, fed(p.build, p.a, int32(10)), p.first); got != int32(12) {
		t.Errorf("first step of another: got %v, want 12", got)
	}
	if out, err := pr.Run(nil, nil, []*Operation{p.second.Op}); err != nil || len(out) != 0 {
		t.Errorf("a step for its target: %v, %v", out, err)
	}
	if got := p.one(pr, fed(p.build, p.b, int32(4)), p.third); got != int32(13) {
		t.Errorf("last step: got %v, want (1+2)*3+4 = 13", got)
	}
	if got := p.one(other, fed(p.build, p.b, int32(1)), p.third); got != int32(37) {
		t.Errorf("last step of another: got %v, want (10+2)*3+1 = 37", got)
	}
}

func TestPartialRunRefuses(t *testing.T) {
	p := newSteps(t)
	foreign := newBuild(t).constant("c", int32(1))
	for name, lists := range map[string][2][]Output{
		"zero feed":     {{{}}, {p.first}},
		"zero fetch":    {{p.a}, {{}}},
		"foreign fetch": {{p.a}, {foreign}},
		"same feed":     {{p.a, p.a}, {p.first}},
	} {
		if pr, err := p.s.NewPartialRun(lists[0], lists[1], nil); pr != nil || !errors.Is(err, millrace.ErrModel) {
			t.Errorf("%s: %v, %v", name, pr, err)
		}
	}
	if pr, err := p.s.NewPartialRun(nil, nil, []*Operation{nil}); pr != nil || !errors.Is(err, millrace.ErrModel) {
		t.Errorf("nil target: %v, %v", pr, err)
	}
	pr := p.start()
	tests := []struct {
		name    string
		feeds   map[Output]*Tensor
		fetches []Output
		targets []*Operation
		want    string
		class   error
	}{
		{"type", fed(p.build, p.a, float32(1)), []Output{p.first}, nil, "a:0 takes type int32, got float32", millrace.ErrModel},
		{"nil value", map[Output]*Tensor{p.a: nil}, []Output{p.first}, nil, "value for a:0: tensor is nil", millrace.ErrClosed},
		{"zero fetch", nil, []Output{{}}, nil, "fetch: no operation", millrace.ErrModel},
		{"foreign fetch", nil, []Output{foreign}, nil, "another graph", millrace.ErrModel},
		{"other feed", fed(p.build, p.second, int32(1)), []Output{p.third}, nil, "second:0 is not among the feeds", millrace.ErrModel},
		{"other fetch", nil, []Output{p.second}, nil, "second:0 is not among the fetches", millrace.ErrModel},
		{"other target", nil, nil, []*Operation{p.third.Op}, `"third" is not among the targets`, millrace.ErrModel},
		{"not fed yet", nil, []Output{p.third}, nil, "can't be computed from the feeds", millrace.ErrModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := pr.Run(tt.feeds, tt.fetches, tt.targets)
			if out != nil || !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %s", out, err, tt.want)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pr.RunContext(ended, nil, []Output{p.first}, nil); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("in a context that has ended: %v", err)
	}
	out, err := pr.RunContext(t.Context(), fed(p.build, p.a, int32(1)), []Output{p.first}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out[0].Close()
	if _, err := pr.Run(fed(p.build, p.a, int32(1)), nil, nil); err == nil {
		t.Error("the same feed again was taken")
	}
	if _, err := pr.Run(nil, []Output{p.first}, nil); err == nil {
		t.Error("the same fetch again was given")
	}
}

// A session is closed while partial runs of it are at different steps.
func TestPartialRunClosedSession(t *testing.T) {
	p := newSteps(t)
	var wg sync.WaitGroup
	for range 16 {
		pr := p.start()
		feeds, more := fed(p.build, p.a, int32(1)), fed(p.build, p.b, int32(1))
		wg.Go(func() {
			for _, step := range []func() ([]*Tensor, error){
				func() ([]*Tensor, error) { return pr.Run(feeds, []Output{p.first}, nil) },
				func() ([]*Tensor, error) { return pr.Run(more, []Output{p.third}, nil) },
			} {
				out, err := step()
				if err != nil && !errors.Is(err, millrace.ErrClosed) {
					t.Errorf("a step beside Close: %v", err)
				}
				for _, x := range out {
					x.Close()
				}
			}
		})
	}
	if err := p.s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
