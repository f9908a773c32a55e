package convert

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// # How lines are cut
//
// Package encoding/csv makes a string of each cell, which takes most of the time of a
// conversion. rowCutter finds the cells in place. It agrees with encoding/csv on the
// rows: that package reports the fault of a row that rowCutter cannot split, and a fuzz
// test compares the two.
//
//	data   12,"a ""b""",x\n13,...
//	cells  ^^  ^^^^^^^  ^         of the first row; the second one loses its doubled quotes
//	                              in place, once the row is known to be good

// cell is a part of the bytes of a block.
type cell struct{ start, end uint32 }

// What follows a cell, or its fault.
const (
	rowWhole = iota // the next row follows
	rowGoes         // another cell follows
	rowOpen         // the end of the cell is not in the data
	rowFault        // encoding/csv reports the fault
)

var newline = []byte("\n")

// rowCutter cuts rows into cells.
type rowCutter struct {
	comma   byte
	commas  uint64 // eight separators in a word
	lines   int    // line ends in the last row that was cut
	open    int    // number of cells of a row whose end is not in the data
	doubled []int  // cells of this row with doubled quotes or line ends of two bytes
}

func newRowCutter(comma byte) *rowCutter {
	return &rowCutter{comma: comma, commas: uint64(comma) * ones}
}

// ones is a word with a 1 in each byte.
const ones = 0x0101010101010101

// blank returns the length of an empty line at the start of the data; an empty line is
// not a row. It returns rowOpen if that depends on the following bytes.
func blank(data []byte, last bool) (n, status int) {
	switch {
	case len(data) > 0 && data[0] == '\n':
		return 1, rowWhole
	case len(data) > 1 && data[0] == '\r' && data[1] == '\n':
		return 2, rowWhole
	case len(data) == 1 && data[0] == '\r' && last:
		return 1, rowWhole
	case len(data) == 1 && data[0] == '\r', len(data) == 0 && !last:
		return 0, rowOpen
	}
	return 0, rowWhole
}

// cut appends the raw cells of the row at from. It returns the start of the next row.
// If last is true the data are complete.
func (c *rowCutter) cut(data []byte, from int, last bool, cells []cell) ([]cell, int, int) {
	c.doubled, c.lines = c.doubled[:0], 1
	first := len(cells)
	for i, quotes := from, false; ; {
		var next, status int
		if i < len(data) && data[i] == '"' {
			i++
			quotes = true
			var end int
			end, next, status = c.quoted(data, i, last, len(cells))
			cells = append(cells, cell{uint32(i), uint32(end)})
		} else {
			cells, next, status = c.unquoted(data, i, last, cells)
		}
		switch status {
		case rowGoes:
			i = next
			continue
		case rowOpen, rowFault:
			c.open = len(cells) - first
			return cells[:first], from, status
		}
		if quotes {
			c.lines = bytes.Count(data[from:next], newline)
		} else if data[next-1] != '\n' {
			c.lines = 0
		}
		return cells, next, rowWhole
	}
}

// unquote unescapes the cells of the current row in place.
func (c *rowCutter) unquote(data []byte, cells []cell) {
	for _, k := range c.doubled {
		cells[k].end = cells[k].start + uint32(single(data[cells[k].start:cells[k].end]))
	}
}

// unquoted appends the cells from i to the end of the row, or to a cell that is quoted.
// It returns the start of what follows.
//
// It reads eight bytes at once. A byte of x^y is zero where x and y are equal.
// Subtracting from its low seven bits, and its highest bit, show whether it is zero,
// without a carry into the next byte.
func (c *rowCutter) unquoted(data []byte, i int, last bool, cells []cell) ([]cell, int, int) {
	const low, high = 0x7f * ones, ones << 7
	start := i
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		a, b, d := x^c.commas, x^('\n'*ones), x^('"'*ones)
		found := high &^ (((a&low + low) | a) & ((b&low + low) | b) & ((d&low + low) | d))
		for ; found != 0; found &= found - 1 {
			at := i + bits.TrailingZeros64(found)/8
			switch data[at] {
			case c.comma:
				cells = append(cells, cell{uint32(start), uint32(at)})
				start = at + 1
				continue
			case '"':
				if at == start {
					return cells, at, rowGoes
				}
				return cells, at, rowFault
			}
			return append(cells, endOfRow(data, start, at)), at + 1, rowWhole
		}
	}
	for ; i < len(data); i++ {
		switch data[i] {
		case c.comma:
			cells = append(cells, cell{uint32(start), uint32(i)})
			start = i + 1
		case '"':
			if i == start {
				return cells, i, rowGoes
			}
			return cells, i, rowFault
		case '\n':
			return append(cells, endOfRow(data, start, i)), i + 1, rowWhole
		}
	}
	if !last {
		return cells, i, rowOpen
	}
	return append(cells, endOfRow(data, start, i)), i, rowWhole
}

// endOfRow is the last cell of a row, which a line end of two bytes may follow.
func endOfRow(data []byte, start, end int) cell {
	if end > start && data[end-1] == '\r' {
		end--
	}
	return cell{uint32(start), uint32(end)}
}

// quoted returns the end of the quoted cell at i, and the start of what follows.
func (c *rowCutter) quoted(data []byte, i int, last bool, number int) (end, next, status int) {
	start, doubled := i, false
	for {
		k := bytes.IndexByte(data[i:], '"')
		if k < 0 {
			return 0, 0, openUnless(last)
		}
		end = i + k
		rest := data[end+1:]
		switch {
		case len(rest) > 0 && rest[0] == '"':
			doubled, i = true, end+2
			continue
		case len(rest) == 0 && !last, len(rest) == 1 && rest[0] == '\r' && !last:
			return 0, 0, rowOpen
		case len(rest) == 0:
			next = end + 1
		case rest[0] == c.comma:
			next, status = end+2, rowGoes
		case rest[0] == '\n':
			next = end + 2
		case rest[0] == '\r' && len(rest) == 1:
			next = end + 2
		case rest[0] == '\r' && rest[1] == '\n':
			next = end + 3
		default:
			return 0, 0, rowFault
		}
		if doubled || bytes.IndexByte(data[start:end], '\r') >= 0 {
			c.doubled = append(c.doubled, number)
		}
		return end, next, status
	}
}

// openUnless returns the status of a row that does not end in the data.
func openUnless(last bool) int {
	if last {
		return rowFault
	}
	return rowOpen
}

// single replaces doubled quotes by single ones, and line ends by one byte. It returns
// the length.
func single(text []byte) int {
	n := 0
	for i := 0; i < len(text); i++ {
		b := text[i]
		if i+1 < len(text) && (b == '"' || b == '\r' && text[i+1] == '\n') {
			i++
			b = text[i]
		}
		text[n] = b
		n++
	}
	return n
}
