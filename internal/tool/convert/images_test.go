package convert

import (
	"bytes"
	"image"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImages converts a folder with a folder for each class.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 3))); err != nil {
		t.Fatal(err)
	}
	var g bytes.Buffer
	if err := gif.Encode(&g, image.NewGray(image.Rect(0, 0, 2, 3)), nil); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"dog/1.png": b.Bytes(), "cat/2.gif": g.Bytes(), "dog/3.PNG": b.Bytes()} {
		path := filepath.Join(dir, "pets", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	report, err := Run(t.Context(), []string{filepath.Join(dir, "pets")}, out, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(report.Classes, []string{"cat", "dog"}) || report.Rows != 3 {
		t.Errorf("report %+v", report)
	}
	rows := records(t, out)
	for i, want := range []string{`label=[0][][] class=[][]["cat"]`, `label=[1][][] class=[][]["dog"]`, `label=[1][][] class=[][]["dog"]`} {
		if !strings.Contains(rows[i], want) || !strings.Contains(rows[0], "GIF89a") {
			t.Errorf("row %d: %.200s, want %s in it", i, rows[i], want)
		}
	}
	bad := filepath.Join(dir, "pets", "cat", "bad.jpg")
	if err := os.WriteFile(bad, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), []string{filepath.Join(dir, "pets")}, filepath.Join(dir, "no"), &Options{}); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("a text for a picture: %v", err)
	}
}
