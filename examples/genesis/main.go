// Command genesis counts which character follows which in chapters 1 to 40 of Genesis,
// and prints how well those counts predict the next character of chapters 41 to 50.
//
//	go run ./examples/genesis
//
// The loader makes the windows: three to five verses, joined, and padded to the longest
// window of the batch. The tensor verse_lengths separates text from padding. Each
// window is a separate text: no context reaches from one window into the next.
package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"

	"millrace/loaders"
	"millrace/tfbridge"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, filepath.Join("examples", "genesis"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run counts in one part of the book, measures on the other part and prints the
// result.
func run(ctx context.Context, dir string, out io.Writer) error {
	counted, err := count(ctx, filepath.Join(dir, "train.json"))
	if err != nil {
		return err
	}
	tested, err := measure(ctx, filepath.Join(dir, "heldback.json"), counted.table)
	if err != nil {
		return err
	}
	return report(out, counted, tested)
}

// counts is the result of reading the windows of train.json.
type counts struct {
	seen  tally
	table *table
}

// count adds the characters of every window of a config to a table.
func count(ctx context.Context, config string) (*counts, error) {
	c := &counts{table: &table{}}
	for w, err := range windows(ctx, config) {
		if err != nil {
			return nil, err
		}
		c.seen.add(w)
		c.table.add(w.text)
	}
	return c, nil
}

// measured is how well a table predicts the windows of heldback.json.
type measured struct {
	seen tally
	bits [longest + 1]float64 // the sum of bits, by the length of the context
}

// measure reads every window of a config and sums the bits that the table needs
// for it.
func measure(ctx context.Context, config string, t *table) (*measured, error) {
	m := &measured{}
	for w, err := range windows(ctx, config) {
		if err != nil {
			return nil, err
		}
		m.seen.add(w)
		for length := range m.bits {
			m.bits[length] += t.bits(w.text, length)
		}
	}
	return m, nil
}

// window is a few verses of one chapter.
type window struct {
	text   []byte // without padding; a verse ends with a line feed
	verses int
}

// windows yields the windows of a config. Their text is valid until the next
// batch.
func windows(ctx context.Context, config string) iter.Seq2[window, error] {
	return func(yield func(window, error) bool) {
		loader, err := loaders.Open(config, nil)
		if err != nil {
			yield(window{}, err)
			return
		}
		defer loader.Close()
		for batch, err := range loader.Batches(ctx) {
			if err != nil {
				yield(window{}, err)
				return
			}
			if !unpad(batch, yield) {
				return
			}
		}
	}
}

// unpad yields the windows of a batch. It reports whether the caller wants
// more.
func unpad(batch *loaders.Batch, yield func(window, error) bool) bool {
	texts, err := tfbridge.View[uint8](batch.Tensor("text"))
	if err != nil {
		yield(window{}, err)
		return false
	}
	lengths, err := tfbridge.View[int64](batch.Tensor("verse_lengths"))
	if err != nil {
		yield(window{}, err)
		return false
	}
	rows := int(batch.Rows())
	width, most := len(texts)/rows, len(lengths)/rows
	for i := range rows {
		w, size := window{}, int64(0)
		for _, n := range lengths[i*most : (i+1)*most] {
			if n > 0 { // no verse is empty
				w.verses++
				size += n
			}
		}
		w.text = texts[i*width:][:size]
		if !yield(w, nil) {
			return false
		}
	}
	return true
}
