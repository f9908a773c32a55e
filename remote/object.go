package remote

import "context"

// object is a version of an object that is open. All files of it share it.
type object struct {
	client *Client
	store  Store
	name   string // without secrets
	url    string
	info   Info
	refs   int // guarded by client.mu
	ctx    context.Context
	cancel context.CancelFunc
}

// acquire returns the object of a name, and opens it if no file has it open.
func (c *Client) acquire(name string, info Info) (*object, error) {
	store, err := c.store(name)
	if err != nil {
		return nil, err
	}
	url, key := c.reveal(name), blockKey{name: name, version: info.Version}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.objects[key]
	if o == nil || o.info != info || o.url != url {
		o = &object{client: c, store: store, name: name, url: url, info: info}
		o.ctx, o.cancel = context.WithCancel(context.Background())
		c.objects[key] = o
	}
	o.refs++
	return o, nil
}

// release ends the requests of an object when its last file is closed.
func (o *object) release() {
	o.client.mu.Lock()
	defer o.client.mu.Unlock()
	if o.refs--; o.refs > 0 {
		return
	}
	o.cancel()
	if key := (blockKey{name: o.name, version: o.info.Version}); o.client.objects[key] == o {
		delete(o.client.objects, key)
	}
}

// key returns the key of a block. Objects without a version share no blocks with others.
func (o *object) key(number int64) blockKey {
	return blockKey{name: o.name, version: o.info.Version, number: number}
}
