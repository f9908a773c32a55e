package main

import (
	"fmt"
	"io"
	"strings"
)

const classes = 10

// confusion counts, for each label, how often the model read it as each digit.
type confusion struct {
	counts [classes][classes]int // index: the label, then the digit that was read
}

// add counts one picture.
func (c *confusion) add(label, read int64) error {
	if label < 0 || label >= classes || read < 0 || read >= classes {
		return fmt.Errorf("label %d was read as %d; digits are 0 to 9", label, read)
	}
	c.counts[label][read]++
	return nil
}

// totals returns the number of pictures that were read right, and of all
// pictures.
func (c *confusion) totals() (right, all int) {
	for label, row := range c.counts {
		right += row[label]
		for _, n := range row {
			all += n
		}
	}
	return right, all
}

// accuracy is the share of pictures that were read right.
func (c *confusion) accuracy() float64 {
	right, all := c.totals()
	return float64(right) / float64(all)
}

// print writes the table, a row for each label, and the accuracy.
func (c *confusion) print(out io.Writer) error {
	var b strings.Builder
	b.WriteString("       read as\nlabel ")
	for digit := range classes {
		fmt.Fprintf(&b, "%4d", digit)
	}
	b.WriteByte('\n')
	for label, row := range c.counts {
		fmt.Fprintf(&b, "%5d ", label)
		for _, n := range row {
			cell := "."
			if n > 0 {
				cell = fmt.Sprint(n)
			}
			fmt.Fprintf(&b, "%4s", cell)
		}
		b.WriteByte('\n')
	}
	right, all := c.totals()
	fmt.Fprintf(&b, "\n%d of %d held-back digits read right: accuracy %.4f\n", right, all, c.accuracy())
	_, err := io.WriteString(out, b.String())
	return err
}
