package convert

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace"
)

// rowsOf reads a file with our reader, in pieces of a size.
func rowsOf(t *testing.T, text string, piece int) (rows [][]string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := &csvFile{path: "f", file: file, cut: newRowCutter(','), line: 1, piece: piece}
	if err := f.readNames(); err != nil {
		return nil, err
	}
	rows = append(rows, f.names)
	var before *csvBlock
	for {
		b, err := f.next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for row := range b.count {
			var cells []string
			for i := range b.width {
				cells = append(cells, string(b.cell(row, i)))
			}
			if want := int64(len(rows)); b.row(row) != want {
				t.Fatalf("row %d is called %d", want, b.row(row))
			}
			rows = append(rows[:len(rows):len(rows)], cells)
		}
		if before != nil {
			f.free(before)
		}
		before = b
	}
}

// peer reads a file with encoding/csv.
func peer(text string) (rows [][]string, line int, err error) {
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\xef\xbb\xbf")))
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return rows, 0, nil
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := r.FieldPos(0)
			return rows, line, err
		}
		if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
			return rows, bad.Line, err
		}
		rows = append(rows, cells)
	}
}

var csvSeeds = []string{
	"a,b\n1,2\n", "a,b\r\n1,2\r\n3,4", "a\n\n\r\nx\n", "a,b\n\"x\",\"y\"\n", "a,b\n\"x, \"\"y\"\"\",\"two\r\nlines\n\"\nz,\"\"\n",
	"a,b\n1\n", "a,b\nx\"y,1\n", "a,b\n\"x\"y,1\n", "a,b\n\"x,1\n2,3\n", "a\nx\r", "a\n\"x\"\r", "a\n\r", "a,b\n1,\r\n,\n", "a,b\n,", "a\n\"\"\n",
	"\xef\xbb\xbfa\n1\n", "a\nx\rx\r\r\n", "a\n\"x\rx\r\r\n\"\n", "a,b\n\n1,2,3\n", "a,\"\r\n\"\n0", "", "\n", "\r", "a\n\"\r\n\"", "a,b\n\"\"\"\"\"\",\"\"\"\"\n",
	"0,1\n\"\n\"\"0\"", "a,long one,c\n1234567,89012345,\"6\"\n\xae\x80,\x8d\x8a,\xac\xa2\n",
}

// FuzzCSVRows compares the rows, and the errors and their lines, with encoding/csv.
func FuzzCSVRows(f *testing.F) {
	for _, s := range csvSeeds {
		for _, piece := range []uint8{1, 2, 3, 7, 200} {
			f.Add(s, piece)
		}
	}
	f.Fuzz(func(t *testing.T, text string, piece uint8) {
		want, line, wantErr := peer(text)
		if len(want) == 0 || slices.Contains(want[0], "") || len(slices.Compact(slices.Sorted(slices.Values(want[0])))) < len(want[0]) {
			return // names have other errors
		}
		got, err := rowsOf(t, text, max(1, int(piece)))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: got %v, want %v", text, err, wantErr)
		}
		if err == nil && fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q in pieces of %d:\n got %q\nwant %q", text, piece, got, want)
		}
		if e := (*millrace.Error)(nil); err != nil && (!errors.As(err, &e) || !strings.Contains(e.Msg, fmt.Sprintf("line %d", line))) {
			t.Fatalf("%q in pieces of %d: got %v, want line %d: %v", text, piece, err, line, wantErr)
		}
	})
}

// FuzzShortNumbers compares numbers with strconv.
func FuzzShortNumbers(f *testing.F) {
	for _, s := range []string{"", "-", "+", "0", "-0", "+12", "999999999999999999", "-1.", ".5", ".", "-0.0", "123456789.12345", "0.000000000000001", "1.2.3", "1_0", "0x1", "1e3", "12.3456789012345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if x, ok := shortInt([]byte(s)); ok {
			if want, err := strconv.ParseInt(s, 10, 64); err != nil || x != want {
				t.Errorf("%q is %d, want %d, %v", s, x, want, err)
			}
		}
		x, ok := shortFloat([]byte(s))
		if ok != isShortFloat([]byte(s)) {
			t.Errorf("%q: shortFloat says %t, isShortFloat does not", s, ok)
		}
		if ok {
			if want, err := strconv.ParseFloat(s, 64); err != nil || math.Float64bits(x) != math.Float64bits(want) {
				t.Errorf("%q is %v, want %v, %v", s, x, want, err)
			}
		}
	})
}

// Common numbers use the fast path.
func TestShortNumbers(t *testing.T) {
	for _, s := range []string{"0", "-7", "1960", "123456789012345678"} {
		if _, ok := shortInt([]byte(s)); !ok {
			t.Errorf("%s is not short", s)
		}
	}
	for _, s := range []string{"0.5", "-12.3456", "279.9999", "5."} {
		if _, ok := shortFloat([]byte(s)); !ok {
			t.Errorf("%s is not short", s)
		}
	}
}

// A note names the first row that makes a column a column of texts, in whichever block
// it is.
func TestNoteOfALaterBlock(t *testing.T) {
	var text strings.Builder
	text.WriteString("n,t,b\n")
	for i := range 60_000 {
		fmt.Fprintf(&text, "%d,word,%t\n", i, i%2 == 0)
	}
	text.WriteString("many,word,7\nmore,word,8\n")
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := surveyCSV(t.Context(), path, ',')
	if err != nil {
		t.Fatal(err)
	}
	if s.rows != 60_002 || len(s.notes) != 2 || !strings.Contains(s.notes[0], `"n" is stored as text because of row 60001: "many"`) ||
		!strings.Contains(s.notes[1], `"b" is stored as text because of row 60001: "7"`) {
		t.Errorf("%d rows, notes %q", s.rows, s.notes)
	}
}
