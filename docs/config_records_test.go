package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// writeRecords writes a data file: an Example for each row, or a
// SequenceExample if a feature says whether it is of variable length.
func writeRecords(t *testing.T, path string, features, rows []object) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tfrecord.NewWriter(f, tfrecord.None)
	for _, row := range rows {
		if err := w.Write(record(t, features, row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// record returns the bytes of a row.
func record(t *testing.T, features []object, row object) []byte {
	t.Helper()
	var context []example.Named
	var lists []example.NamedList
	sequence := false
	for _, f := range features {
		name, kind := f["name"].(string), f["deserialize_type"].(string)
		varLen, said := f["var_len"].(bool)
		sequence = sequence || said
		value, ok := row[name]
		switch {
		case !ok:
		case varLen:
			list := example.NamedList{Name: name}
			for _, e := range value.([]any) {
				list.Features = append(list.Features, feature(t, kind, e))
			}
			lists = append(lists, list)
		default:
			context = append(context, example.Named{Name: name, Feature: feature(t, kind, value)})
		}
	}
	if sequence {
		return example.MarshalSequence(context, lists)
	}
	return example.Marshal(context)
}

// feature returns the values of one feature, stored as the manifest says; a
// raw one is a list of bytes.
func feature(t *testing.T, kind string, value any) example.Feature {
	t.Helper()
	switch kind {
	case "float":
		out := example.Feature{Kind: example.Float}
		flatten(value, func(v any) {
			n, err := v.(json.Number).Float64()
			if err != nil {
				t.Fatal(err)
			}
			out.Floats = append(out.Floats, float32(n))
		})
		return out
	case "string":
		out := example.Feature{Kind: example.Bytes}
		flatten(value, func(v any) { out.Bytes = append(out.Bytes, []byte(v.(string))) })
		return out
	}
	out := example.Feature{Kind: example.Int64}
	flatten(value, func(v any) {
		n, err := v.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		out.Ints = append(out.Ints, n)
	})
	if kind == "raw" {
		raw := make([]byte, len(out.Ints))
		for i, n := range out.Ints {
			raw[i] = byte(n)
		}
		return example.Feature{Kind: example.Bytes, Bytes: [][]byte{raw}}
	}
	return out
}

// flatten visits the values of nested lists in order.
func flatten(v any, visit func(v any)) {
	list, ok := v.([]any)
	if !ok {
		visit(v)
		return
	}
	for _, e := range list {
		flatten(e, visit)
	}
}
