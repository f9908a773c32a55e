package s3

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"

	"github.com/minio/minio-go/v7"

	"millrace/remote"
)

// mostParts is the largest number of parts of an object.
const mostParts = 10_000

// target returns the bucket and the key of an object that is to be written.
func target(url string) (bucket, key string, err error) {
	bucket, key = split(url)
	if bucket == "" || key == "" {
		return "", "", &remote.Failure{Msg: "the URL has no key", Advice: "write s3://BUCKET/KEY", Err: fs.ErrInvalid}
	}
	return bucket, key, nil
}

// sums returns the checksums of a request's body. With them the body is signed as a whole:
// some servers do not understand a body that is signed in chunks.
func sums(data []byte) (md5Base64, sha256Hex string) {
	m, s := md5.Sum(data), sha256.Sum256(data)
	return base64.StdEncoding.EncodeToString(m[:]), hex.EncodeToString(s[:])
}

// Put writes an object by one request.
func (s *Store) Put(ctx context.Context, url string, p remote.Part) error {
	bucket, key, err := target(url)
	if err != nil {
		return err
	}
	m, sum := sums(p.Data)
	_, err = s.core.PutObject(ctx, bucket, key, p.Body(0), int64(len(p.Data)), m, sum, minio.PutObjectOptions{DisableContentSha256: true})
	return s.explainWrite(err, bucket)
}

// Remove removes an object.
func (s *Store) Remove(ctx context.Context, url string) error {
	bucket, key, err := target(url)
	if err != nil {
		return err
	}
	err = s.core.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{})
	if isCode(err, "NoSuchKey") {
		return nil
	}
	return s.explainWrite(err, bucket)
}

// upload is a [remote.Multipart].
type upload struct {
	s           *Store
	bucket, key string
	id          string
	parts       []minio.CompletePart
	sums        []byte // MD5 sums of the parts
}

// Begin begins a multipart upload.
func (s *Store) Begin(ctx context.Context, url string) (remote.Multipart, error) {
	bucket, key, err := target(url)
	if err != nil {
		return nil, err
	}
	id, err := s.core.NewMultipartUpload(ctx, bucket, key, minio.PutObjectOptions{})
	if err != nil {
		return nil, s.explainWrite(err, bucket)
	}
	return &upload{s: s, bucket: bucket, key: key, id: id}, nil
}

// Part sends a part. A part that is sent again replaces the first.
func (u *upload) Part(ctx context.Context, p remote.Part) error {
	if p.Number >= mostParts {
		return &remote.Failure{Msg: fmt.Sprintf("an object of more than %d bytes: it has %d parts, the most that there may be", p.Offset, mostParts), Err: fs.ErrInvalid}
	}
	m, sum := sums(p.Data)
	part, err := u.s.core.PutObjectPart(ctx, u.bucket, u.key, u.id, p.Number+1, p.Body(0), int64(len(p.Data)), minio.PutObjectPartOptions{
		Md5Base64: m, Sha256Hex: sum, DisableContentSha256: true,
	})
	if err != nil {
		return u.s.explainWrite(err, u.bucket)
	}
	all := md5.Sum(p.Data)
	u.parts = append(u.parts[:p.Number], minio.CompletePart{PartNumber: part.PartNumber, ETag: part.ETag})
	u.sums = append(u.sums[:p.Number*md5.Size], all[:]...)
	return nil
}

// Commit completes the upload. If the answer to an earlier request was lost, the server knows
// no such upload any more, and the object has the parts.
func (u *upload) Commit(ctx context.Context) error {
	_, err := u.s.core.CompleteMultipartUpload(ctx, u.bucket, u.key, u.id, u.parts, minio.PutObjectOptions{})
	if isCode(err, "NoSuchUpload") {
		sum := md5.Sum(u.sums)
		info, found := u.s.core.StatObject(ctx, u.bucket, u.key, minio.StatObjectOptions{})
		if found == nil && info.ETag == fmt.Sprintf("%x-%d", sum, len(u.parts)) {
			return nil
		}
	}
	return u.s.explainWrite(err, u.bucket)
}

// Abort removes the parts.
func (u *upload) Abort(ctx context.Context) error {
	return u.s.explainWrite(u.s.core.AbortMultipartUpload(ctx, u.bucket, u.key, u.id), u.bucket)
}

// explainWrite is explain for requests that write; nil for nil.
func (s *Store) explainWrite(err error, bucket string) error {
	if err == nil {
		return nil
	}
	return s.explain(err, bucket, "s3:PutObject, s3:DeleteObject or s3:AbortMultipartUpload")
}
