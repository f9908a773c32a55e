package plan_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/diag"
	"millrace/internal/test/fixture"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/loaders/stage/chunk"
	"millrace/loaders/stage/order"
	"millrace/loaders/stage/window"
	"millrace/tfrecord/example"
)

// feature is an entry of a manifest.
func feature(name, dtype, kind string, shape ...int) fixture.Object {
	return fixture.Object{"name": name, "dtype": dtype, "shape": append([]int{}, shape...), "deserialize_type": kind}
}

// listsOf returns a SequenceExample with a list of n numbers "v".
func listsOf(lengths ...int) (records [][]byte) {
	for _, n := range lengths {
		list := make([]example.Feature, n)
		for i := range list {
			list[i] = fixture.Ints(int64(i))
		}
		records = append(records, example.MarshalSequence(nil, []example.NamedList{{Name: "v", Features: list}}))
	}
	return records
}

// newDataset returns a dataset whose loader, of a type, reads all features of
// the manifest under their names.
func newDataset(t *testing.T, kind string, sequences bool, features []fixture.Object, args fixture.Object) *fixture.Dataset {
	d := fixture.New(t)
	d.Type, d.Manifest["allow_var_len"], d.Manifest["features"] = kind, sequences, features
	var primaries []fixture.Object
	for _, f := range features {
		if sequences {
			f["var_len"] = f["name"] == "v"
		}
		primaries = append(primaries, fixture.Object{"from_name": f["name"], "to_name": f["name"]})
	}
	d.Args["primary_features"], d.Args["seed"] = primaries, 1
	maps.Copy(d.Args, args)
	for key, value := range d.Args {
		if value == nil && key != "epochs" {
			delete(d.Args, key)
		}
	}
	return d
}

// dataset is a dataset for which a plan is made.
type dataset struct {
	name string
	*fixture.Dataset
}

// datasets have properties that no case of the format has: buckets, features of any
// number of values, large tensors, too few files or records.
func datasets(t *testing.T) (all []dataset) {
	add := func(name string, d *fixture.Dataset, records ...[]byte) *fixture.Dataset {
		d.WriteRecords(t, "a.tfrecords", records...)
		all = append(all, dataset{name, d})
		return d
	}
	lists := []fixture.Object{feature("v", "int64", "int")}
	buckets := func(extra fixture.Object, bounds ...int) fixture.Object {
		bucket := fixture.Object{"tensor": "v", "axis": 0, "boundaries": bounds}
		maps.Copy(bucket, extra)
		return fixture.Object{"padding": true, "bucket_by_length": bucket}
	}
	add("buckets", newDataset(t, "independent", true, lists, buckets(nil, 2, 4)), listsOf(1, 3, 5)...)
	add("ten buckets", newDataset(t, "independent", true, lists, buckets(nil, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)), listsOf(1)...)
	many := buckets(nil, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	many["drop_remainder"] = true
	add("eleven buckets", newDataset(t, "independent", true, lists, many), listsOf(1)...)
	elements := buckets(nil, 2, 4)
	elements["batch_by_elements"], elements["epochs"] = 8, nil
	add("buckets of elements", newDataset(t, "independent", true, lists, elements), listsOf(1, 2)...)

	single := buckets(nil, 2, 4)
	single["batch_by_elements"] = 1
	add("buckets of one element", newDataset(t, "independent", true, lists, single), listsOf(1, 1)...)

	variable := []fixture.Object{feature("w", "float32", "float", -1, 2), feature("k", "int64", "int")}
	values := func(n int) []byte {
		return example.Marshal([]example.Named{{Name: "w", Feature: fixture.Floats(make([]float32, n)...)}, {Name: "k", Feature: fixture.Ints(1)}})
	}
	add("features of any number of values", newDataset(t, "independent", false, variable, fixture.Object{"padding": true}), values(4), values(0))
	add("counted features", newDataset(t, "independent", false, variable, fixture.Object{
		"padding": []fixture.Object{{"tensor": "w", "shape": []int{5, 4}}}, "secondary_features": []fixture.Object{
			{"to_name": "elements of w", "type": "lengths", "args": fixture.Object{"tensor": "w"}},
		}}), values(4))

	length := func(tensor, kind string, axis int) fixture.Object {
		return fixture.Object{"padding": true, "secondary_features": []fixture.Object{{"to_name": "n", "type": kind, "args": fixture.Object{"tensor": tensor, "axis": axis}}}}
	}
	pair := []fixture.Object{feature("w", "float32", "float", -1, 2), feature("u", "int64", "int", 1)}
	both := example.Marshal([]example.Named{{Name: "w", Feature: fixture.Floats(1, 2)}, {Name: "u", Feature: fixture.Ints(1)}})
	add("the length of a list", newDataset(t, "independent", false, pair, length("w", "lengths", 0)), both)
	add("the mask of what is within a list", newDataset(t, "independent", false, pair, length("w", "mask", 1)), both)
	add("the length of what is no list", newDataset(t, "independent", false, pair, length("u", "lengths", 0)), both)

	wide := []fixture.Object{feature("k", "float32", "float", 1000)}
	record := example.Marshal([]example.Named{{Name: "k", Feature: fixture.Floats(make([]float32, 1000)...)}})
	add("tensors of which 131 are half a MiB", newDataset(t, "independent", false, wide, fixture.Object{"target_batch_size": 40}), record, record)
	small := []fixture.Object{feature("k", "int8", "int")}
	add("tensors of a byte", newDataset(t, "independent", false, small, fixture.Object{"target_batch_size": 200_000}), values(0))
	add("static padding", newDataset(t, "independent", false, wide, fixture.Object{"padding": []fixture.Object{{"tensor": "k", "shape": []int{1500}}}}), record)
	add("padding of nothing", newDataset(t, "independent", false, wide, fixture.Object{
		"padding": true, "processing_steps": []fixture.Object{{"tensor": "k", "type": "slice", "args": fixture.Object{"slice": "[1:1]"}}},
	}), record)

	chunk := func(size, step int, more fixture.Object) fixture.Object {
		args := fixture.Object{"target_batch_size": nil, "drop_remainder": nil, "batch_size": 2 * size, "chunk_size": size, "chunk_step": step}
		maps.Copy(args, more)
		return args
	}
	add("chunks of records of one length", newDataset(t, "chunked_sequence", false, wide, chunk(300, 200, fixture.Object{"epochs": 2})), record, record, record)
	add("chunks of which none is whole", newDataset(t, "chunked_sequence", true, lists, chunk(6, 6, fixture.Object{"tail": "drop", "epochs": 2})), listsOf(3, 5, 0)...)
	add("chunks of no frames", newDataset(t, "chunked_sequence", true, lists, chunk(6, 6, fixture.Object{"epochs": nil})), listsOf(0, 0)...)
	add("records too short for a chunk", newDataset(t, "chunked_sequence", false, wide, chunk(1001, 1001, fixture.Object{"tail": "drop", "epochs": 2})), record)
	add("no sequences", newDataset(t, "chunked_sequence", true, lists, chunk(6, 6, fixture.Object{"epochs": nil})))
	add("a part of the sequences", newDataset(t, "chunked_sequence", false, wide, chunk(1000, 1000, fixture.Object{"partition_epoch": 2, "epochs": 3})), record, record, record)

	windows := fixture.Object{"min_window": 3, "max_window": 3}
	add("windows of text", newDataset(t, "continuous_sequence", false, []fixture.Object{feature("k", "string", "string", 4)}, windows),
		example.Marshal([]example.Named{{Name: "k", Feature: example.Feature{Kind: example.Bytes, Bytes: make([][]byte, 4)}}}))
	raw := feature("k", "int16", "raw", 4)
	raw["deserialize_args"] = fixture.Object{"endian": "little"}
	add("windows of several sizes of raw features", newDataset(t, "continuous_sequence", false, []fixture.Object{raw}, fixture.Object{"min_window": 2, "max_window": 3, "padding": true}),
		example.Marshal([]example.Named{{Name: "k", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{make([]byte, 8)}}}}))
	add("files too short", newDataset(t, "continuous_sequence", true, lists, fixture.Object{"min_window": 9, "max_window": 9, "epochs": 2}), listsOf(4, 4)...).
		WriteRecords(t, "b.tfrecords", listsOf(8)...)
	add("a file without records", newDataset(t, "discrete_sequence", true, lists, fixture.Object{"min_window": 1, "max_window": 1, "padding": true, "epochs": nil}))
	return all
}

// listed replaces a dataset's folder by a list of paths.
func listed(t *testing.T, d *fixture.Dataset, paths ...string) {
	t.Helper()
	list := d.Dir + "/files.txt"
	if err := os.WriteFile(list, []byte(strings.Join(paths, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	d.Args["dataset"] = fixture.Object{"type": "list", "args": fixture.Object{"manifest_file": d.Path("__manifest__.json"), "list_file": list}}
}

// checked saves a dataset and plans its loader.
func checked(t *testing.T, d *fixture.Dataset, library string) *plan.Plan {
	t.Helper()
	d.Save(t)
	seed := int64(1)
	s, problems := spec.Check(d.Config(), &spec.Options{Seed: &seed})
	if s == nil {
		t.Fatal(problems)
	}
	return plan.New(s, &plan.Options{NativeLibrary: library})
}

// TestPlansOfDatasets is TestPlansOfCases for these datasets.
func TestPlansOfDatasets(t *testing.T) {
	var got strings.Builder
	for _, d := range datasets(t) {
		t.Run(d.name, func(t *testing.T) { got.WriteString(planText(t, d)) })
	}
	golden(t, "datasets.txt", got.String())
}

func planText(t *testing.T, d dataset) string {
	p := checked(t, d.Dataset, "")
	text := fmt.Sprintf("=== %s\n%s", d.name, decisions(t, p))
	native := checked(t, d.Dataset, "library")
	for line := range strings.Lines(rewrites(native) + decisions(t, native)) {
		if !strings.Contains(text, line) {
			text += "natively" + line
		}
	}
	digestOf(t, p)
	relative(p, d.Dir)
	return strings.ReplaceAll(text+p.Explain(), d.Dir, "${DIR}") + "\n"
}

// Only our own operations read remote files, and nothing is known of their contents
// beforehand.
func TestPlanOfRemoteFiles(t *testing.T) {
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 5)...)
	listed(t, d, d.Path("a.tfrecords"), "gs://bucket/b.tfrecords")
	p := checked(t, d, "")
	_, err := p.Scan(t.Context())
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class != millrace.ErrRuntime || e.File != "gs://bucket/b.tfrecords" || e.Loader != d.Config() {
		t.Errorf("without our own operations: %v", err)
	}
	p = checked(t, d, "library")
	scan, err := p.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, known := scan.Records(); n != 0 || known {
		t.Errorf("%d records, %v", n, known)
	}
	if rows, known := p.Rows(scan); rows != 0 || known || scan.Count(0) != 5 || scan.Count(1) != -1 || order.Place(p.Spec, scan, 0, 1) != "" {
		t.Errorf("%d rows, %v; %d and %d records, %q", rows, known, scan.Count(0), scan.Count(1), order.Place(p.Spec, scan, 0, 1))
	}
	if text := p.Explain(); !strings.Contains(strings.Join(strings.Fields(text), " "), "gs://bucket/b.tfrecords remote") || !strings.Contains(text, "2 files") {
		t.Errorf("got\n%s", text)
	}
	if err := errors.Join(scan.Changed(), check.FindBadRecord(t.Context(), p.Spec)); err != nil {
		t.Error(err)
	}
	w := newDataset(t, "continuous_sequence", false, []fixture.Object{feature("k", "float32", "float", 4)}, fixture.Object{"min_window": 3, "max_window": 3, "epochs": 2})
	listed(t, w, "gs://bucket/a.tfrecords")
	p = checked(t, w, "library")
	if scan, err = p.Scan(t.Context()); err != nil || p.Engine().GroupSize(scan) != 8 || window.CheckFileLengths(t.Context(), p.Spec, scan) != nil {
		t.Errorf("windows: %v, %d records at once", err, p.Engine().GroupSize(scan))
	}
	if short, err := window.ShortFiles(t.Context(), p.Spec, scan); len(short) > 0 || err != nil {
		t.Errorf("too short: %v, %v", short, err)
	}
	if native := p.Engine().Native(); native.Applied || !strings.Contains(native.Why, "remote") {
		t.Errorf("windows of remote files: %+v", native)
	}
}

// A bad record is found again by its place, with the error text of the manifest's
// rules, and no other record is.
func TestReread(t *testing.T) {
	for _, compression := range []any{nil, "gzip"} {
		d := fixture.New(t)
		d.Manifest["compression"] = compression
		bad := example.Marshal([]example.Named{{Name: "id", Feature: fixture.Ints(1, 2)}, {Name: "xs", Feature: fixture.Floats(1, 2)}})
		d.WriteRecords(t, "a.tfrecords", fixture.Record(0), bad, fixture.Record(2), nil)
		d.WriteRecords(t, "b.tfrecords", bad)
		p := checked(t, d, "")
		for _, tt := range []struct {
			file   string
			record int64
			words  string // "": nothing is found
		}{
			{"a.tfrecords", 0, ""}, {"a.tfrecords", 1, `a.tfrecords: record 1 (offset `}, {"a.tfrecords", 2, ""},
			{"a.tfrecords", 3, "an empty record (0 bytes)"}, {"a.tfrecords", 9, ""}, {"a.tfrecords", -1, ""},
			{"b.tfrecords", 0, `b.tfrecords: record 0 (offset 0): feature "id": 2 values are stored`}, {"c.tfrecords", 0, ""},
		} {
			err := check.Reread(t.Context(), p.Spec, &millrace.Error{File: d.Path(tt.file), Record: tt.record})
			var e *millrace.Error
			if tt.words == "" && err != nil || tt.words != "" && (!errors.As(err, &e) || e.Loader != d.Config() || !strings.Contains(err.Error(), tt.words)) {
				t.Errorf("%v %s, record %d: %v, want %q", compression, tt.file, tt.record, err, tt.words)
			}
		}
		if err := check.FindBadRecord(t.Context(), p.Spec); err == nil || !strings.Contains(err.Error(), "a.tfrecords: record 1 ") {
			t.Errorf("the first bad record: %v", err)
		}
		p.CheckRecords = true
		if scan, err := p.Scan(t.Context()); scan != nil || err == nil || !strings.Contains(err.Error(), "a.tfrecords: record 1 ") {
			t.Errorf("a scan of all records: %v, %v", scan, err)
		}
		ended, stop := context.WithCancel(t.Context())
		stop()
		_, scanned := p.Scan(ended)
		for _, err := range []error{check.FindBadRecord(ended, p.Spec), check.Reread(ended, p.Spec, &millrace.Error{File: d.Path("a.tfrecords"), Record: 3}), scanned} {
			if !errors.Is(err, millrace.ErrCanceled) {
				t.Errorf("after the context ended: %v", err)
			}
		}
	}
}

// Measuring the time of stages takes one epoch, and leaves the plan as it is.
func TestMeasureTime(t *testing.T) {
	d := fixture.New(t)
	d.Args["epochs"] = 3
	d.WriteRecords(t, "a.tfrecords", fixture.Record(0))
	p := checked(t, d, "")
	if q := p.MeasureTime(); !q.TimeStages || q.Epochs != 1 || p.TimeStages || p.Epochs != 3 {
		t.Errorf("measured %+v, planned %+v", q, p)
	}
}

// The error for a record of the other form, or of another list, says what to change in
// the manifest.
func TestHintsOfForms(t *testing.T) {
	single := example.Marshal([]example.Named{{Name: "v", Feature: fixture.Ints(1)}})
	other := example.Marshal([]example.Named{{Name: "u", Feature: fixture.Ints(1)}})
	list := listsOf(2)[0]
	both := example.MarshalSequence([]example.Named{{Name: "v", Feature: fixture.Ints(1)}}, []example.NamedList{{Name: "u"}})
	otherList := example.MarshalSequence(nil, []example.NamedList{{Name: "u"}})
	for _, tt := range []struct {
		name      string
		sequences bool
		varLen    bool
		record    []byte
		words     string
		hint      string
	}{
		{"a list for a feature", false, false, list, "the record has no such feature", "; it looks like a SequenceExample: set allow_var_len in the manifest"},
		{"another feature", false, false, other, "the record has no such feature", ""},
		{"another list for a feature", false, false, otherList, "the record has no such feature", "; it looks like a SequenceExample: set allow_var_len in the manifest"},
		{"a feature for a list", true, true, single, "the record has no such feature list", "; it looks like an Example: set allow_var_len to false in the manifest"},
		{"another feature for a list", true, true, other, "the record has no such feature list", "; it looks like an Example, which has no feature lists"},
		{"a feature of the context for a list", true, true, both, "the record has no such feature list", "; the context has a feature of this name: set var_len to false in the manifest"},
		{"another list", true, true, otherList, "the record has no such feature list", ""},
		{"a list for a feature of the context", true, false, list, "the record has no such feature", "; there is a feature list of this name: set var_len in the manifest"},
		{"neither", true, false, otherList, "the record has no such feature", ""},
		{"a feature where it should be", true, false, single, "", ""},
		{"a list where it should be", true, true, list, "", ""},
	} {
		f := feature("v", "int64", "int")
		d := newDataset(t, "independent", tt.sequences, []fixture.Object{f}, fixture.Object{"padding": true})
		if tt.sequences {
			f["var_len"] = tt.varLen
		}
		d.WriteRecords(t, "a.tfrecords", tt.record)
		err := check.FindBadRecord(t.Context(), checked(t, d, "").Spec)
		var e *millrace.Error
		if tt.words == "" && err != nil || tt.words != "" && (!errors.As(err, &e) || e.Msg != tt.words+tt.hint || e.Feature != "v") {
			t.Errorf("%s: got %v, want %s%s", tt.name, err, tt.words, tt.hint)
		}
	}
}

// Records are checked through steps and lists for whatever a stage would refuse.
func TestRecordsThatStagesRefuse(t *testing.T) {
	optional := feature("o", "int64", "int", -1)
	optional["default"] = []int{}
	pairs := func(n int) []byte {
		list := make([]example.Feature, n)
		for i := range list {
			list[i] = fixture.Ints(1, 2)
		}
		return example.MarshalSequence(nil, []example.NamedList{{Name: "v", Features: list}})
	}
	pad := func(tensor string, shape ...int) fixture.Object {
		return fixture.Object{"padding": []fixture.Object{{"tensor": tensor, "shape": shape}}}
	}
	trimmed := pad("v", 2, 2)
	trimmed["processing_steps"] = []fixture.Object{{"tensor": "v", "type": "slice", "args": fixture.Object{"slice": "[1:]"}}}
	for _, tt := range []struct {
		name      string
		sequences bool
		feature   fixture.Object
		args      fixture.Object
		record    []byte
		words     string // words of the error; "": no error
	}{
		{"rows that fit behind a step", true, feature("v", "int64", "int", 2), trimmed, pairs(3), ""},
		{"a row too many", true, feature("v", "int64", "int", 2), trimmed, pairs(4), `tensor "v": shape [3 2] is larger than its padding [2 2] in dimension 0`},
		{"no rows", true, feature("v", "int64", "int", 2), trimmed, pairs(0), ""},
		{"an optional feature that is absent", false, optional, pad("o", 3), example.Marshal(nil), ""},
		{"an optional feature that is too long", false, optional, pad("o", 3), example.Marshal([]example.Named{{Name: "o", Feature: fixture.Ints(1, 2, 3, 4)}}), `shape [4] is larger`},
		{"no SequenceExample", true, feature("v", "int64", "int", 2), fixture.Object{"padding": true}, []byte("\xff"), "a varint is cut off"},
		{"no Example", false, optional, fixture.Object{"padding": true}, []byte("\xff"), "not an Example"},
	} {
		d := newDataset(t, "independent", tt.sequences, []fixture.Object{tt.feature}, tt.args)
		d.WriteRecords(t, "a.tfrecords", tt.record)
		err := check.FindBadRecord(t.Context(), checked(t, d, "").Spec)
		if tt.words == "" && err != nil || tt.words != "" && (err == nil || !strings.Contains(err.Error(), tt.words) || !strings.Contains(err.Error(), "a.tfrecords: record 0")) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.words)
		}
	}
}

// The search for windows and rows ends with the context and at a damaged record, and
// warns of files that are too short.
func TestLengthsOfFiles(t *testing.T) {
	lists := []fixture.Object{feature("v", "int64", "int")}
	d := newDataset(t, "continuous_sequence", true, lists, fixture.Object{"min_window": 5, "max_window": 5})
	d.WriteRecords(t, "a.tfrecords", listsOf(3, 1)...)
	d.WriteRecords(t, "b.tfrecords", append(listsOf(2, 3), []byte("\xff"))...) // long enough before the damage
	p := checked(t, d, "")
	scan, err := p.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	short, err := window.ShortFiles(t.Context(), p.Spec, scan)
	if err != nil || len(short) != 1 || short[0].Severity != diag.Warning || short[0].File != d.Path("a.tfrecords") || short[0].Msg != "4 positions, shorter than min_window (5): it gives no window" {
		t.Errorf("%v, %v", short, err)
	}
	if err := window.CheckFileLengths(t.Context(), p.Spec, scan); err != nil {
		t.Error(err)
	}
	d.WriteRecords(t, "b.tfrecords", append(listsOf(2), []byte("\xff"))...)
	_, shorts := window.ShortFiles(t.Context(), p.Spec, scan)
	for _, err := range []error{shorts, window.CheckFileLengths(t.Context(), p.Spec, scan)} {
		var e *millrace.Error
		if !errors.As(err, &e) || e.Loader != d.Config() || e.File != d.Path("b.tfrecords") || e.Record != 1 {
			t.Errorf("a damaged record: %v", err)
		}
	}
	c := newDataset(t, "chunked_sequence", true, lists, fixture.Object{"target_batch_size": nil, "drop_remainder": nil, "batch_size": 8, "chunk_size": 4, "tail": "drop"})
	c.WriteRecords(t, "a.tfrecords", listsOf(3, 4)...)
	p = checked(t, c, "")
	if scan, err = p.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := chunk.CheckRows(t.Context(), p.Spec, scan); err != nil {
		t.Errorf("the second sequence gives a row: %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := chunk.CheckRows(ended, p.Spec, scan); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("after the context ended: %v", err)
	}
}

// A search for the first window takes one pass in order over all files, and leaves the
// plan unchanged.
func TestFirstWindow(t *testing.T) {
	shuffle := &spec.Shuffle{Elements: 2}
	for tail, want := range map[string]string{spec.TailDrop: spec.TailKeep, spec.TailKeep: spec.TailKeep, spec.TailPad: spec.TailPad} {
		p := plan.New(&spec.Spec{Window: &spec.Window{Tail: tail}, Shuffle: shuffle}, nil)
		if q := p.FirstWindow(); q.Window.Tail != want || q.Shuffle != nil || p.Window.Tail != tail || p.Shuffle != shuffle {
			t.Errorf("tail %s: %+v, planned %+v", tail, q.Spec, p.Spec)
		}
	}
}

// Records of requests are batched once, in the order in which they come.
func TestPlanOfRequests(t *testing.T) {
	p := plan.New(&spec.Spec{Files: []spec.DataFile{{Path: "/a"}}, Shuffle: &spec.Shuffle{}, Bucket: &spec.Bucket{}, DropRemainder: true, Epochs: 3}, nil)
	q := p.OfRequests()
	if q.Files != nil || q.Shuffle != nil || q.Bucket != nil || q.DropRemainder || q.Epochs != 1 {
		t.Errorf("got %+v", q.Spec)
	}
	if len(p.Files) != 1 || p.Shuffle == nil || p.Bucket == nil || !p.DropRemainder || p.Epochs != 3 {
		t.Errorf("the plan itself has become %+v", p.Spec)
	}
}
