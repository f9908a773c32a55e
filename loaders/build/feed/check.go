package feed

import (
	"context"
	"io"

	"millrace"
	"millrace/graph/dataset/native"
	"millrace/loaders/quarantine"
	"millrace/tfrecord"
)

// CheckDoubtful decides about the records that the native operation may not be able to
// decode, in the same way as the function of [Files] decides about all records. So the
// same records are skipped for the same reasons. It reads again the records that the
// operation could not read.
func (s *Source) CheckDoubtful(ctx context.Context, d *native.Doubt) (v native.Verdict, err error) {
	if ctx.Err() != nil {
		return v, millrace.Canceled(ctx, "")
	}
	if d.Data == nil {
		return s.reread(ctx, d)
	}
	r := s.newReader(nil, int(d.File))
	v.Record, v.Offset = d.Record+1, d.Offset+tfrecord.FrameBytes+int64(len(d.Data))
	v.Good, err = r.CheckRecord(tfrecord.Record{Ordinal: d.Record, Offset: d.Offset, Data: d.Data})
	return v, err
}

// reread reads a record again, to find out why it cannot be read and where the next one
// is. In a compressed file it reads past all records before it.
func (s *Source) reread(ctx context.Context, d *native.Doubt) (v native.Verdict, err error) {
	index, compression := s.Scan.Indexes[d.File], s.Compression
	file, err := tfrecord.OpenFile(s.Files[d.File].Path, &tfrecord.ReaderOptions{Compression: compression})
	if err != nil {
		return v, err
	}
	defer file.Close()
	r := s.newReader(file, int(d.File))
	if compression == tfrecord.None {
		err = r.SeekRecord(d.Record, d.Offset)
	} else {
		err = passTo(ctx, r, d.Record)
	}
	if err != nil {
		return v, err
	}
	_, v.Good, err = r.Read()
	if err == io.EOF {
		err = millrace.Errorf(millrace.ErrTruncated, "the file ended here while it was read")
		err.(*millrace.Error).File = index.Path
	}
	v.RestOfFile = r.Ended()
	v.Record, v.Offset = r.Position()
	return v, err
}

// passTo skips the records before the one with an ordinal, which were checked before.
func passTo(ctx context.Context, r *quarantine.Reader, ordinal int64) error {
	check := r.Check
	r.Check = nil
	defer func() { r.Check = check }()
	for r.Count() < ordinal {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		_, err := r.Next()
		if err == io.EOF && r.Count() < ordinal {
			return millrace.Errorf(millrace.ErrTruncated, "%s has %d records, and is to be read from record %d on", millrace.Quote(r.Index.Path), r.Count(), ordinal)
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// CheckByPosition is CheckDoubtful for records that are read by their positions. It
// reads each of them again, as the function of [InOrder] does for all records.
func (s *Source) CheckByPosition(ctx context.Context, d *native.Doubt) (v native.Verdict, err error) {
	if ctx.Err() != nil {
		return v, millrace.Canceled(ctx, "")
	}
	r := (&recordFeed{s}).reader(nil)
	defer r.close()
	_, err = r.read(tfrecord.Location{File: int(d.File), Record: d.Record})
	if err == errLeftOut {
		s.Passed.Add(d.Offset)
		return native.Verdict{Record: d.Record + 1}, nil
	}
	return native.Verdict{Good: err == nil}, err
}
