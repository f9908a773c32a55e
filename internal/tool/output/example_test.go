package output_test

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"millrace/dtype"
	"millrace/internal/tool/output"
)

func ExampleCreate() {
	dir, err := os.MkdirTemp("", "predictions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "digits.ndjson")
	out, err := output.Create(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer out.Close() // removes the output unless it was committed
	labels, _ := binary.Append(nil, binary.LittleEndian, []int64{3, 7})
	err = out.Write([]output.Column{
		{Name: "digit", DType: dtype.Int64, Shape: []int64{2}, Data: labels},
		{Name: "id", DType: dtype.String, Shape: []int64{2}, Strings: []string{"a", "b"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		log.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	fmt.Print(string(text))
	// Output:
	// {"digit":3,"id":"YQ=="}
	// {"digit":7,"id":"Yg=="}
}

func ExampleAppendBatch() {
	line, err := output.AppendBatch(nil, []output.Column{
		{Name: "x", DType: dtype.Bool, Shape: []int64{2}, Data: []byte{1, 0}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(line))
	// Output: {"x": {"dtype": "bool", "shape": [2], "values": [true, false]}}
}
