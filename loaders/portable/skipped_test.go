package portable_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfrecord/example"
	"millrace/tfrecord/index"
)

// badLists returns a dataset of three files of SequenceExamples with the numbers 0 to 59 and a
// list of up to six numbers. Every seventh record is bad, each in another way. With lost the
// end of the second file is, too, so that it is counted as shorter; that file has an index
// otherwise, by which a damaged header is passed over.
func badLists(t *testing.T, kind string, lost bool, args fixture.Object) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.Type, d.Manifest["allow_var_len"] = kind, true
	d.Manifest["features"] = []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": false},
		{"name": "pos", "dtype": "float32", "shape": []int{}, "deserialize_type": "float", "var_len": true},
	}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "id", "to_name": "id"}, {"from_name": "pos", "to_name": "pos"}}
	maps.Copy(d.Args, fixture.Object{"seed": 3, "bad_records": fixture.Object{"skip": 30}, "padding": true, "target_batch_size": 4})
	if maps.Copy(d.Args, args); kind == "chunked_sequence" {
		delete(d.Args, "target_batch_size")
		delete(d.Args, "drop_remainder")
	}
	if kind != "independent" {
		d.Args["primary_features"] = []fixture.Object{{"from_name": "pos", "to_name": "pos"}}
	}
	d.Manifest["compression"] = d.Args["compression"]
	delete(d.Args, "compression")
	id := int64(0)
	for f := range 3 {
		var file bytes.Buffer
		for range 20 {
			file.Write(badList(id))
			id++
		}
		content := file.Bytes()
		if lost && f == 1 {
			content = content[:len(content)-9]
		}
		if d.Manifest["compression"] == "gzip" {
			content = corrupt.Gzip(content)
		}
		d.Write(t, fmt.Sprint(f, ".tfrecords"), content)
	}
	if until := d.Args["until"]; until != nil { // the second dataset is a copy
		second := fixture.New(t)
		second.Manifest = d.Manifest
		for f := range 3 {
			content, err := os.ReadFile(d.Path(fmt.Sprint(f, ".tfrecords")))
			if err != nil {
				t.Fatal(err)
			}
			second.Write(t, fmt.Sprint(f, ".tfrecords"), content)
		}
		second.Save(t)
		d.Args["mixture"] = []fixture.Object{{"dataset": d.Args["dataset"], "weight": 1}, {"dataset": second.Args["dataset"], "weight": 3}}
		delete(d.Args, "dataset")
	}
	d.Save(t)
	return d
}

// badList returns a record of badLists in its frame.
func badList(id int64) []byte {
	pos := example.NamedList{Name: "pos"}
	for i := range id * 5 % 7 {
		pos.Features = append(pos.Features, fixture.Floats(float32(id)+float32(i)/8))
	}
	context := []example.Named{{Name: "id", Feature: fixture.Ints(id)}}
	record := corrupt.Frame(example.MarshalSequence(context, []example.NamedList{pos}))
	switch id {
	case 7, 21: // the checksum of the data is wrong
		return corrupt.Flip(record, 8*14)
	case 14: // a list is not there
		return corrupt.Frame(example.MarshalSequence(context, nil))
	case 28:
		return corrupt.Frame([]byte("\xff\xfe\x00garbage"))
	case 35: // two values in one element
		pos.Features = []example.Feature{fixture.Floats(1, 2)}
		return corrupt.Frame(example.MarshalSequence(context, []example.NamedList{pos}))
	case 42, 43, 59: // a duplicate feature, which decoders accept and the config refuses
		return corrupt.Frame(example.MarshalSequence(append(context, context[0]), []example.NamedList{pos}))
	}
	return record
}

// skippingPlans returns plans of badLists of every kind. lost says whether the data of a plan
// with a name lack an end.
func skippingPlans(t *testing.T, lost func(name string) bool) map[string]*loaders.Plan {
	t.Helper()
	all := orders()
	duplicates := fixture.Object{"duplicate_features": "error"}
	with := func(args ...fixture.Object) fixture.Object {
		merged := fixture.Object{"epochs": 3}
		for _, a := range args {
			maps.Copy(merged, a)
		}
		return merged
	}
	whole, chunks := "independent", "chunked_sequence"
	gzip := fixture.Object{"compression": "gzip"}
	buckets := fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "boundaries": []int{1, 4}}}
	cut := fixture.Object{"batch_size": 12, "chunk_size": 3, "chunk_step": 2}
	windows := fixture.Object{"min_window": 3, "max_window": 3}
	plans := map[string]*loaders.Plan{}
	for name, tt := range map[string]struct {
		kind string
		args fixture.Object
	}{
		"files":      {whole, with()},
		"duplicates": {whole, with(duplicates)},
		"gzip":       {whole, with(gzip, duplicates)},
		"exact":      {whole, with(all["exact"])},
		"dropped":    {whole, with(all["dropped"], duplicates)},
		"block":      {whole, with(all["block"], duplicates)},
		"buffer":     {whole, with(all["buffer"], duplicates)},
		"shard":      {whole, with(all["shard"])},
		"range":      {whole, with(all["range"], duplicates)},
		"endless":    {whole, with(all["endless"])},
		"buckets":    {whole, with(buckets, all["exact"])},
		"windows":    {"continuous_sequence", with(windows, fixture.Object{"tail": "pad"})},
		"shuffled":   {"continuous_sequence", with(windows, fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 9, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2})},
		"chunks":     {chunks, with(cut, duplicates)},
		"parts":      {chunks, with(cut, fixture.Object{"partition_epoch": 2})},
		"gzip parts": {chunks, with(cut, gzip, fixture.Object{"partition_epoch": 2})},
		"mixture":    {whole, with(all["exact"], duplicates, fixture.Object{"until": "first"})},
		"mixed":      {chunks, with(cut, fixture.Object{"until": "all", "seq_ordering": "random"})},
		"laplace":    {chunks, with(cut, fixture.Object{"until": "first", "seq_ordering": "laplace:.7", "shard": fixture.Object{"index": 1, "count": 2}})},
		"sorted":     {chunks, with(cut, fixture.Object{"seq_ordering": "sorted", "partition_epoch": 2})},
		"random":     {chunks, with(cut, fixture.Object{"seq_ordering": "random", "shuffle_chunks": 5})},
	} {
		d := badLists(t, tt.kind, lost(name), tt.args)
		p, problems := loaders.Check(d.Config(), nil)
		if p == nil {
			t.Fatal(name, problems)
		}
		plans[name] = p
	}
	return plans
}

// A graph skips the records that its loader skips, in every order, with no more than their list.
func TestSkippedRecords(t *testing.T) {
	testruntime.Need(t)
	plans := skippingPlans(t, func(name string) bool { return *everyCase || len(name)%2 == 0 })
	if n := compareGraphs(t, plans); n != len(plans) {
		t.Errorf("%d of %d graphs were written", n, len(plans))
	}
}

// A record with a damaged header is skipped where an index says how long it is.
func TestSkippedHeader(t *testing.T) {
	testruntime.Need(t)
	plans := map[string]*loaders.Plan{}
	for _, name := range []string{"files", "exact"} {
		args := maps.Clone(orders()["exact"])
		if name == "files" {
			args = fixture.Object{"epochs": 2}
		}
		d := badLists(t, "independent", false, args)
		path := filepath.Join(d.Data(), "1.tfrecords")
		if _, err := index.Scan(t.Context(), []string{path}, &index.Options{Write: true, AllFaults: true}); err != nil {
			t.Log(err) // the bad records
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		d.Write(t, "1.tfrecords", corrupt.Flip(slices.Clone(content), 8*9))
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		p, problems := loaders.Check(d.Config(), nil)
		if p == nil {
			t.Fatal(problems)
		}
		plans[name] = p
	}
	if n := compareGraphs(t, plans); n != len(plans) {
		t.Errorf("%d of %d graphs were written", n, len(plans))
	}
}
