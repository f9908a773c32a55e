package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/testruntime"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// A saved state contains its position. A damaged state, or one of another plan, seed or
// version, is refused with its own error.
func TestStatesAreTheirPlans(t *testing.T) {
	testruntime.Need(t)
	pl := scanned(t, records(t, 4))
	pl.Plan.Seed = 7
	id, err := pl.Plan.Identity()
	if err != nil {
		t.Fatal(err)
	}
	digest := id.Batches
	saved, err := pl.encodeState(&stateHeader{Batches: 3, Rows: 5, Group: 16, Skip: 2}, []byte("the\niterator"))
	if err != nil {
		t.Fatal(err)
	}
	header, state, err := pl.decodeState(saved)
	if err != nil || string(state) != "the\niterator" {
		t.Fatalf("state %q, %v", state, err)
	}
	want := &stateHeader{Plan: digest, Pipeline: id.Pipeline, Keys: id.Keys, Seed: 7, Runtime: tfbridge.Version(), Batches: 3, Rows: 5, Group: 16, Skip: 2, Deflate: true, SHA256: header.SHA256}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header (-want +got)\n%s", diff)
	}
	replaced := func(old, now string) []byte { return bytes.Replace(saved, []byte(old), []byte(now), 1) }
	changed := func(change func(*stateHeader)) []byte {
		other, body := *header, deflate([]byte("the\niterator"))
		change(&other)
		if other.SHA256, err = other.digest(body); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat([]byte(stateMagic), line, []byte("\n"), body)
	}
	for _, test := range []struct {
		words string
		bad   []byte
	}{
		{"this is not a saved state of a loader", []byte("{}\n")},
		{"the saved state is damaged", []byte(stateMagic + "{}")},
		{"the saved state is damaged", replaced(`{"plan"`, `["plan"`)},
		{"the saved state is damaged", replaced(`"rows":5`, `"rows":6`)},
		{"the saved state is damaged", saved[:len(saved)-1]},
		{"the saved state is damaged", replaced(digest, strings.Repeat("0", len(digest)))},
		{"belongs to another loader config", changed(func(h *stateHeader) { h.Plan = strings.Repeat("0", len(digest)) })},
		{"saved with seed 8, but the plan has seed 7", changed(func(h *stateHeader) { h.Seed = 8 })},
		{"saved with TensorFlow 0.1, but this is Tensor", changed(func(h *stateHeader) { h.Runtime = "0.1" })},
	} {
		var e *millrace.Error
		header, state, err := pl.decodeState(test.bad)
		if !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || e.Loader != pl.Plan.Path || !strings.Contains(err.Error(), test.words) || header != nil || state != nil {
			t.Errorf("%s: %v, %q, %v", test.words, header, state, err)
		}
	}
	other := errors.New("no digest")
	pl.identity = func() (*plan.Identity, error) { return nil, other }
	if _, err := pl.encodeState(&stateHeader{}, nil); err != other {
		t.Errorf("encode without a digest: %v", err)
	}
	if _, _, err := pl.decodeState(saved); err != other {
		t.Errorf("decode without a digest: %v", err)
	}
}
