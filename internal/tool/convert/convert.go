package convert

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"millrace"
	"millrace/diag"
	"millrace/loaders/spec"
	"millrace/loaders/writer"
	"millrace/tfrecord"
)

// ReportName is the file of a dataset that describes its conversion.
const ReportName = "convert.json"

// Options are the options of a conversion. The zero value suits most callers.
type Options struct {
	Manifest    string // path of a manifest that the records must have; "": it follows from the data
	Shards      int64  // number of shards of nearly equal numbers of rows; 0: ShardBytes decides
	ShardBytes  int64  // see [writer.Options]
	Compression tfrecord.Compression
	Workers     int // rows converted at once; 0: one for each processor
	Choices         // what becomes of values that a record cannot hold

	Note     func(string)            // receives remarks for the user; nil: they are dropped
	Progress func(done, total int64) // reports converted rows; total is the number for all inputs; nil: no reports
}

// Report describes a conversion.
type Report struct {
	Format  string   `json:"format"`
	Inputs  []Input  `json:"inputs"`
	Columns []string `json:"columns"`
	Classes []string `json:"classes,omitempty"` // names of the labels of images and sounds: the label is the index in this list
	Choices *Choices `json:"choices,omitempty"` // nil: no value was changed
	Rows    int64    `json:"rows"`
	Shards  []Shard  `json:"shards"`
	Resumed int64    `json:"-"` // rows that an earlier run had converted
}

// Shard is a data file and the sources of its records.
type Shard struct {
	writer.Shard
	From []Part `json:"from"`
}

// Part is a run of rows of an input.
type Part struct {
	Input string `json:"input"`
	First int64  `json:"first_row"` // from 1
	Rows  int64  `json:"rows"`
}

// Run converts files, or the files of folders, to a dataset in a folder that does not
// exist or is empty. The folder appears when the conversion is complete. A stopped
// conversion continues when Run is called again with the same inputs and options.
// Errors name the file, the row, the column and the value.
func Run(ctx context.Context, inputs []string, dir string, o *Options) (*Report, error) {
	c := &conversion{Options: *o, dir: dir}
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if err := c.plan(ctx, inputs); err != nil {
		return nil, err
	}
	return c.write(ctx)
}

// conversion is one call of Run.
type conversion struct {
	Options
	dir      string
	format   *format
	inputs   []Input
	classes  []string
	columns  []Column
	manifest *spec.ManifestConfig
	rows     int64
	done     int64 // rows that are records
}

// note passes a remark to the user.
func (c *conversion) note(text string) {
	if c.Note != nil {
		c.Note(text)
	}
}

// plan surveys the inputs and finds the columns.
func (c *conversion) plan(ctx context.Context, args []string) (err error) {
	if c.inputs, c.format, err = findInputs(args); err != nil {
		return err
	}
	if c.format == recordFormat {
		return c.planRecords(ctx)
	}
	if c.format.withClasses != nil {
		for _, in := range c.inputs {
			c.classes = append(c.classes, classOf(in.Path))
		}
		slices.Sort(c.classes)
		c.classes = slices.Compact(c.classes)
		c.format = c.format.withClasses(c.classes)
	}
	if c.Manifest != "" {
		if err := c.readManifest(); err != nil {
			return err
		}
	}
	found, err := c.survey(ctx)
	if err != nil {
		return err
	}
	if c.rows == 0 {
		return dataError(c.inputs[0].Path, "there are no rows to convert")
	}
	if c.manifest != nil {
		return c.compare(found)
	}
	for i := range found {
		found[i].settle()
	}
	c.columns, c.manifest = found, manifestOf(found)
	return nil
}

// readManifest reads the manifest that the user gave.
func (c *conversion) readManifest() error {
	m, err := manifestAt(c.Manifest)
	if err != nil {
		return err
	}
	c.manifest = m
	columns, err := columnsOf(c.Manifest, m)
	c.columns = columns
	return err
}

// manifestAt reads a manifest. It drops empty arguments, which reading adds, so that
// the manifest is written unchanged.
func manifestAt(path string) (*spec.ManifestConfig, error) {
	m, problems := spec.ReadManifest(path)
	if m == nil {
		return nil, problems
	}
	for i := range m.Features {
		if _, none := m.Features[i].DeserializeArgs.(*spec.NoArgs); none {
			m.Features[i].DeserializeArgs = nil
		}
	}
	return m, nil
}

// survey reads all inputs and returns their columns.
func (c *conversion) survey(ctx context.Context) ([]Column, error) {
	var all []Column
	for i := range c.inputs {
		in := &c.inputs[i]
		s, err := c.format.survey(ctx, in.Path)
		if err == nil {
			err = checkColumns(in.Path, s.columns)
		}
		if err != nil {
			return nil, err
		}
		in.Rows = s.rows
		c.rows += s.rows
		if c.manifest == nil {
			for _, text := range s.notes {
				c.note(text)
			}
		}
		if i == 0 {
			all = s.columns
			continue
		}
		if all, err = c.join(all, s.columns, in.Path); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// join adds the columns of another file. A column that one file lacks is optional.
func (c *conversion) join(all, more []Column, path string) ([]Column, error) {
	for i := range all {
		if !slices.ContainsFunc(more, func(m Column) bool { return m.Name == all[i].Name }) {
			all[i].Optional = true
		}
	}
	for _, m := range more {
		i := slices.IndexFunc(all, func(a Column) bool { return a.Name == m.Name })
		if i < 0 {
			m.Optional = true
			all = append(all, m)
			continue
		}
		whole, ok := merge(all[i], m, c.format.textual)
		if !ok && c.manifest == nil {
			return nil, dataError(path, "column %s is %s of shape %v here, and %s of shape %v in the files before", millrace.QuoteData([]byte(m.Name)), m.DType, m.Shape, all[i].DType, all[i].Shape)
		}
		all[i] = whole
	}
	return all, nil
}

// compare compares the manifest's features with the columns.
func (c *conversion) compare(found []Column) error {
	var names []string
	for _, f := range found {
		names = append(names, f.Name)
	}
	for _, want := range c.columns {
		if !slices.Contains(names, want.Name) && !want.Optional {
			e := millrace.Errorf(millrace.ErrSchema, "the inputs have no column %s", millrace.QuoteData([]byte(want.Name)))
			if near := diag.DidYouMean(want.Name, names); near != "" {
				e.Msg += "; " + near
			}
			e.File = c.Manifest
			return e
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(c.columns, func(w Column) bool { return w.Name == name }) {
			c.note(fmt.Sprintf("column %s is left out: the manifest does not name it", millrace.QuoteData([]byte(name))))
		}
	}
	return nil
}

// identity is a text that changes if the records or the shards would change.
func (c *conversion) identity() (string, error) {
	inputs := slices.Clone(c.inputs)
	for i := range inputs {
		if full, err := filepath.Abs(inputs[i].Path); err == nil {
			inputs[i].Path = full
		}
	}
	b, err := json.Marshal([]any{1, inputs, c.manifest, c.Shards, c.ShardBytes, c.Compression, c.Choices})
	return fmt.Sprintf("convert %x", sha256.Sum256(b)), err
}

// write converts the rows.
func (c *conversion) write(ctx context.Context) (*Report, error) {
	identity, err := c.identity()
	if err != nil {
		return nil, err
	}
	o := &writer.Options{Compression: c.Compression, ShardBytes: c.ShardBytes, Resume: identity}
	if c.Shards > 0 {
		o.ShardRecords = c.rows // write starts new shards earlier
	}
	w, err := writer.Create(c.dir, c.manifest, o)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	report := &Report{Format: c.format.name, Rows: c.rows, Inputs: c.inputs, Classes: c.classes, Resumed: w.Records()}
	c.done = w.Records()
	if c.Choices != (Choices{}) {
		report.Choices = &c.Choices
	}
	e := &encoder{format: c.format, inputs: c.inputs, columns: c.columns, choices: c.Choices, skip: c.done, workers: c.Workers}
	if err := e.run(ctx, func(record []byte) error { return c.add(w, record) }); err != nil {
		return nil, err
	}
	if err := w.Cut(); err != nil {
		return nil, err
	}
	for _, f := range c.manifest.Features {
		report.Columns = append(report.Columns, f.Name)
	}
	report.Shards = c.origins(w.Shards())
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := w.Attach(ReportName, append(text, '\n')); err != nil {
		return nil, err
	}
	return report, w.Commit()
}

// add writes a record, and ends the shard if the number of shards requires it.
func (c *conversion) add(w *writer.Writer, record []byte) error {
	if c.Shards > 0 && c.begins(c.done) {
		if err := w.Cut(); err != nil {
			return err
		}
	}
	if err := w.Write(record); err != nil {
		return err
	}
	c.done++
	if c.Progress != nil && (c.done%blockRows == 0 || c.done == c.rows) {
		c.Progress(c.done, c.rows)
	}
	return nil
}

// begins reports whether a shard begins with a row. Shard i of n begins with row
// i*rows/n, rounded up: the sizes differ by one at most.
func (c *conversion) begins(row int64) bool {
	n := min(c.Shards, c.rows)
	i := row * n / c.rows
	return row > 0 && (i*c.rows+n-1)/n == row
}

// origins returns the rows of each shard.
func (c *conversion) origins(shards []writer.Shard) []Shard {
	var all []Shard
	in, before := 0, int64(0) // number of preceding rows of the input
	for _, s := range shards {
		one := Shard{Shard: s}
		for left := s.Records; left > 0; {
			n := min(left, c.inputs[in].Rows-before)
			if n > 0 {
				one.From = append(one.From, Part{c.inputs[in].Path, before + 1, n})
			}
			left, before = left-n, before+n
			if before == c.inputs[in].Rows {
				in, before = in+1, 0
			}
		}
		all = append(all, one)
	}
	return all
}
