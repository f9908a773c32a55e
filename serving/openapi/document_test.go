package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/rest"
)

// The document is valid OpenAPI. The server answers the requests that it allows, the
// answers have the described form, and the server refuses the requests that it does not
// allow.
func TestDocument(t *testing.T) {
	testruntime.Need(t)
	quiet := slog.New(slog.DiscardHandler)
	var configs []serving.ModelConfig
	for _, name := range []string{"constant", "linear", "strings", "two_signatures", "examples", "decoder"} {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: "../../testdata/models/" + name})
	}
	models, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	served := httptest.NewRecorder()
	NewHandler(models).ServeHTTP(served, httptest.NewRequest("GET", "/openapi.json", nil))
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromData(served.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatalf("%v in\n%s", err, served.Body)
	}
	openapi3filter.RegisterBodyDecoder("text/event-stream", func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
		text, err := io.ReadAll(body)
		return string(text), err
	})
	router, err := legacy.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	handler := rest.NewHandler(models, &rest.Options{Logger: quiet})
	for _, tt := range []struct {
		name, method, path, body string
		refused                  bool
	}{
		{"rows", "POST", "/v1/models/constant:predict", `{"instances": [1, 2.5]}`, false},
		{"columns", "POST", "/v1/models/constant:predict", `{"inputs": [1, 2.5]}`, false},
		{"columns by name", "POST", "/v1/models/constant:predict", `{"inputs": {"x": [1, 2.5]}}`, false},
		{"a matrix", "POST", "/v1/models/linear:predict", `{"instances": [[1, 0, 0]]}`, false},
		{"strings", "POST", "/v1/models/strings:predict", `{"instances": ["a", {"b64": "Yg=="}]}`, false},
		{"another signature", "POST", "/v1/models/two_signatures:predict", `{"signature_name": "explain", "inputs": [1]}`, false},
		{"status", "GET", "/v1/models/constant", "", false},
		{"metadata", "GET", "/v1/models/constant/metadata", "", false},
		{"v2", "POST", "/v2/models/constant/infer", `{"inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2]}]}`, false},
		{"v2 metadata", "GET", "/v2/models/constant", "", false},
		{"a sequence", "POST", "/v2/models/decoder/generate_stream", `{"token": 5, "state": [0, 0], "step": 1, "id": "x", "parameters": {"max_steps": 2}}`, false},
		{"a sequence of one input", "POST", "/v2/models/constant/generate_stream", `{"x": 1}`, false},
		{"a sequence of another signature", "POST", "/v2/models/two_signatures/generate_stream", `{"x": 1, "parameters": {"signature_name": "explain"}}`, false},
		{"a sequence without an input", "POST", "/v2/models/decoder/generate_stream", `{"token": 5, "state": [0, 0]}`, true},
		{"a negative number of steps", "POST", "/v2/models/constant/generate_stream", `{"x": 1, "parameters": {"max_steps": -1}}`, true},
		{"text for numbers", "POST", "/v1/models/constant:predict", `{"instances": ["a"]}`, true},
		{"no signature of this name", "POST", "/v1/models/constant:predict", `{"signature_name": "other", "instances": [1]}`, true},
		{"no inputs", "POST", "/v1/models/constant:predict", `{"something": [1]}`, true},
		{"an unknown datatype", "POST", "/v2/models/constant/infer", `{"inputs": [{"name": "x", "shape": [2], "datatype": "FP31", "data": [1, 2]}]}`, true},
	} {
		r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		r.Header.Set("Content-Type", "application/json")
		route, params, err := router.FindRoute(r)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: func(context.Context, *openapi3filter.AuthenticationInput) error { return nil }}}
		err = openapi3filter.ValidateRequest(t.Context(), input)
		if (err != nil) != tt.refused {
			t.Errorf("%s: the document says %v, refused is %v", tt.name, err, tt.refused)
		}
		w := httptest.NewRecorder()
		r.Body = io.NopCloser(strings.NewReader(tt.body))
		handler.ServeHTTP(w, r)
		if (w.Code != http.StatusOK) != tt.refused {
			t.Errorf("%s: the server answers %d %s", tt.name, w.Code, w.Body)
		}
		answer := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes()))}
		if err := openapi3filter.ValidateResponse(t.Context(), answer); err != nil {
			t.Errorf("%s: the answer %s is not what the document promises: %v", tt.name, w.Body, err)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/document.json")

// The document of these models is this one, word for word, because programs generate clients from it.
func TestWords(t *testing.T) {
	testruntime.Need(t)
	var configs []serving.ModelConfig
	for _, name := range []string{"linear", "decoder", "two_signatures"} {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: "../../testdata/models/" + name})
	}
	models, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	text, err := Document(models)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, text, "", " "); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/document.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("go test -update writes the file (-want +got)\n%s", diff)
	}
}

// A request for the document loads no on-demand model.
func TestDocumentOnDemand(t *testing.T) {
	testruntime.Need(t)
	configs := []serving.ModelConfig{{Name: "a", BasePath: "../../testdata/models/constant"}, {Name: "b", BasePath: "../../testdata/models/linear"}}
	models, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, ModelMemory: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	v, err := models.Acquire(serving.ModelSpec{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	v.Release()
	text, err := Document(models)
	if err != nil || !strings.Contains(string(text), "/v1/models/b:predict") || strings.Contains(string(text), "/v1/models/a") {
		t.Errorf("the document of b alone: %v\n%s", err, text)
	}
	if all, err := models.Status(serving.ModelSpec{Name: "a"}); err != nil || all[0].State != serving.Start {
		t.Errorf("a is %v, %v", all, err)
	}
}
