package tfrecord

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/flate"

	"millrace"
)

// sniffLen is the number of leading bytes that are used to guess a file's format.
const sniffLen = 512

// magics are the first bytes of files that people mistake for TFRecord files, and their
// names in messages.
var magics = []struct{ prefix, guess string }{
	{"PAR1", "is a Parquet file"},
	{"ARROW1", "is an Arrow file"},
	{"\x89HDF", "is an HDF5 file"},
	{"\x93NUMPY", "is a NumPy file"},
	{"PK\x03\x04", "is a zip archive"},
	{"\x28\xb5\x2f\xfd", "is compressed with zstd"},
	{"\xfd7zXZ\x00", "is compressed with xz"},
	{"BZh", "is compressed with bzip2"},
	{"\x89PNG", "is a PNG image"},
	{"\xff\xd8\xff", "is a JPEG image"},
	{"%PDF-", "is a PDF file"},
	{"\x7fELF", "is a program"},
	{"version https://git-lfs", "is a Git LFS pointer, not the data: run git lfs pull"},
}

// Guesses that amount to a wrong compression.
const (
	guessPlain = "looks like an uncompressed TFRecord file"
	guessGzip  = "starts with a gzip header"
	guessZlib  = "starts with a zlib header"
)

// otherwiseCompressed adds the declared compression to a guess if that is the mistake.
func otherwiseCompressed(guess string, c Compression) (string, bool) {
	switch guess {
	case guessPlain, guessGzip, guessZlib:
		return guess + ", but compression is " + c.String(), true
	}
	return guess, false
}

// sniff guesses the format of a file that is not a TFRecord file from its first bytes.
// It returns "" if no guess is likely.
func sniff(prefix []byte) string {
	if len(prefix) >= headerSize {
		if _, ok := parseHeader(prefix); ok {
			return guessPlain
		}
	}
	if isGzip(prefix) {
		return guessGzip
	}
	if holdsZlib(prefix) {
		return guessZlib
	}
	for _, m := range magics {
		if bytes.HasPrefix(prefix, []byte(m.prefix)) {
			return m.guess
		}
	}
	return sniffText(prefix)
}

// sniffText guesses the format of text files, and recognizes files of zeros.
func sniffText(prefix []byte) string {
	if len(prefix) < 4 {
		return ""
	}
	if len(bytes.Trim(prefix, "\x00")) == 0 {
		return "holds only zeros: an unfinished copy?"
	}
	text := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(prefix, []byte("\xef\xbb\xbf"))))
	if !printable(text) {
		return ""
	}
	switch {
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return "looks like an HTML page: an error page saved as data?"
	case bytes.HasPrefix(text, []byte("<")):
		return "looks like XML"
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		return "looks like JSON"
	}
	return "looks like text"
}

// printable reports whether b looks like text of any language: no control characters
// except white space.
func printable(b []byte) bool {
	for _, c := range b {
		if c == 0x7f || c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' {
			return false
		}
	}
	return len(b) > 0
}

// firstBytes quotes the beginning of a file: it quotes more if that is readable.
func firstBytes(prefix []byte) string {
	if !printable(prefix) {
		prefix = prefix[:min(len(prefix), 16)]
	}
	return millrace.QuoteData(prefix)
}

// isGzip reports whether b starts like a gzip member: magic and deflate.
func isGzip(b []byte) bool {
	return len(b) >= 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8
}

// isZlib reports whether b starts with a zlib header.
func isZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (uint(b[0])<<8|uint(b[1]))%31 == 0
}

// holdsZlib reports whether b starts with a zlib stream of records. The two bytes of
// the header are not a proof: a record of 376 bytes starts with them too.
func holdsZlib(b []byte) bool {
	if !isZlib(b) {
		return false
	}
	var h [headerSize]byte
	n, err := io.ReadFull(flate.NewReader(bytes.NewReader(b[2:])), h[:])
	if err != nil {
		return n == 0 && err == io.EOF
	}
	_, ok := parseHeader(h[:])
	return ok
}
