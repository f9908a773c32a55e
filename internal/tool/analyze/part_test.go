package analyze

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// measured writes 900 examples, and returns a function that opens their plan with other arguments.
func measured(t *testing.T) func(args ...spec.Replacement) *loaders.Loader {
	t.Helper()
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "xs", "dtype": "float32", "shape": []int{2}, "deserialize_type": "float"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "kind", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "part", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "row", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "other", "dtype": "float32", "shape": []int{}, "deserialize_type": "float"},
	}
	var records [][]byte
	for i := range 900 {
		text := []string{"The cat", "the", "\xff", "a dog the"}[i%4]
		records = append(records, example.Marshal([]example.Named{
			{Name: "xs", Feature: fixture.Floats(float32(i*i%77), -3)}, {Name: "text", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(text)}}},
			{Name: "kind", Feature: fixture.Ints(int64(i * 3 % 4))}, {Name: "part", Feature: fixture.Ints(int64(i % 8))}, {Name: "row", Feature: fixture.Ints(int64(i))},
			{Name: "other", Feature: fixture.Floats(float32(i % 7))},
		}))
	}
	f.WriteRecords(t, "a.tfrecords", records[:500]...)
	f.WriteRecords(t, "b.tfrecords", records[500:]...)
	var features []fixture.Object
	for _, name := range []string{"xs", "text", "kind", "part", "row", "other"} {
		features = append(features, fixture.Object{"from_name": name, "to_name": name})
	}
	f.Args["primary_features"] = features
	f.Save(t)
	return func(args ...spec.Replacement) *loaders.Loader {
		checked, problems := loaders.Check(f.Config(), &loaders.CheckOptions{Replace: args})
		if checked == nil {
			t.Fatal(problems)
		}
		plan, err := Plan(checked)
		if err != nil {
			t.Fatal(err)
		}
		l, err := loaders.OpenPlan(plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
}

// The parts of shards, written and read as files, merge to what one pass gives; wrong sets of parts are errors.
func TestMerge(t *testing.T) {
	testruntime.Need(t)
	open := measured(t)
	whole, err := Run(t.Context(), open(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var parts []*Part
	for i := range int64(3) {
		l := open(spec.Replacement{Key: "shard", Value: fmt.Appendf(nil, `{"count": 3, "index": %d}`, i)})
		part, err := RunShard(t.Context(), l, Shard{i, 3}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "part.json")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		if part, err = ReadPart(path); err != nil {
			t.Fatal(err)
		}
		parts = append([]*Part{part}, parts...)
	}
	merged, err := Merge(parts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, merged, cmpopts.IgnoreUnexported(Tensor{}), cmpopts.EquateApprox(1e-12, 0)); diff != "" || whole.Examples != 900 {
		t.Errorf("%d examples (-whole +merged)\n%s", whole.Examples, diff)
	}
	// Rows are all different, and so determine nothing; the values of the other column come with all of them.
	want := []Determination{{"text", "kind", 4, true}, {"part", "text", 8, false}, {"part", "kind", 8, false}}
	if diff := cmp.Diff(want, whole.Determines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if all := fmt.Sprint(whole.Look()); !strings.Contains(all, "part: each of its 8 values comes with one value of kind: if one of them is the label") {
		t.Errorf("%s", all)
	}
	one, _ := whole.Words("text")
	if all, _ := merged.Words("text"); !cmp.Equal(one, all) || len(one) != 4 {
		t.Errorf("words %v, want %v", all, one)
	}
	other := *parts[1]
	other.Tensors = parts[1].Tensors[:1]
	for want, list := range map[string][]*Part{"all are needed": parts[1:], "is missing": {parts[0], parts[0], parts[2]}, "different configs": {parts[0], &other, parts[2]}, "no parts": nil} {
		if _, err := Merge(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// numbersTensor returns statistics of numbers.
func numbersTensor(values ...float64) *Tensor {
	var n numbers
	for _, x := range values {
		n.take(x)
	}
	return &Tensor{DType: "float32", Shape: []int64{}, Examples: int64(len(values)), Values: int64(len(values)), Distinct: 2, All: n.result()}
}

// Constants, outliers, missing values and changed distributions are found, on the page too, and nothing is where
// nothing is wrong.
func TestFindings(t *testing.T) {
	var even, shifted, spike []float64
	for i := range 1000 {
		even, shifted, spike = append(even, float64(i)), append(shifted, float64(i)+300), append(spike, float64(i%10))
	}
	spike[7] = 1e6
	of := func(tensors map[string]*Tensor) *Statistics {
		return &Statistics{Format: Format, Examples: 1000, Tensors: tensors}
	}
	constant := numbersTensor(4, 4, 4)
	constant.Distinct = 1
	words := func(n int64) *Tensor {
		return &Tensor{DType: "string", Examples: 1000, Empty: 200, Values: 1000, Distinct: 2, Frequent: []Word{{"<b>yes", n}, {"no", 1000 - n}}}
	}
	a := of(map[string]*Tensor{"even": numbersTensor(even...), "spike": numbersTensor(spike...), "constant": constant, "nan": numbersTensor(1, 2, math.NaN()), "words": words(500), "gone": constant})
	b := of(map[string]*Tensor{"even": numbersTensor(shifted...), "spike": numbersTensor(spike...), "constant": constant, "nan": numbersTensor(1, 2), "words": words(900)})
	check := func(list []Finding, want map[string]string) {
		t.Helper()
		for _, f := range list {
			if w, ok := want[f.Tensor]; !ok || !strings.Contains(f.What, w) {
				t.Errorf("%s, want %q", f, w)
			}
			delete(want, f.Tensor)
		}
		if len(want) > 0 {
			t.Errorf("not found: %v", want)
		}
	}
	check(a.Look(), map[string]string{"spike": "the largest value, 1e+06", "constant": "all values are the same", "gone": "all values are the same", "nan": "1 values are NaN", "words": "200 of 1000 examples have no value"})
	check(a.Compare(b), map[string]string{"even": "differs for", "words": `the string "<b>yes" is 50% of all here, 90% in the other data`, "gone": "do not have this tensor"})
	check(a.Compare(a), maps.Clone(map[string]string{}))
	var html strings.Builder
	if err := NewPage("data", a, b, "b.json").Write(&html); err != nil {
		t.Fatal(err)
	}
	text := html.String()
	if strings.Contains(text, "<b>yes") || strings.Count(text, "<svg") != 3 || !strings.Contains(text, `class="other" d="M0 `) || !strings.Contains(text, "Compared with b.json") {
		t.Errorf("the page is\n%s", text)
	}
}

// Columns of data types that are not compared hide nothing that others do.
func TestLeaksOfOtherTypes(t *testing.T) {
	testruntime.Need(t)
	const rows = 100
	columns := map[string]any{"short": make([]int16, rows), "class": make([]int64, rows), "name": make([]string, rows)}
	for i := range rows {
		columns["class"].([]int64)[i], columns["name"].([]string)[i] = int64(i%5), string(rune('a'+i%5))
	}
	l := newLeaks([]known{{name: "short"}, {name: "class"}, {name: "name"}})
	err := l.take(func(name string) *tfbridge.Tensor {
		x, err := tfbridge.NewTensor(columns[name])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return x
	})
	want := []Determination{{"class", "name", 5, true}}
	if diff := cmp.Diff(want, l.result()); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
