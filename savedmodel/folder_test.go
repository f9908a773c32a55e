package savedmodel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/savedmodel/modelfile"
)

// A link may only lead to another place in the model's folder.
func TestLinks(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "model")
	writeFile(t, filepath.Join(dir, "in/file"), []byte("inside"))
	writeFile(t, filepath.Join(parent, "out/file"), []byte("outside"))
	for name, target := range map[string]string{
		"near": "in/file", "far": "../out/file", "dir": "../out", "back": "../model/in/file", "dangling": "in/none", "lost": "../out/none", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(parent, "alias")); err != nil {
		t.Fatal(err)
	}
	const inside, outside = "inside", "outside"
	for _, tt := range []struct {
		name    string
		want    string         // contents read, "" if reading fails
		class   millrace.Class // class of the error otherwise
		refused bool           // the path is reported as leaving the folder
	}{
		{"in/file", inside, "", false},
		{"near", inside, "", false},
		{"none", "", millrace.ErrModel, false},
		{"in/none", "", millrace.ErrModel, false},
		{"dangling", "", millrace.ErrModel, false},
		{"in", "", millrace.ErrModel, false},
		{"in/file/more", "", millrace.ErrIO, false},
		{"far", outside, millrace.ErrUnsafeModel, true},
		{"dir/file", outside, millrace.ErrUnsafeModel, true},
		{"dir/none", "", millrace.ErrUnsafeModel, true},
		{"../out/file", outside, millrace.ErrUnsafeModel, true},
	} {
		for _, way := range []string{dir, filepath.Join(parent, "alias")} {
			f, err := modelfile.Open(way)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Open(tt.name).ReadWhole(100)
			if tt.class == "" && (err != nil || string(got) != tt.want) || tt.class != "" && !errors.Is(err, tt.class) {
				t.Errorf("%s: %q, %v", tt.name, got, err)
			}
			refused := 0
			f.Refused = func(error) { refused++ }
			if got, _ := f.Open(tt.name).ReadWhole(100); string(got) != tt.want || (refused > 0) != tt.refused {
				t.Errorf("%s, with links allowed: %q, refused %d times", tt.name, got, refused)
			}
			f.Close()
		}
	}
}

// A file is read up to a limit, and completely.
func TestReadWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	writeFile(t, name, []byte("12345"))
	if got, err := modelfile.OpenFile(name).ReadWhole(5); err != nil || string(got) != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := modelfile.OpenFile(name).ReadWhole(4)
	wantError(t, err, millrace.ErrLimit, name, "5 bytes, at most 4 are read")
	for _, size := range []int64{6, 1 << 10} {
		shrunk := modelfile.OpenFile(name)
		shrunk.Size = size
		_, err = shrunk.ReadWhole(1 << 10)
		wantError(t, err, millrace.ErrTruncated, name, "it shrank from", "to 5 bytes while it was read")
	}
	writeFile(t, name, nil)
	gone := modelfile.OpenFile(name)
	gone.Size = 5
	_, err = gone.ReadWhole(5)
	wantError(t, err, millrace.ErrTruncated, "it shrank from 5 to 0 bytes")
	closed := modelfile.OpenFile(name)
	closed.Size = 5
	closed.File.Close()
	_, err = closed.ReadWhole(5)
	wantError(t, err, millrace.ErrIO, name)
	if !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	_, err = modelfile.OpenFile(name + "x").ReadWhole(5)
	wantError(t, err, millrace.ErrModel, name+"x: there is no such file")
	if errors.Is(err, millrace.ErrIO) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A path below a regular file is a missing model.
func TestFoldersThatAreNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, nil)
	_, err := Read(filepath.Join(file, "model"), nil)
	wantError(t, err, millrace.ErrIO, "file/model")
	_, err = ReadCheckpoint(filepath.Join(file, "variables"))
	wantError(t, err, millrace.ErrModel, "not a folder")
}

// A version may be a model in text form. A name with a sign is not a version number.
func TestVersionsInTextForm(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"0/" + binaryName, "3/" + textName, "+7/" + binaryName, "9/other", "8.pb/" + binaryName} {
		writeFile(t, filepath.Join(dir, name), nil)
	}
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "give the folder of one, such as "+filepath.Join(dir, "3"))
	remove(t, filepath.Join(dir, "3"))
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrModel, "such as "+filepath.Join(dir, "0"))
}
