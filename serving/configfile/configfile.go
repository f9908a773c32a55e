// Package configfile reads the config files of TensorFlow Serving's model server,
// which are protobuf messages in text form.
package configfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/servingproto"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/serving/internal/message"
)

// ReadModels reads the models of a ModelServerConfig: --model_config_file.
func ReadModels(path string) ([]serving.ModelConfig, error) {
	var m servingproto.ModelServerConfig
	if err := read(path, &m); err != nil {
		return nil, err
	}
	configs, err := message.ModelConfigs(&m)
	return configs, withFile(path, err)
}

// ReadBatching reads BatchingParameters: --batching_parameters_file. The options have a
// scheduler if the file sets the number of threads.
func ReadBatching(path string) (*batching.Options, error) {
	var p servingproto.BatchingParameters
	if err := read(path, &p); err != nil {
		return nil, err
	}
	o, err := batchingOptions(&p)
	return o, withFile(path, err)
}

// batchingOptions returns the options from BatchingParameters.
func batchingOptions(p *servingproto.BatchingParameters) (*batching.Options, error) {
	o := &batching.Options{
		MaxBatchSize:              int(p.GetMaxBatchSize().GetValue()),
		BatchTimeout:              time.Duration(p.GetBatchTimeoutMicros().GetValue()) * time.Microsecond,
		MaxEnqueuedBatches:        int(p.GetMaxEnqueuedBatches().GetValue()),
		MaxExecutionBatchSize:     int(p.GetMaxExecutionBatchSize().GetValue()),
		EnableLargeBatchSplitting: p.GetEnableLargeBatchSplitting().GetValue(),
		PadVariableLengthInputs:   p.GetPadVariableLengthInputs(),
	}
	for _, size := range p.GetAllowedBatchSizes() {
		o.AllowedBatchSizes = append(o.AllowedBatchSizes, int(size))
	}
	if threads := p.GetNumBatchThreads(); threads != nil {
		if threads.GetValue() < 1 {
			return nil, millrace.Errorf(millrace.ErrConfig, "num_batch_threads is %d, it must be at least 1", threads.GetValue())
		}
		o.Scheduler = batching.NewScheduler(int(threads.GetValue()))
	}
	return o, o.Check()
}

// modelBatchingFile is the file with a SavedModel's own parameters.
const modelBatchingFile = "batching_params.pbtxt"

// ReadModelBatching reads the BatchingParameters in a SavedModel's folder, from
// batching_params.pbtxt. It returns nil if there are none.
func ReadModelBatching(dir string) (*batching.Options, error) {
	path := filepath.Join(dir, modelBatchingFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ReadBatching(path)
}

// read reads a message in text form.
func read(path string, m proto.Message) error {
	return readResolved(path, m, protoregistry.GlobalTypes)
}

// resolver finds the messages that others embed.
type resolver interface {
	protoregistry.MessageTypeResolver
	protoregistry.ExtensionTypeResolver
}

// readResolved reads a message in text form that may embed others.
func readResolved(path string, m proto.Message, types resolver) error {
	text, err := regularfile.ReadFile(path, regularfile.TextBytes)
	if err != nil {
		var at *fs.PathError
		var irregular *regularfile.Error
		if errors.As(err, &at) {
			err = at.Err
		} else if errors.As(err, &irregular) {
			err = irregular
		}
		return withFile(path, millrace.Errorf(millrace.ErrIO, "%w", err))
	}
	if err := (prototext.UnmarshalOptions{Resolver: types}).Unmarshal(text, m); err != nil {
		// The message begins with TensorFlow Serving's words, for which scripts look.
		return withFile(path, millrace.Errorf(millrace.ErrConfig, "Error parsing text-format %s: %w", strings.TrimPrefix(string(m.ProtoReflect().Descriptor().FullName()), "millrace."), err))
	}
	return nil
}

// withFile adds the file to an error.
func withFile(path string, err error) error {
	var e *millrace.Error
	if errors.As(err, &e) {
		e.File = path
	}
	return err
}
