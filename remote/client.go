package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
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

	// Part is the size of the parts in which objects are sent; default 16 MiB. Google takes
	// multiples of 256 KiB, Amazon at least 5 MiB and at most 10,000 parts.
	Part int
}

const (
	defaultMemory   = 256 << 20
	defaultIdle     = 20 * time.Second
	defaultAttempts = 11
	defaultPart     = 16 << 20
)

// Client reads and writes objects of the stores that are registered with it. Its methods may be
// called concurrently.
type Client struct {
	idle     time.Duration
	attempts int
	part     int
	blocks   *blocks

	mu      sync.Mutex
	stores  map[string]Store
	names   map[string]string // names by URL, only for URLs with secrets
	secrets map[string]string // the URLs by name
	known   map[string]Info   // results of the last Stat by name
	objects map[blockKey]*object
	users   map[string][]*Use
	pinned  map[string]Info // the versions that Uses keep
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
	if o.Part <= 0 {
		o.Part = defaultPart
	}
	return &Client{
		idle: o.Idle, attempts: o.Attempts, part: o.Part, blocks: newBlocks(o.Memory),
		stores: map[string]Store{}, names: map[string]string{}, secrets: map[string]string{},
		known: map[string]Info{}, objects: map[blockKey]*object{},
		users: map[string][]*Use{}, pinned: map[string]Info{}, shared: map[string]*shared{},
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
	switch _, rest, _ := strings.Cut(name, "://"); {
	case s != nil && strings.Trim(rest, "/") == "":
		e := millrace.Errorf(millrace.ErrConfig, "this is a scheme only; name a bucket, a container or a host after it")
		e.File = public(name)
		return nil, e
	case s != nil:
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

// Conceal returns the name of a URL for messages, graphs and states: without its user,
// password and query. Every function of the Client accepts the name in place of the URL.
// Two URLs that differ only in their queries have different names.
func (c *Client) Conceal(url string) string {
	name := public(url)
	if name == url {
		return url
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := name + withoutUser(url)[len(name):] // signatures of two runs may differ, names must not
	if known, ok := c.names[key]; ok {
		c.secrets[known] = url
		return known
	}
	free := name
	for n := 2; ; n++ {
		if _, taken := c.secrets[free]; !taken {
			break
		}
		free = name + "#" + strconv.Itoa(n)
	}
	c.names[key], c.secrets[free] = free, url
	return free
}

// withoutUser returns a URL without its user and password.
func withoutUser(url string) string {
	_, query, _ := strings.Cut(url, "?")
	return public(url) + "?" + query
}

// reveal returns the URL of a name that Conceal returned.
func (c *Client) reveal(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if url, ok := c.secrets[name]; ok {
		return url
	}
	return name
}

// retry carries out a request for reading until it succeeds or need not be repeated.
func (c *Client) retry(ctx context.Context, name string, request func(*watch) error) error {
	return c.attempt(ctx, "read", name, request)
}

// attempt carries out a request until it succeeds or need not be repeated. op is what it does
// to the object, for errors.
func (c *Client) attempt(ctx context.Context, op, name string, request func(*watch) error) error {
	t := trial{attempts: c.attempts}
	for {
		t.total++
		w := newWatch(ctx, c.idle)
		err := w.cause(request(w))
		w.stop()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return c.failed(ctx, op, name, -1, t.total, err)
		}
		if err := t.again(ctx, err); err != nil {
			return c.failed(ctx, op, name, -1, t.total, err)
		}
	}
}

// doing has the operations of requests in the form that the error of a canceled one needs.
var doing = map[string]string{"read": "reading", "write": "writing", "remove": "removing"}

// failed returns the error of requests that failed. offset is -1 where it does not apply.
func (c *Client) failed(ctx context.Context, op, name string, offset int64, attempts int, err error) error {
	if ctx.Err() != nil {
		e := millrace.Canceled(ctx, doing[op])
		e.File, e.Offset = public(name), offset
		return e
	}
	var classed *millrace.Error
	if errors.As(err, &classed) {
		return err
	}
	if errors.Is(err, ErrChanged) {
		c.forget(name)
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", withoutURL(err))
	if attempts > 1 {
		e.Msg = fmt.Sprintf("%s (%d attempts)", e.Msg, attempts)
	}
	e.Op, e.File, e.Offset = op, public(name), offset
	return e
}
