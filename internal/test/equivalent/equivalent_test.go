package equivalent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/equivalent"
)

func TestRead(t *testing.T) {
	all, err := equivalent.Read("# a comment\n\ntiny box.fill: boundary, constant\n\t- b.n  = 1\n\t+ b.n = 2\n\t+\n\tbecause nobody reads n\ntiny: field\n\t- x\n\tbecause y\n")
	if err != nil || len(all) != 2 {
		t.Fatalf("%d entries, error %v", len(all), err)
	}
	e := all[0]
	if e.Line != 3 || e.Package != "tiny" || e.Function != "box.fill" || e.Because != "nobody reads n" {
		t.Errorf("got %+v", e)
	}
	for mistake, want := range map[[3]string]bool{
		{"constant", "b.n = 1", "b.n = 2"}: true,
		{"boundary", "b.n = 1", ""}:        true,
		{"removed", "b.n = 1", ""}:         false,
		{"constant", "b.n = 3", "b.n = 2"}: false,
		{"constant", "b.n = 1", "b.n = 3"}: false,
	} {
		if got := e.Matches(mistake[0], mistake[1], mistake[2]); got != want {
			t.Errorf("Matches(%q) = %v", mistake, got)
		}
	}
	if !all[1].Matches("field", "x", "anything") || all[1].Function != "" {
		t.Errorf("got %+v", all[1])
	}
}

func TestReadFaults(t *testing.T) {
	for text, want := range map[string]string{
		"\t- x\n":                             "equivalent.txt:1: no package and function",
		"tiny f\n":                            "equivalent.txt:1: want \"folder function: kind\"",
		"tiny f: field\n\t* x\n":              "equivalent.txt:2: want one line",
		"tiny f: field\n\t- x\n\t- y\n":       "equivalent.txt:3: want one line",
		"tiny f: field\n\t- x\n":              "equivalent.txt:1: the entry needs",
		"tiny f: field\n\tbecause x\n":        "equivalent.txt:1: the entry needs",
		"tiny f: field\n\t- x\n\tbecause\n\n": "equivalent.txt:1: the entry needs",
	} {
		if _, err := equivalent.Read(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Read(%q)\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestInCode(t *testing.T) {
	module := t.TempDir()
	code := "package tiny\n\nvar limit = 3\n\ntype box[T any] struct{ n int }\n\nfunc (b *box[T]) fill() {\n\tb.n =\t1\n\tuse([]int{\n\t\t1})\n}\n"
	if err := os.Mkdir(filepath.Join(module, "tiny"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "tiny", "tiny.go"), []byte(code), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		function, was string
		want          bool
	}{
		{"box.fill", "b.n = 1", true},
		{"box.fill", "use([]int{ ...", true},
		{"", "var limit = 3", true},
		{"fill", "b.n = 1", false},
		{"box.fill", "b.n = 2", false},
		{"", "b.n = 1", false},
	} {
		e := equivalent.Entry{Package: "tiny", Function: test.function, Was: test.was}
		if got, err := e.InCode(module); got != test.want || err != nil {
			t.Errorf("%s %q: %v, error %v", test.function, test.was, got, err)
		}
	}
}
