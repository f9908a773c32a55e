package run

import (
	"millrace/estimator/export"
)

// ExportOptions are the options of [Folder.ExportModel]. Nil means the defaults.
type ExportOptions struct {
	Checkpoint string // see [Folder.Checkpoint]; "": the best, or the newest where none is the best
	Out        string // the folder to write; "": RUN_DIR/export
}

// Exported is a model that was exported.
type Exported struct {
	Out  string // its folder
	From string // the checkpoint: "step 500"
}

// ExportModel writes a SavedModel with the signatures of the model that was
// trained and the values of a checkpoint. See [export.Write].
func (f Folder) ExportModel(o *ExportOptions) (*Exported, error) {
	if o == nil {
		o = &ExportOptions{}
	}
	record, err := f.Record()
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, noCheckpoint(string(f), "this is not the folder of a run: it holds no "+configName)
	}
	c, err := f.Checkpoint(o.Checkpoint)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out := o.Out
	if out == "" {
		out = f.Export()
	}
	if err := export.Write(record.Model, c, out); err != nil {
		return nil, err
	}
	return &Exported{Out: out, From: describe(c)}, nil
}
