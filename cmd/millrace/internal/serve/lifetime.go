package serve

import (
	"context"
	"log/slog"
	"time"

	"millrace"
	"millrace/serving/configfile"
)

// noteHangups makes SIGHUP request another reading of the models' config file. It is
// called before the first reading, so that a reload right after the start does not end
// the program.
func (s *modelServer) noteHangups() {
	s.hangups = make(chan struct{}, 1)
	s.program.OnHangup(func() {
		select {
		case s.hangups <- struct{}{}:
		default: // a pending request covers this one, too
		}
	})
}

// rereadWhenAsked reads the models' config file again for each SIGHUP, and at the
// interval of a flag, until ctx is done.
func (s *modelServer) rereadWhenAsked(ctx context.Context) {
	var ticks <-chan time.Time
	if s.flags.configPoll > 0 {
		ticker := time.NewTicker(time.Duration(s.flags.configPoll) * time.Second)
		context.AfterFunc(ctx, ticker.Stop)
		ticks = ticker.C
	}
	go func() {
		for {
			select {
			case <-ticks:
				s.reread(ctx)
			case <-s.hangups:
				s.log.Info("reading the model config file again", slog.String("cause", "SIGHUP"))
				s.reread(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// reread reads the models' config file again.
func (s *modelServer) reread(ctx context.Context) {
	configs, err := configfile.ReadModels(s.flags.configFile)
	if err == nil {
		err = s.models.ReplaceConfig(ctx, configs)
	}
	if err != nil {
		s.log.Error("model config file", slog.String("error", err.Error()))
	}
}

// delay continues to answer new requests while the server reports that it is not ready,
// so that load balancers and other clients have time to notice.
func (s *modelServer) delay() error {
	if s.flags.drainDelay == 0 {
		return nil
	}
	timer := time.NewTimer(s.flags.drainDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-s.ended:
		return err
	}
}

// finish refuses new requests and waits until those in flight are answered.
func (s *modelServer) finish() error {
	defer s.pacer.close()
	ctx, cancel := context.WithTimeout(context.Background(), s.flags.drain)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if s.rpc != nil {
			s.rpc.GracefulStop()
		}
	}()
	var err error
	if s.web != nil {
		if err = s.web.Shutdown(ctx); err != nil {
			err = millrace.Errorf(millrace.ErrCanceled, "requests were still running after %v: %w", s.flags.drain, err)
		}
	}
	select {
	case <-stopped:
	case <-ctx.Done():
		s.rpc.Stop()
		<-stopped
	}
	return err
}
