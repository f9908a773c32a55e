package feed

import (
	"context"
	"io"

	"millrace"
	"millrace/graph/dataset/native"
	"millrace/tfrecord"
)

// Judge decides about the records that the native operation cannot decode for sure. It
// reads each of them again, as the function of [Source.Files] reads all records, so that the same records are
// left out for the same reasons.
func (s *Source) Judge(ctx context.Context, file, record, offset int64) (v native.Verdict, err error) {
	if ctx.Err() != nil {
		return v, millrace.Canceled(ctx, "")
	}
	index := s.Scan.Indexes[file]
	d, err := tfrecord.OpenFile(s.Plan.Files[file].Path, nil)
	if err != nil {
		return v, err
	}
	defer d.Close()
	r := newReader(s.Plan, d, index, int(file), s.Left)
	if err := r.SeekRecord(record, offset); err != nil {
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

// JudgeByPlace is Judge where records are read by their places. It reads each of them
// again, as the function of [Source.Places] reads all records. position is that in the
// order of the plan.
func (s *Source) JudgeByPlace(ctx context.Context, file, record, position int64) (v native.Verdict, err error) {
	if ctx.Err() != nil {
		return v, millrace.Canceled(ctx, "")
	}
	r := (&recordFeed{s}).reader(nil)
	defer r.close()
	_, err = r.read(int(file), record)
	if err == errLeftOut {
		s.Passed.Add(position)
		return native.Verdict{Record: record + 1}, nil
	}
	return native.Verdict{Good: err == nil}, err
}
