package loaders_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"
)

// textDataset returns a dataset whose records have a text each, without files.
func textDataset(t testing.TB) *fixture.Dataset {
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
	}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}, {"from_name": "text", "to_name": "text"}}
	return f
}

// textRecord returns a record of [textDataset].
func textRecord(id int64, text string) []byte {
	return example.Marshal([]example.Named{
		{Name: "id", Feature: fixture.Ints(id)},
		{Name: "text", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(text)}}},
	})
}

// texts returns a dataset with files.
func texts(t *testing.T) *fixture.Dataset {
	f := textDataset(t)
	id := int64(0)
	for file, list := range map[string][]string{
		"a.tfrecords": {"The cat sat on the mat", "", "one", "  two   spaces ", "ünï\xffcode \xe2\x82", "a b c d e f g"},
		"b.tfrecords": {"", ""},
		"c.tfrecords": {"cat cat mat", "x,y,,z", "\x00 \x01", "honorificabilitudinitatibus CAT honorificabilitudinitatibusX"},
	} {
		var records [][]byte
		for _, text := range list {
			records = append(records, textRecord(id, text))
			id++
		}
		f.WriteRecords(t, file, records...)
	}
	return f
}

// Steps that make words of texts give the same batches whether they see whole batches or, because
// of another step beside them, one example at a time; with both engines, and from a state.
func TestTextsAtOnce(t *testing.T) {
	testruntime.Need(t)
	step := func(kind string, args fixture.Object) fixture.Object {
		return fixture.Object{"type": kind, "tensor": "text", "args": args}
	}
	words := step("split", fixture.Object{})
	lookup := step("lookup", fixture.Object{"vocabulary": []string{"cat", "the", "mat"}, "oov": 3})
	padding := func(n int) fixture.Object {
		return fixture.Object{"padding": []fixture.Object{{"tensor": "text", "shape": []int{n}}}}
	}
	long := step("lookup", fixture.Object{"vocabulary": []string{"cat", "honorificabilitudinitatibus", "", "y"}, "oov": 2, "start": 5})
	byOne := map[string]bool{"words": true, "fixed": true, "lowered words": true, "parts": true, "none": true} // one operation makes the numbers
	for name, tt := range map[string]struct {
		steps []fixture.Object
		args  fixture.Object
	}{
		"lowered words": {[]fixture.Object{words, step("lower", fixture.Object{}), long, step("slice", fixture.Object{"slice": "[:3]"}), step("slice", fixture.Object{"slice": "[1:]"})}, padding(-1)},
		"parts":         {[]fixture.Object{step("split", fixture.Object{"sep": ","}), long}, padding(-1)},
		"none":          {[]fixture.Object{words, long, step("slice", fixture.Object{"slice": "[:0]"})}, padding(2)},
		"words":         {[]fixture.Object{step("lower", fixture.Object{}), words, lookup, step("slice", fixture.Object{"slice": "[:4]"})}, padding(-1)},
		"lower words": {[]fixture.Object{words, step("slice", fixture.Object{"slice": ":5"}), step("lower", fixture.Object{}), step("slice", fixture.Object{"slice": ":3"}),
			step("lookup", fixture.Object{"vocabulary": []string{"cat", "", "the", "a"}, "start": 7})}, padding(-1)},
		"lower commas": {[]fixture.Object{step("lower", fixture.Object{}), step("split", fixture.Object{"sep": "c"}), step("lower", fixture.Object{}),
			step("lookup", fixture.Object{"vocabulary": []string{"at ", "", "the "}, "start": 1, "oov": 2})}, padding(-1)},
		"all but one": {[]fixture.Object{words, step("slice", fixture.Object{"slice": ":-1"}), lookup}, padding(-1)},
		"fixed":       {[]fixture.Object{words, lookup, {"type": "rename", "tensor": "id", "to_name": "number", "args": fixture.Object{}}}, padding(9)},
		"commas":      {[]fixture.Object{step("split", fixture.Object{"sep": ","})}, with(padding(-1), fixture.Object{"drop_remainder": true})},
		"bytes":       {[]fixture.Object{step("split_bytes", fixture.Object{})}, with(padding(-1), fixture.Object{"shuffle": true, "shuffle_mode": "exact", "epochs": 2})},
		"points":      {[]fixture.Object{step("unicode_decode", fixture.Object{}), {"type": "clip", "tensor": "text", "args": fixture.Object{"min": 33, "max": 128}}}, padding(-1)},
		"pairs":       {[]fixture.Object{words, step("ngrams", fixture.Object{"width": 2}), step("hash", fixture.Object{"buckets": 100})}, padding(-1)},
		"measured":    {[]fixture.Object{words}, with(padding(-1), fixture.Object{"secondary_features": []fixture.Object{{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": "text"}}, {"to_name": "m", "type": "mask", "args": fixture.Object{"tensor": "text"}}}})},
		"alone":       {[]fixture.Object{words}, fixture.Object{"target_batch_size": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			f := texts(t)
			f.Args["target_batch_size"], f.Args["seed"] = 3, 5
			for key, value := range tt.args {
				f.Args[key] = value
			}
			f.Args["processing_steps"] = tt.steps
			together := map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)}
			for engine, l := range together {
				if plan := l.Plan(); plan.StepsSingly() || !strings.Contains(fmt.Sprint(plan.Explain()), "processing steps make rows that differ in length") {
					t.Errorf("%s: the steps see one example at a time", engine)
				}
				if got := strings.Contains(fmt.Sprint(l.Plan().Explain()), "their words looked up, by one operation"); got != (byOne[name] && engine == "native") {
					t.Errorf("%s: the words are looked up by one operation: %t", engine, got)
				}
			}
			of := "id"
			if name == "fixed" {
				of = "number"
			}
			f.Args["processing_steps"] = append(tt.steps, oneByOne(of)...)
			want, _ := textsOf(t, openSequence(t, f), nil)
			for engine, l := range together {
				got, states := textsOf(t, l, &loaders.RunOptions{SaveEvery: 1})
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Fatalf("%s\n got %q\nwant %q", engine, got, want)
				}
				if rest, _ := textsOf(t, l, &loaders.RunOptions{State: states[1]}); strings.Join(rest, "\n") != strings.Join(want[2:], "\n") {
					t.Errorf("%s, from the second batch\n got %q\nwant %q", engine, rest, want[2:])
				}
			}
		})
	}
}

// oneByOne returns steps that change nothing and see one example at a time. They read a number.
func oneByOne(tensor string) []fixture.Object {
	return []fixture.Object{
		{"type": "cast", "tensor": tensor, "to_name": "single", "args": fixture.Object{"dtype": "float32"}},
		{"type": "exp", "tensor": "single"}, {"type": "drop", "tensor": "single"},
	}
}

// Steps that arrange values give the same batches whether they see whole batches or one example at
// a time.
func TestArrangedAtOnce(t *testing.T) {
	testruntime.Need(t)
	step := func(kind, from, to string, args fixture.Object) fixture.Object {
		return fixture.Object{"type": kind, "tensor": from, "to_name": to, "args": args}
	}
	both := func(kind, a, b, to string, args fixture.Object) fixture.Object {
		return fixture.Object{"type": kind, "tensors": []string{a, b}, "to_name": to, "args": args}
	}
	steps := []fixture.Object{
		step("cast", "id", "n", fixture.Object{"dtype": "float32"}),
		both("arithmetic", "xs", "n", "sum", fixture.Object{"op": "subtract"}),
		both("stack", "xs", "sum", "table", fixture.Object{"axis": 1}),
		step("transpose", "table", "turned", fixture.Object{"perm": []int{1, 0}}),
		both("arithmetic", "xs", "table", "product", fixture.Object{"op": "multiply"}),
		both("concat", "table", "turned", "tall", fixture.Object{"axis": 0}),
		both("concat", "table", "turned", "wide", fixture.Object{"axis": -1}),
		step("gather", "wide", "some", fixture.Object{"axis": 1, "indices": []int{3, 0, 3}}),
		step("expand_dims", "some", "more", fixture.Object{"axis": 0}),
		step("pad", "more", "padded", fixture.Object{"paddings": [][]int{{0, 1}, {1, 0}, {0, 0}}, "value": 7}),
		step("reshape", "padded", "flat", fixture.Object{"shape": []int{-1, 2}}),
		step("squeeze", "more", "less", fixture.Object{"axis": 0}),
		step("expand_dims", "id", "ids", fixture.Object{"axis": 0}),
		step("multi_hot", "ids", "hot", fixture.Object{"depth": 12}),
		{"type": "constant", "to_name": "ones", "args": fixture.Object{"dtype": "string", "shape": []int{2}, "value": "one"}},
		step("join", "ones", "joined", fixture.Object{"separator": "+"}),
		both("join", "joined", "ones", "joints", fixture.Object{"separator": "-"}),
	}
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 8)...)
	f.Args["target_batch_size"], f.Args["processing_steps"] = 3, steps
	native, general := openSequence(t, f), openGeneral(t, f)
	f.Args["processing_steps"] = append(steps, oneByOne("id")...)
	alone := openSequence(t, f)
	if native.Plan().StepsSingly() || !alone.Plan().StepsSingly() {
		t.Error("the steps do not see what the test compares")
	}
	if why := "the processing step exp works on one example at a time"; !strings.Contains(fmt.Sprint(alone.Plan().Explain()), why) {
		t.Errorf("the plan does not say that %s", why)
	}
	want, _ := textsOf(t, alone, nil)
	for engine, l := range map[string]*loaders.Loader{"native": native, "general": general} {
		if got, _ := textsOf(t, l, nil); !slices.Equal(got, want) {
			t.Errorf("%s\n got %s\nwant %s", engine, got, want)
		}
	}
}

// A constant has a row for each example where every other tensor is dropped.
func TestConstantAlone(t *testing.T) {
	testruntime.Need(t)
	f := fixture.New(t)
	f.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	f.Args["processing_steps"] = []fixture.Object{
		{"type": "drop", "tensor": "xs"}, {"type": "drop", "tensor": "id"},
		{"type": "constant", "to_name": "one", "args": fixture.Object{"dtype": "int32", "shape": []int{1}, "value": 1}},
	}
	want := []string{"one [2 1] [[1] [1]]\n", "one [1 1] [[1]]\n"}
	for engine, l := range map[string]*loaders.Loader{"native": openSequence(t, f), "general": openGeneral(t, f)} {
		if got, _ := textsOf(t, l, nil); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", engine, got, want)
		}
	}
}

// BenchmarkTexts splits texts of 47 words, looks them up in a vocabulary of 30,000, and pads 64 of
// each, in steps on whole batches or on single examples.
func BenchmarkTexts(b *testing.B) {
	testruntime.Need(b)
	r := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 30000)
	for i := range vocabulary {
		vocabulary[i] = fmt.Sprint("w", i)
	}
	var records [][]byte
	for id := range int64(20000) {
		words := make([]string, 5+r.IntN(86))
		for i := range words {
			words[i] = vocabulary[r.IntN(len(vocabulary))]
		}
		records = append(records, textRecord(id, strings.Join(words, " ")))
	}
	for name, more := range map[string][]fixture.Object{"batches": nil, "examples": oneByOne("id")} {
		b.Run(name, func(b *testing.B) {
			f := textDataset(b)
			f.WriteRecords(b, "a.tfrecords", records...)
			step := func(kind string, args fixture.Object) fixture.Object {
				return fixture.Object{"type": kind, "tensor": "text", "args": args}
			}
			f.Args["processing_steps"] = append([]fixture.Object{
				step("lower", fixture.Object{}), step("split", fixture.Object{}),
				step("lookup", fixture.Object{"vocabulary": vocabulary}), step("slice", fixture.Object{"slice": ":64"}),
			}, more...)
			f.Args["target_batch_size"], f.Args["padding"], f.Args["num_parallel_parses"] = 128, true, 2
			l := openSequence(b, f)
			for b.Loop() {
				for _, err := range l.Batches(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(records)*b.N)/b.Elapsed().Seconds(), "examples/s")
		})
	}
}
