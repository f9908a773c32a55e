package ops

import (
	"context"
	"embed"
	"errors"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"millrace"
)

// Kind is what a template makes.
type Kind string

// The kinds of templates.
const (
	DatasetKind Kind = "dataset" // a file format: a dataset op in C++
	RecordKind  Kind = "record"  // a record format: an op in C++ that decodes
	GoKind      Kind = "go"      // a file format and a record format, in Go
)

// Kinds lists all kinds.
var Kinds = []Kind{DatasetKind, RecordKind, GoKind}

// NewOptions are the options of New. The zero value suits most callers.
type NewOptions struct {
	Kind     Kind   // "": DatasetKind
	Name     string // name of the format, as in Go: "MyReader"; "": derived from the folder's name
	Millrace string // folder of Millrace's sources, for a go.mod; "": the one that this program can find
}

// templates holds a folder for each kind. The Go tool ignores folders that begin with
// an underscore, so a template is not a package of this module. The templates are code
// that compiles: the format in them is called MyReader.
//
//go:embed all:_templates
var templates embed.FS

// New writes the template of an operation into a folder, which must be empty or not
// exist, and returns the names of the files. Outside of a Go module New also writes a
// go.mod. Files appear in the folder one by one; after an error the folder is
// unchanged.
//
// A folder that is not empty, an invalid name and an unknown kind are errors of class
// millrace.ErrConfig.
func New(ctx context.Context, dir string, o *NewOptions) ([]string, error) {
	t := &template{dir: dir}
	if o != nil {
		t.NewOptions = *o
	}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	made, err := makeEmpty(t.dir)
	if err != nil {
		return nil, err
	}
	err = t.write()
	if err == nil {
		err = t.module(ctx)
	}
	if err != nil {
		t.remove(made)
		return nil, err
	}
	return t.written, nil
}

// template is one call of New.
type template struct {
	NewOptions
	dir     string
	names   *strings.Replacer
	written []string // relative to dir
}

// prepare checks the options and the folder.
func (t *template) prepare() error {
	dir, err := filepath.Abs(t.dir)
	if err != nil {
		return ioError(err)
	}
	t.dir = dir
	if t.Kind == "" {
		t.Kind = DatasetKind
	}
	if _, err := fs.Stat(templates, t.folder()); err != nil {
		return millrace.Errorf(millrace.ErrConfig, "there is no template %q; there are %s", t.Kind, join(Kinds))
	}
	if t.Name == "" {
		t.Name = camelCase(filepath.Base(dir))
	}
	if !formatName.MatchString(t.Name) || token.IsKeyword(strings.ToLower(t.Name)) {
		return millrace.Errorf(millrace.ErrConfig, "%q cannot be the name of a format: it must be a Go name such as MyReader, of letters and digits; --name sets it", t.Name)
	}
	lower := strings.ToLower(t.Name)
	t.names = strings.NewReplacer("myreader.so", filepath.Base(dir)+".so",
		"MyReader", t.Name, "my_reader", snakeCase(t.Name), "myreader", lower)
	return nil
}

// formatName matches the name of a format: an exported Go name in ASCII.
var formatName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,60}$`)

// folder returns the template's folder.
func (t *template) folder() string { return path.Join("_templates", string(t.Kind)) }

// write writes the files of the template.
func (t *template) write() error {
	return fs.WalkDir(templates, t.folder(), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(name)
		if err != nil {
			return millrace.Errorf(millrace.ErrInternal, "read template: %w", err)
		}
		return t.writeFile(t.names.Replace(strings.TrimPrefix(name, t.folder()+"/")), t.names.Replace(string(text)))
	})
}

// writeFile writes a new file.
func (t *template) writeFile(name, text string) error {
	file := filepath.Join(t.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return ioError(err)
	}
	t.written = append(t.written, name)
	return ioError(os.WriteFile(file, []byte(text), 0o644))
}

// makeEmpty makes a folder, unless there is an empty one. It returns whether the folder
// is new.
func makeEmpty(dir string) (made bool, err error) {
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return true, ioError(os.MkdirAll(dir, 0o755))
	case err != nil:
		return false, ioError(err)
	case len(entries) > 0:
		return false, problem(millrace.ErrConfig, dir, "is not empty: it has %s; name a new folder", millrace.Quote(entries[0].Name()))
	}
	return false, nil
}

// remove removes the written files, and the folder itself if it was made.
func (t *template) remove(made bool) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		os.RemoveAll(filepath.Join(t.dir, entry.Name()))
	}
	if made {
		os.Remove(t.dir)
	}
}

// camelCase makes a Go name of a folder's name: MyReader of my-reader.
func camelCase(name string) string {
	var b strings.Builder
	upper := true
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			upper = true
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// snakeCase makes a file name of a Go name: my_reader of MyReader, and csv_file
// of CSVFile.
func snakeCase(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			if next := i + 1; !unicode.IsUpper(runes[i-1]) || next < len(runes) && unicode.IsLower(runes[next]) {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// join lists kinds for a message.
func join(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}
