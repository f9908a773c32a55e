package serve

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"millrace"
	"millrace/serving/rpc"
)

// channelArguments is the parsed value of --grpc_channel_arguments. The arguments have
// the names of gRPC's C library.
type channelArguments struct {
	server   keepalive.ServerParameters
	client   keepalive.EnforcementPolicy // what clients may do
	options  []grpc.ServerOption
	received int      // largest message in bytes; 0: not given
	unknown  []string // keys without a counterpart
}

// parse reads the arguments. As in TensorFlow Serving, unknown keys are accepted.
func (a *channelArguments) parse(text string) error {
	for _, argument := range strings.Split(text, ",") {
		if argument == "" {
			continue
		}
		key, value, ok := strings.Cut(argument, "=")
		if !ok || key == "" {
			return millrace.Errorf(millrace.ErrConfig, "--grpc_channel_arguments: %s: want KEY=VALUE", millrace.Quote(argument))
		}
		set := a.setters()[key]
		if set == nil {
			a.unknown = append(a.unknown, key)
			continue
		}
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < -1 {
			return millrace.Errorf(millrace.ErrConfig, "--grpc_channel_arguments: %s=%s: want a number, or -1 for no limit", key, millrace.Quote(value))
		}
		if n < 0 {
			n = math.MaxInt32
		}
		set(n)
	}
	a.server.Time = cmp.Or(a.server.Time, rpc.KeepaliveTime)
	a.server.Timeout = cmp.Or(a.server.Timeout, rpc.KeepaliveTimeout)
	a.options = append(a.options, grpc.KeepaliveParams(a.server), grpc.KeepaliveEnforcementPolicy(a.client))
	return nil
}

// setters returns a function for each argument that sets it.
func (a *channelArguments) setters() map[string]func(int64) {
	milliseconds := func(to *time.Duration) func(int64) {
		return func(n int64) { *to = time.Duration(n) * time.Millisecond }
	}
	option := func(of func(int64) grpc.ServerOption) func(int64) {
		return func(n int64) { a.options = append(a.options, of(n)) }
	}
	return map[string]func(int64){
		"grpc.max_connection_idle_ms":                       milliseconds(&a.server.MaxConnectionIdle),
		"grpc.max_connection_age_ms":                        milliseconds(&a.server.MaxConnectionAge),
		"grpc.max_connection_age_grace_ms":                  milliseconds(&a.server.MaxConnectionAgeGrace),
		"grpc.keepalive_time_ms":                            milliseconds(&a.server.Time),
		"grpc.keepalive_timeout_ms":                         milliseconds(&a.server.Timeout),
		"grpc.keepalive_permit_without_calls":               func(n int64) { a.client.PermitWithoutStream = n != 0 },
		"grpc.http2.min_recv_ping_interval_without_data_ms": milliseconds(&a.client.MinTime),
		"grpc.http2.min_ping_interval_without_data_ms":      milliseconds(&a.client.MinTime),
		"grpc.max_receive_message_length":                   func(n int64) { a.received = int(n) },
		"grpc.max_send_message_length":                      option(func(n int64) grpc.ServerOption { return grpc.MaxSendMsgSize(int(n)) }),
		"grpc.max_concurrent_streams":                       option(func(n int64) grpc.ServerOption { return grpc.MaxConcurrentStreams(uint32(n)) }),
		"grpc.max_metadata_size":                            option(func(n int64) grpc.ServerOption { return grpc.MaxHeaderListSize(uint32(n)) }),
		"grpc.so_reuseaddr":                                 func(int64) {}, // Go's listeners do
	}
}
