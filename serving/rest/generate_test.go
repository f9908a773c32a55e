package rest

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/batching"
)

// decoders is a server with the model decoder, whose sequences have as many steps as given.
func decoders(t *testing.T, maxSteps int) *serving.Server {
	t.Helper()
	testruntime.Need(t)
	base := t.TempDir()
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(testdata+"decoder")); err != nil {
		t.Fatal(err)
	}
	c := serving.ModelConfig{Name: "decoder", BasePath: base, Sequences: []serving.SequenceConfig{{
		Feedback: map[string]string{"next_token": "token", "total": "state"}, EndOutput: "next_token", MaxSteps: maxSteps}}}
	s, err := serving.New(t.Context(), []serving.ModelConfig{c, {Name: "linear", BasePath: testdata + "linear"}}, &serving.Options{FileSystemPollWait: -1, Logger: quiet, Batching: &batching.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

const generatePath = "/v2/models/decoder/generate_stream"

// A request to the signature of a sequence gets an event for each step, by both servers. A
// request to another signature gets one, and a request that does not fit an error.
func TestGenerateStream(t *testing.T) {
	s := decoders(t, 0)
	counted := make(chan Request, 100)
	o := &Options{Logger: quiet, OnRequest: func(r Request) { counted <- r }}
	web := listen(t, s, &ServerOptions{Options: *o})
	defer web.Close()
	other := httptest.NewServer(NewHandler(s, o))
	defer other.Close()
	event := func(values string) string {
		return `data: {"model_name":"decoder","model_version":"1"` + values + "}\n\n"
	}
	tests := []struct {
		name, path, body string
		status           int
		want             string // the answer, or a part of the error
	}{
		{"a sequence", generatePath, `{"token": 5, "state": [0, 0], "step": 1}`, 200,
			event(`,"done":false,"next_token":2,"total":[5.0,2.0]`) + event(`,"done":true,"next_token":0,"total":[7.0,2.0]`)},
		{"fewer steps, of a version", "/v2/models/decoder/versions/1/generate_stream", `{"id": "7", "parameters": {"max_steps": 1}, "step": 1, "token": 5, "state": [0.5, 0]}`, 200,
			event(`,"id":"7","done":false,"next_token":2,"total":[5.5,2.0]`)},
		{"another signature", "/v2/models/linear/generate_stream", `{"x": [1, 0, 0], "parameters": {"signature_name": "serving_default"}}`, 200,
			`data: {"model_name":"linear","model_version":"1","y":[1.5,-1.5]}` + "\n\n"},
		{"an input is missing", generatePath, `{"token": 5, "state": [0, 0]}`, 400, `input step is missing`},
		{"an input twice", generatePath, `{"token": 5, "token": 5, "state": [0, 0], "step": 1}`, 400, `input \"token\" twice`},
		{"no such input", generatePath, `{"tokn": 5}`, 400, `no input \"tokn\"`},
		{"another type", generatePath, `{"token": 1.5, "state": [0, 0], "step": 1}`, 400, "not of expected type"},
		{"another shape", generatePath, `{"token": 5, "state": [0, 0, 0], "step": 1}`, 400, "shape"},
		{"no such parameter value", generatePath, `{"parameters": {"max_steps": "x"}, "token": 5}`, 400, "max_steps"},
		{"no such signature", generatePath, `{"parameters": {"signature_name": "x"}, "token": 5}`, 400, "signature"},
		{"no such model", "/v2/models/x/generate_stream", `{}`, 404, "Servable not found"},
		{"half a body", generatePath, `{"token": 5`, 400, "JSON"},
	}
	for _, url := range []string{web.URL, other.URL} {
		for _, tt := range tests {
			status, got, _ := askV2(t, &endpoint{URL: url}, http.MethodPost, tt.path, tt.body, 0)
			if status != tt.status || status == 200 && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("%s %s: got %d %s\nwant %d %s", url, tt.name, status, got, tt.status, tt.want)
			}
			if r := <-counted; (r.Code == 0) != (status == 200) {
				t.Errorf("%s: counted as %+v", tt.name, r)
			}
		}
	}
}

// An event arrives before the next step is computed, and the sequence of a client that leaves
// ends: this one would run for hours.
func TestGenerateStreamLeaves(t *testing.T) {
	s := decoders(t, 1<<40)
	counted := make(chan Request, 1)
	web := listen(t, s, &ServerOptions{Options: Options{Logger: quiet, OnRequest: func(r Request) { counted <- r }}})
	defer web.Close()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	// 3 * 5 + 4 is 5 modulo 7.
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+generatePath, strings.NewReader(`{"token": 5, "state": [0, 0], "step": 4}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if got := a.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type: %s", got)
	}
	lines := bufio.NewScanner(a.Body)
	for range 10 {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
	}
	leave()
	if r := <-counted; r.Code == 0 || r.Method != "v2 generate_stream" {
		t.Errorf("counted as %+v", r)
	}
}
