package ops

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	library := load(t)
	got, err := Describe(library.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := &Info{
		Path: library.Path, TensorFlow: "2.21.0",
		Operations: []Operation{{
			Name:       "MyReaderDataset",
			Summary:    "reads the records of files, one file after the other.",
			Inputs:     []Argument{{"filenames", "string"}, {"buffer_size", "int64"}},
			Outputs:    []Argument{{"handle", "variant"}},
			Attributes: []Attr{{"max_record_bytes", "int", "at least 1", "268435456"}},
			Stateful:   true,
			Kernels:    []Kernel{{Device: "CPU"}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := got.Operations[0].Signature(), "MyReaderDataset(filenames: string, buffer_size: int64) -> handle: variant"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
