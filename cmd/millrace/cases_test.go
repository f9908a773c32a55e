package main

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"millrace/internal/cases"
	"millrace/internal/testruntime"
)

// TestCases dumps every case and judges what a user would see: standard
// output, standard error and the exit code. Those of sequence loaders whose
// configs are right wait for these loaders.
func TestCases(t *testing.T) {
	testruntime.Need(t)
	for _, name := range cases.All(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := cases.Prepare(t, name)
			c := cases.Read(t, dir)
			args := []string{"dump", filepath.Join(dir, "loader.json")}
			if model := cases.Model(dir); model != "" {
				args = append(args, "--model", model)
			}
			if c.Properties.Take != nil {
				args = append(args, "-n", strconv.Itoa(*c.Properties.Take))
			}
			var stdout, stderr bytes.Buffer
			p := &program{stdout: &stdout, stderr: &stderr}
			code := p.run(t.Context(), args)
			if cases.IsSequence(t, dir) && strings.Contains(stderr.String(), "not built yet") {
				t.Skip("a sequence loader")
			}
			if err := cases.Compare(c, stdout.Bytes(), stderr.Bytes(), code); err != nil {
				t.Errorf("%s\n%v\nexit code %d, stderr:\n%s", c.About, err, code, &stderr)
			}
		})
	}
}
