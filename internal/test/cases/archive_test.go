package cases_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"millrace/internal/test/cases"
)

// packed returns an archive of one entry.
func packed(t *testing.T, head *tar.Header, text string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	head.Size, head.Mode = int64(len(text)), 0o644
	if err := out.WriteHeader(head); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestUnpackRefuses(t *testing.T) {
	for _, head := range []*tar.Header{
		{Name: "../out", Typeflag: tar.TypeReg},
		{Name: "case/../../out", Typeflag: tar.TypeReg},
		{Name: "/etc/out", Typeflag: tar.TypeReg},
		{Name: "case/link", Typeflag: tar.TypeSymlink, Linkname: "../../out"},
		{Name: "case/link", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		{Name: "case/pipe", Typeflag: tar.TypeFifo},
	} {
		if files, err := cases.Unpack(packed(t, head, "")); err == nil || !strings.Contains(err.Error(), "not a regular file below the top") {
			t.Errorf("Unpack(%s, type %c) gives %v, %v", head.Name, head.Typeflag, files, err)
		}
	}
	whole := packed(t, &tar.Header{Name: "case/loader.json", Typeflag: tar.TypeReg}, strings.Repeat("x", 4096)).Bytes()
	for _, n := range []int{0, 5, len(whole) / 2, len(whole) - 1} {
		if files, err := cases.Unpack(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("%d bytes of %d give %v", n, len(whole), files)
		}
	}
	if files, err := cases.Unpack(bytes.NewReader(whole)); err != nil || len(files) != 1 {
		t.Errorf("the whole gives %v, %v", files, err)
	}
}

// Missing cases would silently reduce what is tested.
func TestNumberOfCases(t *testing.T) {
	if n := len(cases.All(t)); n < 800 {
		t.Errorf("%d cases, want at least 800", n)
	}
}
