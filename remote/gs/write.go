package gs

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"millrace/remote"
)

// target returns the bucket and the name of an object that is to be written.
func target(u string) (bucket, name string, err error) {
	bucket, name = split(u)
	if bucket == "" || name == "" {
		return "", "", &remote.Failure{Msg: "the URL has no name", Advice: "write gs://BUCKET/NAME", Err: fs.ErrInvalid}
	}
	return bucket, name, nil
}

// send carries out a request that writes. The caller closes the answer's body.
func (s *Store) send(ctx context.Context, method, to string, body io.Reader, size int, head http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return nil, &remote.Failure{Msg: "not a URL", Err: fs.ErrInvalid}
	}
	req.ContentLength = int64(size)
	if size == 0 {
		req.Body = http.NoBody
	}
	for key, values := range head {
		req.Header[key] = values
	}
	return s.do(req, toWrite)
}

// uploadURL returns the URL that begins an upload.
func (s *Store) uploadURL(bucket, name, kind string) string {
	return s.base + "/upload/storage/v1/b/" + bucket + "/o?" + url.Values{"uploadType": {kind}, "name": {name}}.Encode()
}

// Put writes an object by one request.
func (s *Store) Put(ctx context.Context, u string, p remote.Part) error {
	bucket, name, err := target(u)
	if err != nil {
		return err
	}
	a, err := s.send(ctx, http.MethodPost, s.uploadURL(bucket, name, "media"), p.Body(0), len(p.Data), http.Header{"Content-Type": {"application/octet-stream"}})
	if err != nil {
		return err
	}
	return s.finish(a, http.StatusOK)
}

// finish checks the status of an answer, and reads the rest, so that the connection is used again.
func (s *Store) finish(a *http.Response, want ...int) error {
	defer a.Body.Close()
	for _, status := range want {
		if a.StatusCode == status {
			io.Copy(io.Discard, io.LimitReader(a.Body, 64<<10))
			return nil
		}
	}
	return s.refused(a, toWrite)
}

// Remove removes an object.
func (s *Store) Remove(ctx context.Context, u string) error {
	bucket, name, err := target(u)
	if err != nil {
		return err
	}
	a, err := s.send(ctx, http.MethodDelete, s.base+"/storage/v1/b/"+bucket+"/o/"+url.PathEscape(name), nil, 0, nil)
	if err != nil {
		return err
	}
	return s.finish(a, http.StatusNoContent, http.StatusOK, http.StatusNotFound)
}

// upload is a resumable upload, a [remote.Multipart].
type upload struct {
	s       *Store
	session string // the URL of the session, which is a secret
	got     int64  // bytes that the server has
	asked   bool   // got may be out of date: a request was made whose answer is not known
	done    bool   // the object is visible
}

// Begin begins a resumable upload.
func (s *Store) Begin(ctx context.Context, u string) (remote.Multipart, error) {
	bucket, name, err := target(u)
	if err != nil {
		return nil, err
	}
	a, err := s.send(ctx, http.MethodPost, s.uploadURL(bucket, name, "resumable"), nil, 0, nil)
	if err != nil {
		return nil, err
	}
	if err := s.finish(a, http.StatusOK); err != nil {
		return nil, err
	}
	session := a.Header.Get("Location")
	if session == "" {
		return nil, &remote.Failure{Msg: s.base + " names no session for the upload", Retry: true}
	}
	return &upload{s: s, session: session}, nil
}

// Part sends the bytes of a part that the server does not have. The last part makes the object
// visible.
func (u *upload) Part(ctx context.Context, p remote.Part) error {
	if u.asked {
		if err := u.put(ctx, nil, 0, "bytes */*"); err != nil || u.done {
			return err
		}
	}
	from, end := u.got-p.Offset, p.Offset+int64(len(p.Data))
	if from < 0 || u.got > end {
		return &remote.Failure{Msg: fmt.Sprintf("%s has %d bytes of the upload in place of %d", u.s.base, u.got, p.Offset)}
	}
	total := "*"
	if p.Last {
		total = strconv.FormatInt(end, 10)
	}
	span := "bytes */" + total
	if u.got < end {
		span = fmt.Sprintf("bytes %d-%d/%s", u.got, end-1, total)
	}
	if err := u.put(ctx, p.Body(int(from)), int(end-u.got), span); err != nil {
		return err
	}
	if !u.done && (u.got < end || p.Last) {
		u.asked = true
		return &remote.Failure{Msg: u.s.base + " has not kept all bytes of a part", Retry: true}
	}
	return nil
}

// resumeIncomplete is the status of an upload that is not complete.
const resumeIncomplete = 308

// put sends bytes to the session, and learns which bytes the server has.
func (u *upload) put(ctx context.Context, body io.Reader, n int, span string) error {
	u.asked = true
	a, err := u.s.send(ctx, http.MethodPut, u.session, body, n, http.Header{"Content-Range": {span}})
	if err != nil {
		return err
	}
	if err := u.s.finish(a, http.StatusOK, http.StatusCreated, resumeIncomplete); err != nil {
		return err
	}
	u.asked = false
	if u.done = a.StatusCode != resumeIncomplete; u.done {
		return nil
	}
	u.got = 0
	if text := a.Header.Get("Range"); text != "" {
		_, last, ok := strings.Cut(text, "-")
		end, err := strconv.ParseInt(last, 10, 64)
		if !ok || err != nil {
			return &remote.Failure{Msg: u.s.base + " does not say which bytes of the upload it has", Retry: true}
		}
		u.got = end + 1
	}
	return nil
}

// Commit does nothing: the last part was sent.
func (u *upload) Commit(context.Context) error { return nil }

// aborted is the status of an upload that was removed.
const aborted = 499

// Abort removes the session.
func (u *upload) Abort(ctx context.Context) error {
	a, err := u.s.send(ctx, http.MethodDelete, u.session, nil, 0, nil)
	if err != nil {
		return err
	}
	return u.s.finish(a, aborted, http.StatusOK, http.StatusNoContent)
}
