package diag_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode"

	"millrace/diag"
)

func ExampleDiagnostic() {
	d := &diag.Diagnostic{
		File: "songs.json", Line: 14, Column: 17,
		Key:  "args.padding[0].tensor",
		Msg:  `no tensor named "audoi"`,
		Hint: diag.DidYouMean("audoi", []string{"label", "audio"}),
	}
	fmt.Println(d)
	// Output: songs.json:14:17: args.padding[0].tensor: no tensor named "audoi"; did you mean "audio"?
}

func TestError(t *testing.T) {
	tests := []struct {
		name string
		d    diag.Diagnostic
		want string
	}{
		{"no column", diag.Diagnostic{File: "a.txt", Line: 3, Msg: "x"}, "a.txt:3: x"},
		{"no line", diag.Diagnostic{File: "a.txt", Msg: "x"}, "a.txt: x"},
		{"nothing", diag.Diagnostic{Msg: "x"}, "x"},
		{"warning", diag.Diagnostic{File: "a", Line: 1, Column: 2, Key: "k", Msg: "x", Severity: diag.Warning}, "a:1:2: warning: k: x"},
		{"escape", diag.Diagnostic{File: "a\x1b[31m", Key: "k\n", Msg: "x"}, `"a\x1b[31m": "k\n": x`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.d.Error(); got != tt.want {
				t.Errorf("Error()\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Only text that could send control codes to a terminal is quoted.
func TestPrintable(t *testing.T) {
	for r := range rune(0x200) {
		name := "a" + string(r)
		want := name
		if unicode.IsControl(r) {
			want = fmt.Sprintf("%q", name)
		}
		if got := (&diag.Diagnostic{File: name}).Place(); got != want {
			t.Errorf("U+%04X: got %s, want %s", r, got, want)
		}
	}
	for name, want := range map[string]string{"\xff": `"\xff"`, "\uFFFD": "\"\uFFFD\"", "\uFFFC": "\uFFFC", "\uFFFE": "\uFFFE"} {
		if got := (&diag.Diagnostic{File: name}).Place(); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}

func TestList(t *testing.T) {
	class := errors.New("config")
	l := diag.List{
		{File: "z", Line: 1, Msg: "last"},
		{File: "b", Line: 2, Column: 9, Msg: "fourth"},
		{File: "b", Line: 2, Column: 3, Msg: "third", Class: class},
		{File: "a", Line: 7, Msg: "fifth"},
		{File: "b", Line: 1, Column: 8, Msg: "second", Severity: diag.Warning, Cause: fs.ErrExist},
		{File: "b", Msg: "first", Cause: fs.ErrNotExist},
	}
	l.Sort("b", "a")
	var order []string
	for _, d := range l {
		order = append(order, d.Msg)
	}
	if got, want := strings.Join(order, " "), "first second third fourth fifth last"; got != want {
		t.Errorf("Sort\n got %s\nwant %s", got, want)
	}
	if !errors.Is(l, class) || !errors.Is(l, fs.ErrNotExist) {
		t.Error("the list does not wrap the classes and causes of its errors")
	}
	if errors.Is(l, fs.ErrExist) {
		t.Error("the list wraps the cause of a warning")
	}
	if got := len(l.Errors()); got != 5 {
		t.Errorf("Errors() has %d entries, want 5", got)
	}
	if w := l.Warnings(); w.HasErrors() || w.Err() != nil || l.Err() == nil {
		t.Error("warnings count as errors, or errors do not")
	}
	if got := strings.Count(l.Error(), "\n"); got != 5 {
		t.Errorf("Error() has %d line breaks, want 5", got)
	}
}

func TestJSON(t *testing.T) {
	got, err := json.Marshal(&diag.Diagnostic{File: "a", Line: 1, Column: 2, Key: "k", Msg: "m", Severity: diag.Warning})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"file":"a","line":1,"column":2,"key":"k","message":"m","severity":"warning"}`
	if string(got) != want {
		t.Errorf("Marshal\n got %s\nwant %s", got, want)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"num_prefetch", "num_parallel_reads", "shuffle", "x", "yfeat", "Größe"}
	tests := []struct{ name, want string }{
		{"num_prefech", "num_prefetch"},
		{"Shuffle", "shuffle"},
		{"SHUFFLE", "shuffle"},
		{"sHuflfe", "shuffle"},
		{"zfeat", "yfeat"},
		{"größe", "Größe"},
		{"y", ""},
		{"X", "x"},
		{"num_parallel_writes", "num_parallel_reads"},
		{"something_else", ""},
		{"shuffle", ""},
		{"", ""},
		{strings.Repeat("a", 1<<20), ""},
	}
	for _, tt := range tests {
		if got := diag.Nearest(tt.name, known); got != tt.want {
			t.Errorf("Nearest(%.20q)\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
	// A third of the letters may be mistakes. A swap of neighbours counts as one
	// mistake.
	for mistyped, near := range map[string]bool{
		"badcfeghi": true, "badcfehgi": false, "badcfegih": false, "abdcfegih": true, "abcdefghixyz": true, "abcdefghiwxyz": true, "abcdefghivwxyz": false,
		"cdefghi": true, "defghi": false, "abcdefg": true, "abcdef": false, "xbcxefgxi": true, "xbcxexgxi": false, "cabdefghi": true, "acbdfeghx": true,
		"cbadefghi": true, "xcabdefghi": true, "xcabdefghx": false, "ABCDEFGHI": true, "aacbcdefghi": true,
	} {
		if got := diag.Nearest(mistyped, []string{"abcdefghi"}); (got != "") != near {
			t.Errorf("Nearest(%q): got %q", mistyped, got)
		}
	}
	// The nearest name wins, the first of equals, and the case is ignored.
	for _, tt := range []struct {
		name, want string
		known      []string
	}{
		{"abcdefxhi", "abcdefghi", []string{"xbcdefxhx", "abcdefghi", "abcdefyhi"}},
		{"abcdefghi", "aBCdefghi", []string{"abcdefghj", "aBCdefghi", "ABCDEFGHI"}},
		{"ab", "ac", []string{"xy", "ac", "abcd"}},
		{"a", "", []string{"b"}},
		{strings.Repeat("a", 64), strings.Repeat("a", 63) + "b", []string{strings.Repeat("a", 63) + "b"}},
		{strings.Repeat("a", 65), "", []string{strings.Repeat("a", 64) + "b"}},
		{strings.Repeat("a", 65), "", []string{strings.Repeat("a", 64)}},
		{strings.Repeat("a", 64), "", []string{strings.Repeat("a", 65)}},
		{strings.Repeat("a", 63), strings.Repeat("a", 64), []string{strings.Repeat("a", 64)}},
		{"abcd", "", append(slices.Repeat([]string{"x"}, 4096), "abce")},
		{"abcd", "abce", append(slices.Repeat([]string{"x"}, 4095), "abce")},
		{"äöüäöü", "aöüäöu", []string{"aöüäöu"}},
	} {
		if got := diag.Nearest(tt.name, tt.known); got != tt.want {
			t.Errorf("Nearest(%.20q)\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
	if got := diag.DidYouMean("foo", nil); got != "" {
		t.Errorf("DidYouMean of nothing known: got %q", got)
	}
}
