package rest

import (
	"bytes"
	"encoding/json"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// FuzzScanner compares what the scanner accepts with what encoding/json does,
// except for words that are not JSON.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{`{"a": [1, -2.5e+3, "x\u00e9\\", null, true], "b": {}}`, `[NaN, -Infinity]`, `[1,]`, `01`, `"\x"`, `{"b64": "AA=="}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &scanner{text: text}
		_, err := s.skip()
		if err == nil {
			s.peek()
		}
		accepted := err == nil && s.at == len(text)
		if bytes.ContainsAny(text, "NI") || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxDepth {
			return
		}
		if valid := json.Valid(text); accepted != valid {
			t.Errorf("%q: accepted %v (%v), encoding/json says %v", text, accepted, err, valid)
		}
	})
}

// FuzzRequest reads bodies of any kind: into tensors of every type, and into
// Examples.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		`{"instances": [{"x": 1, "s": "a", "i": 3}, {"x": 2.5, "s": {"b64": "AA=="}, "i": 4}]}`,
		`{"inputs": {"x": [[1, NaN]], "s": [], "i": [[], []]}}`, `{"signature_name": "a", "instances": [[1], [2, 3]]}`,
		`{"examples": [{"a": [1, 2], "b": 1.5, "c": "x", "d": true}], "context": {"e": {"b64": "AA"}}}`,
	} {
		f.Add([]byte(text))
	}
	infos := map[string]tfbridge.TensorInfo{
		"x": {DType: tfbridge.Float}, "s": {DType: tfbridge.String}, "i": {DType: tfbridge.Int8},
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		testruntime.Need(t)
		r, err := parseRequest(text, "instances", "inputs", "examples")
		if err != nil {
			return
		}
		tensors, err := r.tensors(infos)
		if err == nil && len(tensors) != len(infos) {
			t.Errorf("%q: %d tensors", text, len(tensors))
		}
		closeAll(tensors)
		if s := r.found["examples"]; s != nil && s.peek() == '[' {
			s.list(func(int) error { _, err := parseFeatures(s, nil); return err })
		}
	})
}
