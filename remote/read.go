package remote

import (
	"context"
	"errors"

	"millrace"
)

// request begins to fill up to most blocks from a number on. It returns how many.
func (o *object) request(number int64, most int) int {
	run := o.client.blocks.add(o.key(number), o.info.Size, most)
	if len(run) > 0 {
		go o.fill(run)
	}
	return len(run)
}

// fill fills consecutive blocks.
func (o *object) fill(run []*block) {
	last := run[len(run)-1]
	s := o.stream(run[0].key.number*blockBytes, last.key.number*blockBytes+int64(len(last.data)))
	defer s.close()
	var err error
	for _, b := range run {
		if err == nil {
			err = s.fill(o.ctx, b.data)
		}
		o.client.blocks.done(b, err)
	}
}

// readBlock copies bytes of one block to p. ahead is called when the block was found.
func (o *object) readBlock(ctx context.Context, p []byte, offset int64, window int) (int, error) {
	number := offset / blockBytes
	for {
		b := o.client.blocks.find(o.key(number))
		if b == nil {
			if o.request(number, window) == 0 && o.client.blocks.find(o.key(number)) == nil {
				return o.readPast(ctx, p, offset)
			}
			continue
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			e := millrace.Canceled(ctx, "reading")
			e.File, e.Offset = public(o.name), offset
			return 0, e
		}
		if errors.Is(b.err, millrace.ErrCanceled) && o.ctx.Err() == nil {
			continue // the files for which the block was requested were closed
		}
		if b.err != nil {
			return 0, b.err
		}
		return copy(p, b.data[offset-number*blockBytes:]), nil
	}
}

// readPast reads without blocks, because all of them are being filled.
func (o *object) readPast(ctx context.Context, p []byte, offset int64) (int, error) {
	n := min(int64(len(p)), o.info.Size-offset)
	s := o.stream(offset, offset+n)
	defer s.close()
	return int(n), s.fill(ctx, p[:n])
}
