package loaders_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/writer"
)

// written is a record with every kind of field.
type written struct {
	ID     int64         `example:"id"`
	Label  uint8         `example:"label"`
	Matrix [2][3]float32 `example:"matrix"`
	Name   string        `example:"name"`
	Bits   [2]int16      `example:"bits,raw"`
	Tags   []string      `example:"tags"`
	Ok     bool          `example:"ok"`
}

const writtenConfig = `{"type": "independent", "args": {"dataset": {"type": "dir", "args": {"data_dir": "data"}}, "target_batch_size": 4, "epochs": 1,
	"drop_remainder": false, "shuffle": false, "num_parallel_reads": 1, "num_parallel_parses": 1, "num_read_buffer_bytes": 0, "num_prefetch": 0,
	"padding": true, "primary_features": [%s]}}`

// TestWrittenStructs reads what a StructWriter wrote, with our own operation and with
// TensorFlow's parser.
func TestWrittenStructs(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	w, err := writer.Structs[written](filepath.Join(dir, "data"), &writer.Options{ShardRecords: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var want []string
	for i := range 4 {
		v := written{ID: int64(i) - 2, Label: uint8(250 + i), Name: fmt.Sprint("n", i), Bits: [2]int16{int16(-i), 300}, Tags: []string{"a", "b", "c"}[:i%3+1], Ok: i%2 == 0}
		v.Matrix[1][2] = float32(i) / 4
		if err := w.Write(&v); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(v))
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	var features string
	for i, name := range []string{"id", "label", "matrix", "name", "bits", "tags", "ok"} {
		if i > 0 {
			features += ", "
		}
		features += fmt.Sprintf(`{"from_name": %q, "to_name": %[1]q}`, name)
	}
	config := filepath.Join(dir, "loader.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, writtenConfig, features), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, native := range []bool{true, false} {
		plan, err := loaders.Check(config, nil)
		if plan == nil {
			t.Fatal(err)
		}
		if native && plan.NativeLibrary == "" {
			continue
		}
		if !native {
			plan.NativeLibrary = ""
		}
		var got []string
		for b, err := range openPlan(t, plan).Run(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, writtenRows(t, b)...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("native %v: (-want +got)\n%s", native, diff)
		}
	}
}

// writtenRows returns the rows of a batch as they were written.
func writtenRows(t *testing.T, b *loaders.Batch) (rows []string) {
	t.Helper()
	ids := b.Tensor("id").Value().([]int64)
	labels := b.Tensor("label").Value().([]uint8)
	matrices := b.Tensor("matrix").Value().([][][]float32)
	names := b.Tensor("name").Value().([]string)
	bits := b.Tensor("bits").Value().([][]int16)
	tags := b.Tensor("tags").Value().([][]string)
	oks := b.Tensor("ok").Value().([]bool)
	for i := range ids {
		v := written{ID: ids[i], Label: labels[i], Name: names[i], Bits: [2]int16(bits[i]), Ok: oks[i]}
		for k := range v.Matrix {
			v.Matrix[k] = [3]float32(matrices[i][k])
		}
		for _, tag := range tags[i] {
			if tag != "" { // else padding
				v.Tags = append(v.Tags, tag)
			}
		}
		rows = append(rows, fmt.Sprint(v))
	}
	return rows
}
