package savedmodel

import (
	"bytes"
	"testing"
)

// The modules in testdata are what jax 0.10's jax2tf.convert writes for
// tanh(x @ w) + sort(x), for a fixed shape and for one of any batch size, which
// calls shape_assertion.
func TestPlainModule(t *testing.T) {
	plain, assertion := readFile(t, "testdata/plain.mlirbc"), readFile(t, "testdata/shape_assertion.mlirbc")
	renamed := func(from, to string) []byte { return bytes.ReplaceAll(plain, []byte(from), []byte(to)) }
	tests := []struct {
		name   string
		module []byte
		want   bool
	}{
		{"plain", plain, true},
		{"custom call", assertion, false},
		{"custom call in the place of another operation", renamed("broadcast_in_dim_v1", "zz_custom_call_v1_z"), false},
		{"infeed in the place of another operation", renamed("tanh_v2\x00", "recv_v2\x00"), false},
		{"cut in the strings", plain[:len(plain)-10], false},
		{"cut in a section", plain[:60], false},
		{"text", []byte("module {}"), false},
		{"magic alone", moduleMagic, false},
		{"empty", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := isPlainModule(tt.module); got != tt.want {
				t.Errorf("isPlainModule = %v, want %v", got, tt.want)
			}
		})
	}
	names, ok := moduleStrings(plain)
	if !ok || !bytes.Contains(bytes.Join(names, []byte(" ")), []byte("tanh_v2")) {
		t.Errorf("the strings are %q, %v", names, ok)
	}
}

func FuzzPlainModule(f *testing.F) {
	f.Add(readFile(f, "testdata/plain.mlirbc"))
	f.Add(readFile(f, "testdata/shape_assertion.mlirbc"))
	f.Fuzz(func(t *testing.T, module []byte) {
		if isPlainModule(module) && bytes.Contains(module, []byte("custom_call")) {
			t.Error("a module with a custom call is plain")
		}
	})
}
