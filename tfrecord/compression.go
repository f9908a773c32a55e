package tfrecord

import "millrace"

// Compression is how the bytes of a whole file are compressed. Its values are
// those of a manifest's "compression", "" standing for null.
type Compression string

// The compressions. TensorFlow's SNAPPY is not supported.
const (
	None Compression = ""
	GZIP Compression = "gzip"
	ZLIB Compression = "zlib"
)

// String returns the name to show: "none", "gzip" or "zlib".
func (c Compression) String() string {
	if c == None {
		return "none"
	}
	return string(c)
}

// TensorFlow returns the name of c for TensorFlow's operations. They take a name
// that they do not know, such as "gzip" in lower case, for no compression.
func (c Compression) TensorFlow() string {
	switch c {
	case GZIP:
		return "GZIP"
	case ZLIB:
		return "ZLIB"
	}
	return ""
}

// check returns an error if c is none of the constants.
func (c Compression) check() error {
	switch c {
	case None, GZIP, ZLIB:
		return nil
	}
	return millrace.Errorf(millrace.ErrConfig, `compression is %q; want "gzip", "zlib" or "" for none`, string(c))
}
