package serving

import (
	"errors"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/serving/internal/inference"
	"millrace/serving/internal/pipeline"
	"millrace/serving/requestlog"
	"millrace/tfbridge"
)

// logging returns the selection of a model's requests to log, nil for none.
func (s *Server) logging(c ModelConfig) *LoggingConfig {
	config := c.Logging
	if config == nil {
		config = s.options.Logging
	}
	if config == nil || config.SamplingRate == 0 {
		return nil
	}
	return config
}

// openLogs opens the request logs of models that are not open yet.
func (s *Server) openLogs(configs []ModelConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range configs {
		config := s.logging(c)
		if config == nil || s.logs[*config] != nil || s.closed {
			continue
		}
		log, err := requestlog.Open(&requestlog.Options{
			FilenamePrefix: config.FilenamePrefix, SamplingRate: config.SamplingRate, MaxFileBytes: config.MaxFileBytes, Logger: s.options.Logger,
		})
		if err != nil {
			return err
		}
		s.logs[*config] = log
		s.logged.Store(true)
	}
	return nil
}

// CheckLogs returns an error of class millrace.ErrConfig if models would log requests
// in a folder where the server does not log yet. A client that replaces the
// configuration must not be able to choose the files that the server writes.
func CheckLogs(s *Server, configs []ModelConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	folders := map[string]bool{}
	for config := range s.logs {
		folders[filepath.Dir(config.FilenamePrefix)] = true
	}
	for _, c := range configs {
		if config := s.logging(c); config != nil && !folders[filepath.Dir(config.FilenamePrefix)] {
			e := millrace.Errorf(millrace.ErrConfig, "model %q: requests are not logged in %s so far, and a client cannot begin it: change the server's configuration", c.Name,
				millrace.Quote(filepath.Dir(config.FilenamePrefix)))
			e.Code = int(tfbridge.PermissionDenied)
			return e
		}
	}
	return nil
}

// closeLogs completes the files of the request logs.
func (s *Server) closeLogs() error {
	var errs []error
	for _, log := range s.logs {
		errs = append(errs, log.Close())
	}
	return errors.Join(errs...)
}

// LoggedRequests returns how many requests were written to logs, and how many were
// dropped because they came faster than they could be written.
func (s *Server) LoggedRequests() (written, dropped int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, log := range s.logs {
		w, d := log.Counts()
		written, dropped = written+w, dropped+d
	}
	return written, dropped
}

// LogRequest logs a request that was answered, if the sampling chooses it. It calls
// describe only in that case. describe returns a serialized
// tensorflow.serving.PredictionLog without metadata, or nil for a request that is not
// to be logged.
func (v *Version) LogRequest(signature string, describe func() []byte) {
	log, rate := v.requestLog()
	if log == nil || !log.Sample() {
		return
	}
	text := describe()
	message := &servingproto.PredictionLog{}
	if text == nil || proto.Unmarshal(text, message) != nil {
		return
	}
	message.LogMetadata = &servingproto.LogMetadata{
		ModelSpec:      &servingproto.ModelSpec{Name: v.Name, VersionChoice: versionNumber(v.Number), SignatureName: signature},
		SamplingConfig: &servingproto.SamplingConfig{SamplingRate: rate},
		TimestampSecs:  time.Now().Unix(),
	}
	code := tfbridge.OK
	if !log.Add(message, v.examplesOf(signature, message)) {
		code = tfbridge.ResourceExhausted
	}
	if on := v.server.options.OnLog; on != nil {
		on(v.Name, code)
	}
}

// requestLog returns the log of the version's model, nil if there is none.
func (v *Version) requestLog() (*requestlog.Log, float64) {
	s := v.server
	if !s.logged.Load() {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.models[v.Name]
	if m == nil {
		return nil, 0
	}
	config := s.logging(m.config)
	if config == nil {
		return nil, 0
	}
	return s.logs[*config], config.SamplingRate
}

// examplesOf returns the Examples of a request: those of Classify, Regress or
// MultiInference, or the records for a loader.
func (v *Version) examplesOf(signature string, message *servingproto.PredictionLog) [][]byte {
	if r := message.GetPredictLog().GetRequest(); r != nil {
		if v.Loader(signature) == nil {
			return nil
		}
		return r.GetInputs()[pipeline.Input].GetStringVal()
	}
	return inference.Records(message)
}

// versionNumber returns a version as a ModelSpec holds it.
func versionNumber(n int64) *servingproto.ModelSpec_Version {
	return &servingproto.ModelSpec_Version{Version: wrapperspb.Int64(n)}
}
