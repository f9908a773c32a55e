package az

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"millrace/remote"
)

// info returns what the store says about a blob.
func info(size *int64, changed *time.Time, tag *azcore.ETag) (i remote.Info) {
	if size != nil {
		i.Size = *size
	}
	if changed != nil {
		i.ModTime = *changed
	}
	if tag != nil {
		i.Version = string(*tag)
		if i.Version != "" && !strings.Contains(i.Version, `"`) { // lists give ETags without quotes
			i.Version = `"` + i.Version + `"`
		}
	}
	return i
}

// body returns the body of a request that sends a part.
func body(p remote.Part) io.ReadSeekCloser { return streaming.NopCloser(p.Body(0)) }

// Put writes a blob by one request.
func (s *Store) Put(ctx context.Context, u string, p remote.Part) error {
	c, err := s.blob(u)
	if err != nil {
		return err
	}
	if _, err := c.Upload(ctx, body(p), nil); err != nil {
		return s.explain(err, toWrite)
	}
	return nil
}

// Remove removes a blob.
func (s *Store) Remove(ctx context.Context, u string) error {
	c, err := s.blob(u)
	if err != nil {
		return err
	}
	if _, err := c.Delete(ctx, nil); err != nil && status(err) != http.StatusNotFound {
		return s.explain(err, toWrite)
	}
	return nil
}

// upload is a list of blocks, a [remote.Multipart].
type upload struct {
	s      *Store
	c      *blockblob.Client
	random string
	blocks []string
}

// Begin begins a list of blocks. It makes no request.
func (s *Store) Begin(_ context.Context, u string) (remote.Multipart, error) {
	c, err := s.blob(u)
	if err != nil {
		return nil, err
	}
	return &upload{s: s, c: c, random: rand.Text()}, nil
}

// Part sends a block. A block that is sent again replaces the first.
func (u *upload) Part(ctx context.Context, p remote.Part) error {
	id := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%06d", u.random, p.Number)) // all of one length
	if _, err := u.c.StageBlock(ctx, id, body(p), nil); err != nil {
		return u.s.explain(err, toWrite)
	}
	u.blocks = append(u.blocks[:p.Number], id)
	return nil
}

// Commit makes the blocks the blob. It may be repeated.
func (u *upload) Commit(ctx context.Context) error {
	if _, err := u.c.CommitBlockList(ctx, u.blocks, nil); err != nil {
		return u.s.explain(err, toWrite)
	}
	return nil
}

// Abort does nothing: Azure removes blocks that no blob has after a week, and nobody sees them.
func (u *upload) Abort(context.Context) error { return nil }
