package rest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

const testdata = "../../testdata/models/"

// quiet is a logger that drops everything.
var quiet = slog.New(slog.DiscardHandler)

// start serves models of testdata by their names, in batches.
func start(t testing.TB, o *Options, models ...string) *endpoint {
	t.Helper()
	testruntime.Need(t)
	var configs []serving.ModelConfig
	for _, name := range models {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: testdata + name, VersionLabels: map[string]int64{"stable": 1}})
	}
	s, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, Logger: quiet, Batching: &batching.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &Options{}
	}
	o.Logger = quiet
	web := listen(t, s, &ServerOptions{Options: *o})
	t.Cleanup(func() { web.Close(); s.Close() })
	return web
}

// endpoint is a server that listens.
type endpoint struct {
	URL     string
	address string
	client  http.Client
	close   func()
}

func (e *endpoint) Client() *http.Client { return &e.client }

// Close stops the server and waits for the requests in flight. It may be called twice.
func (e *endpoint) Close() {
	e.client.CloseIdleConnections()
	e.close()
}

// listen lets a server of models listen. The caller closes it.
func listen(t testing.TB, s *serving.Server, o *ServerOptions) *endpoint {
	t.Helper()
	return listenAs(t, s, o, func(*Server) {})
}

// listenAs is listen for a server with adjusted limits.
func listenAs(t testing.TB, s *serving.Server, o *ServerOptions, adjust func(*Server)) *endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := NewServer(s, o)
	adjust(web)
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	address := l.Addr().String()
	return &endpoint{URL: "http://" + address, address: address, client: http.Client{Transport: &http.Transport{}}, close: sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(web.Shutdown(ctx), <-ended); err != nil {
			t.Errorf("the end of the server: %v", err)
		}
	})}
}

// ask makes a request and returns the status and the body.
func ask(t testing.TB, web *endpoint, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}

func TestAnswers(t *testing.T) {
	web := start(t, nil, "constant", "linear", "two_signatures", "strings", "outputs", "examples", "loop", "countdown")
	tests := []struct{ name, path, body, want string }{
		{"rows of the only input", "constant:predict", `{"instances": [1, 2.5]}`, `{"predictions":[3.0,6.0]}`},
		{"rows by name", "constant:predict", `{"instances": [{"x": 1}, {"x": 2}]}`, `{"predictions":[3.0,5.0]}`},
		{"columns", "constant:predict", `{"inputs": {"x": [1, 2]}}`, `{"outputs":[3.0,5.0]}`},
		{"the only column", "constant:predict", `{"inputs": [1, 2]}`, `{"outputs":[3.0,5.0]}`},
		{"a version", "constant/versions/1:predict", `{"inputs": [1]}`, `{"outputs":[3.0]}`},
		{"a label", "constant/labels/stable:predict", `{"inputs": [1]}`, `{"outputs":[3.0]}`},
		{"a name that is escaped, a method in capitals", "c%6Fnstant:PREDICT", `{"inputs": [1]}`, `{"outputs":[3.0]}`},
		{"matrix", "linear:predict", `{"instances": [[1, 0, 0], [0, 1, 0]]}`, `{"predictions":[[1.5,-1.5],[2.5,0.0]]}`},
		{"matrix by name", "linear:predict", `{"instances": [{"x": [1, 0, 0]}, {"x": [0, 1, 0]}]}`, `{"predictions":[[1.5,-1.5],[2.5,0.0]]}`},
		{"signature", "two_signatures:predict", `{"signature_name": "explain", "inputs": [1]}`, `{"outputs":{"weight":3.0,"y":[3.0]}}`},
		{"text and bytes", "strings:predict", `{"instances": ["mill", {"b64": "cmFjZQ=="}, {"b64": "cmFjZQ"}]}`, `{"predictions":[{"length":4,"upper":"MILL"},{"length":4,"upper":"RACE"},{"length":4,"upper":"RACE"}]}`},
		{"bytes that are no text", "strings:predict", `{"instances": [{"b64": "/w=="}]}`, `{"predictions":[{"length":1,"upper":{"b64":"/w=="}}]}`},
		{"escapes", "strings:predict", `{"inputs": ["a\u00e9\n\"\\"]}`, `{"outputs":{"length":[6],"upper":["Aé\n\"\\"]}}`},
		{"one text", "strings:predict", `{"inputs": {"text": ["a"]}, "other": [{"b64": 1}, null]}`, `{"outputs":{"length":[1],"upper":["A"]}}`},
		{"not finite", "constant:predict", `{"instances": [NaN, -Infinity, Infinity, Inf, -Inf]}`, `{"predictions":[NaN,-Infinity,Infinity,Infinity,-Infinity]}`},
		{"floats", "constant:predict", `{"instances": [1e10, -0.05, 1E-9, 16777216]}`, `{"predictions":[2e+10,0.9,1.0,3.3554432e+07]}`},
		{"whole numbers", "loop:predict", `{"instances": [3, 0]}`, `{"predictions":[15,0]}`},
		{"a scalar by column", "countdown:predict", `{"inputs": 3}`, `{"outputs":3}`},
		{"classify", "examples:classify", `{"signature_name": "classify", "examples": [{"x": 1.5}, {"x": [2.0]}]}`, `{"results":[[["x",1.5],["double",3.0]],[["x",2.0],["double",4.0]]]}`},
		{"classify without classes", "examples:classify", `{"signature_name": "scores_only", "examples": [{"x": 1.5}]}`, `{"results":[[["",1.5],["",3.0]]]}`},
		{"regress", "examples:regress", `{"signature_name": "regress", "examples": [{"x": 1.5, "other": "text", "flag": true}, {"x": NaN}]}`, `{"results":[3.0,NaN]}`},
		{"context", "examples:regress", `{"signature_name": "regress", "context": {"x": 5.0}, "examples": [{"x": 1.5}, {}]}`, `{"results":[3.0,10.0]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if status, got := ask(t, web, "POST", "/v1/models/"+tt.path, tt.body); status != 200 || got != tt.want {
				t.Errorf("got %d %s, want %s", status, got, tt.want)
			}
		})
	}
}

func TestStatusAndMetadata(t *testing.T) {
	web := start(t, nil, "constant")
	const status = `{"model_version_status":[{"version":"1","state":"AVAILABLE","status":{"error_code":"OK","error_message":""}}]}`
	for _, path := range []string{"", "/versions/1", "/labels/stable"} {
		if code, got := ask(t, web, "GET", "/v1/models/constant"+path, ""); code != 200 || got != status {
			t.Errorf("%s: %d %s, want %s", path, code, got, status)
		}
	}
	code, got := ask(t, web, "GET", "/v1/models/constant/metadata", "")
	var answer struct {
		Spec struct {
			Name    string
			Version string
		} `json:"model_spec"`
		Metadata struct {
			Def struct {
				Def map[string]struct {
					Inputs map[string]struct {
						DType string
						Shape struct{ Dim []struct{ Size string } } `json:"tensor_shape"`
					}
					MethodName string `json:"method_name"`
				} `json:"signature_def"`
			} `json:"signature_def"`
		}
	}
	if err := json.Unmarshal([]byte(got), &answer); code != 200 || err != nil {
		t.Fatalf("metadata: %d %s, %v", code, got, err)
	}
	sig := answer.Metadata.Def.Def["serving_default"]
	if x := sig.Inputs["x"]; answer.Spec.Name != "constant" || answer.Spec.Version != "1" || sig.MethodName != "tensorflow/serving/predict" ||
		x.DType != "DT_FLOAT" || len(x.Shape.Dim) != 1 || x.Shape.Dim[0].Size != "-1" {
		t.Errorf("metadata: %s", got)
	}
}

func TestRefusals(t *testing.T) {
	web := start(t, &Options{MaxBodyBytes: 2000}, "linear", "examples", "outputs", "loop", "two_signatures")
	const predict, classify, regress = "/v1/models/linear:predict", "/v1/models/examples:classify", "/v1/models/examples:regress"
	tests := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"another model", "/v1/models/other:predict", `{"inputs": 1}`, 404, "Servable not found for request: Latest(other)"},
		{"another version", "/v1/models/linear/versions/7:predict", `{"inputs": 1}`, 404, "Servable not found for request: Specific(linear, 7)"},
		{"another label", "/v1/models/linear/labels/new:predict", `{"inputs": 1}`, 400, "Unrecognized servable version label: new"},
		{"a version too large", "/v1/models/linear/versions/99999999999999999999:predict", `{"inputs": 1}`, 400, "numeric"},
		{"another method", "/v1/models/linear:train", `{}`, 400, "Malformed request: POST /v1/models/linear:train"},
		{"nothing", predict, ``, 400, "empty"},
		{"no end", predict, `{`, 400, "the end"},
		{"a list", predict, `[]`, 400, `want '{'`},
		{"no input", predict, `{}`, 400, "instances"},
		{"both", predict, `{"instances": [[1, 2, 3]], "inputs": [[1, 2, 3]]}`, 400, "either"},
		{"no rows", predict, `{"instances": []}`, 400, "empty array"},
		{"no list", predict, `{"instances": 1}`, 400, "list/array"},
		{"a signature that is no string", predict, `{"signature_name": 1, "instances": [1]}`, 400, "must be a string"},
		{"an unknown signature", predict, `{"signature_name": "train", "instances": [1]}`, 400, "train"},
		{"an unknown input", predict, `{"instances": [{"y": 1}]}`, 400, `y`},
		{"a missing column", predict, `{"inputs": {}}`, 400, "Missing named input: x"},
		{"a missing input in a row", "/v1/models/outputs:predict", `{"instances": [{"label": 1}]}`, 400, "keys must be equal to"},
		{"an input twice in a row", "/v1/models/outputs:predict", `{"instances": [{"label": 1, "label": 1}]}`, 400, "twice"},
		{"an input twice", predict, `{"inputs": {"x": [[1, 2, 3]], "x": [[1, 2, 3]]}}`, 400, "twice"},
		{"inputs twice", predict, `{"inputs": [[1, 2, 3]], "inputs": [[1, 2, 3]]}`, 400, "twice"},
		{"instances twice", predict, `{"instances": [[1, 2, 3]], "instances": 1}`, 400, "twice"},
		{"a signature twice", predict, `{"signature_name": "serving_default", "signature_name": "x", "instances": [[1, 2, 3]]}`, 400, "twice"},
		{"a plain row for several inputs", "/v1/models/outputs:predict", `{"instances": [1]}`, 400, "expecting an object"},
		{"a plain column for several inputs", "/v1/models/outputs:predict", `{"inputs": [1]}`, 400, "expecting an object"},
		{"a value among rows", predict, `{"instances": [{"x": [1, 2, 3]}, 1]}`, 400, "item 1"},
		{"text for a number", predict, `{"instances": [[1, 2, "3"]]}`, 400, "float32"},
		{"bytes for a number", predict, `{"instances": [[1, 2, {"b64": "AA=="}]]}`, 400, "float32"},
		{"null", predict, `{"instances": [[1, 2, null]]}`, 400, "null"},
		{"true", predict, `{"instances": [[1, 2, true]]}`, 400, "true"},
		{"too large a number", predict, `{"instances": [[1, 2, 1e39]]}`, 400, "1e39"},
		{"a fraction", "/v1/models/loop:predict", `{"instances": [1.5]}`, 400, "1.5"},
		{"a whole number too large", "/v1/models/loop:predict", `{"instances": [9223372036854775808]}`, 400, "int64"},
		{"a leading zero", predict, `{"instances": [[01, 2, 3]]}`, 400, "want a value"},
		{"a plus", predict, `{"instances": [[+1, 2, 3]]}`, 400, "want a value"},
		{"no digits behind the point", predict, `{"instances": [[1., 2, 3]]}`, 400, "want a value"},
		{"a comma too many", predict, `{"instances": [[1, 2, 3],]}`, 400, "want a value"},
		{"ragged", predict, `{"instances": [[1, 2, 3], [4, 5]]}`, 400, "differ in length: 3 and 2"},
		{"deeper in places", predict, `{"instances": [[1, 2, [3]]]}`, 400, "deeper"},
		{"a value among lists", predict, `{"instances": [[1, 2, 3], 4]}`, 400, "deeper"},
		{"the wrong shape", predict, `{"instances": [[1, 2]]}`, 400, "shape"},
		{"deep", predict, `{"instances": ` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + `}`, 400, "deeper than 300"},
		{"too long", predict, `{"instances": [` + strings.Repeat(" ", 2000) + `]}`, 413, "too large"},
		{"a second document", predict, `{"instances": [[1, 2, 3]]} {"instances": [[4, 5, 6]]}`, 400, "continues after its document"},
		{"a byte after the document", predict, "{\"instances\": [[1, 2, 3]]}\x00", 400, "continues after its document"},
		{"a control character", predict, "{\"instances\": [\"\x01\"]}", 400, "control character"},
		{"a string without an end", predict, `{"instances": ["`, 400, "no end"},
		{"another escape", predict, `{"instances": ["\x"]}`, 400, "offset"},
		{"scalar rows", "/v1/models/two_signatures:predict", `{"signature_name": "explain", "instances": [1]}`, 400, "no shape information"},
		{"classify without examples", classify, `{}`, 400, "key 'examples' is expected"},
		{"classify no examples", classify, `{"examples": []}`, 400, "empty array"},
		{"classify no list", classify, `{"examples": {}}`, 400, "list/array"},
		{"classify no object", classify, `{"examples": [1]}`, 400, "must be JSON object"},
		{"another context", classify, `{"examples": [{}], "context": 1}`, 400, "must be JSON object"},
		{"mixed kinds", classify, `{"examples": [{"x": [1, 1.5]}]}`, 400, "Unexpected element type in feature: x"},
		{"text and numbers", classify, `{"examples": [{"x": [1, "a"]}]}`, 400, "Unexpected element type in feature: x"},
		{"a list in a list", classify, `{"examples": [{"x": [[1]]}]}`, 400, "want a value"},
		{"null in a feature", classify, `{"examples": [{"x": null}]}`, 400, "null"},
		{"a large integer", classify, `{"examples": [{"x": 9223372036854775808}]}`, 400, "int64"},
		{"classify by a signature that does not", classify, `{"examples": [{"x": 1.5}]}`, 400, "inputs"},
		{"classify by regression", classify, `{"signature_name": "regress", "examples": [{"x": 1.5}]}`, 400, "classes"},
		{"regress by classification", regress, `{"signature_name": "classify", "examples": [{"x": 1.5}]}`, 400, "outputs"},
		{"regress by two values", regress, `{"signature_name": "wide", "examples": [{"x": 1.5}]}`, 400, "shape"},
		{"an Example that the model refuses", regress, `{"signature_name": "regress", "examples": [{"x": 1}]}`, 400, "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, got := ask(t, web, "POST", tt.path, tt.body)
			var reply struct{ Error string }
			if err := json.Unmarshal([]byte(got), &reply); err != nil || reply.Error == "" {
				t.Errorf("the answer is %s", got)
			}
			if status != tt.status || !strings.Contains(reply.Error, tt.want) {
				t.Errorf("got %d %s, want %d and %q", status, got, tt.status, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{{"GET", "/v1/models/other", 404}, {"GET", "/v1/models/linear/versions/2", 404}, {"GET", "/v1/models/linear/labels/new", 400}, {"GET", "/v1/models/other/metadata", 404}, {"PUT", predict, 400}, {"GET", predict, 400}, {"GET", "/v1/models", 400}} {
		if status, got := ask(t, web, tt.method, tt.path, ""); status != tt.status || !strings.Contains(got, `{"error":`) {
			t.Errorf("%s %s: got %d %s", tt.method, tt.path, status, got)
		}
	}
	if status, got := ask(t, web, "POST", predict, `{"instances": [[1, 0, 0]]}`); status != 200 {
		t.Errorf("afterwards: %d %s", status, got)
	}
}

// Bodies are compressed in both directions, and a small one that grows is refused.
func TestGzip(t *testing.T) {
	web := start(t, &Options{MaxBodyBytes: 100_000}, "constant")
	post := func(body []byte, encoding string) (*http.Response, []byte) {
		r, err := http.NewRequest("POST", web.URL+"/v1/models/constant:predict", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Encoding", encoding)
		r.Header.Set("Accept-Encoding", "br, gzip;q=0.5")
		answer, err := web.Client().Transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, text
	}
	compressed := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		io.WriteString(w, text)
		w.Close()
		return b.Bytes()
	}
	answer, text := post(compressed(`{"inputs": [`+strings.Repeat("1,", 900)+`1]}`), "gzip")
	if answer.StatusCode != 200 || answer.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("got %d %v", answer.StatusCode, answer.Header)
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if text, err = io.ReadAll(r); err != nil || strings.Count(string(text), "3.0") != 901 {
		t.Errorf("got %s, %v", text, err)
	}
	for _, tt := range []struct {
		body     []byte
		encoding string
		status   int
	}{
		{compressed(`{"inputs": [` + strings.Repeat("1,", 100_000) + `1]}`), "gzip", 413},
		{[]byte("plain"), "gzip", 400},
		{compressed(`{"inputs": [1]}`)[:20], "gzip", 400},
		{[]byte(`{"inputs": [1]}`), "br", 400},
	} {
		if answer, text := post(tt.body, tt.encoding); answer.StatusCode != tt.status {
			t.Errorf("%d bytes of %s: got %d %s, want %d", len(tt.body), tt.encoding, answer.StatusCode, text, tt.status)
		}
	}
}

// A model that never ends is stopped, and the handler reports it.
func TestTimeout(t *testing.T) {
	var told Request
	web := start(t, &Options{Timeout: 20 * time.Millisecond, OnRequest: func(r Request) { told = r }}, "countdown")
	if status, got := ask(t, web, "POST", "/v1/models/countdown:predict", `{"inputs": -1}`); status != http.StatusGatewayTimeout {
		t.Errorf("got %d %s", status, got)
	}
	if told.Model != "countdown" || told.Method != "predict" || told.Code != tfbridge.DeadlineExceeded || told.Took <= 0 {
		t.Errorf("told of %+v", told)
	}
}

// Pages of other sites may send requests if that is enabled.
func TestCORS(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		web := start(t, &Options{EnableCORS: enabled}, "constant")
		r, err := http.NewRequest("OPTIONS", web.URL+"/v1/models/constant:predict", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Access-Control-Allow-Origin"); (answer.StatusCode == 200) != enabled || (got == "*") != enabled {
			t.Errorf("enabled %v: got %d %q", enabled, answer.StatusCode, got)
		}
	}
}

// The error of a version that failed to load gives the reason.
func TestStatusOfBrokenVersion(t *testing.T) {
	testruntime.Need(t)
	base := t.TempDir()
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(testdata+"constant")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, "2"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := serving.ModelConfig{Name: "m", BasePath: base, VersionPolicy: serving.VersionPolicy{All: true}}
	s, err := serving.New(t.Context(), []serving.ModelConfig{config}, &serving.Options{FileSystemPollWait: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web := listen(t, s, &ServerOptions{Options: Options{Logger: quiet}})
	defer web.Close()
	if status, got := ask(t, web, "GET", "/v1/models/m", ""); status != 200 || !strings.Contains(got, `"state":"END","status":{"error_code":"INVALID_ARGUMENT","error_message":"`) ||
		!strings.Contains(got, `{"version":"1","state":"AVAILABLE"`) {
		t.Errorf("got %d %s", status, got)
	}
}

// Many clients at once each get their own answer.
func TestManyClients(t *testing.T) {
	web := start(t, nil, "strings")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			text := strings.Repeat("a", i+1)
			want := fmt.Sprintf(`{"predictions":[{"length":%d,"upper":%q}]}`, i+1, strings.ToUpper(text))
			for range 10 {
				if _, got := ask(t, web, "POST", "/v1/models/strings:predict", `{"instances": ["`+text+`"]}`); got != want {
					t.Errorf("got %s, want %s", got, want)
					return
				}
			}
		})
	}
	group.Wait()
}
