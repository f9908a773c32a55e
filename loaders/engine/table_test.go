package engine

import (
	"testing"

	"millrace/loaders/loadertype"
	"millrace/loaders/spec"
)

// Every plan has a decision, with a reason: the last rule of each rewrite matches all plans.
func TestTableIsTotal(t *testing.T) {
	for _, r := range []rewrite{native(), batchImages, parseBatches, groupBatches, shuffleBytes, joinFiles, shareParse, cutBlocks, raggedRows, batchWords, staticPad} {
		if last := r.rules[len(r.rules)-1]; last.stage != "" || last.when != nil {
			t.Errorf("the last rule of %s is only for some plans", r.name)
		}
		for i, l := range r.rules {
			if l.why == "" {
				t.Errorf("rule %d of %s has no reason", i, r.name)
			}
		}
	}
}

// A rule about a stage leaves plans without it alone, and the first rule that matches decides.
func TestFirstRuleDecides(t *testing.T) {
	r := rewrite{name: "r", rules: []rule{
		{stage: windows, why: "of windows"}, {when: lists, applied: true, why: "LISTS"}, {when: lists, why: "too late"}, {why: "else"},
	}}
	list, window := &spec.Feature{VarLen: true}, &spec.Window{}
	for _, tt := range []struct {
		s    spec.Spec
		want Rewrite
	}{
		{spec.Spec{Manifest: &spec.Manifest{}}, Rewrite{"r", false, "else"}},
		{spec.Spec{Manifest: &spec.Manifest{}, Features: []*spec.Feature{list}}, Rewrite{"r", true, "features of variable length"}},
		{spec.Spec{Manifest: &spec.Manifest{AllowVarLen: true}}, Rewrite{"r", true, "feature lists"}},
		{spec.Spec{Manifest: &spec.Manifest{AllowVarLen: true}, Window: window}, Rewrite{"r", false, "of windows"}},
	} {
		if got := (Choice{Spec: &tt.s}).decide(r); got != tt.want {
			t.Errorf("decide(%+v)\n got %+v\nwant %+v", tt.s, got, tt.want)
		}
	}
}

// A stage that only one loader type has is built by operations that see single records,
// and only tf.data's state can resume the run.
func TestSpecial(t *testing.T) {
	ordered := &spec.RecordOrder{Shards: 1, End: -1}
	shuffle := &spec.Shuffle{Elements: 2, Filenames: 1, MixFiles: 1}
	for _, s := range []spec.Spec{
		{}, {Records: ordered}, {Shuffle: shuffle}, {Bucket: &spec.Bucket{}}, {Window: &spec.Window{Min: 1, Max: 2}, Shuffle: shuffle},
	} {
		s.Manifest = &spec.Manifest{}
		common := Choice{Spec: &s, Own: true}
		resumes := common.Seeks() || common.Replays() || common.HoldsPositions()
		special := s
		special.Special = struct{ loadertype.Stage }{}
		c := Choice{Spec: &special, Own: true}
		if c.Native().Applied || c.ParseBatches().Applied || c.Seeks() || c.Replays() || c.HoldsPositions() {
			t.Errorf("%+v: %+v, seeks %v, replays %v, holds %v", s, c.Rewrites(), c.Seeks(), c.Replays(), c.HoldsPositions())
		}
		if s.Shuffle != nil && !resumes {
			t.Errorf("%+v: a common type cannot be resumed either, so this test shows nothing", s)
		}
	}
}

// Windows in a buffer are read by their places, unless the buffer holds more of them than memory has
// room for.
func TestWindowsInBuffers(t *testing.T) {
	for elements, want := range map[int64]bool{10: true, mostMixed: true, mostMixed + 1: false} {
		s := spec.Spec{Window: &spec.Window{Min: 4, Max: 4}, Shuffle: &spec.Shuffle{Elements: elements}, Manifest: &spec.Manifest{}}
		c := Choice{Spec: &s, Own: true}
		if c.ComputesBuffers() != want {
			t.Errorf("%d windows in the buffer: computed %v, want %v", elements, c.ComputesBuffers(), want)
		}
	}
}
