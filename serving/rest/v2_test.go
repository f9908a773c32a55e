package rest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"millrace/serving/auth"
)

// askV2 sends a request to a server, and returns the status, the body and the length of
// its JSON.
func askV2(t *testing.T, web *endpoint, method, path, body string, jsonLength int) (status int, text, header string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if jsonLength > 0 {
		r.Header.Set(inferenceHeader, fmt.Sprint(jsonLength))
	}
	a, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(raw), a.Header.Get(inferenceHeader)
}

// Requests of the Open Inference Protocol in JSON, and their answers.
func TestV2(t *testing.T) {
	web := start(t, nil, "constant", "strings", "two_signatures", "linear")
	x := func(more string) string { return `{"inputs": [{"name": "x", ` + more + `}]}` }
	tests := []struct {
		name, method, path, body string
		status                   int
		want                     string // the answer, or a part of the error
	}{
		{"the server", "GET", "/v2", "", 200, `{"name":"millrace","version":"2","extensions":["binary_tensor_data"]}`},
		{"live", "GET", "/v2/health/live", "", 200, `{"live":true}`},
		{"ready", "GET", "/v2/health/ready", "", 200, `{"ready":true}`},
		{"a model", "GET", "/v2/models/linear/", "", 200, `{"name":"linear","versions":["1"],"platform":"tensorflow_savedmodel","inputs":[{"name":"x","datatype":"FP32","shape":[-1,3]}],"outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]}]}`},
		{"a version is ready", "GET", "/v2/models/linear/versions/1/ready", "", 200, `{"ready":true,"name":"linear"}`},
		{"no such version", "GET", "/v2/models/linear/versions/2/ready", "", 404, "Servable not found"},
		{"no such label", "GET", "/v2/models/linear/versions/blue", "", 400, "label"},
		{"a vector", "POST", "/v2/models/constant/infer", `{"id": "7", "inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2.5]}]}`, 200,
			`{"model_name":"constant","model_version":"1","id":"7","outputs":[{"name":"y","datatype":"FP32","shape":[2],"data":[3.0,6.0]}]}`},
		{"of a version", "POST", "/v2/models/constant/versions/1/infer", x(`"shape": [1], "datatype": "FP32", "data": [1]`), 200,
			`{"model_name":"constant","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[3.0]}]}`},
		{"a flat matrix", "POST", "/v2/models/linear/infer", x(`"shape": [2, 3], "datatype": "FP32", "data": [1, 0, 0, 0, 1, 0]`), 200,
			`{"model_name":"linear","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[2,2],"data":[1.5,-1.5,2.5,0.0]}]}`},
		{"a nested matrix", "POST", "/v2/models/linear/infer", x(`"shape": [1, 3], "datatype": "FP32", "data": [[1, 0, 0]]`), 200,
			`{"model_name":"linear","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[1.5,-1.5]}]}`},
		{"not finite", "POST", "/v2/models/constant/infer", x(`"shape": [2], "datatype": "FP32", "data": ["NaN", "-Infinity"]`), 200,
			`{"model_name":"constant","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[2],"data":["NaN","-Infinity"]}]}`},
		{"another signature, one output", "POST", "/v2/models/two_signatures/infer", `{"parameters": {"signature_name": "explain"}, "outputs": [{"name": "weight"}], "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`, 200,
			`{"model_name":"two_signatures","model_version":"1","outputs":[{"name":"weight","datatype":"FP32","shape":[],"data":[3.0]}]}`},
		{"no such path", "GET", "/v2/models/constant/nothing", "", 400, "Malformed request"},
		{"GET of infer", "GET", "/v2/models/constant/infer", "", 400, "Malformed request"},
		{"no such model", "POST", "/v2/models/other/infer", x(`"shape": [1], "datatype": "FP32", "data": [1]`), 404, "Servable not found"},
		{"another type", "POST", "/v2/models/constant/infer", x(`"shape": [1], "datatype": "INT32", "data": [1]`), 400, "the signature takes FP32"},
		{"no type", "POST", "/v2/models/constant/infer", x(`"shape": [1], "datatype": "FP31", "data": [1]`), 400, "FP31"},
		{"too little data", "POST", "/v2/models/constant/infer", x(`"shape": [3], "datatype": "FP32", "data": [1, 2]`), 400, "3 elements, data has 2"},
		{"a shape that overflows", "POST", "/v2/models/constant/infer", x(`"shape": [4611686018427387904, 4], "datatype": "FP32", "data": []`), 429, "elements"},
		{"a negative shape", "POST", "/v2/models/constant/infer", x(`"shape": [-1], "datatype": "FP32", "data": [1]`), 400, "-1"},
		{"a word for a number", "POST", "/v2/models/constant/infer", x(`"shape": [1], "datatype": "FP32", "data": ["1"]`), 400, "not a number"},
		{"no data", "POST", "/v2/models/constant/infer", x(`"shape": [1], "datatype": "FP32"`), 400, "either data or"},
		{"no such input", "POST", "/v2/models/constant/infer", `{"inputs": [{"name": "z", "shape": [1], "datatype": "FP32", "data": [1]}]}`, 400, "there is no input"},
		{"no inputs", "POST", "/v2/models/constant/infer", `{"inputs": []}`, 400, "is missing"},
		{"an input twice", "POST", "/v2/models/constant/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}, {"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`, 400, "twice"},
		{"a key twice", "POST", "/v2/models/constant/infer", `{"inputs": [], "inputs": []}`, 400, "inputs"},
		{"no such output", "POST", "/v2/models/constant/infer", `{"outputs": [{"name": "z"}], "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`, 400, "there is no output"},
		{"a classification", "POST", "/v2/models/constant/infer", `{"outputs": [{"name": "y", "parameters": {"classification": 3}}], "inputs": []}`, 400, "classification"},
		{"half a document", "POST", "/v2/models/constant/infer", `{"inputs": [`, 400, "JSON"},
	}
	for _, tt := range tests {
		status, got, _ := askV2(t, web, tt.method, tt.path, tt.body, 0)
		equal := strings.TrimSpace(got) == tt.want
		if tt.status != 200 {
			equal = strings.Contains(got, tt.want) && strings.HasPrefix(got, `{"error":`)
		}
		if status != tt.status || !equal {
			t.Errorf("%s: got %d %s\nwant %d %s", tt.name, status, got, tt.status, tt.want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: the answer is not JSON: %s", tt.name, got)
		}
	}
}

// Tensors in binary form, both ways, of numbers and of bytes.
func TestV2Binary(t *testing.T) {
	web := start(t, nil, "constant", "strings")
	floats := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(1)), math.Float32bits(2))
	doubled := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(3)), math.Float32bits(5))
	document := `{"parameters": {"binary_data_output": true}, "inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "parameters": {"binary_data_size": 8}}]}`
	status, got, header := askV2(t, web, "POST", "/v2/models/constant/infer", document+string(floats), len(document))
	want := `{"model_name":"constant","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}]}`
	if status != 200 || got != want+string(doubled) || header != fmt.Sprint(len(want)) {
		t.Errorf("got %d %q with the header %q", status, got, header)
	}
	texts := "\x01\x00\x00\x00a\x00\x00\x00\x00"
	document = `{"outputs": [{"name": "upper", "parameters": {"binary_data": true}}, {"name": "length"}], "inputs": [{"name": "text", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": 9}}]}`
	status, got, header = askV2(t, web, "POST", "/v2/models/strings/infer", document+texts, len(document))
	if status != 200 || !strings.HasSuffix(got, "}]}\x01\x00\x00\x00A\x00\x00\x00\x00") || !strings.Contains(got, `"data":[1,0]`) || header != fmt.Sprint(len(got)-9) {
		t.Errorf("got %d %q with the header %q", status, got, header)
	}
	for name, body := range map[string]string{
		"fewer bytes than claimed":      document + texts[:8],
		"more bytes than claimed":       document + texts + "x",
		"lengths that lie":              document + "\xff\x00\x00\x00a\x00\x00\x00\x00",
		"more elements than the shape":  document + "\x00\x00\x00\x00\x00\x00\x00\x00x",
		"bytes that are not UTF-8 back": `{"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 5}}]}` + "\x01\x00\x00\x00\xff",
	} {
		if status, got, _ := askV2(t, web, "POST", "/v2/models/strings/infer", body, bytes.LastIndexByte([]byte(body), '}')+1); status != 400 {
			t.Errorf("%s: got %d %q", name, status, got)
		}
	}
	if status, got, _ := askV2(t, web, "POST", "/v2/models/strings/infer", "{}", 3); status != 400 {
		t.Errorf("a header beyond the body: got %d %q", status, got)
	}
}

// Health needs no authentication, inference does.
func TestV2Authenticated(t *testing.T) {
	nobody := func(context.Context, *auth.Request) (string, error) { return "", auth.Unauthenticated("no") }
	web := start(t, &Options{Authenticate: nobody}, "constant")
	for path, want := range map[string]int{"/v2/health/live": 200, "/v2/health/ready": 200, "/v2": 401, "/v2/models/constant": 401, "/v2/models/constant/ready": 401} {
		if status, got, _ := askV2(t, web, "GET", path, "", 0); status != want {
			t.Errorf("%s: got %d %s, want %d", path, status, got, want)
		}
	}
}
