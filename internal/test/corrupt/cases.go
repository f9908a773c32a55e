package corrupt

import (
	"bytes"
	"encoding/binary"
	"slices"

	"millrace"
)

// Case is a file and the expected result of a strict reader.
type Case struct {
	Row         string // row of the catalogue of faults: "C06"
	Name        string
	Compression string // the compression that the reader expects: "", "gzip" or "zlib"
	Data        []byte

	Good   int64          // records delivered before the fault or the end
	Class  millrace.Class // class of the fault; "" for none
	Record int64          // ordinal in the error; -1: the fault is not in a record
	Offset int64          // offset of that record, or -1
	Text   string         // part of its message
	InData bool           // the fault is in data bytes, which a scan of the headers does not read
}

// Cases returns the files of rows C04 to C20 and C30 to C40, except for the
// rows that need more than one file and a reader.
func Cases() []Case {
	return slices.Concat(wholeCases(), plainCases(), lengthCases(), compressedCases(), foreignCases())
}

// wholeCases are files without a fault, some of them unusual.
func wholeCases() []Case {
	file := File()
	one := Frame(Example(0))
	cases := []Case{
		{Row: "C04", Name: "no bytes"},
		{Row: "C04", Name: "no bytes as gzip", Compression: "gzip"},
		{Row: "C04", Name: "no bytes as zlib", Compression: "zlib"},
		{Row: "C04", Name: "empty gzip stream", Compression: "gzip", Data: Gzip(nil)},
		{Row: "C04", Name: "empty zlib stream", Compression: "zlib", Data: Zlib(nil)},
		{Row: "C05", Name: "cut at a record", Data: Cut(file, 285), Good: 5},
		{Row: "C18", Name: "length swallows a record", Data: swallow(file), Good: 9},
		{Row: "C19", Name: "empty record", Data: Frame(Example(0), nil, Example(2)), Good: 3},
		{Row: "C20", Name: "no proto", Data: Frame([]byte("\xff\xfe hello")), Good: 1},
		{Row: "C30", Name: "plain", Data: file, Good: 10},
		{Row: "C30", Name: "gzip", Compression: "gzip", Data: Gzip(file), Good: 10},
		{Row: "C30", Name: "zlib", Compression: "zlib", Data: Zlib(file), Good: 10},
		{Row: "C36", Name: "members", Compression: "gzip", Data: Members(file, one, file), Good: 21},
		{Row: "C36", Name: "members that split a record", Compression: "gzip", Data: Members(file[:300], file[300:]), Good: 10},
		{Row: "C36", Name: "empty member last", Compression: "gzip", Data: Members(file, one, nil), Good: 11},
		{Row: "C46", Name: "swapped", Data: Swap(file, 2, 7), Good: 10},
		{Row: "C46", Name: "duplicated", Data: Dup(file, 3), Good: 11},
		{Row: "C46", Name: "dropped", Data: Drop(file, 3), Good: 9},
	}
	for i := range cases {
		cases[i].Record, cases[i].Offset = -1, -1
	}
	return cases
}

// swallow extends record 5 over record 6, with correct checksums.
func swallow(file []byte) []byte {
	f := Split(file)
	f[5] = Frame(slices.Concat(f[5][HeaderSize:], f[6][:len(f[6])-4]))
	return slices.Concat(slices.Delete(f, 6, 7)...)
}

// plainCases are cuts and flips of a plain file.
func plainCases() []Case {
	file := File()
	at := func(row, name string, data []byte, class millrace.Class, text string) Case {
		return Case{Row: row, Name: name, Data: data, Good: 5, Class: class, Record: 5, Offset: 285, Text: text}
	}
	cut, bad := millrace.ErrTruncated, millrace.ErrCorrupt
	cases := []Case{
		at("C06", "1 header byte", Cut(file, 286), cut, "1 of 12 header bytes"),
		at("C06", "7 header bytes", Cut(file, 292), cut, "7 of 12 header bytes"),
		at("C06", "11 header bytes", Cut(file, 296), cut, "11 of 12 header bytes"),
		at("C07", "no data", Cut(file, 297), cut, "0 of 41 data bytes"),
		at("C07", "some data", Cut(file, 307), cut, "10 of 41 data bytes"),
		at("C08", "no checksum", Cut(file, 338), cut, "0 of 4 data checksum bytes"),
		at("C08", "half a checksum", Cut(file, 340), cut, "2 of 4 data checksum bytes"),
		at("C10", "length flipped", Flip(file, 285*8+3), bad, "length checksum"),
		at("C11", "length checksum flipped", Flip(file, 294*8), bad, "length checksum"),
		at("C12", "data flipped", Flip(file, 300*8), bad, "data checksum"),
		at("C12", "data checksum flipped", Flip(file, 341*8+7), bad, "data checksum"),
		at("C14", "huge length, checksum wrong", Flip(file, 285*8+60), bad, "length checksum"),
		at("C14", "zeros from record 5 on", append(Cut(file, 285), make([]byte, 285)...), bad, "all zeros"),
	}
	for i := range cases {
		cases[i].InData = cases[i].Row == "C12"
	}
	return cases
}

// lengthCases are impossible lengths with a correct checksum, in a file of 304
// bytes.
func lengthCases() []Case {
	base := Cut(File(), 304)
	at := func(row, name string, n uint64, class millrace.Class, text string) Case {
		return Case{Row: row, Name: name, Data: SetLen(base, 285, n), Good: 5, Class: class, Record: 5, Offset: 285, Text: text}
	}
	return []Case{
		at("C07", "length 8", 8, millrace.ErrTruncated, "7 of 8 data bytes"),
		at("C07", "length 256 MiB", 256<<20, millrace.ErrTruncated, "7 of 268435456 data bytes"),
		at("C15", "length 256 MiB + 1", 256<<20+1, millrace.ErrLimit, "claims 268435457 bytes, 7 remain, cap 256 MiB"),
		at("C15", "length 2^32", 1<<32, millrace.ErrLimit, "claims 4294967296 bytes, 7 remain, cap 256 MiB"),
		at("C16", "length 2^36", 1<<36, millrace.ErrLimit, "claims 68719476736 bytes, 7 remain"),
		at("C16", "length 2^40", 1<<40, millrace.ErrLimit, "claims 1099511627776 bytes, 7 remain"),
		at("C16", "length 2^63-5", 1<<63-5, millrace.ErrLimit, "claims 9223372036854775803 bytes, 7 remain"),
		at("C17", "length 2^64-5", 1<<64-5, millrace.ErrLimit, "claims 18446744073709551611 bytes, 7 remain"),
		at("C17", "length 2^64-1", 1<<64-1, millrace.ErrLimit, "claims 18446744073709551615 bytes, 7 remain"),
	}
}

// compressedCases are damaged streams.
func compressedCases() []Case {
	file := File()
	gz, zl, one := Gzip(file), Zlib(file), Frame(Example(0))
	end := func(row, name, kind string, data []byte, class millrace.Class, text string) Case {
		return Case{Row: row, Name: name, Compression: kind, Data: data, Good: 10, Class: class, Record: -1, Offset: -1, Text: text}
	}
	cut, bad := millrace.ErrTruncated, millrace.ErrCorrupt
	last := len(gz) - 1
	return []Case{
		end("C33", "no trailer", "gzip", Cut(gz, len(gz)-8), cut, "gzip stream ends early after record 9 (0 of 8 trailer bytes)"),
		end("C33", "half a trailer", "gzip", Cut(gz, len(gz)-4), cut, "gzip stream ends early after record 9 (4 of 8 trailer bytes)"),
		end("C33", "no trailer", "zlib", Cut(zl, len(zl)-4), cut, "zlib stream ends early after record 9 (0 of 4 trailer bytes)"),
		end("C33", "second member's header cut", "gzip", Cut(Members(file, file), len(gz)+7), cut, "7 of 10 header bytes"),
		end("C35", "CRC wrong", "gzip", Flip(gz, (last-7)*8), bad, "gzip trailer: CRC-32"),
		end("C35", "size wrong", "gzip", Flip(gz, last*8), bad, "gzip trailer: size"),
		end("C35", "Adler wrong", "zlib", Flip(zl, (len(zl)-1)*8), bad, "zlib trailer: Adler-32"),
		end("C37", "garbage behind", "gzip", append(Gzip(file), "garbage"...), bad, `bytes after the end of the gzip stream (first bytes "garbage")`),
		end("C37", "zeros behind", "gzip", append(Gzip(file), 0, 0), bad, "bytes after the end of the gzip stream"),
		end("C37", "garbage behind", "zlib", append(Zlib(file), "garbage"...), bad, "bytes after the end of the zlib stream"),
		end("C36", "empty member between", "gzip", Members(file, nil, one), bad, "gzip member 1 is empty"),
		{Row: "C36", Name: "empty member first", Compression: "gzip", Data: Members(nil, file), Class: bad, Record: -1, Offset: -1, Text: "gzip member 0 is empty"},
		end("C37", "second stream", "zlib", append(Zlib(file), zl...), bad, "bytes after the end of the zlib stream"),
		{Row: "C33", Name: "records cut, stream whole", Compression: "gzip", Data: Gzip(file[:300]), Good: 5, Class: cut, Record: 5, Offset: 285, Text: "gzip stream is truncated inside the record: 3 of 41 data bytes"},
		{Row: "C33", Name: "header cut", Compression: "gzip", Data: Cut(gz, 5), Class: cut, Record: -1, Offset: -1, Text: "gzip stream ends early before the first record is whole (5 of 10 header bytes)"},
		{Row: "C38", Name: "zeros", Compression: "gzip", Data: ZeroBomb(8 << 20), Class: bad, Record: -1, Offset: -1, Text: "length checksum"},
		{Row: "C39", Name: "one huge record", Compression: "gzip", Data: Gzip(append(Header(257<<20), make([]byte, 1<<20)...)), Class: millrace.ErrLimit, Text: "claims 269484032 bytes, cap 256 MiB"},
		{Row: "C10", Name: "length flipped", Compression: "gzip", Data: Gzip(Flip(file, 285*8)), Good: 5, Class: bad, Record: 5, Offset: 285, Text: "length checksum"},
		{Row: "C12", Name: "data flipped", Compression: "zlib", Data: Zlib(Flip(file, 300*8)), Good: 5, Class: bad, Record: 5, Offset: 285, Text: "data checksum", InData: true},
	}
}

// foreignCases are files of other formats.
func foreignCases() []Case {
	file := File()
	at := func(row, name, kind string, data []byte, text string) Case {
		return Case{Row: row, Name: name, Compression: kind, Data: data, Class: millrace.ErrCorrupt, Record: -1, Offset: -1, Text: text}
	}
	pad := bytes.Repeat([]byte{0, 1, 2}, 100)
	return []Case{
		at("C30", "plain as gzip", "gzip", file, "looks like an uncompressed TFRecord file, but compression is gzip"),
		at("C30", "plain as zlib", "zlib", file, "looks like an uncompressed TFRecord file, but compression is zlib"),
		at("C31", "gzip as plain", "", Gzip(file), "starts with a gzip header, but compression is none"),
		at("C31", "zlib as plain", "", Zlib(file), "starts with a zlib header, but compression is none"),
		at("C32", "gzip as zlib", "zlib", Gzip(file), "starts with a gzip header, but compression is zlib"),
		at("C32", "zlib as gzip", "gzip", Zlib(file), "starts with a zlib header, but compression is gzip"),
		at("C40", "text", "", []byte("id,label\n0,cat\n1,dog\n"), "looks like text"),
		at("C40", "short text", "", []byte("none\n"), "looks like text"),
		at("C40", "HTML", "", []byte("\n<!DOCTYPE html><html><body>404</body></html>"), "looks like an HTML page"),
		at("C40", "JSON", "", []byte("{\"error\": \"not found\"}"), "looks like JSON"),
		at("C40", "XML", "", []byte("<?xml version=\"1.0\"?><Error/>"), "looks like XML"),
		at("C40", "Parquet", "", append([]byte("PAR1"), pad...), "is a Parquet file"),
		at("C40", "Parquet as gzip", "gzip", append([]byte("PAR1"), pad...), "is a Parquet file"),
		at("C40", "zeros", "", make([]byte, 4096), "holds only zeros"),
		at("C40", "LFS pointer", "", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), "git lfs pull"),
		at("C40", "text in gzip", "gzip", Gzip([]byte("id,label\n0,cat\n1,dog\n")), "holds no TFRecords"),
	}
}

// TopDownBMP is an image of one pixel whose height is -1: the top row comes first. It
// ends the process of a model that decodes it to floats without a check.
func TopDownBMP() []byte {
	const header, width, height, bits = 10, 18, 22, 28
	b := make([]byte, 54+4)
	copy(b, "BM")
	b[header], b[width], b[bits] = 54, 1, 24
	binary.LittleEndian.PutUint32(b[height:], 1<<32-1)
	return b
}
