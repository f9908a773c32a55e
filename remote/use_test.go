package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace"
	"millrace/internal/test/remotetest"
	"millrace/remote"
)

// readShared opens an object as TensorFlow does, and reads a byte.
func readShared(c *remote.Client, offset int64) error {
	f, err := c.OpenShared(urls[0])
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(make([]byte, 1), offset)
	return err
}

// When a run ends, its reads and all later ones fail at once until the next run begins, while
// the reads of another run continue.
func TestRunsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remotetest.NewServer()
		s.Put("/data/big", noise(1<<20))
		c := client(t, s, remote.Options{})
		one, two := c.Use(urls[:1]), c.Use(urls[:1])
		ctx, cancel := context.WithCancel(t.Context())
		one.Begin(ctx)
		end := two.Begin(t.Context())
		cancel()
		synctest.Wait()
		if err := readShared(c, 0); err != nil {
			t.Errorf("a run beside the one that ended: %v", err)
		}
		s.Fault = func(int, *http.Request) remotetest.Fault { return remotetest.Fault{Hang: true} }
		start := time.Now()
		time.AfterFunc(time.Second, end)
		for range 2 {
			if err := readShared(c, 600_000); !errors.Is(err, millrace.ErrCanceled) || time.Since(start) != time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		if n := len(s.Requests()); n != 3 { // the size, the first block, and one that hung
			t.Errorf("%d requests", n)
		}
		s.Fault = nil
		end = one.Begin(t.Context())
		if err := readShared(c, 900_000); err != nil {
			t.Errorf("the next run: %v", err)
		}
		end()
		one.Close()
		two.Close()
		if err := readShared(c, 0); err != nil {
			t.Errorf("without a run: %v", err)
		}
	})
}

// The files of a Use keep their version: what was replaced is an error each time that the file
// is opened.
func TestVersionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remotetest.NewServer()
		s.Put("/data/big", noise(1<<20))
		c := client(t, s, remote.Options{})
		u := c.Use(urls[:1])
		u.Begin(t.Context())
		if err := readShared(c, 0); err != nil {
			t.Fatal(err)
		}
		other := noise(1 << 20)
		other[900_000]++
		s.Put("/data/big", other)
		for range 2 {
			if err := readShared(c, 900_000); !errors.Is(err, remote.ErrChanged) {
				t.Errorf("an object that was replaced: %v", err)
			}
		}
		u.Close()
		if err := readShared(c, 900_000); err != nil {
			t.Errorf("after the use: %v", err)
		}
	})
}

// replacing is a store whose object is another one after the first look at it. It does not
// compare versions itself.
type replacing struct{ looks *int }

func (s replacing) Stat(ctx context.Context, url string) (remote.Info, error) {
	info, err := memory{url: "hello"}.Stat(ctx, url)
	*s.looks++
	info.Version = fmt.Sprint(*s.looks)
	return info, err
}

func (s replacing) Open(ctx context.Context, url string, r remote.Range) (*remote.Body, error) {
	b, err := memory{url: "world"}.Open(ctx, url, r)
	if err == nil {
		b.Info, err = s.Stat(ctx, url)
	}
	return b, err
}

// A reader notices another version although the store does not.
func TestOtherVersion(t *testing.T) {
	c := remote.NewClient(remote.Options{})
	c.Register("replacing", replacing{new(int)})
	if got, err := read(t.Context(), c, "replacing://x", 10); !errors.Is(err, remote.ErrChanged) {
		t.Errorf("read %q, %v; want ErrChanged", got, err)
	}
}

// A store that cannot be used says why, whatever is asked of it, and so does a URL without a bucket.
func TestUnusable(t *testing.T) {
	c := remote.NewClient(remote.Options{})
	c.Register("az", remote.Unusable(errors.New("set AZURE_STORAGE_ACCOUNT")))
	for url, want := range map[string]string{"az://a/b": "set AZURE_STORAGE_ACCOUNT", "az://": "name a bucket"} {
		_, stat := c.Stat(t.Context(), url)
		_, open := c.Open(t.Context(), url)
		asked := map[string]error{"stat": stat, "open": open, "remove": c.Remove(t.Context(), url)}
		for _, err := range c.List(t.Context(), url) {
			asked["list"] = err
		}
		w, err := c.Create(t.Context(), url)
		if err == nil {
			_, err = w.Write([]byte("x"))
			err = errors.Join(err, w.Commit(), w.Close())
		}
		asked["create"] = err
		for what, err := range asked {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", what, url, err, want)
			}
		}
	}
}
