package tfrecord

import "millrace"

// Compression is the compression of a whole file. Its values are the values of
// "compression" in a manifest; "" means null.
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

// TensorFlow returns the name of c for TensorFlow's operations. They treat an unknown
// name, such as "gzip" in lower case, as no compression.
func (c Compression) TensorFlow() string {
	switch c {
	case GZIP:
		return "GZIP"
	case ZLIB:
		return "ZLIB"
	}
	return ""
}

// check returns an error unless c is one of the constants.
func (c Compression) check() error {
	switch c {
	case None, GZIP, ZLIB:
		return nil
	}
	return millrace.Errorf(millrace.ErrConfig, `compression is %q; want "gzip", "zlib" or "" for none`, string(c))
}
