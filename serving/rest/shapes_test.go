package rest

import (
	"strings"
	"testing"

	"millrace/serving"
	"millrace/serving/batching"
)

// The shape of a signature is only documentation: TensorFlow's operations decide which
// shapes they accept, with batching and without. The error for a refused shape names
// the signature, the input and both shapes.
func TestShapesAsTheGraphTakesThem(t *testing.T) {
	const half, linear = "half_plus_two:predict", "linear:predict"
	tests := []struct {
		path, body string
		status     int
		want       []string
	}{
		{half, `{"instances": [1.0, 2.0, 5.0]}`, 200, []string{`{"predictions":[2.5,3.0,4.5]}`}},
		{half, `{"instances": [[1.0], [2.0], [5.0]]}`, 200, []string{`{"predictions":[[2.5],[3.0],[4.5]]}`}},
		{half, `{"instances": [{"x": [1.0]}, {"x": [2.0]}]}`, 200, []string{`{"predictions":[[2.5],[3.0]]}`}},
		{half, `{"inputs": [[[1.0, 2.0]], [[3.0, 4.0]]]}`, 200, []string{`{"outputs":[[[2.5,3.0]],[[3.5,4.0]]]}`}},
		{linear, `{"instances": [[1, 2]]}`, 400, []string{`signature \"serving_default\"`, `tensor \"x\"`, "the signature has shape [?, 3], got [1 2]", "Matrix size-incompatible"}},
		{linear, `{"instances": [1, 2, 3]}`, 400, []string{"the signature has shape [?, 3], got [3]"}},
	}
	for _, o := range []*serving.Options{{}, {Batching: &batching.Options{}}, {Batching: &batching.Options{PadVariableLengthInputs: true}}} {
		web := listen(t, serveModels(t, o, "half_plus_two", "linear"), nil)
		for _, tt := range tests {
			status, answer := ask(t, web, "POST", "/v1/models/"+tt.path, tt.body)
			for _, want := range tt.want {
				if status != tt.status || !strings.Contains(answer, want) {
					t.Errorf("batching %+v: %s %s\n got %d %s\nwant %d %s", o.Batching, tt.path, tt.body, status, answer, tt.status, want)
				}
			}
		}
		web.Close()
	}
}
