package rest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// FuzzScanner compares the inputs that the scanner accepts with those that
// encoding/json accepts, except for words that are not JSON.
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

// FuzzDecimal compares what parseDecimal returns, and the element of 32 bits, with
// strconv.
func FuzzDecimal(f *testing.F) {
	for _, text := range []string{
		"0", "-0", "0.1", "-12.5e-3", "1E+22", "9007199254740993", "9007199254740992.0", "16777217", "16777217.0000000001", "1e-22", "0.00000000000000000000001",
		"01", "1.", "1e", ".5", "3.4028235e38", "1e5x", "8388608.5", "0.30000001192092896", "123456789012345678", "0.6369616873214543", "1234567890123456789e22", "0.9999999701976776123", "16777217.00000000001",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, n, exact := parseDecimal([]byte(text))
		if n == 0 {
			return
		}
		if want, err := strconv.ParseFloat(text[:n], 64); err != nil || exact && v != want || math.Signbit(v) != math.Signbit(want) || numberLength([]byte(text)) != n {
			t.Errorf("%q: got %v of %d bytes, want %v, %v", text, v, n, want, err)
		}
		b := newBuilder(tfbridge.Float)
		if !b.decimal(&scanner{text: []byte(text)}) {
			return // left to strconv
		}
		want, err := strconv.ParseFloat(text[:n], 32)
		if got := math.Float32frombits(binary.NativeEndian.Uint32(b.raw)); err != nil || got != float32(want) {
			t.Errorf("%q as float32: got %v, want %v, %v", text[:n], got, want, err)
		}
	})
}

// The paths of requests as TensorFlow Serving recognizes them.
const pathVersion = `(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?`

var pathPatterns = map[string]*regexp.Regexp{
	"POST": regexp.MustCompile(`^(?i)/v1/models/(?P<name>[^/:]+)` + pathVersion + `:(?P<method>classify|regress|predict)$`),
	"GET":  regexp.MustCompile(`^(?i)/v1/models/(?P<name>[^/:]+)` + pathVersion + `(?:/(?P<method>metadata))?$`),
}

// FuzzPath compares splitPath with the patterns.
func FuzzPath(f *testing.F) {
	for _, text := range []string{
		"/v1/models/m:predict", "/V1/Models/m/Versions/12:REGRESS", "/v1/models/m/labels/a%20b/metadata", "/v1/models/m/versions/1x:predict",
		"/v1/models/m/labels/:classify", "/v1/models/m", "/v1/models/m/metadata/", "/v1/models/:predict", "/v1/models/m:predict:predict",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, post bool) {
		if !ascii(text) {
			return // to the patterns the Kelvin sign is a letter K, too; EscapedPath has none
		}
		method := map[bool]string{true: "POST", false: "GET"}[post]
		var want path
		found := pathPatterns[method].FindStringSubmatch(text)
		if found != nil {
			part := func(name string) string { return found[pathPatterns[method].SubexpIndex(name)] }
			want = path{part("name"), part("version"), part("label"), cmp.Or(strings.ToLower(part("method")), "status")}
		}
		got, ok := splitPath(method, text)
		if ok != (found != nil) || ok && got != want {
			t.Errorf("%s %q: got %+v, %v, want %+v", method, text, got, ok, want)
		}
		if other, ok := splitPath("PUT", text); ok {
			t.Errorf("PUT %q: %+v", text, other)
		}
	})
}

// ascii reports whether a text has only ASCII characters.
func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
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
		r, err := new(request).parse(text, "instances", "inputs", "examples")
		if err != nil {
			return
		}
		if inputs, err := r.inputs(infos, &scratch{}); err == nil {
			tensors, err := inputs.tensors()
			if err == nil && len(tensors) != len(infos) {
				t.Errorf("%q: %d tensors", text, len(tensors))
			}
			closeAll(tensors)
		}
		if s := r.found.of("examples"); s != nil && s.peek() == '[' {
			s.list(func(int) error { _, err := parseFeatures(s, nil); return err })
		}
	})
}
