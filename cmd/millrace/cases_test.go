package main

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/test/cases"
	"millrace/internal/test/testruntime"
)

// TestCases dumps every case and compares what a user sees: standard output, standard
// error and the exit code.
func TestCases(t *testing.T) {
	testruntime.Need(t)
	for _, name := range cases.All(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := cases.Prepare(t, name)
			c := cases.Read(t, name)
			args := []string{"dump", filepath.Join(dir, "loader.json")}
			if model := cases.Model(dir); model != "" {
				args = append(args, "--model", model)
			}
			if c.Properties.Take != nil {
				args = append(args, "-n", strconv.Itoa(*c.Properties.Take))
			}
			var stdout, stderr bytes.Buffer
			p := &cli.Program{Stdout: &stdout, Stderr: &stderr}
			code := runLine(t.Context(), p, args)
			if err := cases.Compare(c, stdout.Bytes(), stderr.Bytes(), code); err != nil {
				t.Errorf("%s\n%v\nexit code %d, stderr:\n%s", c.About, err, code, &stderr)
			}
		})
	}
}

// A file that is too short for a window gives a warning that names it.
func TestShortFilesAreNamed(t *testing.T) {
	testruntime.Need(t)
	dir := cases.Prepare(t, "cont-files-short")
	var stdout, stderr bytes.Buffer
	p := &cli.Program{Stdout: &stdout, Stderr: &stderr}
	if code := runLine(t.Context(), p, []string{"dump", filepath.Join(dir, "loader.json")}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for _, words := range []string{"a.tfrecords: warning: 2 positions, shorter than min_window (4)", "c.tfrecords"} {
		if !strings.Contains(stderr.String(), words) {
			t.Errorf("%q does not say %q", &stderr, words)
		}
	}
}
