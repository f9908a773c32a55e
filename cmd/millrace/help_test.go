package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// TestHelpFits keeps the explanations within 80 columns. Examples may be longer.
func TestHelpFits(t *testing.T) {
	p := &cli.Program{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long) {
			if len([]rune(line)) > 81 && !strings.HasPrefix(line, "  songs.json:") {
				t.Errorf("%s: longer than 80 columns: %s", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root(p))
}
