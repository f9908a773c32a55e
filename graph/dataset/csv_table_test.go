package dataset_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph/dataset"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// csvFiles writes files and returns the pattern that matches them.
func csvFiles(t *testing.T, texts ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".csv")), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "*.csv")
}

// Names come from the first line, types from the values: the narrowest type that
// represents them all.
func TestInferCSV(t *testing.T) {
	pattern := csvFiles(t, "small,big,real,wide,word,none,mixed,hex\n1,3000000000,0.5,1e300,x,,1,1a\n,NA,2,,,,2.5,7\n", "small,big,real,wide,word,none,mixed,hex\n-7,1,inf,1,\"a,b\",,,\n")
	files, _ := filepath.Glob(pattern)
	fields, err := dataset.InferCSV(files, &dataset.MakeCSVOptions{NA: "NA"})
	if err != nil {
		t.Fatal(err)
	}
	want := []dataset.CSVField{
		{Name: "small", DType: tfbridge.Int32, Default: int32(0)}, {Name: "big", DType: tfbridge.Int64, Default: int64(0)},
		{Name: "real", DType: tfbridge.Float, Default: float32(0)}, {Name: "wide", DType: tfbridge.Double, Default: 0.0},
		{Name: "word", DType: tfbridge.String, Default: ""}, {Name: "none", DType: tfbridge.String, Default: ""},
		{Name: "mixed", DType: tfbridge.Float, Default: float32(0)}, {Name: "hex", DType: tfbridge.String, Default: ""},
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// The batches contain the rows by the names of the columns; a label is a separate part.
func TestMakeCSVDataset(t *testing.T) {
	pattern := csvFiles(t, "y,x,name\n0,0.5,a\n1,,b\n", "y,x,name\n2,inf,c\n")
	s := graphtest.NewScope(t)
	d := dataset.MakeCSVDataset(s, []string{pattern}, 2, &dataset.MakeCSVOptions{Label: "y", Epochs: 1, InOrder: true})
	type row struct {
		Features struct {
			X    []float32 `tf:"x"`
			Name []string  `tf:"name"`
		}
		Label []int32
	}
	var labels []int32
	var names []string
	var xs []float32
	for b, err := range dataset.Iterate[row](t.Context(), d, nil) {
		if err != nil {
			t.Fatal(err)
		}
		labels, names, xs = append(labels, b.Label...), append(names, b.Features.Name...), append(xs, b.Features.X...)
	}
	if !slices.Equal(labels, []int32{0, 1, 2}) || !slices.Equal(names, []string{"a", "b", "c"}) || !slices.Equal(xs, []float32{0.5, 0, float32(math.Inf(1))}) {
		t.Errorf("labels %v, names %q, x %v", labels, names, xs)
	}
	endless := dataset.MakeCSVDataset(s, []string{pattern}, 2, &dataset.MakeCSVOptions{Select: []string{"y"}, ParallelReads: 2, Seed: 1, Seed2: 2})
	seen := map[int32]int{}
	n := 0
	for b, err := range dataset.Iterate[struct {
		Y []int32 `tf:"y"`
	}](t.Context(), endless, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Y) != 2 {
			t.Errorf("a batch of %d", len(b.Y))
		}
		for _, y := range b.Y {
			seen[y]++
		}
		if n++; n == 30 {
			break
		}
	}
	if len(seen) != 3 || min(seen[0], seen[1], seen[2]) < 10 {
		t.Errorf("60 rows of 3, without end: %v", seen)
	}
}

func TestWrongCSVDatasets(t *testing.T) {
	good := csvFiles(t, "a,b\n1,2\n")
	for want, o := range map[string]struct {
		pattern string
		options dataset.MakeCSVOptions
	}{
		"no file matches":                      {good + "x", dataset.MakeCSVOptions{}},
		`there is no column "c" to select`:     {good, dataset.MakeCSVOptions{Select: []string{"c"}}},
		`there is no column "c" for the label`: {good, dataset.MakeCSVOptions{Label: "c"}},
		"need Fields":                          {good, dataset.MakeCSVOptions{NoHeader: true}},
		"the columns are [\"b\" \"a\"]":        {csvFiles(t, "a,b\n1,2\n", "b,a\n1,2\n"), dataset.MakeCSVOptions{}},
		"the line of names":                    {csvFiles(t, ""), dataset.MakeCSVOptions{}},
		"wrong number of fields":               {csvFiles(t, "a,b\n1\n"), dataset.MakeCSVOptions{}},
		`two fields are named "a"`:             {csvFiles(t, "a,a\n1,2\n"), dataset.MakeCSVOptions{}},
		`compression "ZLIB"`:                   {good, dataset.MakeCSVOptions{Compression: "ZLIB"}},
		"gzip":                                 {good, dataset.MakeCSVOptions{Compression: "GZIP"}},
	} {
		s := graphtest.NewScope(t)
		dataset.MakeCSVDataset(s, []string{o.pattern}, 2, &o.options)
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
