package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"millrace/loaders/writer"
)

// structRow is a struct that becomes a record.
type structRow struct {
	X [floats]float32 `example:"x"`
	Y int64           `example:"y"`
}

// makeStructs makes the structs, and the file that Python reads them from: all floats, and
// then all integers.
func (c *converting) makeStructs(n int) error {
	rng := rand.New(rand.NewPCG(3, 4))
	c.structs = make([]structRow, n)
	for i := range c.structs {
		copy(c.structs[i].X[:], randomFloats(rng))
		c.structs[i].Y = int64(i)
	}
	c.structFile = filepath.Join(c.dir, "structs.bin")
	return create(c.structFile, func(w *bufio.Writer) error {
		for i := range c.structs {
			if err := binary.Write(w, binary.LittleEndian, &c.structs[i].X); err != nil {
				return err
			}
		}
		for i := range c.structs {
			if err := binary.Write(w, binary.LittleEndian, c.structs[i].Y); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeStructs writes the structs as a dataset, as a program does.
func (c *converting) writeStructs(dir string) error {
	w, err := writer.Structs[structRow](dir, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	for i := range c.structs {
		if err := w.Write(&c.structs[i]); err != nil {
			return err
		}
	}
	return w.Commit()
}

// Kinds of tables.
const (
	csvTable     = "CSV"
	parquetTable = "Parquet"
)

var tableKinds = []string{csvTable, parquetTable}

// tableHead has the names of a table's columns.
const tableHead = "id,title,genre,year,plays,live,loud,tempo,length,score\n"

var genres = []string{"blues", "country", "electronic", "folk", "hip hop", "jazz", "pop", "rock"}

// makeTables writes a table of the given number of MB unless it exists, and lets Python
// write it as Parquet.
func (c *converting) makeTables(ctx context.Context, mb int) error {
	path := filepath.Join(c.dir, fmt.Sprintf("table-%d", mb))
	c.tables = map[string]string{csvTable: path + ".csv", parquetTable: path + ".parquet"}
	if _, err := os.Stat(c.tables[parquetTable]); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "making tables of %d MB\n", mb)
	rng := rand.New(rand.NewPCG(5, 6))
	err := create(c.tables[csvTable], func(w *bufio.Writer) error {
		var line []byte
		n, err := w.WriteString(tableHead)
		for row := 0; n < mb*1e6 && err == nil; row++ {
			line = appendTableRow(line[:0], row, rng)
			_, err = w.Write(line)
			n += len(line)
		}
		return err
	})
	if err != nil {
		return err
	}
	unfinished := c.tables[parquetTable] + ".open"
	var made struct{}
	if err := runJSON(ctx, &made, c.interpreter, convertScript, "parquet", c.tables[csvTable], unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, c.tables[parquetTable])
}

// appendTableRow appends a line. One title in eight has to be quoted.
func appendTableRow(b []byte, row int, rng *rand.Rand) []byte {
	title := strings.Repeat("la ", 1+rng.IntN(8)) + strconv.Itoa(row)
	if rng.IntN(8) == 0 {
		title = `"` + title + `, the ""remix"""`
	}
	b = fmt.Appendf(b, "%d,%s,%s,%d,%d,%t", row, title, genres[rng.IntN(len(genres))], 1960+rng.IntN(60), rng.IntN(10_000_000), rng.IntN(4) == 0)
	for range 4 {
		b = strconv.AppendFloat(append(b, ','), float64(rng.Float32()*300-20), 'f', 4, 64)
	}
	return append(b, '\n')
}

// create writes a file.
func create(path string, write func(w *bufio.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
