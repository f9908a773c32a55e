package install

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"millrace/internal/base/runtimedir"
)

const fakeName = "tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl"

// entry is a member of a fake wheel.
type entry struct {
	name, body string
	mode       fs.FileMode // 0: a regular file
	record     string      // its line in RECORD; "": the right one, "-": none
}

// library returns bytes that debug/elf accepts as a shared object for this machine,
// with a tail that distinguishes two libraries.
func library(tail string) string {
	machine := map[string]uint16{"amd64": 62, "arm64": 183}[runtime.GOARCH]
	h := make([]byte, 64)
	copy(h, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(h[16:], 3) // ET_DYN
	binary.LittleEndian.PutUint16(h[18:], machine)
	binary.LittleEndian.PutUint32(h[20:], 1)
	binary.LittleEndian.PutUint16(h[52:], 64)
	return string(h) + tail
}

// entries returns the members of a small but complete wheel.
func entries() []entry {
	return []entry{
		{name: "tensorflow/__init__.py", body: "not wanted"},
		{name: "tensorflow/include/"},
		{name: "tensorflow/include/LICENSE", body: "Apache License"},
		{name: "tensorflow/include/tensorflow/c/c_api.h", body: "// C API"},
		{name: "tensorflow/include/external/eigen/Core", body: strings.Repeat("template ", 1000)},
		{name: "tensorflow/THIRD_PARTY_NOTICES.txt", body: "notices"},
		{name: "tensorflow/libtensorflow_framework.so.2", body: library("framework")},
		{name: "tensorflow/libtensorflow_cc.so.2", body: library(strings.Repeat("cc", 1<<18))},
		{name: "tensorflow/python/_pywrap.so", body: "not wanted"},
	}
}

// unpacked are the files of entries in a runtime directory.
var unpacked = []string{
	"LICENSE",
	"THIRD_PARTY_NOTICES.txt",
	"include/LICENSE",
	"include/external/eigen/Core",
	"include/tensorflow/c/c_api.h",
	"libtensorflow_cc.so.2",
	"libtensorflow_framework.so.2",
	"runtime.json",
}

// build returns a wheel with these members and a RECORD of them.
func build(t testing.TB, members []entry) []byte {
	t.Helper()
	var record strings.Builder
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(e entry) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode | 0o644)
		w, err := z.CreateHeader(h)
		if err == nil && e.body != "" {
			_, err = w.Write([]byte(e.body))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range members {
		add(e)
		switch e.record {
		case "-":
		case "":
			sum := sha256.Sum256([]byte(e.body))
			fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.body))
		default:
			fmt.Fprintln(&record, e.record)
		}
	}
	add(entry{name: "tensorflow_cpu-2.21.0.dist-info/RECORD", body: record.String() + "tensorflow_cpu-2.21.0.dist-info/RECORD,,\n"})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pinsFor returns pins for a wheel made of entries.
func pinsFor(wheel []byte) *runtimedir.Pins {
	w := runtimedir.Wheel{
		Variant: runtimedir.CPU, GOARCH: runtime.GOARCH, Package: "tensorflow-cpu", File: fakeName,
		Size: int64(len(wheel)), SHA256: sumOf(wheel), Libraries: map[string]runtimedir.Pin{},
	}
	for _, e := range entries() {
		if base := filepath.Base(e.name); isLibrary(base) {
			w.Libraries[base] = runtimedir.Pin{Size: int64(len(e.body)), SHA256: sumOf([]byte(e.body))}
		}
	}
	return &runtimedir.Pins{Version: "2.21.0", Python: "311", Wheels: []runtimedir.Wheel{w}}
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// save writes a file below a new directory and returns its path.
func save(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// files returns the regular files below dir, sorted, without the lock.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != lockFile {
			rel, _ := filepath.Rel(dir, p)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
