package savedmodel

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/message"
	"millrace/savedmodel/modelfile"
)

// Files of a SavedModel directory.
const (
	binaryName      = "saved_model.pb"
	textName        = "saved_model.pbtxt"
	chunkedName     = "saved_model.cpb"
	fingerprintName = "fingerprint.pb"
	assetsName      = "assets"
	variablesPrefix = "variables/variables"
	indexName       = variablesPrefix + ".index"
)

// load returns the SavedModel protobuf in its binary form.
func (r *reader) load() ([]byte, error) {
	r.File = r.dir
	binary, text := r.folder.Has(binaryName), r.folder.Has(textName)
	switch {
	case binary && text:
		r.Warn("it holds both %s and %s, of which TensorFlow reads the first", binaryName, textName)
	case binary:
	case r.folder.Has(chunkedName):
		return nil, r.Fail("it holds %s: models in chunks are not supported; save it again in one piece", chunkedName)
	case text:
		return r.loadText()
	default:
		return nil, r.failNoModel()
	}
	r.File = filepath.Join(r.dir, binaryName)
	return r.readProtobuf(r.folder.Open(binaryName), r.options.maxBytes())
}

// failNoModel is the error about a folder without a model. TensorFlow Serving
// keeps the versions of a model in folders with numbers for names.
func (r *reader) failNoModel() error {
	if v := newestVersion(r.folder); v != "" {
		return r.Fail("it holds no %s but versions of a model: give the folder of one, such as %s", binaryName, millrace.Quote(filepath.Join(r.dir, v)))
	}
	return r.Fail("it holds no %s: is it a SavedModel?", binaryName)
}

// readProtobuf reads the file with the protobuf, in whichever form.
func (r *reader) readProtobuf(open modelfile.Opening, limit int64) ([]byte, error) {
	data, err := open.ReadWhole(limit)
	if err == nil && len(data) == 0 {
		e := r.Fail("%s is empty", filepath.Base(r.File))
		e.Err = millrace.ErrTruncated
		return nil, e
	}
	digest := sha256.Sum256(data)
	r.sum = hex.EncodeToString(digest[:])
	return data, err
}

// loadText reads a model in protobuf's text form.
func (r *reader) loadText() ([]byte, error) {
	r.File = filepath.Join(r.dir, textName)
	text, err := r.readProtobuf(r.folder.Open(textName), min(r.options.maxBytes(), maxTextBytes))
	if err != nil {
		return nil, err
	}
	if at, ok := textDepth(text); !ok {
		e := r.Fail("messages nest deeper than %d", message.MaxMessageDepth)
		e.Err, e.Offset = millrace.ErrLimit, int64(at)
		return nil, e
	}
	var m tfproto.SavedModel
	err = prototext.Unmarshal(text, &m)
	var data []byte
	if err == nil {
		data, err = proto.MarshalOptions{Deterministic: true}.Marshal(&m)
	}
	if err != nil {
		e := r.Fail("not a SavedModel in text form: %s", modelfile.Quote(err.Error()))
		e.Err = millrace.ErrCorrupt
		return nil, e
	}
	return data, nil
}

// textDepth reports whether the nesting of a text protobuf is within TensorFlow's
// limit, and otherwise where it exceeds the limit. The parser follows any depth until
// the stack overflows.
func textDepth(text []byte) (at int, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '<', '[':
			if depth++; depth > message.MaxMessageDepth {
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

// IsModel reports whether a path is the folder of a SavedModel, or a folder with
// versions of one, in subfolders whose names are numbers. It does not look into the
// files.
func IsModel(path string) bool {
	f, err := modelfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Has(binaryName) || f.Has(textName) || f.Has(chunkedName) || newestVersion(f) != ""
}

// newestVersion returns the subfolder with the largest number as its name that contains
// a model, "" if there is none.
func newestVersion(f *modelfile.Folder) string {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return ""
	}
	newest, name := uint64(0), ""
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 64)
		if err == nil && (name == "" || n > newest) && (f.Has(filepath.Join(e.Name(), binaryName)) || f.Has(filepath.Join(e.Name(), textName))) {
			newest, name = n, e.Name()
		}
	}
	return name
}
