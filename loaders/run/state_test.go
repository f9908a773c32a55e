package run

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// A saved state says where it is. One that is damaged, or belongs to another plan,
// seed or version, is refused in words of its own.
func TestStatesAreTheirPlans(t *testing.T) {
	testruntime.Need(t)
	pl := scanned(t, records(t, 4))
	pl.Plan.Seed = 7
	digest, err := pl.Plan.Digest()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := pl.encodeState(&stateHeader{Batches: 3, Rows: 5, Group: 16, Skip: 2}, []byte("the\niterator"))
	if err != nil {
		t.Fatal(err)
	}
	header, state, err := pl.decodeState(saved)
	if err != nil || string(state) != "the\niterator" {
		t.Fatalf("state %q, %v", state, err)
	}
	want := &stateHeader{Plan: digest, Seed: 7, Runtime: tfbridge.Version(), Batches: 3, Rows: 5, Group: 16, Skip: 2, SHA256: header.SHA256}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header (-want +got)\n%s", diff)
	}
	replaced := func(old, now string) []byte { return bytes.Replace(saved, []byte(old), []byte(now), 1) }
	for words, bad := range map[string][]byte{
		"not a saved state of a loader":                 []byte("{}\n"),
		"this is not a saved state":                     []byte(stateMagic + "{}"),
		"saved state: ":                                 replaced(`{"plan"`, `["plan"`),
		"the saved state is damaged":                    replaced("iterator", "operator"),
		"belongs to another loader config":              replaced(digest, strings.Repeat("0", len(digest))),
		"saved with seed 8, but the plan has seed 7":    replaced(`"seed":7`, `"seed":8`),
		"saved with TensorFlow 0.1, but this is Tensor": replaced(`"runtime":"`+tfbridge.Version(), `"runtime":"0.1`),
	} {
		var e *millrace.Error
		header, state, err := pl.decodeState(bad)
		if !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || e.Loader != pl.Plan.Path || !strings.Contains(err.Error(), words) || header != nil || state != nil {
			t.Errorf("%s: %v, %q, %v", words, header, state, err)
		}
	}
	other := errors.New("no digest")
	pl.digest = func() (string, error) { return "", other }
	if _, err := pl.encodeState(&stateHeader{}, nil); err != other {
		t.Errorf("encode without a digest: %v", err)
	}
	if _, _, err := pl.decodeState(saved); err != other {
		t.Errorf("decode without a digest: %v", err)
	}
}
