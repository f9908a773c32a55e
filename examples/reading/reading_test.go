package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// printed is a tensor of a batch as the program prints it.
type printed struct {
	DType  string
	Shape  []int
	Values []any
}

// text returns the values as text, strings decoded.
func (p printed) text(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, v := range p.Values {
		s := fmt.Sprint(v)
		if p.DType == "string" {
			decoded, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				t.Fatal(err)
			}
			s = string(decoded)
		}
		all = append(all, s)
	}
	return all
}

// batches runs the program and returns what it prints.
func batches(t *testing.T, args ...string) ([]map[string]printed, error) {
	t.Helper()
	testruntime.Need(t)
	var out bytes.Buffer
	err := command(t.Context(), args, &out, io.Discard)
	var all []map[string]printed
	for line := range bytes.Lines(out.Bytes()) {
		var batch map[string]printed
		if err := json.Unmarshal(line, &batch); err != nil {
			t.Fatal(err)
		}
		all = append(all, batch)
	}
	return all, err
}

// column returns the values of a tensor of all batches.
func column(t *testing.T, all []map[string]printed, name string) []string {
	t.Helper()
	var values []string
	for _, b := range all {
		values = append(values, b[name].text(t)...)
	}
	return values
}

// write writes a file and returns its path.
func write(t *testing.T, folder, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// csvFiles are two files with 12 lines in all; the label is the line's number.
func csvFiles(t *testing.T) (files, keys []string) {
	t.Helper()
	folder := t.TempDir()
	for f, lines := range []int{7, 5} {
		var text strings.Builder
		name := fmt.Sprintf("l%d.csv", f)
		for i := range lines {
			fmt.Fprintf(&text, "%d,,%d,4,%d\n", f, i, i)
			keys = append(keys, fmt.Sprintf("%s:%d", filepath.Join(folder, name), i+1))
		}
		files = append(files, write(t, folder, name, []byte(strings.TrimSuffix(text.String(), "\n"))))
	}
	return files, keys
}

func TestCSV(t *testing.T) {
	files, keys := csvFiles(t)
	all, err := batches(t, append([]string{"-program", "csv", "-batch", "5", "-smaller-final"}, files...)...)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d batches, %v; want 3", len(all), err)
	}
	if got := column(t, all, "key"); !slices.Equal(got, keys) {
		t.Errorf("keys %q\nwant %q", got, keys)
	}
	if got := all[0]["features"]; got.DType != "int32" || !slices.Equal(got.Shape, []int{5, 4}) || fmt.Sprint(got.Values[:8]) != "[0 1 0 4 0 1 1 4]" {
		t.Errorf("features %v", got)
	}
	if got := column(t, all, "label"); strings.Join(got, "") != "012345601234" {
		t.Errorf("labels %q", got)
	}
}

// Goroutines, readers, shuffling and epochs change only the order.
func TestOptions(t *testing.T) {
	files, keys := csvFiles(t)
	epochs := slices.Sorted(slices.Values(slices.Repeat(keys, 2)))
	for _, flags := range []string{
		"-threads 4", "-readers 2", "-readers 3 -shuffle -min-after-dequeue 4 -capacity 9", "-shuffle -seed 7", "-shuffle -threads 3 -min-after-dequeue 5",
	} {
		args := append([]string{"-program", "csv", "-batch", "5", "-smaller-final", "-epochs", "2"}, strings.Fields(flags)...)
		all, err := batches(t, append(args, files...)...)
		if err != nil {
			t.Errorf("%s: %v", flags, err)
		}
		got := column(t, all, "key")
		if shuffled := !slices.Equal(got[:12], keys); strings.Contains(flags, "min-after") && !shuffled {
			t.Errorf("%s: the order is that of the files", flags)
		}
		if slices.Sort(got); !slices.Equal(got, epochs) || len(all) != 5 {
			t.Errorf("%s: keys %q in %d batches", flags, got, len(all))
		}
	}
}

// If there are too few records for one batch, the error says so.
func TestFewerThanABatch(t *testing.T) {
	testruntime.Need(t)
	files, _ := csvFiles(t)
	for _, tt := range []struct{ flags, want string }{
		{"-batch 13", "reading: fewer than 13 examples, so there is no batch; -smaller-final prints what is left\n"},
		{"-batch 13 -smaller-final", ""},
		{"-batch 12", ""},
	} {
		var told strings.Builder
		args := append([]string{"-program", "csv"}, strings.Fields(tt.flags)...)
		if err := command(t.Context(), append(args, files...), io.Discard, &told); err != nil || told.String() != tt.want {
			t.Errorf("%s: told %q, %v", tt.flags, told.String(), err)
		}
	}
}

// A filter takes the same examples each time. Without a smaller batch at the end the
// remaining examples are left out.
func TestFilter(t *testing.T) {
	files, keys := csvFiles(t)
	args := append([]string{"-program", "csv", "-batch", "1", "-filter"}, files...)
	once, err := batches(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	got := column(t, once, "key")
	if len(got) == 0 || len(got) == len(keys) {
		t.Errorf("%d of %d examples are left", len(got), len(keys))
	}
	again, err := batches(t, append([]string{"-threads", "3"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	if other := column(t, again, "key"); !slices.Equal(slices.Sorted(slices.Values(other)), got) {
		t.Errorf("%q are left, with 3 goroutines %q", got, other)
	}
	if all, err := batches(t, append([]string{"-program", "csv", "-batch", "5"}, files...)...); err != nil || len(all) != 2 {
		t.Errorf("%d batches of 5 of 12 examples, %v", len(all), err)
	}
}

func TestFixed(t *testing.T) {
	record := make([]byte, recordBytes)
	record[0] = 7
	for i := range recordBytes - labelBytes {
		record[labelBytes+i] = byte(i / (imageHeight * imageWidth)) // the colour
	}
	folder := t.TempDir()
	path := write(t, folder, "images.bin", append(slices.Clone(record), record...))
	all, err := batches(t, "-program", "fixed", "-batch", "2", path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d batches, %v", len(all), err)
	}
	if got := all[0]["image"]; got.DType != "uint8" || !slices.Equal(got.Shape, []int{2, 32, 32, 3}) || fmt.Sprint(got.Values[:6]) != "[0 1 2 0 1 2]" {
		t.Errorf("image %s %v", got.DType, got.Shape)
	}
	if got := column(t, all, "label"); fmt.Sprint(got) != "[7 7]" {
		t.Errorf("labels %v", got)
	}
	cut := write(t, folder, "cut.bin", append(slices.Clone(record), 1, 2))
	if _, err := batches(t, "-program", "fixed", cut); err == nil || !strings.Contains(err.Error(), cut+":1") {
		t.Errorf("a file that ends within a record: %v", err)
	}
}

// writeExamples writes a TFRecord file and returns its path.
func writeExamples(t *testing.T, folder, name string, records ...[]byte) string {
	t.Helper()
	var b bytes.Buffer
	w := tfrecord.NewWriter(&b, tfrecord.None)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, folder, name, b.Bytes())
}

func TestRecords(t *testing.T) {
	testruntime.Need(t)
	if r, err := tfbridge.Open(nil); err != nil || !r.HasOperations() {
		t.Skip("the library of our own operations is not there: ", err)
	}
	examples := func(n int64) []byte {
		return example.Marshal([]example.Named{
			{Name: "label", Feature: example.Feature{Kind: example.Int64, Ints: []int64{n}}},
			{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: []float32{float32(n), 0.5}}},
			{Name: "word", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{fmt.Append(nil, n)}}},
		})
	}
	folder := t.TempDir()
	path := writeExamples(t, folder, "good", examples(1), examples(2), examples(3))
	all, err := batches(t, "-program", "records", "-batch", "3", path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d batches, %v", len(all), err)
	}
	for name, want := range map[string]string{"label": "[1 2 3]", "x": "[1 0.5 2 0.5 3 0.5]", "word": "[1 2 3]"} {
		if got := fmt.Sprint(column(t, all, name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	keys := column(t, all, "key")
	if keys[0] != path+":0" {
		t.Errorf("keys %q", keys)
	}
	bad := writeExamples(t, folder, "bad", examples(1), []byte("\x0a\x7fno Example"), examples(3))
	offset := strings.TrimPrefix(keys[1], path)
	if _, err := batches(t, "-program", "records", bad); err == nil || !strings.Contains(err.Error(), bad+offset) {
		t.Errorf("a record that is no Example: %v, want %s", err, bad+offset)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-5] ^= 1
	damaged := write(t, folder, "damaged", data)
	if _, err := batches(t, "-program", "records", damaged); !errors.Is(err, millrace.ErrCorrupt) || !strings.Contains(err.Error(), damaged) {
		t.Errorf("a damaged record: %v", err)
	}
}

func TestWhole(t *testing.T) {
	files, _ := csvFiles(t)
	all, err := batches(t, append([]string{"-program", "whole", "-batch", "1", "-readers", "2"}, files...)...)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d batches, %v", len(all), err)
	}
	if got := column(t, all, "key"); !slices.Equal(slices.Sorted(slices.Values(got)), files) {
		t.Errorf("keys %q", got)
	}
	if got := strings.Join(column(t, all, "value"), ""); len(got) != 12*9-2 {
		t.Errorf("the files hold %d bytes", len(got))
	}
}

// The error for a record that cannot be decoded has the record's key, whichever
// goroutine read it.
func TestBadRecord(t *testing.T) {
	files, _ := csvFiles(t)
	bad := write(t, t.TempDir(), "bad.csv", []byte("1,2,3,4,5\n1,2,x,4,5\n"))
	for _, flags := range []string{"", "-threads 3", "-readers 3 -shuffle"} {
		args := append([]string{"-program", "csv"}, strings.Fields(flags)...)
		_, err := batches(t, append(args, files[0], bad, files[1])...)
		if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), bad+":2") {
			t.Errorf("%s: %v", flags, err)
		}
	}
	if _, err := batches(t, "-program", "csv", "missing.csv"); !errors.Is(err, tfbridge.NotFound) || !strings.Contains(err.Error(), "missing.csv") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{
		"", "-program csv", "-program tar x", "-program csv -threads 0 x", "-program csv -threads 2 -readers 2 x", "-program csv -epochs -1 x",
		"-program csv -min-after-dequeue 3 x", "-program csv -shuffle -min-after-dequeue 3 -capacity 3 x", "-program csv -unknown x",
	} {
		if err := command(t.Context(), strings.Fields(args), io.Discard, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	var told bytes.Buffer
	if _, err := parse([]string{"-program", "csv", "-readers", "3", "x"}, &told); err != nil {
		t.Error(err)
	}
}
