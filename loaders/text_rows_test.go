package loaders_test

import (
	"fmt"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"
)

// texts returns a dataset of records with a text each.
func texts(t *testing.T) *fixture.Dataset {
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
	}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}, {"from_name": "text", "to_name": "text"}}
	id := int64(0)
	for file, list := range map[string][]string{
		"a.tfrecords": {"The cat sat on the mat", "", "one", "  two   spaces ", "ünï\xffcode \xe2\x82", "a b c d e f g"},
		"b.tfrecords": {"", ""},
		"c.tfrecords": {"cat cat mat", "x,y,,z", "\x00 \x01"},
	} {
		var records [][]byte
		for _, text := range list {
			records = append(records, example.Marshal([]example.Named{
				{Name: "id", Feature: fixture.Ints(id)},
				{Name: "text", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(text)}}},
			}))
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
	for name, tt := range map[string]struct {
		steps []fixture.Object
		args  fixture.Object
	}{
		"words":    {[]fixture.Object{step("lower", fixture.Object{}), words, lookup, step("slice", fixture.Object{"slice": "[:4]"})}, padding(-1)},
		"fixed":    {[]fixture.Object{words, lookup, {"type": "rename", "tensor": "id", "to_name": "number", "args": fixture.Object{}}}, padding(9)},
		"commas":   {[]fixture.Object{step("split", fixture.Object{"sep": ","})}, with(padding(-1), fixture.Object{"drop_remainder": true})},
		"bytes":    {[]fixture.Object{step("split_bytes", fixture.Object{})}, with(padding(-1), fixture.Object{"shuffle": true, "shuffle_mode": "exact", "epochs": 2})},
		"points":   {[]fixture.Object{step("unicode_decode", fixture.Object{}), {"type": "clip", "tensor": "text", "args": fixture.Object{"min": 33, "max": 128}}}, padding(-1)},
		"pairs":    {[]fixture.Object{words, step("ngrams", fixture.Object{"width": 2}), step("hash", fixture.Object{"buckets": 100})}, padding(-1)},
		"measured": {[]fixture.Object{words}, with(padding(-1), fixture.Object{"secondary_features": []fixture.Object{{"to_name": "n", "type": "lengths", "args": fixture.Object{"tensor": "text"}}, {"to_name": "m", "type": "mask", "args": fixture.Object{"tensor": "text"}}}})},
		"alone":    {[]fixture.Object{words}, fixture.Object{"target_batch_size": 1}},
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
			}
			of := "id"
			if name == "fixed" {
				of = "number"
			}
			f.Args["processing_steps"] = append(tt.steps, fixture.Object{"type": "expand_dims", "tensor": of, "args": fixture.Object{"axis": 0}},
				fixture.Object{"type": "squeeze", "tensor": of, "args": fixture.Object{"axis": 0}})
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
