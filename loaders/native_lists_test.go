package loaders_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// listKinds are features of every kind, in the context and as lists, some cast.
var listKinds = []fixture.Object{
	{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": false},
	{"name": "weight", "dtype": "float64", "shape": []int{}, "deserialize_type": "float", "var_len": false},
	{"name": "label", "dtype": "string", "shape": []int{2}, "deserialize_type": "string", "var_len": false},
	{"name": "bits", "dtype": "int16", "shape": []int{2}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big", "len": 2}, "var_len": false},
	{"name": "tokens", "dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": true},
	{"name": "small", "dtype": "uint8", "shape": []int{2}, "deserialize_type": "int", "var_len": true},
	{"name": "frames", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float", "var_len": true},
	{"name": "words", "dtype": "string", "shape": []int{}, "deserialize_type": "string", "var_len": true},
	{"name": "patches", "dtype": "int32", "shape": []int{1, 2}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "little"}, "var_len": true},
}

// longestOfKinds is the largest length of a record's lists.
const longestOfKinds = 6

// recordOfKinds is a SequenceExample of those features.
func recordOfKinds(r *rand.Rand, id int64) (context []example.Named, lists []example.NamedList) {
	texts := func(v ...string) (f example.Feature) {
		f.Kind = example.Bytes
		for _, s := range v {
			f.Bytes = append(f.Bytes, []byte(s))
		}
		return f
	}
	raw := func() string { return string(binary.LittleEndian.AppendUint64(nil, r.Uint64())) }
	list := func(name string, of func(i int) example.Feature) {
		l := example.NamedList{Name: name}
		for i := range r.IntN(longestOfKinds + 1) {
			l.Features = append(l.Features, of(i))
		}
		lists = append(lists, l)
	}
	list("tokens", func(int) example.Feature { return fixture.Ints(r.Int64() - r.Int64()) })
	list("small", func(i int) example.Feature { return fixture.Ints(int64(i), r.Int64N(200)) })
	list("frames", func(int) example.Feature { return fixture.Floats(r.Float32(), float32(id), -1) })
	list("words", func(i int) example.Feature { return texts(strings.Repeat(fmt.Sprint(i, "\x00\xff"), r.IntN(9))) })
	list("patches", func(int) example.Feature { return texts(raw()) })
	context = []example.Named{
		named("id", fixture.Ints(id)), named("weight", fixture.Floats(float32(id)/3)),
		named("label", texts(fmt.Sprint(id), "")), named("bits", texts(raw()[:4], raw()[:4])),
	}
	r.Shuffle(len(lists), func(i, j int) { lists[i], lists[j] = lists[j], lists[i] })
	return context, lists
}

// listForm is a form of records that hold lists.
type listForm struct {
	sequence bool // SequenceExamples
	features []fixture.Object
	record   func(r *rand.Rand, id int64) []byte
}

var sequenceLists = listForm{true, listKinds, func(r *rand.Rand, id int64) []byte {
	return example.MarshalSequence(recordOfKinds(r, id))
}}

// isList reports whether a feature of a manifest has any number of elements.
func isList(f fixture.Object) bool {
	shape := f["shape"].([]int)
	return f["var_len"] == true || len(shape) > 0 && shape[0] < 0
}

// randomLists draws a config of some features of a form, and its data.
func randomLists(t *testing.T, seed uint64, form listForm) *fixture.Dataset {
	r := rand.New(rand.NewPCG(seed, 3))
	d := fixture.New(t)
	d.Manifest["allow_var_len"], d.Manifest["features"] = form.sequence, form.features
	var primaries []fixture.Object
	var lists []string
	for _, f := range form.features {
		for i := range r.IntN(3) * r.IntN(2) {
			to := fmt.Sprint(f["name"], i)
			primaries = append(primaries, fixture.Object{"from_name": f["name"], "to_name": to})
			if isList(f) {
				lists = append(lists, to)
			}
		}
	}
	primaries = append(primaries, fixture.Object{"from_name": "id", "to_name": "id"})
	r.Shuffle(len(primaries), func(i, j int) { primaries[i], primaries[j] = primaries[j], primaries[i] })
	args := d.Args
	args["primary_features"] = primaries
	args["target_batch_size"], args["epochs"], args["drop_remainder"] = 1+r.IntN(5), 1+r.IntN(2), r.IntN(2) == 0
	args["num_parallel_parses"], args["num_prefetch"], args["seed"] = 1+r.IntN(3), r.IntN(3), seed
	args["padding"] = true
	if len(lists) > 0 {
		drawLists(r, args, lists)
	}
	if len(lists) > 0 && args["padding"] == true && r.IntN(4) == 0 {
		args["bucket_by_length"] = fixture.Object{"tensor": lists[r.IntN(len(lists))], "boundaries": []int{1, 3}}
	}
	if r.IntN(3) == 0 {
		args["shuffle"], args["num_shuffle_buffer_elements"], args["num_filenames_shuffle_buffer"], args["num_mix_files"] = true, 4, 2, 2
	}
	if r.IntN(4) == 0 {
		d.Manifest["compression"] = "zlib"
	}
	id := int64(0)
	for file := range 3 {
		var records [][]byte
		for range r.IntN(12) {
			records = append(records, form.record(r, id))
			id++
		}
		d.WriteRecords(t, fmt.Sprint(file, ".tfrecords"), records...)
	}
	d.Save(t)
	return d
}

// drawLists draws the arguments for lists: measures, steps and padding.
func drawLists(r *rand.Rand, args fixture.Object, lists []string) {
	any := func() string { return lists[r.IntN(len(lists))] }
	secondaries := []fixture.Object{}
	if r.IntN(2) == 0 {
		secondaries = append(secondaries, fixture.Object{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": any()}},
			fixture.Object{"to_name": "has", "type": "mask", "args": fixture.Object{"tensor": any()}})
	}
	if r.IntN(5) == 0 {
		secondaries = append(secondaries, fixture.Object{"to_name": "c", "type": "const", "args": fixture.Object{"shape": any(), "dtype": "int8", "value": 7}})
	}
	args["secondary_features"] = secondaries
	if r.IntN(3) == 0 {
		part := []string{"1:", ":2", ":4", "0:3"}[r.IntN(4)]
		args["processing_steps"] = []fixture.Object{{"tensor": any(), "type": "slice", "args": fixture.Object{"slice": part}}}
	}
	switch r.IntN(4) {
	case 0:
		args["padding"] = false // fails where lists differ
	case 1:
		entry := fixture.Object{"tensor": any()}
		inner := map[string][]int{"small": {-1}, "frames": {3 + r.IntN(2)}, "patches": {-1, 2}}
		name := strings.TrimRight(entry["tensor"].(string), "01")
		entry["shape"] = append([]int{longestOfKinds - r.IntN(2) + r.IntN(3)}, inner[name]...)
		if name != "words" {
			entry["value"] = 9
		} else {
			entry["value"] = "none"
		}
		args["padding"] = []fixture.Object{entry}
	}
}

// textsUntil returns the batches of a run, printed, their states, and the
// error that ended it.
func textsUntil(t *testing.T, l *loaders.Loader, o *loaders.RunOptions) (texts []string, states [][]byte, last error) {
	t.Helper()
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			return texts, states, err
		}
		texts, states = append(texts, textOf(t, b)), append(states, b.State())
	}
	return texts, states, nil
}

// sameFailure reports whether two runs ended alike. If the examples of several tensors
// differ in shape, either tensor may be named.
func sameFailure(a, b error) bool {
	const differ = "examples of one batch differ in shape"
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error() || strings.Contains(a.Error(), differ) && strings.Contains(b.Error(), differ)
}

// TestNativeListsAreTheGeneralOnes compares the batches of random plans of
// SequenceExamples that our own operation makes with those of the general plan, and
// resumes the former from states. The draws decide which plans need only that
// operation.
func TestNativeListsAreTheGeneralOnes(t *testing.T) {
	compareLists(t, sequenceLists, 40)
}

// TestNativeVariableFeaturesAreTheGeneralOnes does the same with features of Examples
// that have any number of values.
func TestNativeVariableFeaturesAreTheGeneralOnes(t *testing.T) {
	compareLists(t, variableLists, 20)
}

// compareLists compares the batches of n random plans of our own operations with
// those of TensorFlow's.
func compareLists(t *testing.T, form listForm, n int) {
	testruntime.Need(t)
	ways := map[string]int{}
	for seed := range uint64(n) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			plan, problems := loaders.Check(randomLists(t, seed, form).Config(), nil)
			if plan == nil {
				t.Fatal(problems)
			}
			if plan.NativeLibrary == "" {
				t.Skip("the native library is not built")
			}
			if seed%2 == 0 {
				plan, _ = loaders.MeasurePadding(plan)
			}
			for _, r := range plan.Engine().Rewrites() {
				ways[fmt.Sprint(r.Name, " ", r.Applied)]++
			}
			general := *plan
			general.NativeLibrary = ""
			want, _, wantErr := textsUntil(t, openPlan(t, &general), nil)
			native := openPlan(t, plan)
			got, states, err := textsUntil(t, native, &loaders.RunOptions{SaveEvery: 1})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("(-general +native)\n%s", diff)
			}
			if !sameFailure(err, wantErr) {
				t.Fatalf("general: %v\nnative: %v", wantErr, err)
			}
			if len(states) == 0 || err != nil {
				return
			}
			i := int(seed) % len(states)
			rest, _ := textsOf(t, native, &loaders.RunOptions{State: states[i]})
			if diff := cmp.Diff(want[i+1:], append([]string{}, rest...)); diff != "" {
				t.Errorf("from the state of batch %d (-whole +rest)\n%s", i, diff)
			}
		})
	}
	if len(ways) > 0 && (ways["native true"] < n*3/4 || ways["ragged_rows true"] < n/8 || ways["ragged_rows false"] < n/8) {
		t.Errorf("the plans are too much alike: %v", ways)
	}
}

// TestOddSequenceExamples checks that we accept and refuse the same records as
// TensorFlow, with the same messages in every way of parsing.
func TestOddSequenceExamples(t *testing.T) {
	testruntime.Need(t)
	ints := func(v ...int64) example.Feature { return fixture.Ints(v...) }
	record := func(id int64, name string, list ...example.Feature) []byte {
		return example.MarshalSequence([]example.Named{named("id", ints(id))}, []example.NamedList{{Name: name, Features: list}})
	}
	good := record(5, "xs", ints(1, 2), ints(3, 4))
	lists := func(content string) []byte {
		entry := "\x0a\x02xs\x12" + string(rune(len(content))) + content
		entry = "\x0a" + string(rune(len(entry))) + entry
		return []byte("\x12" + string(rune(len(entry))) + entry)
	}
	tests := []struct {
		name   string
		record []byte
		words  []string // words of the error; nil: no error
	}{
		{"a list twice", slices.Concat(record(5, "xs", ints(1)), good), nil},
		{"a context twice", slices.Concat(record(9, "xs"), good), nil},
		{"no elements", record(5, "xs"), nil},
		{"unpacked", slices.Concat(record(5, "xs"), lists("\x0a\x06\x1a\x04\x08\x01\x08\x02")), nil},
		{"an unknown field", slices.Concat([]byte("\x9a\x06\x03abc"), good), nil},
		{"another list", slices.Concat(good, record(5, "ys", fixture.Floats(1))), nil},
		{"no list", record(5, "ys"), []string{`feature "xs"`, "no such feature list"}},
		{"no context", lists("\x0a\x06\x1a\x04\x08\x01\x08\x02"), []string{`feature "id"`, "no such feature"}},
		{"another kind", record(5, "xs", fixture.Floats(1, 2)), []string{`feature "xs"`, "element 0", "float list"}},
		{"too few", record(5, "xs", ints(1, 2), ints(3)), []string{`feature "xs"`, "element 1", "1 value is stored, want 2"}},
		{"too many", record(5, "xs", ints(1, 2, 3)), []string{`feature "xs"`, "element 0", "3 values are stored, want 2"}},
		{"an empty element", record(5, "xs", ints(1, 2), ints()), []string{`feature "xs"`, "element 1", "0 values are stored, want 2"}},
		{"longer than its padding", record(5, "xs", ints(1, 2), ints(1, 2), ints(1, 2), ints(1, 2)), []string{`tensor "xs"`, "larger than its padding"}},
		{"cut", good[:len(good)-3], []string{"not a SequenceExample", "a field claims"}},
	}
	for _, test := range tests {
		for _, cast := range []string{"int64", "int32"} {
			t.Run(test.name+", "+cast, func(t *testing.T) {
				d := fixture.New(t)
				d.Manifest["allow_var_len"], d.Manifest["features"] = true, []fixture.Object{
					{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": false},
					{"name": "xs", "dtype": cast, "shape": []int{2}, "deserialize_type": "int", "var_len": true},
				}
				d.Args["padding"] = []fixture.Object{{"tensor": "xs", "shape": []int{3, -1}, "value": 7}}
				d.WriteRecords(t, "a.tfrecords", record(0, "xs"), record(1, "xs", ints(8, 9)))
				d.WriteRecords(t, "b.tfrecords", record(4, "xs"), test.record, record(6, "xs"))
				ids, err := read(t, d)
				want := []int64{0, 1, 4, 5, 6}
				if err != nil {
					want = want[:2]
					class := millrace.ErrSchema
					if test.name == "cut" {
						class = millrace.ErrCorrupt
					}
					checkFault(t, &fault{class: class, words: append(test.words, "b.tfrecords", "record 1")}, err)
				} else if test.words != nil {
					t.Errorf("no error, want one of %q", test.words)
				}
				if diff := cmp.Diff(want, ids); diff != "" {
					t.Errorf("ids (-want +got)\n%s", diff)
				}
			})
		}
	}
}
