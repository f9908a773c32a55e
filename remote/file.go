package remote

import (
	"context"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"millrace"
)

// File is an open object. ReadAt may be called concurrently, the other methods by one
// goroutine at a time.
type File struct {
	o    *object
	ctx  func() context.Context
	at   int64 // position of Read
	once sync.Once

	mu     sync.Mutex
	next   int64 // the block after the last one that was read
	window int   // blocks of the next request
	asked  int64 // the block after the last one that was requested
}

// Open opens an object with the [Default] client.
func Open(ctx context.Context, name string) (*File, error) { return Default.Open(ctx, name) }

// Open opens the version of an object that the last [Client.Stat] has found. Without one it
// asks the store. When ctx ends, all reads fail. The caller closes the File.
func (c *Client) Open(ctx context.Context, name string) (*File, error) {
	info, err := c.Known(ctx, name)
	if err != nil {
		return nil, err
	}
	o, err := c.acquire(name, info)
	if err != nil {
		return nil, err
	}
	return &File{o: o, ctx: func() context.Context { return ctx }, window: 1}, nil
}

// Close ends the requests that only this File has needed.
func (f *File) Close() error {
	f.once.Do(f.o.release)
	return nil
}

// Size returns the size of the object.
func (f *File) Size() int64 { return f.o.info.Size }

// ReadAt reads len(p) bytes from an offset on. At the end of the object it returns io.EOF.
func (f *File) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, millrace.Errorf(millrace.ErrInternal, "an offset below 0")
	}
	ctx := f.ctx()
	last := (min(offset+int64(len(p)), f.o.info.Size) - 1) / blockBytes
	window := 0
	if offset < f.o.info.Size {
		window = f.visit(offset/blockBytes, last)
	}
	for n < len(p) {
		at := offset + int64(n)
		if at >= f.o.info.Size {
			return n, io.EOF
		}
		if ctx.Err() != nil {
			return n, f.o.client.failed(ctx, "read", f.o.name, at, 0, ctx.Err())
		}
		span := int(min(last-at/blockBytes+1, mostBlocks))
		m, err := f.o.readBlock(ctx, p[n:], at, max(span, window))
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// visit notes that blocks are read, and requests blocks ahead if the reader proceeds from
// block to block. It returns the number of blocks to request if the first one is missing; 0 for
// a reader that jumps, which gets the blocks that it reads.
func (f *File) visit(first, last int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.next
	f.next = last + 1
	switch {
	case first != next && first != next-1:
		f.asked, f.window = f.next, 1
		return 0
	case last < next: // the same block again
		return f.window
	}
	if f.asked < f.next {
		f.asked = last
	}
	if f.asked-last <= int64(f.window/2) {
		f.ahead(last)
	}
	return f.window
}

// ahead requests the blocks that follow.
func (f *File) ahead(number int64) {
	f.asked = max(f.asked, number)
	for f.asked-number < mostBlocks && f.o.client.blocks.find(f.o.key(f.asked)) != nil {
		f.asked++
	}
	f.window = min(2*f.window, mostBlocks)
	f.asked += int64(f.o.request(f.asked, f.window))
}

// Read reads from the position on.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Seek moves the position of Read.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.o.info.Size
	}
	if offset < 0 {
		return f.at, millrace.Errorf(millrace.ErrInternal, "an offset below 0")
	}
	f.at = offset
	return offset, nil
}

// Stat describes the object as it was when it was opened. It asks nobody: every request
// fails if the object was replaced.
func (f *File) Stat() (fs.FileInfo, error) { return FileInfo{f.o.name, f.o.info}, nil }

// FileInfo is an Info as package fs has it.
type FileInfo struct {
	URL  string
	Info Info
}

// Name returns the last part of the URL.
func (i FileInfo) Name() string { return path.Base(withoutQuery(i.URL)) }

// Size returns the size in bytes.
func (i FileInfo) Size() int64 { return i.Info.Size }

// Mode returns the mode of a regular file that can be read.
func (i FileInfo) Mode() fs.FileMode { return 0o444 }

// ModTime returns when the object was written.
func (i FileInfo) ModTime() time.Time { return i.Info.ModTime }

// IsDir returns false.
func (i FileInfo) IsDir() bool { return false }

// Sys returns the Info.
func (i FileInfo) Sys() any { return i.Info }
