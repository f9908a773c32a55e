package loaders_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// variedSequences returns a dataset of three files of Examples with a sequence of
// pairs, a sequence of labels, a name and an id. Lengths are from 0 to 9.
func variedSequences(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Type = "chunked_sequence"
	f.Manifest["features"] = []fixture.Object{
		{"name": "pair", "dtype": "float32", "shape": []int{-1, 2}, "deserialize_type": "float"},
		{"name": "label", "dtype": "int64", "shape": []int{-1}, "deserialize_type": "int"},
		{"name": "name", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	}
	f.Args["primary_features"] = []fixture.Object{
		{"from_name": "label", "to_name": "label"}, {"from_name": "pair", "to_name": "pair"},
		{"from_name": "id", "to_name": "id"}, {"from_name": "pair", "to_name": "again"},
	}
	n := 0
	for file := range 3 {
		var records [][]byte
		for range 8 {
			var pair []float32
			var label []int64
			for k := range n * 7 % 10 {
				pair, label = append(pair, float32(n), -float32(k)), append(label, int64(100*n+k))
			}
			records = append(records, example.Marshal([]example.Named{
				{Name: "id", Feature: fixture.Ints(int64(n))}, {Name: "label", Feature: fixture.Ints(label...)},
				{Name: "name", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{fmt.Append(nil, "n", n)}}}, {Name: "pair", Feature: fixture.Floats(pair...)},
			}))
			n++
		}
		f.WriteRecords(t, fmt.Sprintf("%d.tfrecords", file), records...)
	}
	delete(f.Args, "target_batch_size")
	delete(f.Args, "drop_remainder")
	f.Args["batch_size"], f.Args["num_parallel_parses"], f.Args["epochs"], f.Args["seed"] = 24, 3, 2, 5
	for k, v := range args {
		f.Args[k] = v
	}
	f.Save(t)
	return f
}

// Where one operation reads, cuts and batches, it gives the batches of the general
// plan, and can be resumed from its states.
func TestChunksFromFilesAreTheGeneralOnes(t *testing.T) {
	testruntime.Need(t)
	for name, args := range map[string]fixture.Object{
		"chunks":  {"chunk_size": 4, "chunk_step": 3, "context_window": fixture.Object{"pair": []int{1, 2}}, "with_seq_tag": "name"},
		"padded":  {"chunk_size": 3, "tail": "drop", "padding": []fixture.Object{{"tensor": "pair", "shape": []int{5, 2}, "value": 7}}, "max_seqs": 4},
		"whole":   {"with_sizes": true, "with_epoch_end": true},
		"shuffle": {"chunk_size": 2, "shuffle_chunks": 9, "with_chunk_start": true},
	} {
		t.Run(name, func(t *testing.T) {
			d := variedSequences(t, args)
			var want, got []string
			for _, native := range []bool{false, true} {
				p, problems := loaders.Check(d.Config(), nil)
				if p == nil {
					t.Fatal(problems)
				}
				if !native {
					p.NativeLibrary = ""
				} else if !p.Engine().CutsFiles() {
					t.Skip("there is no library of operations")
				}
				l := openPlan(t, p)
				texts, states := firstTexts(t, l, 1<<30, &loaders.RunOptions{SaveEvery: 1})
				if !native {
					want = texts
					continue
				}
				got = texts
				i := len(texts) / 3
				rest, _ := firstTexts(t, l, 1<<30, &loaders.RunOptions{State: states[i]})
				if diff := cmp.Diff(want[i+1:], rest); diff != "" {
					t.Errorf("from the state of batch %d (-whole +rest)\n%s", i, diff)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
				t.Errorf("%d batches (-general +native)\n%s", len(want), diff)
			}
		})
	}
}

// A plan with a stage between reading and cutting needs tf.data's stages.
func TestWhichChunksComeFromFiles(t *testing.T) {
	primaries := func(from, to string, more fixture.Object) []fixture.Object {
		more["from_name"], more["to_name"] = from, to
		return []fixture.Object{more}
	}
	tests := map[string]struct {
		args fixture.Object
		want bool
	}{
		"chunks":         {fixture.Object{"chunk_size": 4, "shuffle_chunks": 5}, true},
		"chunks in eval": {fixture.Object{"mode": "eval", "chunk_size": 4, "seq_ordering": "random", "shuffle_seqs": 5}, true},
		"order":          {fixture.Object{"seq_ordering": "reverse"}, false},
		"parts":          {fixture.Object{"partition_epoch": 2}, false},
		"shuffle":        {fixture.Object{"shuffle_seqs": 5}, false},
		"place":          {fixture.Object{"with_seq_tag": true}, false},
		"index":          {fixture.Object{"with_seq_idx": true}, false},
		"tag":            {fixture.Object{"with_seq_tag": "name"}, true},
		"inner padding":  {fixture.Object{"padding": []fixture.Object{{"tensor": "pair", "shape": []int{-1, 3}}}}, false},
		"outer padding":  {fixture.Object{"padding": []fixture.Object{{"tensor": "pair", "shape": []int{12, 2}}}}, true},
		"constant": {fixture.Object{"secondary_features": []fixture.Object{
			{"to_name": "one", "type": "const", "args": fixture.Object{"value": 1, "dtype": "float32", "shape": []int{}}},
		}}, false},
		"step":   {fixture.Object{"processing_steps": []fixture.Object{{"tensor": "pair", "type": "slice", "args": fixture.Object{"slice": "1:"}}}}, false},
		"string": {fixture.Object{"primary_features": append(primaries("name", "name", fixture.Object{}), primaries("pair", "pair", fixture.Object{})...)}, true},
	}
	for name, tt := range tests {
		d := variedSequences(t, tt.args)
		p, problems := loaders.Check(d.Config(), nil)
		if p == nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		p.NativeLibrary = "there.so"
		if got := p.Engine().CutsFiles(); got != tt.want {
			t.Errorf("%s: reads and cuts in one operation: %v, want %v", name, got, tt.want)
		}
	}
}

// longSequences returns a dataset of one file of 20 sequences, about 10 MB: more
// than is read ahead.
func longSequences(t *testing.T) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Type = "chunked_sequence"
	f.Manifest["features"] = []fixture.Object{{"name": "x", "dtype": "float32", "shape": []int{-1}, "deserialize_type": "float"}}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "x", "to_name": "x"}}
	var records [][]byte
	for n := range 20 {
		x := make([]float32, 125_000)
		for i := range x {
			x[i] = float32(n)
		}
		records = append(records, example.Marshal([]example.Named{{Name: "x", Feature: fixture.Floats(x...)}}))
	}
	f.WriteRecords(t, "long.tfrecords", records...)
	delete(f.Args, "target_batch_size")
	delete(f.Args, "drop_remainder")
	f.Args["chunk_size"], f.Args["batch_size"], f.Args["num_prefetch"] = 25_000, 25_000, 1
	f.Save(t)
	return f
}

// A file that changes while it is read is an error that names the record. The batches
// of the records before it are delivered.
func TestChunksOfAFileThatChanges(t *testing.T) {
	testruntime.Need(t)
	for name, change := range map[string]func(path string, at int64) error{
		"shorter": os.Truncate,
		"other bytes": func(path string, at int64) error {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.WriteAt([]byte{0xff}, at)
			return errors.Join(err, file.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := longSequences(t)
			p, problems := loaders.Check(d.Config(), nil)
			if p == nil {
				t.Fatal(problems)
			}
			if !p.Engine().CutsFiles() {
				t.Skip("there is no library of operations")
			}
			path := d.Path("long.tfrecords")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			at := info.Size() / 20 * 18 // where record 18 begins: all have the same size
			batches := 0
			var last error
			for _, last = range openPlan(t, p).Batches(t.Context()) {
				if batches++; batches == 1 {
					if err := change(path, at+1000); err != nil {
						t.Fatal(err)
					}
				}
			}
			var e *millrace.Error
			if !errors.As(last, &e) || !errors.Is(last, millrace.ErrIO) || e.File != path || e.Record != 18 || e.Offset != at {
				t.Errorf("got %v, want record 18 at offset %d of %s", last, at, path)
			}
			if batches != 18*5 { // a row's batch is known to be full only when the record after the row is read
				t.Errorf("the error comes as batch %d, want it behind those of 18 records but for the last", batches)
			}
		})
	}
}
