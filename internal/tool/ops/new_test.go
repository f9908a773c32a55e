package ops

import (
	"errors"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
)

// sources is the folder of this module.
const sources = "../../.."

// A template has the format's name everywhere, in the names of files too, and
// its Go files parse.
func TestNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "csv-lines")
	files, err := New(t.Context(), dir, &NewOptions{Name: "CSVLines", Millrace: sources})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, old := range []string{"MyReader", "my_reader", "myreader"} {
			if strings.Contains(name+string(text), old) {
				t.Errorf("%s still has %s", name, old)
			}
		}
		if strings.HasSuffix(name, ".go") {
			if _, err := parser.ParseFile(gotoken.NewFileSet(), name, text, 0); err != nil {
				t.Error(err)
			}
		}
	}
	if want := "cc/csv_lines_dataset_op.cc csv_lines.go csv_lines_test.go"; !strings.Contains(strings.Join(files, " "), want) {
		t.Errorf("files %q, want %q among them", files, want)
	}
	test, err := os.ReadFile(filepath.Join(dir, "csv_lines_test.go"))
	if err != nil || !strings.Contains(string(test), `"./csv-lines.so"`) {
		t.Errorf("the test does not load the library that Build makes: %v", err)
	}
}

// inModule returns an empty folder within this module.
func inModule(t *testing.T) string {
	t.Helper()
	const build = "../../../build" // which git and the linter ignore
	if err := os.MkdirAll(build, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(build, "_new_") // which the go command ignores
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// In a module that requires Millrace the template becomes a package of that module.
func TestNewInModule(t *testing.T) {
	dir := inModule(t)
	files, err := New(t.Context(), dir, &NewOptions{Name: "MyReader"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if name == "go.mod" || name == "go.sum" {
			t.Errorf("wrote %s within a module", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		folder string
		o      NewOptions
		change func(dir string) // dir is the folder's parent
		class  millrace.Class
		want   string
	}{
		{"folder not empty", "f", NewOptions{}, func(dir string) {
			os.MkdirAll(filepath.Join(dir, "f", "thesis.txt"), 0o755)
		}, millrace.ErrConfig, "is not empty: it has thesis.txt"},
		{"folder is a file", "f", NewOptions{}, func(dir string) {
			os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)
		}, millrace.ErrIO, "not a directory"},
		{"no Go name", "f", NewOptions{Name: "my-reader"}, nil, millrace.ErrConfig, `"my-reader" cannot be the name of a format`},
		{"name in lower case", "f", NewOptions{Name: "reader"}, nil, millrace.ErrConfig, `"reader" cannot be`},
		{"folder without a name", "2026", NewOptions{}, nil, millrace.ErrConfig, `"2026" cannot be the name of a format`},
		{"keyword", "func", NewOptions{}, nil, millrace.ErrConfig, `"Func" cannot be the name`},
		{"no such kind", "f", NewOptions{Kind: "model"}, nil, millrace.ErrConfig, `there is no template "model"; there are dataset`},
		{"kind outside", "f", NewOptions{Kind: "../.."}, nil, millrace.ErrConfig, "there is no template"},
		{"no copy of millrace", "f", NewOptions{Millrace: "testdata"}, nil, millrace.ErrConfig, "does not hold the sources of module millrace"},
		{"module without millrace", "f", NewOptions{}, func(dir string) {
			os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module other\n"), 0o644)
		}, millrace.ErrConfig, "the module does not have millrace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.change != nil {
				tt.change(dir)
			}
			before := list(t, dir)
			if tt.o.Millrace == "" {
				tt.o.Millrace = sources
			}
			files, err := New(t.Context(), filepath.Join(dir, tt.folder), &tt.o)
			check(t, err, tt.class, tt.want)
			if got := list(t, dir); got != before || files != nil {
				t.Errorf("left %s, want %s", got, before)
			}
		})
	}
}

// list returns the files below a folder.
func list(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// check compares an error with its class and a part of its text.
func check(t *testing.T, err error, class millrace.Class, want string) {
	t.Helper()
	if !errors.Is(err, class) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error of class %q with %q", err, class, want)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ folder, name, file string }{
		{"myreader", "Myreader", "myreader"},
		{"my-reader", "MyReader", "my_reader"},
		{"my_reader2", "MyReader2", "my_reader2"},
		{"CSV.file", "CSVFile", "csv_file"},
		{"a b", "AB", "ab"},
	} {
		name := camelCase(tt.folder)
		if file := snakeCase(name); name != tt.name || file != tt.file {
			t.Errorf("%s: got %s and %s, want %s and %s", tt.folder, name, file, tt.name, tt.file)
		}
	}
}
