package serving

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"millrace"
	"millrace/tfbridge"
)

// twoVersions serves versions 1 and 2 of a model with the labels stable and canary.
func twoVersions(t *testing.T, c ModelConfig) *Server {
	t.Helper()
	c.BasePath = t.TempDir()
	put(t, c.BasePath, "constant", 1)
	put(t, c.BasePath, "constant", 2)
	c.VersionPolicy.All, c.VersionLabels = true, map[string]int64{"stable": 1, "canary": 2}
	return start(t, c, Options{})
}

// Requests that name no version go to the labels by their weights, and the others to
// the version that they name. A label without an available version gets none.
func TestCanary(t *testing.T) {
	s := twoVersions(t, ModelConfig{Canary: map[string]int{"stable": 3, "canary": 1}})
	s.mu.Lock()
	m := s.models["m"]
	counts := map[int64]int{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		counts[m.drawn(random.Float64()).Number]++
	}
	s.mu.Unlock()
	if n := counts[1]; n < 2900 || n > 3100 {
		t.Errorf("the stable version gets %d of 4000 requests, want about 3000", n)
	}
	for _, spec := range []ModelSpec{{Name: "m", Version: 2}, {Name: "m", Label: "canary"}} {
		for range 20 {
			if v, err := s.Acquire(spec); err != nil || v.Number != 2 {
				t.Errorf("%+v: %v, %v", spec, v, err)
			} else {
				v.Release()
			}
		}
	}
	got := map[int64]int{}
	for range 200 {
		v, err := s.Acquire(ModelSpec{Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		got[v.Number]++
		v.Release()
	}
	if got[1] == 0 || got[2] == 0 {
		t.Errorf("200 requests went to versions %v", got)
	}
	s.mu.Lock()
	m.versions[2].state = Unloading
	if v := m.drawn(0.999); v == nil || v.Number != 1 {
		t.Errorf("without the canary's version a request gets %v", v)
	}
	m.versions[2].state = Available
	s.mu.Unlock()
}

// An invalid configuration is refused, and the error describes the mistake.
func TestTrafficChecks(t *testing.T) {
	labels := map[string]int64{"stable": 1}
	for _, tt := range []struct {
		c    ModelConfig
		want string
	}{
		{ModelConfig{Canary: map[string]int{"blue": 1}}, `label "blue"`},
		{ModelConfig{Canary: map[string]int{"stable": -1}}, "negative"},
		{ModelConfig{Canary: map[string]int{"stable": 0}}, "all canary weights are 0"},
		{ModelConfig{Shadow: &ShadowConfig{Label: "blue", Share: 1}}, `label "blue"`},
		{ModelConfig{Shadow: &ShadowConfig{Label: "stable", Share: 1.5}}, "from 0 to 1"},
		{ModelConfig{CacheBytes: -1}, "cache"},
	} {
		tt.c.Name, tt.c.BasePath, tt.c.VersionLabels = "m", "x", labels
		if err := checkConfigs([]ModelConfig{tt.c}); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %s", tt.c, err, tt.want)
		}
	}
}

// askTensor predicts with a tensor.
func askTensor(t *testing.T, s *Server, spec ModelSpec, x any) any {
	t.Helper()
	v, err := s.Acquire(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	in, err := tfbridge.NewTensor(x)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	outputs, err := v.Predict(t.Context(), "", map[string]any{"x": in})
	if err != nil {
		t.Fatal(err)
	}
	defer outputs["y"].Close()
	return outputs["y"].Value()
}

// Each request is also run by the other version, and requests to that version are not
// copied.
func TestShadow(t *testing.T) {
	s := twoVersions(t, ModelConfig{Shadow: &ShadowConfig{Label: "canary", Share: 1}})
	for range 3 {
		if y := fmt.Sprint(askTensor(t, s, ModelSpec{Name: "m", Label: "stable"}, []float32{1})); y != "[3]" {
			t.Errorf("got %s", y)
		}
	}
	askTensor(t, s, ModelSpec{Name: "m", Label: "canary"}, []float32{1})
	for s.shadows.Load() > 0 {
		runtime.Gosched()
	}
	if got := TrafficOf(s)["m"]; got.ShadowRan != 3 || got.ShadowFailed != 0 || got.ShadowDropped != 0 {
		t.Errorf("%+v, want 3 copies that ran", got)
	}
}

// A copy is dropped if there is no memory for it, or if there are too many.
func TestShadowDropped(t *testing.T) {
	s := twoVersions(t, ModelConfig{Shadow: &ShadowConfig{Label: "canary", Share: 1}})
	lease := s.Memory.Lease()
	if err := lease.Grow(s.Memory.Limit() - s.Memory.Limit()/8); err != nil {
		t.Fatal(err)
	}
	askTensor(t, s, ModelSpec{Name: "m", Label: "stable"}, make([]float32, 100_000))
	lease.Close()
	s.shadows.Add(maxShadows)
	askTensor(t, s, ModelSpec{Name: "m", Label: "stable"}, []float32{1})
	s.shadows.Add(-maxShadows)
	if got := TrafficOf(s)["m"]; got.ShadowRan != 0 || got.ShadowDropped != 2 {
		t.Errorf("%+v, want 2 copies that were dropped", got)
	}
}

// Equal requests get the same answer from the cache, different requests their own, and
// a new version does not use the answers of the previous one.
func TestCache(t *testing.T) {
	s := twoVersions(t, ModelConfig{CacheBytes: 1 << 20})
	for _, tt := range []struct {
		version int64
		x       []float32
		want    string
		hits    int64
	}{{1, []float32{1}, "[3]", 0}, {1, []float32{1}, "[3]", 1}, {1, []float32{2}, "[5]", 1}, {2, []float32{1}, "[3]", 1}, {2, []float32{1}, "[3]", 2}, {1, []float32{1, 2}, "[3 5]", 2}} {
		if y := fmt.Sprint(askTensor(t, s, ModelSpec{Name: "m", Version: tt.version}, tt.x)); y != tt.want {
			t.Errorf("version %d, %v: got %s, want %s", tt.version, tt.x, y, tt.want)
		}
		if hits := TrafficOf(s)["m"].CacheHits; hits != tt.hits {
			t.Errorf("version %d, %v: %d hits, want %d", tt.version, tt.x, hits, tt.hits)
		}
	}
	v, err := s.Acquire(ModelSpec{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	if v.RowsBatcher("serving_default") != nil {
		t.Error("requests go past the cache")
	}
}
