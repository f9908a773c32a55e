package serving

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/serving/internal/inference"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// warmupFile is the file of a model's warmup requests: records of PredictionLog
// messages.
const warmupFile = "assets.extra/tf_serving_warmup_requests"

// maxWarmupRecords is how many warmup requests a model may have.
const maxWarmupRecords = 1000

// maxWarmupTensor is the largest memory of a tensor of a warmup request. A short record
// can claim a large one.
const maxWarmupTensor = 1 << 30

// warmUp carries out the warmup requests of the model, if it has any. A request that
// fails is an error, because the model would fail its clients too.
func (v *Version) warmUp(ctx context.Context) error {
	path := filepath.Join(v.model.Saved().Dir, filepath.FromSlash(warmupFile))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	began := time.Now()
	n, err := v.replayFile(ctx, path)
	if on := v.server.options.OnWarmup; on != nil {
		on(WarmupInfo{Model: v.Name, Version: v.Number, Path: v.path, Records: n, Took: time.Since(began), Err: err})
	}
	return err
}

// replayFile carries out the warmup requests in a file, and returns how many succeeded
// before the first failure.
func (v *Version) replayFile(ctx context.Context, path string) (int, error) {
	records, err := tfrecord.OpenFile(path, nil)
	if err != nil {
		return 0, err
	}
	defer records.Close()
	for i := 0; ; i++ {
		record, err := records.Next()
		if errors.Is(err, io.EOF) {
			return i, nil
		}
		if err == nil && i >= maxWarmupRecords {
			err = millrace.Errorf(millrace.ErrModel, "there are more than %d warmup requests", maxWarmupRecords)
		}
		for n := 0; n < v.server.options.WarmupIterations && err == nil; n++ {
			err = v.replay(ctx, record)
		}
		if err != nil {
			e := millrace.Errorf(millrace.ErrModel, "warmup request: %w", err)
			e.File, e.Record = path, int64(i)
			return i, e
		}
	}
}

// replay carries out a warmup request.
func (v *Version) replay(ctx context.Context, record []byte) error {
	var log servingproto.PredictionLog
	if err := proto.Unmarshal(record, &log); err != nil {
		return millrace.Errorf(millrace.ErrCorrupt, "the record is not a PredictionLog: %w", err)
	}
	var err error
	switch {
	case log.GetPredictLog() != nil:
		_, err = inference.Predict(ctx, v, log.GetPredictLog().GetRequest(), inference.Options{MaxTensorBytes: maxWarmupTensor})
	case log.GetClassifyLog() != nil:
		_, err = inference.Classify(ctx, v, log.GetClassifyLog().GetRequest())
	case log.GetRegressLog() != nil:
		_, err = inference.Regress(ctx, v, log.GetRegressLog().GetRequest())
	case log.GetMultiInferenceLog() != nil:
		_, err = inference.MultiInference(ctx, v, log.GetMultiInferenceLog().GetRequest())
	case log.GetLogType() != nil:
		err = errorf(tfbridge.Unimplemented, "requests of this kind cannot be replayed")
	}
	return err
}
