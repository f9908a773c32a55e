package convert

import "context"

// format is a format of inputs.
type format struct {
	name       string
	extensions []string
	textual    bool // every value can be a text

	// survey reads the columns of a file and counts its rows.
	survey func(ctx context.Context, path string) (*survey, error)

	// open begins to read the rows of a file. The columns are those of all inputs; the
	// file may lack some.
	open func(path string, columns []Column) (source, error)

	// withClasses returns the format of files that have these classes; nil: the format
	// has no classes.
	withClasses func(classes []string) *format
}

// survey is the result of a pass over a file.
type survey struct {
	rows    int64
	columns []Column
	notes   []string // remarks for the user
}

// source reads the rows of a file.
type source interface {
	// next returns the next rows, and io.EOF after the last ones.
	next() (block, error)
	Close() error
}

// block is a number of rows. Several goroutines may read different blocks.
type block interface {
	rows() int

	// size returns the approximate memory of the block.
	size() int64

	// row returns the number of a row in its file, for messages: from 1, or the line.
	row(i int) int64

	// read adds the values of a column in a row to v. The error has no location.
	read(v *values, column, row int) error
}

// freeBlock is a block whose memory can be reused after its rows were read.
type freeBlock interface {
	block
	free()
}

// recordBlock is a block whose rows are already records.
type recordBlock interface {
	block
	record(row int) []byte
}
