package output

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"millrace/dtype"
)

// readParquet reads a file with arrow-go's own reader: the types of the
// columns, then each row of each column.
func readParquet(t *testing.T, path string) string {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := r.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Release()
	var heads []string
	for _, field := range tab.Schema().Fields() {
		heads = append(heads, strings.ReplaceAll(fmt.Sprintf("%s: %s", field.Name, field.Type), ", nullable", "?"))
	}
	got := strings.Join(heads, " | ")
	for i := range int(tab.NumCols()) {
		for _, chunk := range tab.Column(i).Data().Chunks() {
			for row := range chunk.Len() {
				got += fmt.Sprintf("\n%s[%d] %s", tab.Schema().Field(i).Name, row, chunk.ValueStr(row))
			}
		}
	}
	return got
}

// wantTable has the expected Parquet contents of everything.
const wantTable = `bool: bool | int8: int8 | int16: int16 | int32: list<element: int32> | int64: int64 | uint8: uint8 | uint16: uint16 | uint32: uint32 | uint64: uint64 | float16: float16 | bfloat16: float32 | float32: list<element: list<element: float32>> | float64: list<element: float64> | complex64: list<element: float32> | complex128: list<element: list<element: float64>> | string: binary | strings: list<element: binary> | nothing: list<element: float32>
bool[0] true
bool[1] false
int8[0] -128
int8[1] 127
int16[0] -32768
int16[1] 32767
int32[0] [1,-2]
int32[1] [-2147483648,2147483647]
int64[0] -9223372036854775808
int64[1] 9223372036854775807
uint8[0] 0
uint8[1] 255
uint16[0] 1
uint16[1] 65535
uint32[0] 1
uint32[1] 4294967295
uint64[0] 1
uint64[1] 18446744073709551615
float16[0] 0.099975586
float16[1] 65504
bfloat16[0] 0.100097656
bfloat16[1] -Inf
float32[0] [[0.1,-0.5]]
float32[1] [[1e-09,3]]
float64[0] [0.1,"+Inf"]
float64[1] ["NaN","-Inf"]
complex64[0] [1,-2]
complex64[1] [0.1,0]
complex128[0] [[1,2]]
complex128[1] [[0.1,"+Inf"]]
string[0] YQBi
string[1] /w==
strings[0] ["","YmM="]
strings[1] ["ZA==","w6k="]
nothing[0] []
nothing[1] []`

func TestParquet(t *testing.T) {
	got := readParquet(t, save(t, "out.parquet", everything()))
	if diff := cmp.Diff(strings.Split(wantTable, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestRowGroups writes groups of one batch each, with rows of different lengths in each
// batch.
func TestRowGroups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.parquet")
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.enc.(*table).limit = 1
	for _, b := range []Column{
		numeric[int16]("x", dtype.Int16, []int64{2, 2, 1}, 1, 2, 3, 4),
		numeric[int16]("x", dtype.Int16, []int64{1, 0, 7}),
		numeric[int16]("x", dtype.Int16, []int64{1, 1, 0}),
		numeric[int16]("x", dtype.Int16, []int64{0, 1, 1}),
		numeric[int16]("x", dtype.Int16, []int64{1, 1, 3}, 5, 6, 7),
	} {
		if err := f.Write([]Column{b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.NumRowGroups() < 2 || r.NumRows() != 5 {
		t.Errorf("%d rows in %d groups", r.NumRows(), r.NumRowGroups())
	}
	ordinal := regexp.MustCompile(`x\[\d\]`) // counts within a group
	got := ordinal.ReplaceAllString(readParquet(t, path), "x")
	if want := "x: list<element: list<element: int16>>\nx [[1],[2]]\nx [[3],[4]]\nx []\nx [[]]\nx [[5,6,7]]"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
