package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// files writes files with the given texts to a new directory.
func files(texts map[string]string) (dir string) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

func ExampleTFRecords() {
	var b bytes.Buffer
	w := tfrecord.NewWriter(&b, tfrecord.None)
	for _, record := range []string{"first", "second"} {
		if err := w.Write([]byte(record)); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	dir := files(map[string]string{"a.tfrecords": b.String()})
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	show[string](dataset.TFRecords(s, s.Const(filepath.Join(dir, "a.tfrecords")), nil))
	// Output:
	// first
	// second
}

func ExampleMakeBatchedFeaturesDataset() {
	var b bytes.Buffer
	w := tfrecord.NewWriter(&b, tfrecord.None)
	for id := range int64(3) {
		record := example.Marshal([]example.Named{{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{id}}}})
		if err := w.Write(record); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	dir := files(map[string]string{"a.tfrecords": b.String()})
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	features := &graph.ExampleFeatures{Dense: []graph.DenseFeature{{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}}
	d := dataset.MakeBatchedFeaturesDataset(s, []string{filepath.Join(dir, "*.tfrecords")}, 2, features,
		&dataset.BatchedFeaturesOptions{Epochs: 1, InOrder: true})
	show[map[string][]int64](d)
	// Output:
	// map[id:[0 1]]
	// map[id:[2]]
}

func ExampleTextLines() {
	dir := files(map[string]string{"a.txt": "one\ntwo\r\nthree"})
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	show[string](dataset.TextLines(s, s.Const([]string{filepath.Join(dir, "a.txt")}), nil))
	// Output:
	// one
	// two
	// three
}

func ExampleFixedLengthRecords() {
	dir := files(map[string]string{"a.bin": "HEADabcdefEND"})
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	show[string](dataset.FixedLengthRecords(s, s.Const(filepath.Join(dir, "a.bin")), 2,
		&dataset.FixedLengthRecordsOptions{HeaderBytes: 4, FooterBytes: 3}))
	// Output:
	// ab
	// cd
	// ef
}

func ExampleCSV() {
	dir := files(map[string]string{"a.csv": "name,age,city\n\"Lovelace, Ada\",36,London\nNoether,NA,Erlangen\n"})
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.CSV(s, s.Const(filepath.Join(dir, "a.csv")), []dataset.CSVField{
		{Name: "name", DType: tfbridge.String},
		{Name: "age", DType: tfbridge.Int64, Default: int64(-1)},
	}, &dataset.CSVOptions{Header: true, Columns: []int64{0, 1}, NA: "NA"})
	fmt.Println(d.Spec())
	show[struct {
		Name string `tf:"name"`
		Age  int    `tf:"age"`
	}](d)
	// Output:
	// {age: int64[], name: string[]}
	// {Lovelace, Ada 36}
	// {Noether -1}
}

func ExampleFiles() {
	dir := files(map[string]string{"b.txt": "", "a.txt": "", "c.csv": ""})
	defer os.RemoveAll(dir)
	s := graph.NewScope()
	defer s.Graph().Close()
	names, err := dataset.ToSlice[string](context.Background(), dataset.Files(s, s.Const(filepath.Join(dir, "*.txt")), nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range names {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// a.txt
	// b.txt
}

func ExampleSQL() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.SQL(s, s.Const("testdata/animals.sqlite"),
		s.Const("SELECT name, legs FROM animals ORDER BY name"), tfbridge.String, tfbridge.Int64)
	show[struct {
		Name string
		Legs int
	}](d)
	// Output:
	// {cow 4}
	// {hen 2}
}

func ExampleRandom() {
	s := graph.NewScope()
	defer s.Graph().Close()
	// The elements of Python's tf.data.Dataset.random(seed=5).
	show[int64](dataset.Random(s, &dataset.RandomOptions{Seed: dataset.DefaultSeed, Seed2: 5}).Take(2))
	// Output:
	// 3568415791
	// 2798973839
}

func ExampleRange() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[int64](dataset.Range(s, 10, 0, -4))
	// Output:
	// 10
	// 6
	// 2
}

func ExampleCounter() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[int64](dataset.Counter(s, 5, 10).Take(3))
	// Output:
	// 5
	// 15
	// 25
}

// The state is two numbers. The elements are the Fibonacci numbers below 20.
func ExampleGenerate() {
	s := graph.NewScope()
	defer s.Graph().Close()
	first := []tfbridge.Output{s.Const(int64(1)), s.Const(int64(1))}
	d := dataset.Generate(s, "fibonacci", first, func(s *graph.Scope, state []tfbridge.Output) (next, components []tfbridge.Output, more tfbridge.Output) {
		a, b := state[0], state[1]
		return []tfbridge.Output{b, graph.Add(s, a, b)}, []tfbridge.Output{a}, graph.Less(s, a, s.Const(int64(20)))
	})
	all, err := dataset.ToSlice[int](context.Background(), d, nil)
	fmt.Println(all, err)
	// Output: [1 1 2 3 5 8 13] <nil>
}

func ExampleFromTensors() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[[]any](dataset.FromTensors(s, s.Const([]int32{1, 2}), s.Const("x")))
	// Output: [[1 2] x]
}

func ExampleFromSlices() {
	s := graph.NewScope()
	defer s.Graph().Close()
	show[[]any](dataset.FromSlices(s, s.Const([]int32{1, 2}), s.Const([]string{"x", "y"})))
	// Output:
	// [1 x]
	// [2 y]
}
