package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

func TestTFRecord(t *testing.T) {
	path := save(t, "out.tfrecord", everything())
	var got []string
	for rec, err := range tfrecord.Records(path, nil) {
		if err != nil {
			t.Fatal(err)
		}
		features, err := example.Parse(rec.Data)
		if err != nil {
			t.Fatal(err)
		}
		named, err := features.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range named {
			f := n.Feature
			got = append(got, fmt.Sprintf("%d %s %s %v%v%q", rec.Ordinal, n.Name, f.Kind, f.Ints, f.Floats, f.Bytes))
		}
	}
	want := `0 bool int64 [1][][]
0 int8 int64 [-128][][]
0 int16 int64 [-32768][][]
0 int32 int64 [1 -2][][]
0 int64 int64 [-9223372036854775808][][]
0 uint8 int64 [0][][]
0 uint16 int64 [1][][]
0 uint32 int64 [1][][]
0 uint64 int64 [1][][]
0 float16 float [][0.099975586][]
0 bfloat16 float [][0.100097656][]
0 float32 float [][0.1 -0.5][]
0 float64 float [][0.1 +Inf][]
0 complex64 float [][1 -2][]
0 complex128 float [][1 2][]
0 string bytes [][]["a\x00b"]
0 strings bytes [][]["" "bc"]
0 nothing float [][][]
1 bool int64 [0][][]
1 int8 int64 [127][][]
1 int16 int64 [32767][][]
1 int32 int64 [-2147483648 2147483647][][]
1 int64 int64 [9223372036854775807][][]
1 uint8 int64 [255][][]
1 uint16 int64 [65535][][]
1 uint32 int64 [4294967295][][]
1 uint64 int64 [-1][][]
1 float16 float [][65504][]
1 bfloat16 float [][-Inf][]
1 float32 float [][1e-09 3][]
1 float64 float [][NaN -Inf][]
1 complex64 float [][0.1 0][]
1 complex128 float [][0.1 +Inf][]
1 string bytes [][]["\xff"]
1 strings bytes [][]["d" "é"]
1 nothing float [][][]`
	if diff := cmp.Diff(strings.Split(want, "\n"), got); diff != "" {
		t.Errorf("features (-want +got):\n%s", diff)
	}
}
