package serve

import (
	"errors"
	"net"
	"strconv"
	"syscall"

	"millrace"
)

/*
A server binds its ports before the sandbox begins and listens when its models are loaded.

  - Whoever asks while models load is refused, so that balancers ask another server.
  - In the sandbox nothing can bind a port, and listen works for these sockets alone. If a process may
    bind a port, Landlock cannot keep it from listening at others: listen gives a socket that is not bound a
    free port.
  - A port that is taken is reported before models load, which may take minutes.

Two servers that start at once may both bind the same port: the kernel refuses the second when it listens.
*/

// The flags of the ports.
const portFlag, restPortFlag = "port", "rest_api_port"

// ports are the ports of a server by their flags.
type ports map[string]*port

// bind binds the ports that the flags ask for.
func (s *modelServer) bind() error {
	f := s.flags
	s.ports = ports{}
	for _, flag := range []string{portFlag, restPortFlag} {
		number := portNumber(f, flag)
		if number == 0 || flag == portFlag && f.access.onePort {
			continue
		}
		p, err := bindPort(net.JoinHostPort(f.host, strconv.Itoa(max(number, 0))))
		if err != nil {
			s.ports.Close()
			return s.portError(flag, err)
		}
		s.ports[flag] = p
	}
	return nil
}

// portNumber returns the value of a flag.
func portNumber(f *serveFlags, flag string) int {
	if flag == portFlag {
		return f.port
	}
	return f.restPort
}

// portError explains why a port could not be opened.
func (s *modelServer) portError(flag string, err error) error {
	number := portNumber(s.flags, flag)
	if errors.Is(err, syscall.EADDRINUSE) {
		return millrace.Errorf(millrace.ErrIO, "--%s %d: another process listens there; give another port, -1 for any free one, or 0 for none", flag, number)
	}
	return millrace.Errorf(millrace.ErrIO, "--%s %d: %w", flag, number, err)
}

// descriptors returns the descriptors of the sockets.
func (p ports) descriptors() (list []int) {
	for _, one := range p {
		list = append(list, one.descriptors()...)
	}
	return list
}

// Close closes the ports.
func (p ports) Close() {
	for _, one := range p {
		one.close()
	}
}
