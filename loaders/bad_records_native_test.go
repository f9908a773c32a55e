package loaders_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/quarantine"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// spoiled returns records, some of which have lost, gained or changed a few bytes.
func spoiled(seed uint64, n int, record func(r *rand.Rand, id int64) []byte) (records [][]byte) {
	r := rand.New(rand.NewPCG(seed, 2))
	for id := range int64(n) {
		data := record(r, id)
		for range r.IntN(3) {
			at := r.IntN(len(data))
			switch r.IntN(3) {
			case 0:
				data[at] ^= 1 << r.IntN(8)
			case 1:
				data[at] += byte(r.IntN(5)) - 2
			case 2:
				data = append(data, byte(r.IntN(64)), byte(r.Uint32()))
			}
		}
		records = append(records, data)
	}
	return records
}

// listsWith are the arguments that read lists of a form, none of them cast or cut.
func listsWith(form listForm, more fixture.Object) fixture.Object {
	args := fixture.Object{"primary_features": []fixture.Object{{"from_name": "id", "to_name": "id"}}, "padding": true}
	for _, f := range form.features {
		if isList(f) {
			args["primary_features"] = append(args["primary_features"].([]fixture.Object), fixture.Object{"from_name": f["name"], "to_name": f["name"]})
		}
	}
	maps.Copy(args, more)
	return args
}

// The native operation asks Go about some records only. It leaves out the same records,
// for the same reasons, as Go when Go checks all of them, and delivers the same
// batches.
func TestNativeReaderLeavesOutTheSame(t *testing.T) {
	testruntime.Need(t)
	const n = 600
	fixed := listForm{record: func(_ *rand.Rand, id int64) []byte { return fixture.Record(id % 100) }}
	block := fixture.Object{"shuffle": true, "shuffle_mode": "block", "num_shuffle_buffer_elements": 200, "seed": 5, "epochs": 2}
	exact := fixture.Object{"shuffle": true, "shuffle_mode": "exact", "seed": 5, "epochs": 2}
	buffered := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 70, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2, "seed": 5, "epochs": 2}
	short := []fixture.Object{{"tensor": "tokens", "shape": []int{4}}}
	someTooLong := maps.Clone(buffered)
	someTooLong["padding"] = short
	buckets := fixture.Object{"bucket_by_length": fixture.Object{"tensor": "tokens", "boundaries": []int{1, 4}}}
	for _, tt := range []struct {
		name string
		form listForm
		args fixture.Object
	}{
		{"in order", fixed, nil},
		{"a range", fixed, fixture.Object{"range": fixture.Object{"start": 3, "end": 555}, "epochs": 2, "drop_remainder": true}},
		{"exact", fixed, exact},
		{"block", fixed, block},
		{"a shard", fixed, fixture.Object{"shard": fixture.Object{"count": 3, "index": 1}, "epochs": 2}},
		{"padded", fixed, fixture.Object{"padding": []fixture.Object{{"tensor": "xs", "shape": []int{5}}}}},
		{"with a constant", fixed, fixture.Object{"secondary_features": []fixture.Object{
			{"to_name": "c", "type": "const", "args": fixture.Object{"shape": []int{2}, "dtype": "float32", "value": 0.5}}}}},
		{"feature lists", sequenceLists, listsWith(sequenceLists, nil)},
		{"feature lists, exact", sequenceLists, listsWith(sequenceLists, exact)},
		{"lists of Examples", variableLists, listsWith(variableLists, nil)},
		{"lists of Examples, block", variableLists, listsWith(variableLists, block)},
		{"shuffled in a buffer", fixed, buffered},
		{"lists of Examples, shuffled in a buffer", variableLists, listsWith(variableLists, buffered)},
		{"feature lists, shuffled in a buffer, some too long", sequenceLists, listsWith(sequenceLists, someTooLong)},
		{"finite", floats, finite(nil)},
		{"finite, exact", floats, finite(exact)},
		{"finite, shuffled in a buffer", floats, finite(buffered)},
		{"feature lists in buckets", sequenceLists, listsWith(sequenceLists, buckets)},
	} {
		compressions := []string{"", "gzip"}
		for _, key := range []string{"shuffle_mode", "range", "shard"} {
			if tt.args[key] != nil {
				compressions = compressions[:1]
			}
		}
		for _, compression := range compressions {
			t.Run(strings.TrimSpace(tt.name+" "+compression), func(t *testing.T) {
				d := fixture.New(t)
				if compression != "" {
					d.Manifest["compression"] = compression
				}
				if tt.form.features != nil {
					d.Manifest["allow_var_len"], d.Manifest["features"] = tt.form.sequence, uncast(tt.form.features)
				}
				records := spoiled(17, n, tt.form.record)
				d.WriteRecords(t, "a.tfrecords", records[:n/3]...)
				d.WriteRecords(t, "b.tfrecords", records[n/3:]...)
				d.Args["bad_records"], d.Args["target_batch_size"] = fixture.Object{"skip": n}, 50
				maps.Copy(d.Args, tt.args)
				leavesOutTheSame(t, d, n)
			})
		}
	}
}

// floats are features of every form whose values can be NaN or infinite, some of which are.
var floats = listForm{features: []fixture.Object{
	{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	{"name": "single", "dtype": "float32", "shape": []int{3}, "deserialize_type": "float"},
	{"name": "half", "dtype": "float16", "shape": []int{2}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "little"}},
	{"name": "double", "dtype": "float64", "shape": []int{2}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big"}},
	{"name": "complex", "dtype": "complex64", "shape": []int{1}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big"}},
}, record: func(r *rand.Rand, id int64) []byte {
	single := []float32{float32(id), 1.5, -2}
	raw := func(n int) example.Feature {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(0x60)) // so that no exponent has all bits set
		}
		if r.IntN(12) == 0 {
			copy(b, []byte{0x7f, 0xf8})       // the first number, if it is stored with its high byte first, is NaN
			copy(b[n-2:], []byte{0x80, 0xfc}) // and so is the last one of half precision with its low byte first
		}
		return example.Feature{Kind: example.Bytes, Bytes: [][]byte{b}}
	}
	if r.IntN(12) == 0 {
		single[r.IntN(3)] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[r.IntN(3)]
	}
	return example.Marshal([]example.Named{
		{Name: "id", Feature: fixture.Ints(id)}, {Name: "single", Feature: fixture.Floats(single...)},
		{Name: "half", Feature: raw(4)}, {Name: "double", Feature: raw(16)}, {Name: "complex", Feature: raw(8)},
	})
}}

// finite are the arguments that read these features and want finite values.
func finite(more fixture.Object) fixture.Object {
	args := fixture.Object{"check_finite": true}
	var primaries []fixture.Object
	for _, f := range floats.features {
		primaries = append(primaries, fixture.Object{"from_name": f["name"], "to_name": f["name"]})
	}
	args["primary_features"] = primaries
	maps.Copy(args, more)
	return args
}

// Without bad_records the first value that is not finite ends the run, with the same error
// from both engines.
func TestFirstInfiniteEndsTheRun(t *testing.T) {
	testruntime.Need(t)
	for _, order := range []fixture.Object{nil, {"shuffle": true, "shuffle_mode": "exact", "seed": 5}, shuffledArgs} {
		d := fixture.New(t)
		records := fixture.Records(0, 40)
		records[23] = example.Marshal([]example.Named{
			{Name: "id", Feature: fixture.Ints(23)}, {Name: "xs", Feature: fixture.Floats(1, float32(math.Inf(-1)))},
		})
		d.WriteRecords(t, "a.tfrecords", records[:10]...)
		d.WriteRecords(t, "b.tfrecords", records[10:]...)
		d.Args["check_finite"] = true
		maps.Copy(d.Args, order)
		for _, isNative := range []bool{true, false} {
			l := openBad(t, d, isNative, "")
			if l.Plan().Engine().ChecksNatively() != isNative {
				t.Errorf("%v: native %v: the native operation checks: %v", order, isNative, !isNative)
			}
			var err error
			for _, err = range l.Run(t.Context(), nil) {
				if err != nil {
					break
				}
			}
			const want = `b.tfrecords: record 13 (offset 663): feature "xs": value 1 is -Inf, which is not finite as float32 (check_finite)`
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, native %v: %v, want %s", order, isNative, err, want)
			}
		}
	}
}

// uncast returns features with the dtypes in which they are stored.
func uncast(features []fixture.Object) (list []fixture.Object) {
	stored := map[any]string{"int": "int64", "float": "float32"}
	for _, f := range features {
		f = maps.Clone(f)
		if dtype := stored[f["deserialize_type"]]; dtype != "" {
			f["dtype"] = dtype
		}
		list = append(list, f)
	}
	return list
}

// leavesOutTheSame compares the ledgers and batches of both engines.
func leavesOutTheSame(t *testing.T, d *fixture.Dataset, n int) {
	t.Helper()
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil || !plan.Engine().ChecksNatively() {
		t.Fatalf("the native operation does not leave out bad records: %v", problems)
	}
	var batches [2][]string
	var ledgers [2][]quarantine.Entry
	for i, isNative := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "ledger")
		batches[i], _ = firstTexts(t, openBad(t, d, isNative, path), n, nil)
		var err error
		if ledgers[i], err = quarantine.Read(path); err != nil {
			t.Fatal(err)
		}
		// Where files are read in turns, Go reads more records of one file before it
		// reads the next file.
		slices.SortFunc(ledgers[i], func(a, b quarantine.Entry) int {
			if order := strings.Compare(a.File, b.File); order != 0 {
				return order
			}
			return int(a.Ordinal - b.Ordinal)
		})
	}
	if bad := len(ledgers[0]); bad < n/20 || bad > n*9/10 {
		t.Errorf("%d of %d records are bad; the mutations test little", bad, n)
	}
	if diff := cmp.Diff(ledgers[1], ledgers[0]); diff != "" {
		t.Errorf("ledgers (-Go +native)\n%s", diff)
	}
	if diff := cmp.Diff(batches[1], batches[0]); diff != "" {
		t.Errorf("batches (-Go +native)\n%s", diff)
	}
}
