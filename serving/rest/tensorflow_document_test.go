package rest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/batching"
)

// documentRequests are the requests of TensorFlow Serving's document about its RESTful
// API (tensorflow_serving/g3doc/api_rest.md), in the document's order and form, with
// the answers that it shows. Two requests there are not JSON: one has a "]" too many,
// the other "Nan"; they are corrected here. Where it shows the form of an answer only,
// the model rest_document returns what it got.
var documentRequests = []struct{ method, path, body, want string }{
	{"POST", "/v1/models/doc:predict", `{
  // List of 3 scalar tensors.
  "signature_name": "words", "instances": [ "foo", "bar", "baz" ]
}`, `{"predictions": ["foo", "bar", "baz"]}`},
	{"POST", "/v1/models/doc:predict", `{
  // List of 2 tensors each of [1, 2] shape
  "signature_name": "pairs", "instances": [ [[1, 2]], [[3, 4]] ]
}`, `{"predictions": [ [[1, 2]], [[3, 4]] ]}`},
	{"POST", "/v1/models/doc:predict", `{
 "instances": [
   {
     "tag": "foo",
     "signal": [1, 2, 3, 4, 5],
     "sensor": [[1, 2], [3, 4]]
   },
   {
     "tag": "bar",
     "signal": [3, 4, 1, 2, 5],
     "sensor": [[4, 5], [6, 8]]
   }
 ]
}`, `{"predictions": [
   {"tag": "foo", "signal": [1, 2, 3, 4, 5], "sensor": [[1, 2], [3, 4]]},
   {"tag": "bar", "signal": [3, 4, 1, 2, 5], "sensor": [[4, 5], [6, 8]]}]}`},
	{"POST", "/v1/models/doc:predict", `{
 "inputs": {
   "tag": ["foo", "bar"],
   "signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]],
   "sensor": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]]
 }
}`, `{"outputs": {
   "tag": ["foo", "bar"],
   "signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]],
   "sensor": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]]}}`},
	{"POST", "/v1/models/doc:classify", `{
  "signature_name": "classify_objects",
  "examples": [
    {
      "image": { "b64": "aW1hZ2UgYnl0ZXM=" },
      "caption": "seaside"
    },
    {
      "image": { "b64": "YXdlc29tZSBpbWFnZSBieXRlcw==" },
      "caption": "mountains"
    }
  ]
}`, `{"results": [[["seaside", 11]], [["mountains", 19]]]}`},
	{"POST", "/v1/models/doc:classify", `{
  "signature_name": "sensors",
  "examples": [
    {
      "sensor_readings": [ 1.0, -3.14, NaN, Infinity ]
    }
  ]
}`, `{"results": [[["", 1.0], ["", -3.14], ["", NaN], ["", Infinity]]]}`},
	{"GET", "/v1/models/saved_model_half_plus_three", "", `{
 "model_version_status": [
  {
   "version": "123",
   "state": "AVAILABLE",
   "status": {
    "error_code": "OK",
    "error_message": ""
   }
  }
 ]
}`},
	{"POST", "/v1/models/saved_model_half_plus_three:predict", `{"instances": [1.0,2.0,5.0]}`, `{
    "predictions": [3.5, 4.0, 5.5]
}`},
	{"POST", "/v1/models/saved_model_half_plus_three:regress", `{"signature_name": "tensorflow/serving/regress", "examples": [{"x": 1.0}, {"x": 2.0}]}`, `{
    "results": [3.5, 4.0]
}`},
	{"POST", "/v1/models/half:predict", `{"instances": [1.0,5.0]}`, `{ "error": "Servable not found for request: Latest(half)" }`},
}

// uncommented returns JSON without the comment lines that the document contains.
func uncommented(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), "//") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// Each request of TensorFlow Serving's document gets the answer that it shows, in batches and alone.
func TestTensorFlowServingDocument(t *testing.T) {
	testruntime.Need(t)
	base := t.TempDir()
	if err := os.CopyFS(filepath.Join(base, "00000123"), os.DirFS(testdata+"half_plus_three")); err != nil {
		t.Fatal(err)
	}
	configs := []serving.ModelConfig{{Name: "saved_model_half_plus_three", BasePath: base}, {Name: "doc", BasePath: testdata + "rest_document"}}
	for _, shared := range []*batching.Options{nil, {}} {
		s, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, Logger: quiet, Batching: shared})
		if err != nil {
			t.Fatal(err)
		}
		web := listen(t, s, nil)
		for _, q := range documentRequests {
			status, answer := ask(t, web, q.method, q.path, uncommented(q.body))
			if got, want := meaning(t, answer), meaning(t, q.want); !reflect.DeepEqual(got, want) || (status == 200) == strings.Contains(q.want, "error\": \"S") {
				t.Errorf("batching %v: %s %s\n got %d %s\nwant %s", shared != nil, q.path, q.body, status, answer, q.want)
			}
		}
		web.Close()
		s.Close()
	}
}

// meaning returns JSON as Go values. The bare words NaN and Infinity, which JSON does not have, are strings.
func meaning(t *testing.T, text string) any {
	t.Helper()
	text = strings.NewReplacer("NaN", `"NaN"`, "Infinity", `"Infinity"`).Replace(text)
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
