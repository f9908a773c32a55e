package index

import (
	"errors"
	"fmt"
	"io"

	"millrace"
	"millrace/remote"
	"millrace/tfrecord"
)

// sampled is the number of headers of a plain file that are compared with its index.
const sampled = 8

// misfit is the reason why an index does not match a data file.
type misfit struct {
	what  string
	older bool // the data file was modified, or is declared with another compression
}

func (e *misfit) Error() string { return e.what }

// fits returns a *misfit if the index does not match an open data file, as far as its
// size, its time and a sample of its headers show. A header that fails its checksum is
// not a contradiction if damaged records are to be skipped.
func (c *contents) fits(f tfrecord.File, x *tfrecord.Index, skip bool) error {
	switch {
	case c.compression != x.Compression:
		return &misfit{fmt.Sprintf("it is that of a file with compression %s", c.compression), true}
	case c.size != x.Size:
		return &misfit{fmt.Sprintf("it is that of a file of %d bytes, which now has %d", c.size, x.Size), false}
	case remote.IsURL(x.Path) && c.compression == tfrecord.None:
		return c.first(f)
	case remote.IsURL(x.Path): // a store has its own times; the first record is looked at
	case c.modTime.UnixNano() != x.ModTime.UnixNano():
		return &misfit{"the file was written since", true}
	case c.compression == tfrecord.None:
		return c.sample(f, skip)
	}
	return c.firstRecord(f, x)
}

// first compares the first header. A store gives an object the time at which it was
// copied there, so times do not matter, and every header that is looked at is a request.
// Readers compare the other headers with the index when they come to them.
func (c *contents) first(f tfrecord.File) error {
	if c.layout.Records() == 0 {
		return nil
	}
	same, err := c.layout.HasHeader(f, 0)
	if err == nil && !same {
		err = &misfit{"the file has another record 0", false}
	}
	return err
}

// sample compares some headers of a plain file: the first, the last and others between
// them. At least one of them must match.
func (c *contents) sample(f tfrecord.File, skip bool) error {
	last := c.layout.Records() - 1
	steps := min(last, sampled-1)
	found := false
	for i := range steps + 1 {
		record, damaged := int64(0), false
		if steps > 0 {
			record = last/steps*i + last%steps*i/steps
		}
		same, err := c.layout.HasHeader(f, record)
		if err == nil && !same && skip {
			damaged, err = c.layout.DamagedHeader(f, record)
		}
		if err != nil {
			return err
		}
		if !same && !damaged {
			return &misfit{fmt.Sprintf("the file has another record %d", record), false}
		}
		found = found || same
	}
	if !found && last >= 0 {
		return &misfit{"none of the headers looked at is intact", false}
	}
	return nil
}

// firstRecord compares the length of the first record of a compressed file.
func (c *contents) firstRecord(f tfrecord.File, x *tfrecord.Index) error {
	r := tfrecord.NewReader(io.NewSectionReader(f, 0, x.Size), x.Path, &tfrecord.ReaderOptions{Compression: x.Compression})
	data, err := r.Next()
	switch {
	case err == io.EOF && c.layout.Records() == 0:
		return nil
	case err == nil && c.layout.Records() > 0 && c.layout.Length(0) == int64(len(data)):
		return nil
	case errors.Is(err, millrace.ErrIO):
		return err
	}
	return &misfit{"the file has another first record", false}
}
