package savedmodel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/tfproto"
)

// Files of a SavedModel directory.
const (
	binaryName      = "saved_model.pb"
	textName        = "saved_model.pbtxt"
	chunkedName     = "saved_model.cpb"
	fingerprintName = "fingerprint.pb"
	assetsName      = "assets"
	indexName       = "variables/variables.index"
	shardName       = "variables/variables.data-%05d-of-%05d"
)

// load returns the SavedModel protobuf in its binary form.
func (r *reader) load() ([]byte, error) {
	r.file = r.dir
	info, err := os.Stat(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, failAt(r.dir, "there is no such model folder")
	case err != nil:
		return nil, failIO(r.dir, err)
	case !info.IsDir():
		return nil, failAt(r.dir, "not a folder: a SavedModel is one that holds %s", binaryName)
	}
	binary, text := r.has(binaryName), r.has(textName)
	switch {
	case r.has(chunkedName):
		return nil, r.fail("it holds %s: models in chunks are not supported; save it again in one piece", chunkedName)
	case binary && text:
		return nil, r.fail("it holds both %s and %s: remove the one that is not meant", binaryName, textName)
	case text:
		return r.loadText()
	case !binary:
		return nil, r.fail("it holds no %s: is it a SavedModel?", binaryName)
	}
	r.file = filepath.Join(r.dir, binaryName)
	return r.readProtobuf(r.options.maxBytes())
}

// readProtobuf reads the file with the protobuf, in whichever form.
func (r *reader) readProtobuf(limit int64) ([]byte, error) {
	data, err := readWhole(r.file, limit)
	if err == nil && len(data) == 0 {
		e := r.fail("%s is empty", filepath.Base(r.file))
		e.Err = millrace.ErrTruncated
		return nil, e
	}
	digest := sha256.Sum256(data)
	r.sum = hex.EncodeToString(digest[:])
	return data, err
}

// has reports whether the model's folder has an entry, of whatever kind.
func (r *reader) has(name string) bool {
	_, err := os.Lstat(filepath.Join(r.dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

// readWhole reads a regular file of at most limit bytes.
func readWhole(name string, limit int64) ([]byte, error) {
	f, size, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, tooLarge(name, size, limit)
	}
	data := make([]byte, size)
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e := failAt(name, "it shrank from %d to %d bytes while it was read", size, n)
		e.Err = millrace.ErrTruncated
		return nil, e
	}
	if err != nil {
		return nil, failIO(name, err)
	}
	return data, nil
}

// openRegular opens a regular file and returns its size. Other kinds of file
// could block for ever.
func openRegular(name string) (*os.File, int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, 0, failIO(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, failAt(name, "not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, failIO(name, err)
	}
	return f, info.Size(), nil
}

// tooLarge is the error for a file over its limit.
func tooLarge(name string, size, limit int64) error {
	e := failAt(name, "%d bytes, at most %d are read", size, limit)
	e.Err = millrace.ErrLimit
	return e
}

// loadText reads a model in protobuf's text form.
func (r *reader) loadText() ([]byte, error) {
	r.file = filepath.Join(r.dir, textName)
	text, err := r.readProtobuf(min(r.options.maxBytes(), maxTextBytes))
	if err != nil {
		return nil, err
	}
	if at, ok := textDepth(text); !ok {
		e := r.fail("messages nest deeper than %d", maxMessageDepth)
		e.Err, e.Offset = millrace.ErrLimit, int64(at)
		return nil, e
	}
	var m tfproto.SavedModel
	if err := prototext.Unmarshal(text, &m); err != nil {
		e := r.fail("not a SavedModel in text form: %s", quote(err.Error()))
		e.Err = millrace.ErrCorrupt
		return nil, e
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
	if err != nil {
		return nil, r.fail("not a SavedModel in text form: %s", quote(err.Error()))
	}
	return data, nil
}

// textDepth reports whether the messages of a text protobuf nest no deeper than
// TensorFlow reads them, and where they do. The parser follows any depth, until
// the stack ends.
func textDepth(text []byte) (at int, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '<', '[':
			if depth++; depth > maxMessageDepth {
				return i, false
			}
		case '}', '>', ']':
			depth = max(depth-1, 0)
		case '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case '"', '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return 0, true
}
