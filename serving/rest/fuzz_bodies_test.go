package rest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/batching"
)

// slowest is how long an answer may take: no body may make a client wait longer.
const slowest = 10 * time.Second

// fuzzedPaths are the paths to which bodies are sent.
var fuzzedPaths = []string{"linear:predict", "strings:predict", "examples:predict", "examples:classify", "examples:regress", "two_signatures:predict"}

// FuzzBodies sends bodies of any kind to models. Each is answered in time, and never
// with a server error.
func FuzzBodies(f *testing.F) {
	testruntime.Need(f)
	var configs []serving.ModelConfig
	for _, name := range []string{"linear", "examples", "strings", "two_signatures"} {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: testdata + name})
	}
	s, err := serving.New(context.Background(), configs, &serving.Options{FileSystemPollWait: -1, Logger: quiet, Batching: &batching.Options{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	handler := NewHandler(s, &Options{Logger: quiet, Timeout: slowest, MaxBodyBytes: 1 << 20})
	for i, body := range []string{
		`{"instances": [[1, 2, 3], [4, NaN, 6]]}`, `{"instances": ["a", {"b64": "AA=="}]}`, `{"inputs": {"inputs": [{"b64": ""}]}, "signature_name": "classify"}`,
		`{"examples": [{"x": 1.5}, {"x": [2, 3]}], "context": {"y": "z"}, "signature_name": "classify"}`, `{"examples": [{"x": 1}]}`, `{"inputs": [[1.5]], "signature_name": "double"}`,
	} {
		f.Add(byte(i), []byte(body))
	}
	f.Fuzz(func(t *testing.T, path byte, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/v1/models/"+fuzzedPaths[int(path)%len(fuzzedPaths)], bytes.NewReader(body))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if answer := w.Body.Bytes(); w.Code >= 500 || !bytes.HasPrefix(answer, []byte("{")) || !bytes.HasSuffix(answer, []byte("}\n")) {
			t.Errorf("%s, %q: got %d: %s", r.URL, body, w.Code, answer)
		}
	})
}
