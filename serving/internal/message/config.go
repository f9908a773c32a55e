package message

import (
	"strings"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/serving"
)

// platform is the model_platform of TensorFlow models.
const platform = "tensorflow"

// ModelConfigs returns the configurations of models in a message. Errors are of
// class millrace.ErrConfig.
func ModelConfigs(m *servingproto.ModelServerConfig) ([]serving.ModelConfig, error) {
	if m.GetModelConfigList() == nil {
		return nil, millrace.Errorf(millrace.ErrConfig, "the configuration has no model_config_list")
	}
	var all []serving.ModelConfig
	for _, c := range m.GetModelConfigList().GetConfig() {
		if p := c.GetModelPlatform(); p != "" && p != platform {
			return nil, millrace.Errorf(millrace.ErrConfig, "model %s has the platform %s, only %s is served", millrace.Quote(c.GetName()), millrace.Quote(p), platform)
		}
		config := serving.ModelConfig{Name: c.GetName(), BasePath: strings.TrimPrefix(c.GetBasePath(), "file://"), VersionLabels: c.GetVersionLabels()}
		if logging := c.GetLoggingConfig(); logging != nil {
			config.Logging = &serving.LoggingConfig{
				FilenamePrefix: logging.GetLogCollectorConfig().GetFilenamePrefix(), SamplingRate: logging.GetSamplingConfig().GetSamplingRate(),
			}
		}
		switch policy := c.GetModelVersionPolicy(); {
		case policy.GetAll() != nil:
			config.VersionPolicy.All = true
		case policy.GetSpecific() != nil:
			config.VersionPolicy.Specific = policy.GetSpecific().GetVersions()
			if len(config.VersionPolicy.Specific) == 0 {
				return nil, millrace.Errorf(millrace.ErrConfig, "model %s: model_version_policy is specific and names no versions", millrace.Quote(c.GetName()))
			}
		default:
			config.VersionPolicy.Latest = int(policy.GetLatest().GetNumVersions())
		}
		all = append(all, config)
	}
	return all, nil
}
