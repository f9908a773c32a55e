package serve

import (
	"io/fs"
	"net"
	"os"

	"millrace"
)

// socket is a UNIX socket that is removed when it is closed, unless another process has
// replaced it.
type socket struct {
	*net.UnixListener
	path string
	own  fs.FileInfo
}

// listenUnix listens at a UNIX socket. Like gRPC's C library, it replaces an existing
// socket, whose server was most likely killed. It does not replace other files.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, millrace.Errorf(millrace.ErrIO, "--grpc_socket_path: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrIO, "--grpc_socket_path %s: %w", millrace.Quote(path), err)
	}
	l.SetUnlinkOnClose(false)
	s := &socket{UnixListener: l, path: path}
	if s.own, err = os.Lstat(path); err != nil {
		l.Close()
		return nil, millrace.Errorf(millrace.ErrIO, "--grpc_socket_path: %w", err)
	}
	return s, nil
}

// Close ends listening and removes the socket.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if now, statErr := os.Lstat(s.path); statErr == nil && os.SameFile(now, s.own) {
		os.Remove(s.path)
	}
	return err
}
