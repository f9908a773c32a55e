package remote

import (
	"context"
	"io"
)

// Peek is like Stat, and keeps the first block, so that reading a small object needs no
// other request.
func (c *Client) Peek(ctx context.Context, name string) (info Info, err error) {
	s, err := c.store(name)
	if err != nil {
		return info, err
	}
	url, data, got := c.reveal(name), []byte(nil), 0
	err = c.retry(ctx, name, func(w *watch) error {
		body, err := s.Open(w.ctx, url, Range{Bytes: blockBytes})
		if err != nil {
			return err
		}
		defer body.Close()
		info = body.Info
		data = make([]byte, min(blockBytes, info.Size))
		if got, err = io.ReadFull(w.read(body), data); err != nil && got == 0 {
			return err
		}
		return nil
	})
	if err == nil && got < len(data) {
		err = c.complete(ctx, name, info, data, got)
	}
	if err != nil {
		return Info{}, err
	}
	c.remember(name, info)
	c.blocks.keep(blockKey{name: name, version: info.Version}, info.Size, data)
	return info, nil
}

// complete reads the rest of the first bytes of an object.
func (c *Client) complete(ctx context.Context, name string, info Info, data []byte, from int) error {
	o, err := c.acquire(name, info)
	if err != nil {
		return err
	}
	defer o.release()
	s := o.stream(int64(from), int64(len(data)))
	defer s.close()
	return s.fill(ctx, data[from:])
}
