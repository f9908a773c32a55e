package main

import (
	"fmt"
	"io"
	"strings"
)

// contexts are the contexts for which the report shows the next characters.
var contexts = []string{" t", "th", "the ", "q", "LOR", "unto", "bega"}

// report writes the amount of text, the bits per character, and a few rows of
// the table.
func report(out io.Writer, c *counts, m *measured) error {
	var b strings.Builder
	b.WriteString("           windows  verses  characters\n")
	c.seen.row(&b, "counted")
	m.seen.row(&b, "held back")

	b.WriteString("\ncontext  bits a character of the held-back chapters\n")
	for length, bits := range m.bits {
		fmt.Fprintf(&b, "%7d  %.3f\n", length, bits/float64(m.seen.characters))
	}

	b.WriteString("\nafter    most often\n")
	for _, context := range contexts {
		fmt.Fprintf(&b, "%-7q", context)
		for _, n := range c.table.likeliest(context, 4) {
			fmt.Fprintf(&b, "  %-4q %3.0f %%", n.character, 100*n.share)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// row writes one row of the first table.
func (t *tally) row(b *strings.Builder, label string) {
	fmt.Fprintf(b, "%-9s  %7d  %6d  %10d\n", label, t.windows, t.verses, t.characters)
}
