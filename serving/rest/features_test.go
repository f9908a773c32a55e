package rest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/serving"
	"millrace/tfrecord/example"
)

// startLoader serves a model of testdata behind a loader of features, which are
// primaries of the same names.
func startLoader(t *testing.T, model string, sequences bool, features ...fixture.Object) *endpoint {
	t.Helper()
	testruntime.Need(t)
	d := fixture.New(t)
	var primaries []fixture.Object
	for _, f := range features {
		primaries = append(primaries, fixture.Object{"from_name": f["name"], "to_name": f["name"]})
	}
	d.Manifest["features"], d.Manifest["allow_var_len"], d.Args["primary_features"] = features, sequences, primaries
	d.Args["padding"] = true
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), &loaders.CheckOptions{ManifestOnly: true})
	if plan == nil {
		t.Fatal(problems)
	}
	s, err := serving.New(t.Context(), []serving.ModelConfig{{Name: "m", BasePath: testdata + model}},
		&serving.Options{FileSystemPollWait: -1, Logger: quiet, Loaders: map[string]*loaders.Plan{"m": plan}})
	if err != nil {
		t.Fatal(err)
	}
	web := listen(t, s, &ServerOptions{Options: Options{Logger: quiet}})
	t.Cleanup(func() { web.Close(); s.Close() })
	return web
}

// Features by manifest give the same result as the same records.
func TestFeatures(t *testing.T) {
	web := startLoader(t, "outputs", false,
		fixture.Object{"name": "image", "dtype": "float32", "shape": []int{8, 8}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big"}},
		fixture.Object{"name": "label", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"})
	var numbers []string
	var raw []byte
	for i := range 64 {
		numbers = append(numbers, fmt.Sprint(i))
		raw = binary.BigEndian.AppendUint32(raw, math.Float32bits(float32(i)))
	}
	var rows []string
	for i := 0; i < 64; i += 8 {
		rows = append(rows, "["+strings.Join(numbers[i:i+8], ", ")+"]")
	}
	packed := base64.StdEncoding.EncodeToString(raw)
	record := example.Marshal([]example.Named{{Name: "image", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{raw}}}, {Name: "label", Feature: fixture.Ints(7)}})
	ask := func(more string) string {
		t.Helper()
		status, body := ask(t, web, "POST", "/v1/models/m:predict", `{"signature_name": "examples", `+more+`}`)
		return fmt.Sprint(status, " ", body)
	}
	want := ask(`"instances": [{"b64": "` + base64.StdEncoding.EncodeToString(record) + `"}]`)
	if !strings.HasPrefix(want, `200 {"predictions":`) || !strings.Contains(want, `"mean":31.5`) || !strings.Contains(want, `"next":8`) {
		t.Fatal(want)
	}
	flat, nested := "["+strings.Join(numbers, ", ")+"]", "["+strings.Join(rows, ", ")+"]"
	for _, features := range []string{
		`{"image": ` + nested + `, "label": 7}`,
		`{"image": ` + flat + `, "label": [7], "unknown": "x"}`,
		`{"image": {"b64": "` + packed + `"}, "label": 7}`,
		`{"image": [{"b64": "` + packed + `"}], "label": 7}`,
	} {
		if got := ask(`"examples": [` + features + `]`); got != want {
			t.Errorf("%.60s\n got %s\nwant %s", features, got, want)
		}
	}
	if got := ask(`"context": {"label": 7, "image": 0}, "examples": [{"image": ` + flat + `}]`); !strings.Contains(got, "want [8, 8]") {
		t.Errorf("a context that does not fit: %s", got)
	}
	if got := ask(`"context": {"label": 7}, "examples": [{"image": ` + flat + `}]`); got != want {
		t.Errorf("a context\n got %s\nwant %s", got, want)
	}
	for _, tt := range []struct{ body, want string }{
		{`"examples": [{"image": [1], "label": 7}]`, `feature image: values of shape [1], want [8, 8]`},
		{`"examples": [{"image": ` + flat + `}]`, `example 0: feature \"label\": the record has no such feature`},
		{`"examples": [{"image": ` + flat + `, "label": 7.5}]`, `feature label: `},
		{`"examples": []`, `'examples' value is an empty array`},
		{`"examples": [7]`, `Example must be JSON object`},
	} {
		if got := ask(tt.body); !strings.HasPrefix(got, "400 ") || !strings.Contains(got, tt.want) {
			t.Errorf("%.40s: got %s, want %s", tt.body, got, tt.want)
		}
	}
	if status, body := askPlain(t, web, `{"examples": [{"image": 1}]}`); status != 400 || !strings.Contains(body, "has no loader") {
		t.Errorf("examples without a loader: %d %s", status, body)
	}
}

// askPlain sends a request to the default signature.
func askPlain(t *testing.T, web *endpoint, body string) (int, string) {
	t.Helper()
	return ask(t, web, "POST", "/v1/models/m:predict", body)
}

// With a manifest of feature lists JSON becomes SequenceExamples. A whole number may be
// used for a float there.
func TestFeatureLists(t *testing.T) {
	web := startLoader(t, "windows", true, fixture.Object{"name": "x", "dtype": "float32", "shape": []int{}, "var_len": true, "deserialize_type": "float"})
	predict := func(body string) string {
		t.Helper()
		status, text := askPlain(t, web, body)
		return fmt.Sprint(status, " ", text)
	}
	want := predict(`{"instances": [[1, 2.5, 0], [4, 0, 0]]}`)
	got := predict(`{"signature_name": "examples", "examples": [{"x": [1, 2.5, 0]}, {"x": [4]}]}`)
	if got != want || !strings.HasPrefix(got, "200 ") {
		t.Errorf(" got %s\nwant %s", got, want)
	}
	if got := predict(`{"signature_name": "examples", "instances": [{"b64": "/w=="}]}`); !strings.Contains(got, "example 0: not a SequenceExample (byte 0)") {
		t.Errorf("a record that is no SequenceExample: %s", got)
	}
}
