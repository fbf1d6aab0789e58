package server

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/proxy"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// streams are the streams of an exec or attach request.
type streams struct{ in, out, err, tty bool }

// streamsOf parses the query of an exec or attach request.
func streamsOf(query url.Values) (streams, error) {
	enabled := func(name string) bool {
		v, err := strconv.ParseBool(query.Get(name))
		return err == nil && v
	}
	s := streams{enabled("input"), enabled("output"), enabled("error"), enabled("tty")}
	if !s.in && !s.out && !s.err {
		return s, newStatusError(http.StatusBadRequest, "you must specify at least 1 of stdin, stdout, stderr")
	}
	if s.tty {
		s.err = false // a TTY has a single output
	}
	return s, nil
}

// exec serves /exec/NAMESPACE/POD/CONTAINER.
func (s *Server) exec(w http.ResponseWriter, r *http.Request, n *Node) {
	s.stream(w, r, n, func(ctx context.Context, id string, _ bool, requested streams) (string, error) {
		command := r.URL.Query()["command"]
		if len(command) == 0 {
			return "", newStatusError(http.StatusBadRequest, "you must specify a command")
		}
		return n.Runtime.Exec(ctx, &cri.ExecRequest{ContainerId: id, Cmd: command, Tty: requested.tty, Stdin: requested.in, Stdout: requested.out, Stderr: requested.err})
	})
}

// attach serves /attach/NAMESPACE/POD/CONTAINER.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, n *Node) {
	s.stream(w, r, n, func(ctx context.Context, id string, tty bool, requested streams) (string, error) {
		return n.Runtime.Attach(ctx, &cri.AttachRequest{ContainerId: id, Tty: tty, Stdin: requested.in, Stdout: requested.out, Stderr: requested.err && !tty})
	})
}

// stream finds the container and proxies the connection to the runtime's streaming server. open
// returns the URL of the stream.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, n *Node, open func(ctx context.Context, id string, tty bool, requested streams) (string, error)) {
	s.proxyStream(w, r, func(ctx context.Context) (string, error) {
		p, err := findPod(r, n, "exec and attach are not supported")
		if err != nil {
			return "", err
		}
		name, tty, err := findContainer(r, p)
		if err != nil {
			return "", err
		}
		requested, err := streamsOf(r.URL.Query())
		if err != nil {
			return "", err
		}
		id, err := runningContainer(ctx, n, p, name)
		if err != nil {
			return "", err
		}
		return open(ctx, id, tty, requested)
	})
}

// portForward serves /portForward/NAMESPACE/POD. SPDY streams name their port; for a WebSocket
// the query does.
func (s *Server) portForward(w http.ResponseWriter, r *http.Request, n *Node) {
	s.proxyStream(w, r, func(ctx context.Context) (string, error) {
		p, err := findPod(r, n, "port-forward is not supported")
		if err != nil {
			return "", err
		}
		var ports []int32
		for _, text := range r.URL.Query()["port"] {
			port, err := strconv.ParseUint(text, 10, 16)
			if err != nil || port == 0 {
				return "", newStatusError(http.StatusBadRequest, "port=%q: must be a number between 1 and 65535", text)
			}
			ports = append(ports, int32(port))
		}
		id, err := readySandbox(ctx, n, p)
		if err != nil {
			return "", err
		}
		return n.Runtime.PortForward(ctx, &cri.PortForwardRequest{PodSandboxId: id, Port: ports})
	})
}

// proxyStream proxies the connection to the URL that open returns. The deadline of open's context is also that of the
// response to the upgrade.
func (s *Server) proxyStream(w http.ResponseWriter, r *http.Request, open func(context.Context) (string, error)) {
	limit := cmp.Or(s.streamStart, streamStartTimeout)
	deadline := time.Now().Add(limit)
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	location, err := open(ctx)
	cancel()
	var target *url.URL
	if err == nil {
		target, err = url.Parse(location)
	}
	if err != nil {
		writeError(w, startError(err, limit))
		return
	}
	proxy.NewUpgradeAwareHandler(target, startTransport(deadline), false, true, errorResponder{limit}).ServeHTTP(w, r)
}

// errorResponder answers when the connection to the runtime's streaming server fails.
type errorResponder struct{ limit time.Duration }

func (e errorResponder) Error(w http.ResponseWriter, _ *http.Request, err error) {
	writeError(w, startError(err, e.limit))
}
