package remote

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"millrace"
)

// Options are the options of a Client. The zero value means the defaults.
type Options struct {
	Memory   int64         // most bytes of blocks of all files; default 256 MiB
	Idle     time.Duration // how long a request may yield nothing; default 20 s
	Attempts int           // requests in a row that yield nothing before reading fails; default 11
}

const (
	defaultMemory   = 256 << 20
	defaultIdle     = 20 * time.Second
	defaultAttempts = 11
)

// Client reads objects of the stores that are registered with it. Its methods may be
// called concurrently.
type Client struct {
	idle     time.Duration
	attempts int
	blocks   *blocks

	mu      sync.Mutex
	stores  map[string]Store
	names   map[string]string // of URLs with secrets
	secrets map[string]string // the URLs by name
	known   map[string]Info   // by name: what the last Stat found
	objects map[blockKey]*object
	users   map[string]int // number of Uses by name
	shared  map[string]*shared
}

// NewClient returns a Client without stores.
func NewClient(o Options) *Client {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	if o.Attempts <= 0 {
		o.Attempts = defaultAttempts
	}
	return &Client{
		idle: o.Idle, attempts: o.Attempts, blocks: newBlocks(o.Memory),
		stores: map[string]Store{}, names: map[string]string{}, secrets: map[string]string{},
		known: map[string]Info{}, objects: map[blockKey]*object{},
		users: map[string]int{}, shared: map[string]*shared{},
	}
}

// Default is the Client of loaders and of TensorFlow's file systems. TensorFlow has one
// table of file systems for a process, so there is one Client, too.
var Default = NewClient(Options{})

// MemoryPeak returns the most bytes that blocks have had at a time.
func (c *Client) MemoryPeak() int64 {
	c.blocks.mu.Lock()
	defer c.blocks.mu.Unlock()
	return c.blocks.peak
}

// Register registers a store with the [Default] client.
func Register(scheme string, s Store) { Default.Register(scheme, s) }

// Register makes a store responsible for the URLs of a scheme. It replaces an earlier one,
// and nil removes that. Register before loaders are opened.
func (c *Client) Register(scheme string, s Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stores[scheme] = s; s == nil {
		delete(c.stores, scheme)
	}
	clear(c.known)
}

// Schemes returns the sorted schemes of the registered stores.
func (c *Client) Schemes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.stores))
}

// Reads reports whether a path is a URL of a registered store.
func (c *Client) Reads(path string) bool {
	scheme, ok := SchemeOf(path)
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok && c.stores[scheme] != nil
}

// store returns the store of a URL.
func (c *Client) store(name string) (Store, error) {
	scheme, _ := SchemeOf(name)
	c.mu.Lock()
	s := c.stores[scheme]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	has := "this program has registered none"
	if all := c.Schemes(); len(all) > 0 {
		has = "those of this program are " + strings.Join(all, ", ")
	}
	e := millrace.Errorf(millrace.ErrConfig, "no store for the scheme %s; %s", millrace.Quote(scheme), has)
	e.File = public(name)
	return nil, e
}

// Stat asks the store about an object. Files that are opened later read that version.
func (c *Client) Stat(ctx context.Context, name string) (Info, error) {
	s, err := c.store(name)
	if err != nil {
		return Info{}, err
	}
	var info Info
	url := c.reveal(name)
	err = c.retry(ctx, name, func(w *watch) (err error) {
		info, err = s.Stat(w.ctx, url)
		return err
	})
	if err != nil {
		return Info{}, err
	}
	c.remember(name, info)
	return info, nil
}

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

// remember notes what an object is, so that opening it needs no request.
func (c *Client) remember(name string, info Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[name] = info
}

// forget makes the next opening of an object ask the store.
func (c *Client) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
}

// Known returns what the last Stat or List has found, and asks the store if there was none.
func (c *Client) Known(ctx context.Context, name string) (Info, error) {
	c.mu.Lock()
	info, ok := c.known[name]
	c.mu.Unlock()
	if ok {
		return info, nil
	}
	return c.Stat(ctx, name)
}

// List yields the objects whose URLs begin with a prefix, sorted bytewise. An error comes
// last.
func (c *Client) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		s, err := c.store(prefix)
		if err != nil {
			yield(Object{}, err)
			return
		}
		lister, ok := s.(Lister)
		if !ok {
			scheme, _ := SchemeOf(prefix)
			e := millrace.Errorf(millrace.ErrConfig, "%s:// has no lists of files; name each file in a dataset of type list", scheme)
			e.File = public(prefix)
			yield(Object{}, e)
			return
		}
		c.list(ctx, lister, prefix, yield)
	}
}

// list repeats a list that breaks off, and yields what it has not yielded yet.
func (c *Client) list(ctx context.Context, s Lister, prefix string, yield func(Object, error) bool) {
	last, stopped := "", false
	err := c.retry(ctx, prefix, func(w *watch) error {
		for o, err := range s.List(w.ctx, prefix) {
			if err != nil {
				return err
			}
			w.progress()
			if o.URL <= last {
				continue
			}
			last = o.URL
			c.remember(o.URL, o.Info)
			if !yield(o, nil) {
				stopped = true
				return nil
			}
		}
		return nil
	})
	if err != nil && !stopped {
		yield(Object{}, err)
	}
}

// errShort is the error of an answer with fewer bytes than it has promised.
var errShort = errors.New("the answer is shorter than promised")
