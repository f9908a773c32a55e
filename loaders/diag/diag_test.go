package diag_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"millrace/loaders/diag"
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
	if got := diag.DidYouMean("foo", nil); got != "" {
		t.Errorf("DidYouMean of nothing known: got %q", got)
	}
}
