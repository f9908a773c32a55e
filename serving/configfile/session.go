package configfile

import (
	"path"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/serving/batching"
)

// Platform has the settings of a PlatformConfigMap for the platform "tensorflow".
type Platform struct {
	Session  []byte            // a serialized ConfigProto; nil if there is none
	Batching *batching.Options // nil: requests run alone
	// PerModelBatching takes the parameters of batching from the folder of each version.
	PerModelBatching bool
	Tags             []string
	Warmup           bool
	WarmupIterations int // 0: once
	MixedPrecision   string
}

// tensorflowPlatform is the platform of SavedModels.
const tensorflowPlatform = "tensorflow"

// ReadPlatform reads a PlatformConfigMap: --platform_config_file. Its only platform is
// "tensorflow", with a SavedModelBundleSourceAdapterConfig.
func ReadPlatform(file string) (*Platform, error) {
	var m servingproto.PlatformConfigMap
	if err := readResolved(file, &m, servingTypes{}); err != nil {
		return nil, err
	}
	for name := range m.GetPlatformConfigs() {
		if name != tensorflowPlatform {
			return nil, withFile(file, millrace.Errorf(millrace.ErrConfig, "platform_configs: there is no platform %s, only %q", millrace.Quote(name), tensorflowPlatform))
		}
	}
	platform := m.GetPlatformConfigs()[tensorflowPlatform]
	if platform == nil {
		return nil, withFile(file, millrace.Errorf(millrace.ErrConfig, "platform_configs: the platform %q is missing", tensorflowPlatform))
	}
	var adapter servingproto.SavedModelBundleSourceAdapterConfig
	if err := proto.Unmarshal(platform.GetSourceAdapterConfig().GetValue(), &adapter); err != nil {
		return nil, withFile(file, millrace.Errorf(millrace.ErrConfig, "source_adapter_config is not a SavedModelBundleSourceAdapterConfig: %w", err))
	}
	p, err := platformOf(adapter.GetLegacyConfig())
	return p, withFile(file, err)
}

// platformOf returns the settings of a SessionBundleConfig.
func platformOf(c *servingproto.SessionBundleConfig) (*Platform, error) {
	p := &Platform{
		Tags: c.GetSavedModelTags(), Warmup: c.GetEnableModelWarmup(), WarmupIterations: int(c.GetModelWarmupOptions().GetNumRequestIterations().GetValue()),
		PerModelBatching: c.GetEnablePerModelBatchingParams(), MixedPrecision: c.GetMixedPrecision(),
	}
	var err error
	if c.GetSessionConfig() != nil {
		if p.Session, err = proto.Marshal(c.GetSessionConfig()); err != nil {
			return nil, millrace.Errorf(millrace.ErrConfig, "session_config: %w", err)
		}
	}
	if c.GetBatchingParameters() != nil {
		p.Batching, err = batchingOptions(c.GetBatchingParameters())
	}
	return p, err
}

// ReadSession reads a ConfigProto and returns it serialized: --tensorflow_session_config_file.
func ReadSession(path string) ([]byte, error) {
	var c tfproto.ConfigProto
	if err := read(path, &c); err != nil {
		return nil, err
	}
	raw, err := proto.Marshal(&c)
	if err != nil {
		return nil, withFile(path, millrace.Errorf(millrace.ErrConfig, "%w", err))
	}
	return raw, nil
}

// precisions are the values of --mixed_precision.
var precisions = []string{"bfloat16"}

// MixedPrecision returns a serialized ConfigProto that has graphs rewritten to compute in a
// type of lower precision where that is safe, as --mixed_precision says: "bfloat16".
func MixedPrecision(session []byte, precision string) ([]byte, error) {
	if !slices.Contains(precisions, precision) {
		return nil, millrace.Errorf(millrace.ErrConfig, "mixed_precision %s: want %q", millrace.Quote(precision), precisions)
	}
	var c tfproto.ConfigProto
	if err := proto.Unmarshal(session, &c); err != nil {
		return nil, millrace.Errorf(millrace.ErrConfig, "the ConfigProto of the session: %w", err)
	}
	if c.GraphOptions == nil {
		c.GraphOptions = &tfproto.GraphOptions{}
	}
	if c.GraphOptions.RewriteOptions == nil {
		c.GraphOptions.RewriteOptions = &tfproto.RewriterConfig{}
	}
	c.GraphOptions.RewriteOptions.AutoMixedPrecisionOnednnBfloat16 = tfproto.RewriterConfig_ON
	return proto.Marshal(&c)
}

// Monitoring has the settings of a MonitoringConfig.
type Monitoring struct {
	Prometheus bool
	Path       string // "": /monitoring/prometheus/metrics
}

// ReadMonitoring reads a MonitoringConfig: --monitoring_config_file.
func ReadMonitoring(path string) (*Monitoring, error) {
	var m servingproto.MonitoringConfig
	if err := read(path, &m); err != nil {
		return nil, err
	}
	p := m.GetPrometheusConfig()
	if p.GetPath() != "" && p.GetPath()[0] != '/' {
		return nil, withFile(path, millrace.Errorf(millrace.ErrConfig, "prometheus_config.path is %s; a path begins with /", millrace.Quote(p.GetPath())))
	}
	return &Monitoring{Prometheus: p.GetEnable(), Path: p.GetPath()}, nil
}

// servingTypes finds the messages that TensorFlow Serving's config files embed as Any.
// The embedded messages have TensorFlow Serving's names; ours are in another proto
// package.
type servingTypes struct{}

func (servingTypes) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	own := (&servingproto.SavedModelBundleSourceAdapterConfig{}).ProtoReflect().Type()
	if name == "tensorflow.serving.SavedModelBundleSourceAdapterConfig" {
		return own, nil
	}
	return nil, protoregistry.NotFound
}

func (t servingTypes) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return t.FindMessageByName(protoreflect.FullName(path.Base(url)))
}

func (servingTypes) FindExtensionByName(protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}

func (servingTypes) FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}
