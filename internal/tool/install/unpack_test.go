package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// Members with wrong headers are refused even in a wheel that the user trusts.
func TestWheelMembers(t *testing.T) {
	tests := []struct {
		name  string
		extra entry
		class millrace.Class
		want  string
	}{
		{"slip", entry{name: "tensorflow/include/../../../evil"}, millrace.ErrCorrupt, `refuse to unpack a file named "include/../../../evil"`},
		{"slip to itself", entry{name: "tensorflow/include/x/../y"}, millrace.ErrCorrupt, "refuse to unpack"},
		{"absolute", entry{name: "tensorflow/include//etc/passwd"}, millrace.ErrCorrupt, "refuse to unpack"},
		{"backslash", entry{name: `tensorflow/include/..\evil`}, millrace.ErrCorrupt, "refuse to unpack"},
		{"long", entry{name: "tensorflow/include/" + strings.Repeat("x", maxName)}, millrace.ErrCorrupt, "refuse to unpack"},
		{"link", entry{name: "tensorflow/include/link", body: "/etc/passwd", mode: fs.ModeSymlink}, millrace.ErrCorrupt, `"tensorflow/include/link" is not a regular file`},
		{"not listed", entry{name: "tensorflow/include/new", record: "-"}, millrace.ErrCorrupt, `"tensorflow/include/new" is not in the wheel's RECORD`},
		{"twice", entry{name: "tensorflow/include/LICENSE", body: "Apache License"}, millrace.ErrIO, "file exists"},
		{"larger", entry{name: "tensorflow/include/x", body: "123456", record: "tensorflow/include/x,sha256=" + strings.Repeat("A", 43) + ",3"}, millrace.ErrLimit, "include/x is larger than the allowed 3 bytes"},
		{"other", entry{name: "tensorflow/include/x", body: "123456", record: "tensorflow/include/x,sha256=" + strings.Repeat("A", 43) + ",6"}, millrace.ErrCorrupt, "the wheel's RECORD says 00000000"},
		{"bad record", entry{name: "tensorflow/include/x", record: `tensorflow/include/x,"`}, millrace.ErrCorrupt, "RECORD: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := build(t, append(entries(), tt.extra))
			parent := t.TempDir()
			o := &Options{From: save(t, "local.whl", b), Dir: filepath.Join(parent, "root"), Unpinned: true}
			_, err := Install(t.Context(), o)
			check(t, err, tt.class, tt.want)
			clean(t, o.Dir)
			if diff := cmp.Diff([]string{"root"}, names(t, parent)); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWheelWithout(t *testing.T) {
	for _, missing := range runtimedir.Libraries {
		var members []entry
		for _, e := range entries() {
			if !strings.HasSuffix(e.name, missing) {
				members = append(members, e)
			}
		}
		o := &Options{From: save(t, "local.whl", build(t, members)), Dir: t.TempDir(), Unpinned: true}
		_, err := Install(t.Context(), o)
		check(t, err, millrace.ErrRuntime, o.From, "does not hold "+missing)
	}
}

// FuzzWheel feeds arbitrary files to the unpacker: it must neither crash nor
// write outside of its directory.
func FuzzWheel(f *testing.F) {
	good := build(f, entries())
	f.Add(good)
	f.Add(good[:len(good)-30])
	f.Add(build(f, append(entries(), entry{name: "tensorflow/include/../../evil"})))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, b []byte) {
		parent := t.TempDir()
		s := &source{path: filepath.Join(parent, "a.whl")}
		if err := os.WriteFile(s.path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		tree, err := newTree(filepath.Join(parent, "tree"))
		if err != nil {
			t.Fatal(err)
		}
		defer tree.close()
		s.unpackWheel(t.Context(), tree)
		if diff := cmp.Diff([]string{"a.whl", "tree"}, names(t, parent)); diff != "" {
			t.Errorf("outside (-want +got):\n%s", diff)
		}
	})
}

// tarball returns a small version of an official tarball.
func tarball(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	put := func(h tar.Header, body string) {
		h.Mode, h.Size = 0o644, int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(body))
	}
	put(tar.Header{Name: "./LICENSE"}, "Apache License")
	put(tar.Header{Name: "./THIRD_PARTY_TF_C_LICENSES"}, "notices")
	put(tar.Header{Name: "./include/tensorflow/c/c_api.h"}, "// C API")
	put(tar.Header{Name: "./lib/libtensorflow.so", Linkname: "libtensorflow.so.2", Typeflag: tar.TypeSymlink}, "")
	put(tar.Header{Name: "./lib/libtensorflow.so.2", Linkname: "libtensorflow.so.2.21.0", Typeflag: tar.TypeSymlink}, "")
	put(tar.Header{Name: "./lib/libtensorflow.so.2.21.0"}, library("c"))
	put(tar.Header{Name: "./lib/libtensorflow_framework.so.2.21.0"}, library("framework of the tarball"))
	put(tar.Header{Name: "./lib/other"}, "not wanted")
	w.Close()
	gz.Close()
	return b.Bytes()
}

func TestTarball(t *testing.T) {
	b := tarball(t)
	o := &Options{From: save(t, "libtensorflow.tar.gz", b), Dir: t.TempDir()}
	_, err := Install(t.Context(), o)
	check(t, err, millrace.ErrRuntime, o.From, "which is not pinned for TensorFlow 2.21.0", "to trust it, add --unpinned")
	clean(t, o.Dir)

	o.Unpinned = true
	got, err := Install(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"LICENSE", "THIRD_PARTY_TF_C_LICENSES", "include/tensorflow/c/c_api.h", "libtensorflow_cc.so.2", "libtensorflow_framework.so.2", "runtime.json"}
	if diff := cmp.Diff(want, files(t, got.Dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got.Pinned {
		t.Error("claims to be pinned")
	}
	if again, err := Install(t.Context(), o); err != nil || !again.Already {
		t.Errorf("second time: %+v, %v", again, err)
	}

	cut := &Options{From: save(t, "libtensorflow.tar.gz", b[:len(b)/2]), Dir: t.TempDir(), Unpinned: true}
	_, err = Install(t.Context(), cut)
	check(t, err, millrace.ErrCorrupt, "the archive is incomplete")
}

func TestDirectory(t *testing.T) {
	tests := []struct{ name, libs, cc, include string }{
		{"unpacked wheel", "tensorflow", "libtensorflow_cc.so.2", "tensorflow/include"},
		{"libraries alone", ".", "libtensorflow_cc.so.2", "elsewhere"},
		{"unpacked tarball", "lib", "libtensorflow.so.2", "include"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, body := range map[string]string{
				filepath.Join(tt.libs, tt.cc):                          library("c"),
				filepath.Join(tt.libs, "libtensorflow_framework.so.2"): library("f"),
				filepath.Join(tt.include, "tensorflow/c/c_api.h"):      "// C API",
			} {
				path := filepath.Join(dir, name)
				os.MkdirAll(filepath.Dir(path), 0o755)
				os.WriteFile(path, []byte(body), 0o644)
			}
			got, err := Install(t.Context(), &Options{From: dir, Dir: t.TempDir(), Unpinned: true})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"include/tensorflow/c/c_api.h", "libtensorflow_cc.so.2", "libtensorflow_framework.so.2", "runtime.json"}
			if tt.include == "elsewhere" {
				want = want[1:]
			}
			if diff := cmp.Diff(want, files(t, got.Dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDirectoryRefused(t *testing.T) {
	empty := t.TempDir()
	_, err := Install(t.Context(), &Options{From: empty, Dir: t.TempDir()})
	check(t, err, millrace.ErrRuntime, empty, "does not hold libtensorflow_cc.so.2 and libtensorflow_framework.so.2")

	text := t.TempDir()
	for _, name := range runtimedir.Libraries {
		os.WriteFile(filepath.Join(text, name), []byte("INPUT(-lother)"), 0o644)
	}
	_, err = Install(t.Context(), &Options{From: text, Dir: t.TempDir(), Unpinned: true})
	check(t, err, millrace.ErrRuntime, "not a shared library")
}
