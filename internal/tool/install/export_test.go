package install

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
)

// complete returns a runtime of a fake wheel with a library of operations, and the pins
// of its libraries.
func complete(t *testing.T) (dir string, pins *runtimedir.Pins) {
	t.Helper()
	o := wheelOptions(t)
	got, err := Install(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := BuildOperations(t.Context(), got.Dir, &OperationsOptions{Compiler: compiler(t, compiles)}); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(got.Dir, oplibrary.Folder, "libmillrace_datasets-2.20.0-0123456789abcdef.so")
	if err := os.WriteFile(old, []byte("of another version"), 0o644); err != nil {
		t.Fatal(err)
	}
	return got.Dir, o.pins
}

// moved are the files of a complete runtime that are exported.
func moved() []string {
	ours := oplibrary.Folder + "/" + oplibrary.Name("2.21.0")
	return []string{"LICENSE", "THIRD_PARTY_NOTICES.txt", "libtensorflow_cc.so.2", "libtensorflow_framework.so.2", ours, ours + oplibrary.StampSuffix, "runtime.json"}
}

// An exported runtime can be imported, in every format, and works.
func TestExportRoundTrip(t *testing.T) {
	dir, pins := complete(t)
	for _, end := range []string{".tar", ".tar.gz", ".tar.zst", ""} {
		t.Run("runtime"+end, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "runtime"+end)
			if err := Export(t.Context(), dir, to, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"runtime" + end}, names(t, filepath.Dir(to))); diff != "" {
				t.Errorf("the folder of the export (-want +got):\n%s", diff)
			}
			o := &Options{From: to, Dir: t.TempDir(), pins: pins}
			got, err := Install(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Pinned || got.Variant != runtimedir.CPU {
				t.Errorf("installed %+v", got.Installed)
			}
			if diff := cmp.Diff(moved(), files(t, got.Dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if err := got.Verify(true); err != nil {
				t.Error(err)
			}
			library := oplibrary.Find(got.Dir, "2.21.0")
			if err := oplibrary.Verify(library); err != nil {
				t.Errorf("%s: %v", library, err)
			}
			if again, err := Install(t.Context(), o); err != nil || !again.Already {
				t.Errorf("second time: %+v, %v", again, err)
			}
		})
	}
}

// A folder for an image is a complete runtime without stamps.
func TestExportDirectory(t *testing.T) {
	dir, _ := complete(t)
	to := filepath.Join(t.TempDir(), "image")
	if err := Export(t.Context(), dir, to, &ExportOptions{Headers: true}); err != nil {
		t.Fatal(err)
	}
	in, err := runtimedir.Read(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range in.Libraries {
		if l.ModTime != 0 || l.Inode != 0 {
			t.Errorf("%s has a stamp: %+v", l.Name, l)
		}
	}
	if err := in.Verify(true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(to, "include/tensorflow/c/c_api.h")); err != nil {
		t.Errorf("the headers were asked for: %v", err)
	}
	check(t, Export(t.Context(), dir, to, nil), millrace.ErrIO, to)
}

// The same runtime gives the same bytes.
func TestExportReproducible(t *testing.T) {
	dir, _ := complete(t)
	var sums []string
	for range 2 {
		to := filepath.Join(t.TempDir(), "runtime.tar.gz")
		if err := Export(t.Context(), dir, to, nil); err != nil {
			t.Fatal(err)
		}
		sum, err := runtimedir.HashFile(to)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] {
		t.Errorf("two exports differ: %v", sums)
	}
}

func TestExportRefuses(t *testing.T) {
	dir, _ := complete(t)
	out := t.TempDir()
	to := filepath.Join(out, "runtime.tar")
	bare := t.TempDir()
	check(t, Export(t.Context(), bare, to, nil), millrace.ErrRuntime, "was not installed by millrace", "--unpinned first")
	check(t, Export(t.Context(), dir, filepath.Join(out, "nowhere", "x.tar"), nil), millrace.ErrIO, "nowhere")

	ctx, cancel := context.WithCancel(t.Context())
	progress := writerFunc(func([]byte) { cancel() })
	check(t, Export(ctx, dir, to, &ExportOptions{Progress: progress}), millrace.ErrCanceled)
	if diff := cmp.Diff([]string(nil), names(t, out)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}

	if err := os.WriteFile(to, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, Export(t.Context(), dir, to, nil), millrace.ErrConfig, "exists already")
	if err := Export(t.Context(), dir, to, &ExportOptions{Overwrite: true}); err != nil {
		t.Error(err)
	}

	library := oplibrary.Find(dir, "2.21.0")
	if err := os.WriteFile(library, []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, Export(t.Context(), dir, filepath.Join(out, "b.tar"), nil), millrace.ErrRuntime, library, "is damaged")
	if err := os.Truncate(filepath.Join(dir, runtimedir.LibraryCC), 10); err != nil {
		t.Fatal(err)
	}
	check(t, Export(t.Context(), dir, filepath.Join(out, "c.tar"), nil), millrace.ErrRuntime, "has 10 bytes")
}

// forged is an archive that a test changes before it is written.
type forged struct {
	list    exported
	members []forgedMember
}

type forgedMember struct {
	header tar.Header
	body   string
}

// add adds a member, and lists it.
func (f *forged) add(name, body string) {
	f.members = append(f.members, forgedMember{tar.Header{Name: name, Typeflag: tar.TypeReg}, body})
	sum := sha256.Sum256([]byte(body))
	f.list.Files = append(f.list.Files, exportedFile{name, int64(len(body)), hex.EncodeToString(sum[:])})
}

// bytes returns the archive.
func (f *forged) bytes(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(f.list)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range append([]forgedMember{{tar.Header{Name: exportList, Typeflag: tar.TypeReg}, string(text)}}, f.members...) {
		m.header.Mode, m.header.Size = 0o644, int64(len(m.body))
		if err := w.WriteHeader(&m.header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// forge returns a sound archive to change.
func forge() *forged {
	f := &forged{list: exported{Format: exportFormat, Version: "2.21.0", Variant: runtimedir.CPU}}
	f.add(runtimedir.LibraryFramework, library("framework"))
	f.add(runtimedir.LibraryCC, library("c"))
	f.add(license, "Apache License")
	return f
}

// A hostile archive is refused before it writes outside of its directory, or a file
// that is not in its list.
func TestImportRefuses(t *testing.T) {
	link := func(kind byte) func(f *forged) {
		return func(f *forged) {
			f.add("LICENSE2", "")
			f.list.Files[3].Name = "THIRD_PARTY_X"
			f.members[3].header = tar.Header{Name: "THIRD_PARTY_X", Typeflag: kind, Linkname: "/etc/passwd"}
		}
	}
	tests := []struct {
		name   string
		change func(f *forged)
		class  millrace.Class
		want   string
	}{
		{"slip", func(f *forged) { f.add("../evil", "x") }, millrace.ErrCorrupt, `lists a file that a runtime does not have: "../evil"`},
		{"slip below include", func(f *forged) { f.add("include/../../evil", "x") }, millrace.ErrCorrupt, `refuse to unpack a file named "include/../../evil"`},
		{"slip below ops", func(f *forged) { f.add("ops/../../evil.so", "x") }, millrace.ErrCorrupt, "lists a file that a runtime does not have"},
		{"absolute", func(f *forged) { f.add("/etc/evil", "x") }, millrace.ErrCorrupt, "lists a file that a runtime does not have"},
		{"its own runtime.json", func(f *forged) { f.add(runtimedir.InfoFile, "{}") }, millrace.ErrCorrupt, "lists a file that a runtime does not have"},
		{"symbolic link", link(tar.TypeSymlink), millrace.ErrCorrupt, `"THIRD_PARTY_X" is not a regular file`},
		{"hard link", link(tar.TypeLink), millrace.ErrCorrupt, "is not a regular file"},
		{"device", link(tar.TypeChar), millrace.ErrCorrupt, "is not a regular file"},
		{"pipe", link(tar.TypeFifo), millrace.ErrCorrupt, "is not a regular file"},
		{"directory", link(tar.TypeDir), millrace.ErrCorrupt, "is not a regular file"},
		{"not listed", func(f *forged) { f.add("THIRD_PARTY_X", "x"); f.list.Files = f.list.Files[:3] }, millrace.ErrCorrupt, `"THIRD_PARTY_X" is not listed, or comes twice`},
		{"twice", func(f *forged) { f.members = append(f.members, f.members[2]) }, millrace.ErrCorrupt, `"LICENSE" is not listed, or comes twice`},
		{"listed twice", func(f *forged) { f.list.Files = append(f.list.Files, f.list.Files[2]) }, millrace.ErrCorrupt, `lists "LICENSE" twice`},
		{"missing", func(f *forged) { f.members = f.members[:2] }, millrace.ErrCorrupt, "lists LICENSE, but does not hold it"},
		{"longer than listed", func(f *forged) { f.members[2].body += "x" }, millrace.ErrCorrupt, `"LICENSE" has 15 bytes, export.json says 14`},
		{"other than listed", func(f *forged) { f.members[2].body = "apache license" }, millrace.ErrCorrupt, `"LICENSE" has SHA-256`},
		{"huge", func(f *forged) { f.list.Files[2].Size = 1 << 40 }, millrace.ErrLimit, `lists "LICENSE" with 1099511627776 bytes`},
		{"negative", func(f *forged) { f.list.Files[2].Size = -1 }, millrace.ErrLimit, "with -1 bytes"},
		{"huge together", func(f *forged) {
			for range 5 {
				f.list.Files = append(f.list.Files, exportedFile{runtimedir.LibraryCC, maxLibrary, ""})
			}
		}, millrace.ErrLimit, "lists files of more than 17179869184 bytes together"},
		{"other format", func(f *forged) { f.list.Format = 2 }, millrace.ErrRuntime, "is an archive of format 2, this millrace reads format 1"},
		{"operations without checksum", func(f *forged) { f.add("ops/libmillrace_datasets-2.21.0-00.so", "code") }, millrace.ErrCorrupt, "has no checksum beside it"},
		{"operations with another checksum", func(f *forged) {
			f.add("ops/libmillrace_datasets-2.21.0-00.so", "code")
			f.add("ops/libmillrace_datasets-2.21.0-00.so.sha256", "00")
		}, millrace.ErrCorrupt, "is damaged"},
		{"no libraries", func(f *forged) { f.list.Files, f.members = f.list.Files[2:], f.members[2:] }, millrace.ErrRuntime, "does not hold libtensorflow_framework.so.2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := forge()
			tt.change(f)
			parent := t.TempDir()
			o := &Options{From: save(t, "runtime.tar", f.bytes(t)), Dir: filepath.Join(parent, "root"), Unpinned: true}
			_, err := Install(t.Context(), o)
			check(t, err, tt.class, o.From, tt.want)
			clean(t, o.Dir)
			if diff := cmp.Diff([]string{"root"}, names(t, parent)); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
		})
	}
}

// An archive whose libraries are not TensorFlow's needs the user's consent.
func TestImportUnpinned(t *testing.T) {
	o := &Options{From: save(t, "runtime.tar", forge().bytes(t)), Dir: t.TempDir()}
	_, err := Install(t.Context(), o)
	check(t, err, millrace.ErrRuntime, "which is not pinned for TensorFlow 2.21.0")
	clean(t, o.Dir)
	o.Unpinned = true
	if _, err := Install(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// A truncated archive is an error wherever it ends, and leaves no files.
func TestImportCut(t *testing.T) {
	good := forge().bytes(t)
	const end = 512 + 1024 // the last member's body, and the end of an archive
	for n := 512; n <= len(good)-end; n += 256 {
		o := &Options{From: save(t, "runtime.tar", good[:n]), Dir: t.TempDir(), Unpinned: true}
		if _, err := Install(t.Context(), o); err == nil {
			t.Errorf("the first %d of %d bytes are installed", n, len(good))
		}
		clean(t, o.Dir)
	}
}

// FuzzImport feeds arbitrary files to the unpacker: it must neither crash nor
// write outside of its directory.
func FuzzImport(f *testing.F) {
	good := forge()
	f.Add(good.bytes(f))
	f.Add(good.bytes(f)[:1000])
	good.add("include/../../evil", "x")
	f.Add(good.bytes(f))
	f.Add([]byte(strings.Repeat("\x00", 1024)))
	f.Fuzz(func(t *testing.T, b []byte) {
		parent := t.TempDir()
		s := &source{path: filepath.Join(parent, "a.tar"), room: func(int64) error { return nil }}
		if err := os.WriteFile(s.path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		tree, err := newTree(filepath.Join(parent, "tree"))
		if err != nil {
			t.Fatal(err)
		}
		defer tree.close()
		s.unpackArchive(t.Context(), tree)
		if diff := cmp.Diff([]string{"a.tar", "tree"}, names(t, parent)); diff != "" {
			t.Errorf("outside (-want +got):\n%s", diff)
		}
	})
}
